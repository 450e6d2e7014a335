import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { run, type TestsStream } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect } from 'node:util'
import { isBuilt } from '../bin/program.js'
import type { FileCost } from './harness/cpu-meter.ts'
import { slowness } from './harness/patience.ts'
import { grouped } from './harness/unit-groups.ts'

/**
 * `node test/run.ts [--all] [--costs] [part of a path]...`: the tests of every change; with `--all` the long forms too,
 * which are files named `.long.test.ts`; with `--costs` it prints the cost of every file that takes seconds. Files that
 * need no process share a few. Under CI a test that is skipped fails, and so does a file that costs more than its
 * share.
 */
const root = join(import.meta.dirname, '..')
const LONG = '.long.test.ts'
/**
 * These run only in `npm run test:all`, which CI runs, or when named: each takes seconds of a core or half a minute of
 * the clock even in its short form, and tests of every change cover the same code.
 */
const LEFT_TO_ALL: ReadonlySet<string> = new Set([
  'test/api/admin-scopes.test.ts',
  'test/api/application-requests.test.ts',
  'test/api/cabinet-sign-in.test.ts',
  'test/api/catalog-bundled.test.ts',
  'test/api/errors-of-doors.test.ts',
  'test/api/flapping.test.ts',
  'test/api/foreign-environment.test.ts',
  'test/api/hosted-tools.test.ts',
  'test/api/kek.test.ts',
  'test/api/long-reads.test.ts',
  'test/api/overload.test.ts',
  'test/api/responses-socket-attacks.test.ts',
  'test/api/sign-in-timing.test.ts',
  'test/api/unreasoned-answers.test.ts',
  'test/console/account-limit.test.ts',
  'test/console/broken-load.test.ts',
  'test/console/dialogs.test.ts',
  'test/console/first-load.test.ts',
  'test/console/entry.test.ts',
  'test/console/external-ids.test.ts',
  'test/console/forgot-password.test.ts',
  'test/console/lists.test.ts',
  'test/console/markdown.test.ts',
  'test/console/notices.test.ts',
  'test/console/operator-access.test.ts',
  'test/console/operator-notices.test.ts',
  'test/console/operator-prices.test.ts',
  'test/console/operator-connect.test.ts',
  'test/console/operator-first-run.test.ts',
  'test/console/operator-log.test.ts',
  'test/console/operator.test.ts',
  'test/console/pages.test.ts',
  'test/console/people.test.ts',
  'test/console/playground-chat.test.ts',
  'test/console/playground.test.ts',
  'test/console/security.test.ts',
  'test/crash/backup.test.ts',
  'test/crash/database-full.test.ts',
  'test/crash/database-outage.test.ts',
  'test/crash/failover.test.ts',
  'test/crash/idempotency-kill9.test.ts',
  'test/crash/key-rotation-kill9.test.ts',
  'test/crash/lost-commit.test.ts',
  'test/crash/nodes.test.ts',
  'test/crash/notices-kill9.test.ts',
  'test/crash/responses-kill9.test.ts',
  'test/crash/restore-drill.test.ts',
  'test/crash/socket-kill9.test.ts',
  'test/crash/upgrade-releases.test.ts',
  'test/crash/upgrade.test.ts',
  'test/crash/video-kill9.test.ts',
  'test/faults/clients.test.ts',
  'test/faults/drain.test.ts',
  'test/faults/overload.test.ts',
  'test/faults/periods.test.ts',
  'test/faults/process.test.ts',
  'test/faults/kept-chains.test.ts',
  'test/faults/stopped-readers.test.ts',
  'test/nodes/copy.test.ts',
  'test/nodes/sharing.test.ts',
  'test/nodes/socket-workers.test.ts',
  'test/nodes/standing-loop.test.ts',
  'test/nodes/valkey.test.ts',
  'test/providers/ai-sdk.test.ts',
  'test/providers/damaged-events.test.ts',
  'test/providers/hostile-answers.test.ts',
  'test/nodes/pgbouncer.test.ts',
  'test/nodes/streams.test.ts',
  'test/nodes/valkey-cluster.test.ts',
  'test/sdk/call-snippet.test.ts',
  'test/shipped/alerts-delivered.test.ts',
  'test/shipped/chart.test.ts',
  'test/shipped/files.test.ts',
  'test/shipped/image.test.ts',
  'test/shipped/monitoring.test.ts',
  'test/shipped/operator-page.test.ts',
  'test/shipped/package.test.ts',
  'test/shipped/proxies.test.ts',
  'test/shipped/site.test.ts',
  'test/soak/soak.test.ts',
  'test/stalls-routes.test.ts',
  'test/stalls-upstreams.test.ts',
  'test/tidy-lookups.test.ts',
])
/** Their long forms do all that these do, only more of it: `--all` runs those alone. */
const WITHIN_LONG: ReadonlySet<string> = new Set([
  'test/api/flapping.test.ts',
  'test/api/responses-socket-attacks.test.ts',
  'test/api/sign-in-timing.test.ts',
  'test/crash/backup.test.ts',
  'test/crash/database-outage.test.ts',
  'test/crash/lost-commit.test.ts',
  'test/crash/nodes.test.ts',
  'test/crash/notices-kill9.test.ts',
  'test/crash/responses-kill9.test.ts',
  'test/crash/upgrade.test.ts',
  'test/faults/clients.test.ts',
  'test/faults/overload.test.ts',
  'test/faults/process.test.ts',
  'test/nodes/sharing.test.ts',
  'test/nodes/valkey.test.ts',
  'test/providers/damaged-events.test.ts',
  'test/providers/hostile-answers.test.ts',
  'test/soak/soak.test.ts',
  'test/stalls-routes.test.ts',
  'test/stalls-upstreams.test.ts',
])
/**
 * These need a server that no package brings, or half a gigabyte of packages, and run where a setting says where it
 * is.
 */
