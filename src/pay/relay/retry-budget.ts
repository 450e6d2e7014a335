import type { Clock } from '../../base/clock.ts'

const SHARE = 0.2
const RUNNING_MIN = 20
const WINDOW_SECONDS = 10
/** Retries that every window allows, Finagle's ten a second. */
const WINDOW_MIN = 100

interface BudgetSecond {
  /** Whole seconds of clock.monotonic(). */
  at: number
  requests: number
  retries: number
}

/**
 * Keeps failing providers from getting twice the load (guarantees.md 5): attempts beyond the first stay within a fifth
 * of the running requests, or of those of the last ten seconds. The second rule is for the moment in which a provider
 * dies: all its requests fail at once, and a fifth of the running ones would turn most of them into errors.
 */
export class RetryBudget {
  readonly #clock: Clock
  readonly #activeRequests: () => number
  readonly #seconds: BudgetSecond[] = Array.from({ length: WINDOW_SECONDS }, () => ({
    at: -1,
    requests: 0,
    retries: 0,
  }))
  #running = 0

  constructor(clock: Clock, activeRequests: () => number) {
    this.#clock = clock
    this.#activeRequests = activeRequests
  }

  /** A request begins: it earns a fifth of a retry. */
  earn(): void {
    this.#now().requests += 1
  }

  claim(): boolean {
    if (this.#running >= Math.max(RUNNING_MIN, SHARE * this.#activeRequests()) && this.#credit() < 1) return false
    this.#now().retries += 1
    this.#running += 1
    return true
  }

  release(): void {
    this.#running -= 1
  }

  #credit(): number {
    const { at } = this.#now()
    let credit = WINDOW_MIN
    for (const second of this.#seconds)
      if (second.at > at - WINDOW_SECONDS) credit += SHARE * second.requests - second.retries
    return credit
  }

  #now(): BudgetSecond {
    const at = Math.floor(this.#clock.monotonic() / 1_000)
    // The remainder of a whole number is an index of the array.
    const second = this.#seconds[at % WINDOW_SECONDS] as BudgetSecond
    if (second.at !== at) Object.assign(second, { at, requests: 0, retries: 0 })
    return second
  }
}
