import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded by the runner before a test file: writes the file's cost into this folder, with every process that it started
 * and waited for.
 */
const FOLDER = 'TOLLGATE_TEST_CPU'
/** Of Linux, on every architecture that it counts for user programs. */
const TICKS_A_SECOND = 100

export interface FileCost {
  readonly file: string
  readonly cpuSeconds: number
  readonly wallSeconds: number
}

/** A process that lives longer has hung, or cannot end: it prints what keeps it alive, and fails. */
const MINUTES_MAX = 12

const folder = process.env[FOLDER]
/** The cost of the process when the current file began; the start of the process belongs to the first file. */
const current = { file: process.argv[1] ?? '', cpuSeconds: 0, wallSeconds: 0, number: 0 }

if (isMainThread && folder !== undefined && process.env['NODE_TEST_CONTEXT'] !== undefined) {
  // Not for child processes: their cost is counted here.
  delete process.env[FOLDER]
  process.on('exit', writeCost)
  // oxlint-disable-next-line eslint/no-restricted-globals -- ends a test process that hangs
  if (process.env['TOLLGATE_CHAOS'] === undefined) setTimeout(giveUp, MINUTES_MAX * 60_000).unref()
}

function giveUp(): void {
  const kept = process.getActiveResourcesInfo().join(', ')
  process.stderr.write(`${current.file} did not end in ${MINUTES_MAX} minutes. What keeps its process: ${kept}\n`)
  process.exit(1)
}

/** Where one process runs several test files: its cost from now on is this file's. */
export function meter(file: string): void {
  if (current.number > 0) {
    writeCost()
    Object.assign(current, { cpuSeconds: cpuSeconds(), wallSeconds: performance.now() / 1_000 })
  }
  Object.assign(current, { file, number: current.number + 1 })
}

function writeCost(): void {
  if (folder === undefined) return
  const cost: FileCost = {
    file: current.file,
    cpuSeconds: cpuSeconds() - current.cpuSeconds,
    wallSeconds: performance.now() / 1_000 - current.wallSeconds,
  }
  writeFileSync(join(folder, `${process.pid}-${current.number}.json`), JSON.stringify(cost))
}

/** `getrusage` includes the children too, but Node asks it only for the process itself. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // utime, stime, cutime and cstime, counted after the program's name, which may contain anything.
    const ticks = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number)
    return ticks.reduce((sum, each) => sum + each, 0) / TICKS_A_SECOND
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}