const NEEDS: Readonly<Record<string, string>> = {
  'test/crash/citus.test.ts': 'TOLLGATE_TEST_CITUS',
  'test/nodes/citus.test.ts': 'TOLLGATE_TEST_CITUS',
  'test/api/focus-validator.test.ts': 'TOLLGATE_TEST_FOCUS',
}
/**
 * These run after all others, one at a time, their long forms too: they compare seconds of the clock, and would suffer
 * from other work.
 */
const BY_THE_CLOCK: ReadonlySet<string> = new Set([
  'test/api/overload.test.ts',
  'test/api/sign-in-timing.test.ts',
  'test/console/first-load.test.ts',
  'test/crash/database-outage.test.ts',
  'test/faults/clients.test.ts',
  'test/faults/overload.test.ts',
  'test/nodes/valkey.test.ts',
  'test/stalls-upstreams.test.ts',
])
/** The last measurements on this machine: the longest files begin first, so that no core is idle at the end. */
const SECONDS = join(root, 'node_modules/.cache/test-seconds.json')
/** The time of a file that was never measured, by its folder. */
const SECONDS_GUESSED: readonly (readonly [string, number])[] = [
  ['test/crash/', 60],
  ['test/nodes/', 50],
  ['test/console/', 40],
  ['test/faults/', 30],
  ['src-', 30],
  ['test-', 30],
  ['test/sim/', 20],
  ['test/videos/', 20],
  ['test/api/', 10],
  ['', 5],
]
/**
 * Files at a time for each core: some of them wait for a clock, a crash or a browser. A long form alone loads a core.
 */
const FILES_PER_CORE = { short: 3, all: 2 } as const
/** The whole of `npm test` takes less than five minutes of two cores; each file has a share of that. */
const CPU_SECONDS_MAX = 900
const FILE_CPU_SECONDS_MAX = 45
/**
 * Beside the long forms the same work takes this many times as much: cores and caches are shared, and stall checks are
 * repeated.
 */
const CROWDED = 1.75
const SLOWEST = 10
/** Files that cost less are not listed, s of CPU. */
const COST_SECONDS_MIN = 3
/** The most of a failure that is repeated at the end, characters. */
const FAILURE_LENGTH = 2_000
const MEMORY_BYTES_MIN = 6 * 1_073_741_824
/** A run that takes longer has hung: it names the files that still run, and fails. */
const RUN_MINUTES_MAX = { short: 30, all: 60 } as const

const isCi = process.env['CI'] === 'true'
// An hour of crashes and faults runs the files of the short form with larger sizes.
const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined
const words = process.argv.slice(2)
const isAll = words.includes('--all')
const isEveryCost = words.includes('--costs')
const parts = words.filter((word) => !word.startsWith('--'))

const chosen = choose()
// Once for all test files, which would otherwise all build it at the same time.
spawnSync(process.execPath, ['-e', "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"], {
  cwd: root,
  stdio: 'inherit',
})
// A server starts from the bundle in half the time.
if (process.env['NODE_V8_COVERAGE'] === undefined && !isBuilt())
  spawnSync(process.execPath, [join(root, 'scripts/build-server.ts')], { cwd: root, stdio: 'inherit' })
