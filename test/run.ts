import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
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
 * `node test/run.ts [--all] [--costs] [part of a path]...`: the tests of every change; with `--all` those of `LONG`
 * too, and all in their long form; with `--costs` the cost of every file that takes seconds. A named file runs wherever
 * it stands. Under CI a test that is skipped fails, and so does a file of every change that costs more than its share.
 */
const root = join(import.meta.dirname, '..')
/** Each takes seconds of a core even in its short form, and tests of every change cover the same code. */
const LONG = ['test/long/', 'test/clock/']
/** These compare seconds of the clock: they run after all others, one at a time. */
const CLOCK = 'test/clock/'
/** These need a server that no package brings, or half a gigabyte of packages: they run where they are named. */
const ASKED = 'test/asked/'
/** The longest begin first, so that no core is idle at the end; then all others by their names. */
const FIRST = [
  'long/crash',
  'crash',
  'long/nodes',
  'nodes',
  'long/console',
  'console',
  'long',
  'faults',
  'sim',
  'store',
]
/** Files at a time for each core: some of them wait for a clock, a crash or a browser. A long form alone loads a core. */
const FILES_PER_CORE = { short: 3, all: 2 } as const
/** The whole of `npm test` takes less than five minutes of two cores; each file has a share of that. */
const CPU_SECONDS_MAX = 900
const FILE_CPU_SECONDS_MAX = 45
const SLOWEST = 10
/** Files that cost less are not listed, s of CPU. */
const COST_SECONDS_MIN = 3
/** The most of a failure that is repeated at the end, characters. */
const FAILURE_LENGTH = 2_000
const MEMORY_BYTES_MIN = 6 * 1_073_741_824
/** A run that takes longer has hung: it names the files that still run, and fails. */
const RUN_MINUTES_MAX = { short: 30, all: 60 } as const

const isCi = process.env['CI'] === 'true'
const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined
const words = process.argv.slice(2)
const form = words.includes('--all') ? 'all' : 'short'
const parts = words.filter((word) => !word.startsWith('--'))

const chosen = choose()
if (chosen.length === 0) {
  process.stderr.write(`No test file has ${parts.join(' or ')} in its path.\n`)
  process.exit(1)
}
prepare()
const temporary = mkdtempSync(join(fastest(), 'tollgate-tests-'))
// Other users than the owner pass through it: PostgreSQL runs as another user.
chmodSync(temporary, 0o711)
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
process.env['TMPDIR'] = temporary
const costs = mkdtempSync(join(temporary, 'cpu-'))
process.env['TOLLGATE_TEST_CPU'] = costs
if (form === 'all') process.env['TEST_FORM'] = 'long'

const count = { passed: 0, failed: 0, isSound: true }
const skipped: string[] = []
const failures: string[] = []
const isByTheClock = (path: string): boolean => path.startsWith(CLOCK)
const together = grouped(
  chosen.filter((path) => !isByTheClock(path)),
  root,
  temporary,
)
const oneByOne = chosen.filter(isByTheClock).map((path) => join(root, path))
// oxlint-disable-next-line eslint/no-restricted-globals -- ends a run that hangs
if (!isChaos) setTimeout(giveUp, RUN_MINUTES_MAX[form] * 60_000).unref()
await runFiles(together, Math.min(12, FILES_PER_CORE[form] * availableParallelism()))
await runFiles(oneByOne, 1)
close()

function choose(): readonly string[] {
  const rank = (path: string): number => {
    const found = FIRST.findIndex((folder) => path.startsWith(`test/${folder}/`))
    return found === -1 ? FIRST.length : found
  }
  return globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
    .filter((path) =>
      parts.length > 0
        ? parts.some((part) => path.includes(part))
        : !path.startsWith(ASKED) && (form === 'all' || !LONG.some((folder) => path.startsWith(folder))),
    )
    .toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1))
}

/** Once for all test files, which would otherwise all do it at the same time. */
function prepare(): void {
  const freshen = "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"
  spawnSync(process.execPath, ['-e', freshen], { cwd: root, stdio: 'inherit' })
  if (process.env['NODE_V8_COVERAGE'] !== undefined) return
  // A server starts from the bundle in half the time, and code compiled by one process is used by the next.
  if (!isBuilt()) spawnSync(process.execPath, [join(root, 'scripts/build-server.ts')], { cwd: root, stdio: 'inherit' })
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compiled')
}

