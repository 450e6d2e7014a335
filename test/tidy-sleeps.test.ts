import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOnly, withoutComments } from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
/** A timer started by a test: a pause, or delayed work. */
const SLEEP = /(?<![\w.'])(?:(?:globalThis\.|timers\.)?setTimeout|delay|sleep|Atomics\.wait)\(/g
/** The same under another name. */
const TIMER_MODULE =
  /\bimport\s+(?:\{[^}]*\b(?:setTimeout|scheduler)\b[^}]*\}|[\w*][^'{]*)\s*from '(?:node:)?timers(?:\/promises)?'/g

/** Files whose timers are no sleeps of a test, each with the reason. */
const TIMERS: Readonly<Record<string, string>> = {
  'test/harness/patience.ts': 'the pauses between two looks, for everybody',
  'test/harness/postgres.ts': 'looks whether a program answers',
  'test/harness/valkey.ts': 'looks whether a program answers',
  'test/harness/video-jobs.ts': 'looks at a job as a customer does',
  'test/harness/cpu-meter.ts': 'ends a test process that hangs',
  'test/harness/paced.ts': 'the pauses that are part of what a test gives',
  'test/harness/log-watch.ts': 'lets the page paint a frame, in the browser',
  'test/run.ts': 'ends a run that hangs',
  'test/harness/server.ts': 'kills a program that does not end',
  'test/harness/raw-http.ts': 'lets go of a silent connection',
  'test/sim/simulate.ts': 'ends a universe that hangs',
  'test/soak/soak.ts': 'the pace of a load over hours',
  'test/tidy-sleeps.test.ts': 'names them',
}

function sleepsIn(text: string): number {
  return (codeOnly(text).match(SLEEP)?.length ?? 0) + (withoutComments(text).match(TIMER_MODULE)?.length ?? 0)
}

test('no test sleeps: it waits for an event or moves a clock', () => {
  const paths = globSync(['test/**/*.ts', 'src/**/*.test.ts', 'src/**/*-fixture.ts'], { cwd: ROOT })
  const sleeping = paths.filter((path) => sleepsIn(readFileSync(join(ROOT, path), 'utf8')) > 0)
  assert.deepEqual(
    sleeping.filter((path) => TIMERS[path] === undefined).toSorted(),
    [],
    'an event or `until` takes the place of a sleep, or `paced` where the pause is what the program is given',
  )
  assert.deepEqual(
    Object.keys(TIMERS).filter((path) => !sleeping.includes(path)),
    [],
    'these have no timer any more',
  )
})

test('the rule sees what it is for', () => {
  for (const text of [
    'await delay(20)',
    'setTimeout(resolve, 5)',
    'void setTimeout(() => end(), 100)',
    'await sleep(1)',
    'globalThis.setTimeout(resolve, 5)',
    "import { setTimeout as pause } from 'node:timers/promises'",
    "import { scheduler } from 'timers/promises'",
  ])
    assert.equal(sleepsIn(text), 1, text)
  for (const text of [
    '// await delay(20)',
    "// import { setTimeout as delay } from 'node:timers/promises'",
    'clock.delay(5)',
    'socket.setTimeout(5)',
    'clearTimeout(timer)',
    "import { setImmediate as turn } from 'node:timers/promises'",
  ])
    assert.equal(sleepsIn(text), 0, text)
})