// As in bin/tollgate.js: code compiled by one process is used by the next.
if (process.env['NODE_V8_COVERAGE'] === undefined)
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compiled')
const temporary = mkdtempSync(join(fastest(), 'tollgate-tests-'))
// Other users than the owner pass through it: PostgreSQL runs as another user.
chmodSync(temporary, 0o711)
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
process.env['TMPDIR'] = temporary
const costs = mkdtempSync(join(temporary, 'cpu-'))
process.env['TOLLGATE_TEST_CPU'] = costs
const count = { passed: 0, failed: 0, isSound: true }
const skipped: string[] = []

const failures: string[] = []

const isByTheClock = (file: string): boolean => BY_THE_CLOCK.has(file.replace(LONG, '.test.ts'))
const { groups, alone } = grouped(
  chosen.filter((file) => !isByTheClock(file)),
  root,
  temporary,
)
const together = longestFirst([...groups, ...alone.map((file) => join(root, file))])
const oneByOne = chosen.filter(isByTheClock).map((file) => join(root, file))
const files = [...together, ...oneByOne]
if (!isChaos) setTimeout(giveUp, RUN_MINUTES_MAX[isAll ? 'all' : 'short'] * 60_000).unref()
await runFiles(together, Math.min(12, FILES_PER_CORE[isAll ? 'all' : 'short'] * availableParallelism()))
await runFiles(oneByOne, 1)
close()

async function runFiles(chosenFiles: readonly string[], concurrency: number): Promise<void> {
  if (chosenFiles.length === 0) return
  const events = run({
    cwd: root,
    files: chosenFiles,
    concurrency,
    timeout: isChaos ? 7_200_000 : 600_000,
    execArgv: ['--import', join(import.meta.dirname, 'harness/cpu-meter.ts')],
  })
  events.on('test:pass', ({ name, file, skip, todo }) => {
    if (skip !== undefined || todo !== undefined) skipped.push(`${relative(root, file ?? '')}: ${name}`)
  })
  events.on('test:fail', ({ name, file, details: { error } }) => {
    // A suite fails with its tests, which are reported themselves.
    if (!('failureType' in error && error.failureType === 'subtestsFailed'))
      failures.push(`${relative(root, file ?? '')}: ${name}\n${inspect(error.cause ?? error).slice(0, FAILURE_LENGTH)}`)
  })
  // For each file, and last for all together.
  events.on('test:summary', ({ file, counts: { tests, passed, skipped: skips, todo }, success }) => {
    if (file !== undefined) return
    count.passed += passed
    count.failed += tests - passed - skips - todo
    count.isSound &&= success
  })
  for await (const text of Readable.from(toldOf(events)).compose(spec())) process.stdout.write(text)
}

function choose(): readonly string[] {
  const named = [
    ...globSync('src/**/*.test.ts', { cwd: root }),
    ...globSync('test/**/*.test.ts', { cwd: root }),
  ].filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  const matches = named.filter((file) => !isWithoutServer(file))
  const found = matches.filter((file) => {
    if (isAll) return !WITHIN_LONG.has(file)
    return !file.endsWith(LONG) && (parts.length > 0 || isChaos || !LEFT_TO_ALL.has(file))
  })
  if (found.length === 0) {
    process.stderr.write(`${whyNone(named, matches)}\n`)
    process.exit(1)
  }
  return found.toSorted()
}

function whyNone(named: readonly string[], matches: readonly string[]): string {
  if (matches.length > 0) return `Only long forms match, run them with: npm run test:all -- ${parts.join(' ')}`
  if (named.length === 0) return `No test file has ${parts.join(' or ')} in its path.`
  return named.map((file) => `${file} runs where ${NEEDS[file]} gives the address of a server.`).join('\n')
}

function isWithoutServer(file: string): boolean {
  const setting = NEEDS[file]
  return setting !== undefined && process.env[setting] === undefined
}

/** Names the files that run when none should any more. */
function giveUp(): void {
  const ended = new Set(costsWritten().map(({ entry }) => entry))
  const unfinished = files.filter((file) => !ended.has(file)).map(nameOf)
  say(`\nNot finished after ${RUN_MINUTES_MAX[isAll ? 'all' : 'short']} minutes: ${unfinished.join(', ')}`)
  say(`\n${ended.size} files ended, ${Math.max(1, unfinished.length)} failed`)
  process.exit(1)
}

