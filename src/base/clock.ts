/**
 * A wall clock that follows another machine's, so that nodes agree on the time whatever their own clocks say. Between
 * two readings it runs by the monotonic clock; before the first reading it is the given clock.
 */
export class SyncedClock implements Clock {
  readonly #own: Clock
  /** The other clock's time at monotonic 0. */
  #zeroMs: number | null = null

  constructor(own: Clock) {
    this.#own = own
  }

  now(): number {
    return this.#zeroMs === null ? this.#own.now() : Math.floor(this.#zeroMs + this.#own.monotonic())
  }

  monotonic(): number {
    return this.#own.monotonic()
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#own.after(delayMs, task)
  }

  /** Notes that the other clock read `thereMs` at some moment between the two monotonic times. */
  sync(thereMs: number, askedMs: number, answeredMs: number): void {
    const known = this.#zeroMs
    // The known offset stays while it is within the reading's uncertainty, so that time does not jitter with the
    // network.
    if (known !== null && known + answeredMs >= thereMs && known + askedMs <= thereMs + 1) return
    this.#zeroMs = thereMs - (askedMs + answeredMs) / 2
  }
}

/** Time as a parameter, so that a test or the simulator can move it. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number
  /** Milliseconds that never decrease, for durations and rate windows. */
  monotonic(): number
  /** Runs `task` once after `delayMs`; the result cancels it. */
  after(delayMs: number, task: () => void): () => void
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs: number, task: () => void) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
})
