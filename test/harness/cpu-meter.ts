import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/**
 * The runner loads this module before a test file. It writes the file's CPU time into this folder, including every
 * process that the file started and waited for.
 */
const FOLDER = 'TOLLGATE_TEST_CPU'
/** Linux uses this value for user programs on every architecture. */
const TICKS_A_SECOND = 100

export interface FileCost {
  readonly file: string
  readonly cpuSeconds: number
  readonly wallSeconds: number
}

/** A process that runs longer hangs or cannot end: it prints what keeps it alive, and fails. */
const MINUTES_MAX = 12

const folder = process.env[FOLDER]
/** The CPU time of the process when the current file began; the start of the process counts for the first file. */
const current = { file: process.argv[1] ?? '', cpuSeconds: 0, wallSeconds: 0, number: 0 }

if (isMainThread && folder !== undefined && process.env['NODE_TEST_CONTEXT'] !== undefined) {
  // Child processes must not write it, since their time is counted here.
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

/** For a process that runs several test files: from now on its CPU time counts for this file. */
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

/** `getrusage` can include child processes, but Node asks only about the process itself. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // utime, stime, cutime and cstime; fields are counted after the program's name, which may contain anything.
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
