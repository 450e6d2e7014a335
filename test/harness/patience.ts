import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
// oxlint-disable-next-line eslint/no-restricted-imports -- the pauses between two checks, and those of `paced`
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_MS = 10
/**
 * The longest pause between two checks. Pauses grow, since a check with a customer's key counts towards its rate limit
 * of 300 per minute.
 */
const LOOK_MS_MAX = 400
const LOOK_GROWTH = 1.15
const SHED_MS = 100
const STILL_MS = 100
const RUNS = 3
/**
 * The longest CPU time, in ms, for which one request or answer may occupy the main thread without a pause, since all
 * others wait meanwhile. On a slower core it is `slowness()` times as long.
 */
export const STALL_MS_MAX = 100
const STALL_TRIES = 6
/** CPU time of the work in `slowness`, on the core that the bounds were chosen for. */
const WORK_MS = 28
const WORK_RUNS = 8
/** The largest factor; beyond it a check would prove nothing. */
const SLOWNESS_MAX = 2

/** A time limit of `ms` on an idle machine, extended by the load of this machine, whose cores other processes share. */
export function patient(ms: number): number {
  return ms * (1 + Math.max(loadavg()[0] ?? 0, runnable()) / availableParallelism())
}

/** The number of threads that run or wait for a core; the one-minute load average reacts too late. */
function runnable(): number {
  try {
    return Number(/ (\d+)\//.exec(readFileSync('/proc/loadavg', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/**
 * Checks until the condition holds, for at most `limitMs` as on an idle machine; returns the time it took. `lookMsMax`:
 * the longest pause between two checks.
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
 * How many times slower this core is now than the one that the bounds were chosen for, 1 to 2: another machine, or a
 * shared core, needs more CPU time for the same work.
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
 * Whether a measured time is within the limit; asserts it in the last try. A longer one is measured again, since it may
 * include a garbage collection or work of the core's other thread.
 */
export function isNoStall(what: string, tookMs: number, tried: number): boolean {
  if (tookMs <= STALL_MS_MAX) return true
  const slow = slowness()
  if (tookMs <= STALL_MS_MAX * slow) return true
  assert.ok(tried < STALL_TRIES, `${what}: ${tookMs.toFixed(0)} ms on a core ${slow.toFixed(2)} times as slow`)
  return false
}

/** Asserts that a piece of work takes no more CPU time without a pause than allowed, and returns its result. */
export function noStall<T>(what: string, work: () => T): T {
  for (let tried = 1; ; tried += 1) {
    const results: T[] = []
    const tookMs = cpuMs(() => void results.push(work()))
    // The only entry is the result of `work`.
    if (isNoStall(what, tookMs, tried)) return results[0] as T
  }
}

/** Checks until there is a value, and returns it. */
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

/** Checks until a count has stayed the same in `looks` checks. */
export async function untilStill(count: () => number, looks = 3): Promise<void> {
  let last = count()
  for (let same = 0; same < looks;) {
    await delay(STILL_MS)
    const now = count()
    same = now === last ? same + 1 : 0
    last = now
  }
}

/** Repeats `look` with pauses of `pauseMs` while `work` runs. */
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

/** Repeats a request, after a pause, while the answer is a refusal that may be retried. */
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

/** On a busy machine a node refuses some requests; they are sent again, as the refusal asks. */
export function admitted<A extends { readonly status: number; readonly text: string }>(
  ask: () => Promise<A>,
): Promise<A> {
  return askedAgain(ask, ({ status, text }) => status === 503 && text.includes('"service_unavailable"'))
}

/**
 * CPU time of this thread, ms, so the load of other processes does not count. Compilation and garbage collection do
 * count: if it exceeds `boundMs`, the least of three runs is returned.
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

/**
 * A pause that is part of a scenario: a client that sends at a fixed rate, a provider that answers late, a kill at a
 * chosen moment. `what` describes it. To wait for something to happen, a test uses `until`, never a pause.
 */
export async function paced(ms: number, what: string): Promise<void> {
  if (what === '') throw new TypeError('paced: say what the pause is a part of')
  if (ms > 0) await delay(ms)
}

/** Runs `work` once, however often it is called. */
export function lazily<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | null = null
  return () => (done ??= work())
}
