import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/**
 * If the system can pin processes and has two cores, the measured program runs on the first, and the load and the fake
 * provider on the second.
 */
const POSSIBLE = availableParallelism() >= 2 && spawnSync('taskset', ['-V'], { stdio: 'ignore' }).status === 0

export type Core = 'measured' | 'other' | 'any'

/** The command that runs `command` on a core, in the same process. */
export function onCore(core: Core, command: string, values: readonly string[]): [string, string[]] {
  if (!POSSIBLE || core === 'any') return [command, [...values]]
  return ['taskset', ['-c', core === 'measured' ? '0' : '1', command, ...values]]
}

/** Moves a running process to a core, and the processes that it starts from now on. */
export function moveToCore(core: Core, pid: number): void {
  if (POSSIBLE && core !== 'any') spawnSync('taskset', ['-cp', core === 'measured' ? '0' : '1', String(pid)])
}

export function pinningText(): string {
  return POSSIBLE ? 'servers on one core, load and provider on another' : 'not pinned'
}