async function runFiles(files: readonly string[], concurrency: number): Promise<void> {
  if (files.length === 0) return
  const execArgv = ['--import', join(import.meta.dirname, 'harness/cpu-meter.ts')]
  const events = run({ cwd: root, files, concurrency, timeout: isChaos ? 7_200_000 : 600_000, execArgv })
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

/** All events but the runner's own count; `close` has a more exact one. */
async function* toldOf(all: TestsStream): AsyncGenerator<unknown> {
  for await (const event of all)
    if (event.type !== 'test:diagnostic' || event.data.file !== undefined || event.data.nesting > 0) yield event
}

/** Names the files that run when none should any more. */
function giveUp(): void {
  const ended = new Set(costsWritten().map(({ entry }) => entry))
  const unfinished = [...together, ...oneByOne].filter((file) => !ended.has(file)).map(nameOf)
  say(`\nNot finished after ${RUN_MINUTES_MAX[form]} minutes: ${unfinished.join(', ')}`)
  say(`\n${ended.size} files ended, ${Math.max(1, unfinished.length)} failed`)
  process.exit(1)
}

/** A group by its own name, which is the same in each run. */
function nameOf(file: string): string {
  return relative(dirname(file) === temporary ? temporary : root, file)
}

/** The folder for stores of tests: in memory if there is enough, since tests kill processes, never the machine. */
function fastest(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (Math.min(bavail * bsize, freemem()) > MEMORY_BYTES_MIN) return '/dev/shm'
  } catch {
    // Not every system has it.
  }
  return tmpdir()
}

function costsWritten(): readonly FileCost[] {
  return readdirSync(costs).map((name): FileCost => JSON.parse(readFileSync(join(costs, name), 'utf8')))
}

/** The cost of the files, any fault of it, and the count, which is the last line. */
function close(): void {
  const measured = costsWritten().toSorted((left, right) => right.cpuSeconds - left.cpuSeconds)
  const total = measured.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  say(`\n${total.toFixed(0)} CPU-seconds in ${measured.length} files, most of them in`)
  for (const [index, { file, cpuSeconds, wallSeconds }] of measured.entries())
    if (words.includes('--costs') ? cpuSeconds >= COST_SECONDS_MIN : index < SLOWEST)
      say(`${cpuSeconds.toFixed(1).padStart(7)} of ${wallSeconds.toFixed(1).padStart(5)} s  ${nameOf(file)}`)
  const wrong = isCi ? [...skipped.map((name) => `A test was skipped: ${name}`), ...overBudget(measured, total)] : []
  for (const sentence of wrong) say(sentence)
  // If only the end of a log is kept, it still names the failures.
  if (failures.length > 0) say(`\nFailed:\n\n${failures.join('\n\n')}`)
  // A suite that fails by itself is not counted as a test, but it is a failure.
  const failed = Math.max(count.failed, count.isSound ? 0 : 1) + wrong.length
  say(`\n${count.passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
  process.exitCode = failed > 0 || count.passed === 0 ? 1 : 0
}

/** The short forms have bounds: every change waits for them. */
function overBudget(files: readonly FileCost[], total: number): readonly string[] {
  if (form === 'all') return []
  const [fileMax, allMax] = [FILE_CPU_SECONDS_MAX * slowness(), CPU_SECONDS_MAX * slowness()]
  const dear = files.filter(
    ({ file, cpuSeconds }) => cpuSeconds > fileMax && !LONG.some((of) => nameOf(file).startsWith(of)),
  )
  const ways = 'share a server, or give it a larger long form (test/harness/form.ts)'
  return [
    ...dear.map(
      ({ file, cpuSeconds }) =>
        `${nameOf(file)} took ${cpuSeconds.toFixed(1)} CPU-seconds of at most ${fileMax.toFixed(0)}: ${ways}`,
    ),
    ...(total > allMax ? [`All files took ${total.toFixed(0)} CPU-seconds, of at most ${allMax.toFixed(0)}`] : []),
  ]
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
