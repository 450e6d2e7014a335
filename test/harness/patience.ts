import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from './api-client.ts'

const LOOK_MS = 10
/** Looks become rarer: a look with a customer's key counts for its rate limit of 300 a minute. */
const LOOK_MS_MAX = 400
const LOOK_GROWTH = 1.15
const SHED_MS = 100
const STILL_MS = 100
const RUNS = 3
/**
 * What one request or one answer may take of the main thread at a stretch, ms of CPU: everybody else waits for as long.
 * On a core that is `slowness()` times as slow it is as many times as long.
 */
export const STALL_MS_MAX = 100
const STALL_TRIES = 6
/** Of the work that `slowness` does, on the core of the bounds. */
const WORK_MS = 28
const WORK_RUNS = 8
/** A check that a slow machine makes void would be none. */
const SLOWNESS_MAX = 2

/**
 * A bound of `ms` on an idle machine, lengthened by the load of this one: other processes share its cores.
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
 * Looks until it is so, at most for `limitMs` on an idle machine; returns how long it took. `lookMsMax`: the longest
 * pause between two looks.
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

/**
 * How many times slower than the core of the bounds this one is just now: another machine, or one whose cores are
 * shared with others, takes more CPU time for the same work. 1 to 2.
 */
export function slowness(): number {
  const text = JSON.stringify(
    Array.from({ length: 20_000 }, (_entry, index) => ({ id: `e${index}`, text: 'слово "дом"\n', price: index / 7 })),
  )
  const work = (): number => JSON.stringify(JSON.parse(text)).length + JSON.stringify(JSON.parse(text)).length
  const least = Math.min(...Array.from({ length: WORK_RUNS }, () => cpuMs(work)))
  return Math.min(SLOWNESS_MAX, Math.max(1, least / WORK_MS))
}

/**
 * Whether a measurement is no more than one may take at a stretch; asserts it of the last try. One that is more is made
 * again, since a collection of garbage or the other thread of a busy core may have been in it.
 */
export function isNoStall(what: string, tookMs: number, tried: number): boolean {
  if (tookMs <= STALL_MS_MAX) return true
  const slow = slowness()
  if (tookMs <= STALL_MS_MAX * slow) return true
  assert.ok(tried < STALL_TRIES, `${what}: ${tookMs.toFixed(0)} ms on a core ${slow.toFixed(2)} times as slow`)
  return false
}

/** Asserts that a piece of work takes no more CPU than one may at a stretch, and answers what it gave. */
export function noStall<T>(what: string, work: () => T): T {
  for (let tried = 1; ; tried += 1) {
    const results: T[] = []
    const tookMs = cpuMs(() => void results.push(work()))
    // What `work` gave is the one entry.
    if (isNoStall(what, tookMs, tried)) return results[0] as T
  }
}

/** Looks until there is a value, and answers it. */
export async function found<T>(
  limitMs: number,
  what: string,
  look: () => T | null | undefined | Promise<T | null | undefined>,
): Promise<T> {
  let value: T | null | undefined = null
  await until(limitMs, what, async () => {
    value = await look()
    return value !== null && value !== undefined
  })
  return value ?? assert.fail(what)
}

/** Looks until a count has stayed the same for so many looks. */
export async function untilStill(count: () => number, looks = 3): Promise<void> {
  let last = count()
  for (let same = 0; same < looks;) {
    await delay(STILL_MS)
    const now = count()
    same = now === last ? same + 1 : 0
    last = now
  }
}

/** Does `look` again and again while `work` runs, with pauses of `pauseMs`. */
export async function meanwhile<T>(work: Promise<T>, look: () => unknown, pauseMs: number): Promise<T> {
  let over = false
  const looks = async (): Promise<void> => {
    while (!over) {
      await look()
      await delay(pauseMs)
    }
  }
  const [result] = await Promise.all([work.finally(() => (over = true)), looks()])
  return result
}

/** Asks again, after a pause, as long as the answer is a refusal that asks for it. */
export async function askedAgain<T>(
  ask: () => Promise<T>,
  isRefusal: (answer: T) => boolean,
  pauseMs = SHED_MS,
): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (!isRefusal(answer)) return answer
    await delay(pauseMs)
  }
}

/** A busy machine makes a node refuse some requests: they are sent again, as its answer says. */
export function admitted(ask: () => Promise<Answer>): Promise<Answer> {
  return askedAgain(
    ask,
    ({ status, body }) => status === 503 && body.error?.metadata.error_type === 'service_unavailable',
  )
}

/**
 * CPU time of this thread, ms: what others do on the machine is not in it. What is compiled or collected just then is:
 * beyond `boundMs` the least of three runs counts.
 */
export function cpuMs(work: () => unknown, boundMs = Number.POSITIVE_INFINITY): number {
  let least = Number.POSITIVE_INFINITY
  for (let runs = 0; runs < RUNS && (runs === 0 || least > boundMs); runs += 1) {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
