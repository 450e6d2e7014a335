import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before a test file by the runner: leaves in this folder what the file has cost, with every process that it
 * started and has seen end.
 */
const FOLDER = 'TOLLGATE_TEST_CPU'
/** Of Linux, on every architecture that it counts for user programs. */
const TICKS_A_SECOND = 100

export interface FileCost {
  readonly file: string
  readonly cpuSeconds: number
  readonly wallSeconds: number
}

const folder = process.env[FOLDER]
if (isMainThread && folder !== undefined && process.env['NODE_TEST_CONTEXT'] !== undefined) {
  // Not for what the file starts: it counts here.
  delete process.env[FOLDER]
  process.on('exit', () => {
    const cost: FileCost = {
      file: process.argv[1] ?? '',
      cpuSeconds: cpuSeconds(),
      wallSeconds: performance.now() / 1_000,
    }
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(cost))
  })
}

/** `getrusage` knows the children too, but Node asks it only for the process itself. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // utime, stime, cutime and cstime, counted behind the name of the program, which may hold anything.
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
