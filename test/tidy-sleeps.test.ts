import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOnly } from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
/** A timer that a test starts: a pause, or something that is done after one. */
const SLEEP = /(?<![\w.'])(?:setTimeout|delay|sleep)\(/g

/** Files whose timers are no sleeps of a test, each with the reason. */
const TIMERS: Readonly<Record<string, string>> = {
  'test/harness/patience.ts': 'the pauses between two looks, for everybody',
  'test/harness/postgres.ts': 'looks whether a program answers',
  'test/harness/valkey.ts': 'looks whether a program answers',
  'test/harness/video-jobs.ts': 'looks at a job as a customer does',
  'test/harness/cpu-meter.ts': 'ends a test process that hangs',
  'test/harness/moving-server.ts': 'gives sockets a moment after each second of the moved clock',
  'test/harness/log-watch.ts': 'lets the page paint a frame, in the browser',
  'test/run.ts': 'ends a run that hangs',
  'test/harness/server.ts': 'kills a program that does not end',
  'test/harness/raw-http.ts': 'lets go of a silent connection',
  'test/harness/crash-clients.ts': 'the pace of a load',
  'test/sim/simulate.ts': 'ends a universe that hangs',
  'test/soak/soak.ts': 'the pace of a load over hours',
}

/** Files that still sleep, with how often. An event, `until` or a moved clock takes the place of each. */
const SLEEPS: Readonly<Record<string, number>> = {
  'src/http/server-fixture.ts': 1,
  'test/api/embeddings.test.ts': 1,
  'test/api/overload.test.ts': 1,
  'test/api/speech.test.ts': 2,
  'test/api/start-failures.test.ts': 1,
  'test/api/upstream-faults.test.ts': 1,
  'test/crash/backup.test.ts': 1,
  'test/crash/database-outage.test.ts': 4,
  'test/crash/full-log.test.ts': 1,
  'test/crash/lost-commit.test.ts': 1,
  'test/crash/nodes.test.ts': 1,
  'test/crash/upgrade.test.ts': 1,
  'test/crash/video-kill9.test.ts': 1,
  'test/faults/clients.test.ts': 2,
  'test/faults/overload.test.ts': 2,
  'test/faults/process.test.ts': 1,
  'test/nodes/valkey.test.ts': 1,
  'test/providers/ai-sdk-faults.test.ts': 1,
  'test/store/postgres-store.test.ts': 2,
  'test/videos/crash-steps.test.ts': 1,
  'test/videos/runner.test.ts': 1,
  'test/videos/video-world.ts': 1,
}

function sleepsIn(text: string): number {
  return codeOnly(text).match(SLEEP)?.length ?? 0
}

test('no test sleeps: it waits for an event or moves a clock', () => {
  const paths = globSync(['test/**/*.ts', 'src/**/*.test.ts', 'src/**/*-fixture.ts'], { cwd: ROOT }).toSorted()
  const counts = new Map(paths.map((path) => [path, sleepsIn(readFileSync(join(ROOT, path), 'utf8'))]))
  const beyond = [...counts].filter(([path, count]) => TIMERS[path] === undefined && count > (SLEEPS[path] ?? 0))
  assert.deepEqual(
    beyond.map(([path, count]) => `${path}: ${count} sleeps`),
    [],
  )
  const needless = Object.entries({ ...SLEEPS, ...Object.fromEntries(Object.keys(TIMERS).map((path) => [path, 1])) })
  assert.deepEqual(
    needless
      .filter(([path, most]) => (counts.get(path) ?? 0) < most)
      .map(([path]) => `${path} sleeps less: lower its number`),
    [],
  )
})

test('the rule sees what it is for', () => {
  for (const text of [
    'await delay(20)',
    'setTimeout(resolve, 5)',
    'void setTimeout(() => end(), 100)',
    'await sleep(1)',
  ])
    assert.equal(sleepsIn(text), 1, text)
  for (const text of [
    '// await delay(20)',
    "import { setTimeout as delay } from 'node:timers/promises'",
    'clock.delay(5)',
  ])
    assert.equal(sleepsIn(text), 0, text)
})
