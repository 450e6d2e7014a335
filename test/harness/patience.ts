import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from './api-client.ts'

const LOOK_MS = 10
/** Looks become rarer: what is asked of a server with a customer's key counts for its rate limit of 300 a minute. */
const LOOK_MS_MAX = 400
const LOOK_GROWTH = 1.15
const SHED_MS = 100
/** What one request or one answer may take of the main thread at a stretch: everybody else waits for as long. */
export const STALL_MS_MAX = 100

/**
 * A bound of `ms` for a machine of its own, as long as it is on this one just now: others may wait for its cores as
 * well.
 */
export function patient(ms: number): number {
  return ms * (1 + Math.max(loadavg()[0] ?? 0, runnable()) / availableParallelism())
}

/** Threads that run or wait for a core; the average of a minute knows little of what has just begun. */
function runnable(): number {
  try {
    return Number(/ (\d+)\//.exec(readFileSync('/proc/loadavg', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/**
 * Looks until it is so, at most `limitMs` of a machine of its own; answers how long it took. `lookMsMax`: the longest
 * pause, where each look moves a clock.
 */
export async function until(
  limitMs: number,
  what: string,
  isSo: () => boolean | Promise<boolean>,
  lookMsMax = LOOK_MS_MAX,
): Promise<number> {
  const startedMs = performance.now()
  for (let lookMs = LOOK_MS; ; lookMs = Math.min(lookMsMax, lookMs * LOOK_GROWTH)) {
    const tookMs = performance.now() - startedMs
    if (await isSo()) return tookMs
    assert.ok(tookMs <= patient(limitMs), `${what}: not after ${Math.round(tookMs)} ms`)
    await delay(lookMs)
  }
}

/** A node that others leave too little of the machine refuses some requests by itself: they are asked again, as it says. */
export async function admitted(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503 || answer.body.error?.metadata.error_type !== 'service_unavailable') return answer
    await delay(SHED_MS)
  }
}

/** CPU time of this thread, ms: what others do on the machine is not in it. */
export function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
