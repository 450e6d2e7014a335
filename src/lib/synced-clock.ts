import type { Clock } from './clock.ts'

/**
 * A wall clock that follows another machine's, so that nodes agree on the time whatever their own clocks say. Between
 * two readings it runs by the monotonic clock; before the first it is the clock it was made of.
 */
export class SyncedClock implements Clock {
  readonly #own: Clock
  /** What the other clock says when the monotonic one says 0. */
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

  /** The other clock said `thereMs` at some moment between the two monotonic ones. */
  sync(thereMs: number, askedMs: number, answeredMs: number): void {
    const known = this.#zeroMs
    // What the reading cannot tell from it stays, so that time does not jitter with the network.
    if (known !== null && known + answeredMs >= thereMs && known + askedMs <= thereMs + 1) return
    this.#zeroMs = thereMs - (askedMs + answeredMs) / 2
  }
}
