import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { freshenConsole } from '../bin/console-fresh.js'
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
/** These compare seconds of the clock: they run after all others, one at a time. */
const CLOCK = 'test/clock/'
/** Each takes seconds of a core even in its short form, and tests of every change cover the same code. */
const LONG = ['test/long/', CLOCK]
/** These need a server that no package brings, or half a gigabyte of packages: they run where they are named. */
const ASKED = 'test/asked/'
/** The longest, which are the last here, begin first, so that no core is idle at the end; then all others by name. */
const LONGEST = ['store', 'sim', 'faults', 'long', 'console', 'nodes', 'crash']
/** Files at a time for each core: some of them wait for a clock, a crash or a browser. A long form alone loads a core. */
const FILES_PER_CORE = { short: 3, all: 2 } as const
/** The whole of `npm test` takes less than five minutes of two cores; each file has a share of that. */
const CPU_SECONDS_MAX = 900
const FILE_CPU_SECONDS_MAX = 45
const SLOWEST = 10
/** Files that cost less are not listed, s of CPU. */
const COST_SECONDS_MIN = 3
const MEMORY_BYTES_MIN = 6 * 1_073_741_824
/** A run that takes longer has hung: it names the files that still run, and fails. */
const RUN_MINUTES_MAX = { short: 30, all: 60 } as const

const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined
const words = process.argv.slice(2)
const form = words.includes('--all') ? 'all' : 'short'
const parts = words.filter((word) => !word.startsWith('--'))
const chosen = choose()
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

let passed = 0
const failed: string[] = []
const skipped: string[] = []
const unfinished = new Set<string>()
// oxlint-disable-next-line eslint/no-restricted-globals -- ends a run that hangs
if (!isChaos) setTimeout(() => process.exit(close()), RUN_MINUTES_MAX[form] * 60_000).unref()
for await (const text of Readable.from(events()).compose(spec())) process.stdout.write(text)
process.exitCode = close()

function choose(): readonly string[] {
  const rank = (path: string): number =>
    LONGEST.findLastIndex((folder) => path.startsWith('test/') && path.includes(`/${folder}/`))
  return globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
    .filter((path) =>
      parts.length > 0
        ? parts.some((part) => path.includes(part))
        : !path.startsWith(ASKED) && (form === 'all' || !LONG.some((folder) => path.startsWith(folder))),
    )
    .toSorted((left, right) => rank(right) - rank(left) || (left < right ? -1 : 1))
}

/** Once for all test files, which would otherwise all do it at the same time. */
function prepare(): void {
  freshenConsole()
  if (process.env['NODE_V8_COVERAGE'] !== undefined) return
  // A server starts from the bundle in half the time, and code compiled by one process is used by the next.
  if (!isBuilt()) spawnSync(process.execPath, [join(root, 'scripts/build-server.ts')], { cwd: root, stdio: 'inherit' })
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compiled')
}

/** The folder for stores of tests: in memory if there is enough, since tests kill processes, never the machine. */
function fastest(): string {
  const { bavail, bsize } = existsSync('/dev/shm') ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 }
  return Math.min(bavail * bsize, freemem()) > MEMORY_BYTES_MIN ? '/dev/shm' : tmpdir()
}

/** All events but the runner's own count; `close` has a more exact one. */
async function* events(): AsyncGenerator<unknown> {
  const { last = [], first = [] } = Object.groupBy(chosen, (path) => (path.startsWith(CLOCK) ? 'last' : 'first'))
  yield* eventsOf(grouped(first, root, temporary), Math.min(12, FILES_PER_CORE[form] * availableParallelism()))
  yield* eventsOf(grouped(last, root, temporary), 1)
}

async function* eventsOf(files: readonly string[], concurrency: number): AsyncGenerator<unknown> {
  if (files.length === 0) return
  for (const file of files) unfinished.add(file)
  const execArgv = ['--import', join(import.meta.dirname, 'harness/cpu-meter.ts')]
  for await (const event of run({ cwd: root, files, concurrency, timeout: isChaos ? 7_200_000 : 600_000, execArgv })) {
    if (event.type === 'test:summary') unfinished.delete(event.data.file ?? '')
    // A process that breaks off is a failure of its file's name; a suite fails with its tests, which are counted.
    if (event.type === 'test:fail') unfinished.delete(event.data.name)
    const name = 'name' in event.data ? `${relative(root, event.data.file ?? '')}: ${event.data.name}` : ''
    if (event.type === 'test:fail' && Object(event.data.details.error).failureType !== 'subtestsFailed')
      failed.push(`Failed: ${name}: ${String(event.data.details.error.cause).slice(0, 300)}`)
    if (event.type === 'test:pass' && event.data.details.type !== 'suite')
      if ((event.data.skip ?? event.data.todo) === undefined) passed += 1
      else skipped.push(`A test was skipped: ${name}`)
    if (event.type !== 'test:diagnostic' || event.data.file !== undefined || event.data.nesting > 0) yield event
  }
}

/** Says the cost of the files, then, if only the end of a log is kept, each failure, and the count as the last line. */
function close(): number {
  const measured = readdirSync(costs)
    .map((name): FileCost => JSON.parse(readFileSync(join(costs, name), 'utf8')))
    .toSorted((left, right) => right.cpuSeconds - left.cpuSeconds)
  const total = measured.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  say(`\n${total.toFixed(0)} CPU-seconds in ${measured.length} files, most of them in`)
  for (const [index, { file, cpuSeconds, wallSeconds }] of measured.entries())
    if (words.includes('--costs') ? cpuSeconds >= COST_SECONDS_MIN : index < SLOWEST)
      say(`${cpuSeconds.toFixed(1).padStart(7)} of ${wallSeconds.toFixed(1).padStart(5)} s  ${relative(root, file)}`)
  const wrong = [...failed, ...[...unfinished].map((file) => `Not finished: ${relative(root, file)}`)]
  if (process.env['CI'] === 'true') wrong.push(...skipped, ...overBudget(measured, total))
  if (chosen.length === 0) wrong.push(`No test file has ${parts.join(' or ')} in its path.`)
  for (const sentence of wrong) say(sentence)
  say(`\n${passed} passed, ${wrong.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
  return wrong.length > 0 || passed === 0 ? 1 : 0
}

/** The short forms have bounds: every change waits for them. */
function overBudget(files: readonly FileCost[], total: number): readonly string[] {
  if (form === 'all') return []
  const slow = slowness()
  return [...files, { file: join(root, 'all files'), cpuSeconds: total }].flatMap(({ file, cpuSeconds }, index) => {
    const name = relative(root, file)
    const most = (index === files.length ? CPU_SECONDS_MAX : FILE_CPU_SECONDS_MAX) * slow
    if (cpuSeconds <= most || LONG.some((of) => name.startsWith(of))) return []
    return `${name} took ${cpuSeconds.toFixed(1)} CPU-seconds of at most ${most.toFixed(0)}: share a server, or give it a larger long form (test/harness/form.ts)`
  })
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