/** A group by its own name, which is the same in each run. */
function nameOf(file: string): string {
  return relative(dirname(file) === temporary ? temporary : root, file)
}

function longestFirst(files: readonly string[]): string[] {
  const known = secondsKnown()
  const secondsOf = (file: string): number =>
    known[nameOf(file)] ?? SECONDS_GUESSED.find(([folder]) => nameOf(file).startsWith(folder))?.[1] ?? 0
  return files.toSorted((left, right) => secondsOf(right) - secondsOf(left) || (left < right ? -1 : 1))
}

function secondsKnown(): Readonly<Record<string, number>> {
  try {
    // Written by `keepSeconds`; what is not in it is guessed.
    return JSON.parse(readFileSync(SECONDS, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

/** By process: the times of the files that shared one are added. */
function keepSeconds(files: readonly FileCost[]): void {
  const seconds = new Map<string, number>()
  for (const { entry, wallSeconds } of files) {
    // Some files of a group do not give the time of the whole group.
    if (parts.length > 0 && dirname(entry) === temporary) continue
    seconds.set(nameOf(entry), (seconds.get(nameOf(entry)) ?? 0) + Math.round(wallSeconds))
  }
  mkdirSync(dirname(SECONDS), { recursive: true })
  writeFileSync(SECONDS, JSON.stringify({ ...secondsKnown(), ...Object.fromEntries(seconds) }))
}

/**
 * The folder for stores and databases of tests: in memory if there is enough, since tests kill processes, never the
 * machine.
 */
function fastest(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (Math.min(bavail * bsize, freemem()) > MEMORY_BYTES_MIN) return '/dev/shm'
  } catch {
    // Not every system has it.
  }
  return tmpdir()
}

/** All events but the runner's own count; `close` has a more exact one. */
async function* toldOf(all: TestsStream): AsyncGenerator<unknown> {
  for await (const event of all)
    if (event.type !== 'test:diagnostic' || event.data.file !== undefined || event.data.nesting > 0) yield event
}

function costsWritten(): readonly FileCost[] {
  return readdirSync(costs).map((name): FileCost => JSON.parse(readFileSync(join(costs, name), 'utf8')))
}

/** The cost of the files, any fault of it, and the count, which is the last line. */
function close(): void {
  const measured = costsWritten()
  keepSeconds(measured)
  const total = measured.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const slowest = measured
    .toSorted((left, right) => right.cpuSeconds - left.cpuSeconds)
    .filter(({ cpuSeconds }, index) => (isEveryCost ? cpuSeconds >= COST_SECONDS_MIN : index < SLOWEST))
  say(
    `\n${total.toFixed(0)} CPU-seconds in ${measured.length} files and ${groups.length + alone.length} processes, most of them in`,
  )
  for (const { file, cpuSeconds, wallSeconds } of slowest)
    say(`${cpuSeconds.toFixed(1).padStart(7)} of ${wallSeconds.toFixed(1).padStart(5)} s  ${nameOf(file)}`)
  const wrong = isCi ? [...skipped.map((name) => `A test was skipped: ${name}`), ...overBudget(measured)] : []
  for (const sentence of wrong) say(sentence)
  // If only the end of a log is kept, it still names the failures.
  if (failures.length > 0) say(`\nFailed:\n\n${failures.join('\n\n')}`)
  // A suite that fails by itself is not counted as a test, but it is a failure.
  const failed = Math.max(count.failed, count.isSound ? 0 : 1) + wrong.length
  say(`\n${count.passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
  process.exitCode = failed > 0 || count.passed === 0 ? 1 : 0
}

function overBudget(files: readonly FileCost[]): readonly string[] {
  const everyChange = files.filter(({ file }) => !file.endsWith(LONG))
  const total = everyChange.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const share = slowness() * (isAll ? CROWDED : 1)
  const dear = everyChange.filter(({ cpuSeconds }) => cpuSeconds > FILE_CPU_SECONDS_MAX * share)
  return [
    ...dear.map(
      ({ file, cpuSeconds }) =>
        `${nameOf(file)} took ${cpuSeconds.toFixed(1)} CPU-seconds of at most ${(FILE_CPU_SECONDS_MAX * share).toFixed(0)}: share a server, or give its long form a file named ${LONG}`,
    ),
    ...(total > CPU_SECONDS_MAX * share
      ? [
          `The files of npm test took ${total.toFixed(0)} CPU-seconds together, of at most ${(CPU_SECONDS_MAX * share).toFixed(0)}`,
        ]
      : []),
  ]
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
