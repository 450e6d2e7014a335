const SHARE = 0.2
const RETRIES_MIN = 20

/** How many attempts beyond the first may run at once, so that failing providers are not met with twice the load (reliability.md 5). */
export class RetryBudget {
  readonly #activeRequests: () => number
  #running = 0

  constructor(activeRequests: () => number) {
    this.#activeRequests = activeRequests
  }

  claim(): boolean {
    if (this.#running >= Math.max(RETRIES_MIN, SHARE * this.#activeRequests())) return false
    this.#running += 1
    return true
  }

  release(): void {
    this.#running -= 1
  }
}
