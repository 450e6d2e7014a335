import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { run, type TestsStream } from 'node:test'
import { spec } from 'node:test/reporters'
import type { FileCost } from './harness/cpu-meter.ts'

/**
 * `node test/run.ts [--all] [part of a path]...`: what is seen with every change; with `--all` the long forms too,
 * which are files named `.long.test.ts`. Under CI a test that is skipped fails, and so does a file that costs more than
 * its share.
 */
const root = join(import.meta.dirname, '..')
const LONG = '.long.test.ts'
/** Files that mostly wait begin first: nothing is left to wait for at the end. */
const WAITING = ['test/crash/', 'test/nodes/', 'test/console/', 'test/faults/', 'test/sim/', 'test/videos/']
/**
 * The whole of `npm test` takes less than five minutes of two cores, of which a file has its share. On a busy machine
 * the same work counts half as much again.
 */
const CPU_SECONDS_MAX = 900
const FILE_CPU_SECONDS_MAX = 45
const SLOWEST = 10
const MEMORY_BYTES_MIN = 6 * 1_073_741_824

const isCi = process.env['CI'] === 'true'
// An hour of crashes and faults has the sizes of its own in the files of the short form.
const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined
const words = process.argv.slice(2)
const isAll = words.includes('--all')
const parts = words.filter((word) => word !== '--all')

const chosen = choose()
// Once for all test files, which would otherwise build it at the same time.
spawnSync(process.execPath, ['-e', "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"], {
  cwd: root,
  stdio: 'inherit',
})
// As bin/tollgate.js does: what one process compiled is there for the next.
if (process.env['NODE_V8_COVERAGE'] === undefined)
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compiled')
const temporary = mkdtempSync(join(fastest(), 'tollgate-tests-'))
// Others than the owner go through it: PostgreSQL runs as a user of its own.
chmodSync(temporary, 0o711)
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
process.env['TMPDIR'] = temporary
const costs = mkdtempSync(join(temporary, 'cpu-'))
process.env['TOLLGATE_TEST_CPU'] = costs
const count = { passed: 0, failed: 0, isSound: false }
const skipped: string[] = []

const events = run({
  cwd: root,
  files: chosen.map((file) => join(root, file)),
  concurrency: Math.max(2, Math.min(8, 2 * availableParallelism())),
  timeout: isChaos ? 7_200_000 : 300_000,
  execArgv: ['--import', join(import.meta.dirname, 'harness/cpu-meter.ts')],
})
events.on('test:pass', ({ name, file, skip, todo }) => {
  if (skip !== undefined || todo !== undefined) skipped.push(`${relative(root, file ?? '')}: ${name}`)
})
// Of each file, and last of all together.
events.on('test:summary', ({ file, counts: { tests, passed, skipped: skips, todo }, success }) => {
  if (file === undefined) Object.assign(count, { passed, failed: tests - passed - skips - todo, isSound: success })
})
for await (const text of Readable.from(toldOf(events)).compose(spec())) process.stdout.write(text)
close()

function choose(): readonly string[] {
  const matches = [
    ...globSync('src/**/*.test.ts', { cwd: root }),
    ...globSync('test/**/*.test.ts', { cwd: root }),
  ].filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  const found = matches.filter((file) => isAll || !file.endsWith(LONG))
  if (found.length === 0) {
    process.stderr.write(
      matches.length === 0
        ? `No test file has ${parts.join(' or ')} in its path.\n`
        : `Only long forms match, run them with: npm run test:all -- ${parts.join(' ')}\n`,
    )
    process.exit(1)
  }
  const rank = (file: string): number =>
    (WAITING.findIndex((folder) => file.startsWith(folder)) + WAITING.length + 1) % (WAITING.length + 1)
  return found.toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1))
}

/**
 * Where stores and databases of tests lie: in memory where there is enough of it, since what tests kill are processes,
 * never the machine.
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

/** All but the runner's own count, in the place of which `close` has one that knows more. */
async function* toldOf(all: TestsStream): AsyncGenerator<unknown> {
  for await (const event of all)
    if (event.type !== 'test:diagnostic' || event.data.file !== undefined || event.data.nesting > 0) yield event
}

/** What the files cost, what is wrong with that, and the count, which is the last line. */
function close(): void {
  const files = readdirSync(costs).map((name): FileCost => JSON.parse(readFileSync(join(costs, name), 'utf8')))
  const total = files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const slowest = files.toSorted((left, right) => right.cpuSeconds - left.cpuSeconds).slice(0, SLOWEST)
  say(`\n${total.toFixed(0)} CPU-seconds in ${files.length} files, most of them in`)
  for (const { file, cpuSeconds, wallSeconds } of slowest)
    say(`${cpuSeconds.toFixed(1).padStart(7)} of ${wallSeconds.toFixed(1).padStart(5)} s  ${relative(root, file)}`)
  const wrong = isCi ? [...skipped.map((name) => `A test was skipped: ${name}`), ...overBudget(files)] : []
  for (const sentence of wrong) say(sentence)
  // A suite that fails by itself is no test, and still no success.
  const failed = Math.max(count.failed, count.isSound ? 0 : 1) + wrong.length
  say(`\n${count.passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
  process.exitCode = failed > 0 || count.passed === 0 ? 1 : 0
}

function overBudget(files: readonly FileCost[]): readonly string[] {
  const everyChange = files.filter(({ file }) => !file.endsWith(LONG))
  const total = everyChange.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const dear = everyChange.filter(({ cpuSeconds }) => cpuSeconds > FILE_CPU_SECONDS_MAX)
  return [
    ...dear.map(
      ({ file, cpuSeconds }) =>
        `${relative(root, file)} took ${cpuSeconds.toFixed(1)} CPU-seconds of at most ${FILE_CPU_SECONDS_MAX}: share a server, or give its long form a file named ${LONG}`,
    ),
    ...(total > CPU_SECONDS_MAX
      ? [`The files of npm test took ${total.toFixed(0)} CPU-seconds together, of at most ${CPU_SECONDS_MAX}`]
      : []),
  ]
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
