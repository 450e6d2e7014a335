import { ApiError } from '../errors.ts'

const NODE_MAX = 2_000
const ACCOUNT_MAX = 200
const KEY_MAX = 100

/** Caps on paid requests running at once (reliability.md 5): a caller's own cap is a 429, the node's a 503. */
export class InFlight {
  readonly #byCaller = new Map<string, number>()
  #used = 0

  get count(): number {
    return this.#used
  }

  /** Counts a request in, or refuses it. Each success is paired with one `leave`. */
  enter(accountId: string, keyId: string): void {
    if (this.#used >= NODE_MAX) {
      throw new ApiError('service_unavailable', 'Service is overloaded or its store is not available. Retry after 1 seconds', { retryAfterSeconds: 1 })
    }
    if ((this.#byCaller.get(accountId) ?? 0) >= ACCOUNT_MAX || (this.#byCaller.get(keyId) ?? 0) >= KEY_MAX) {
      throw new ApiError('rate_limit_exceeded', 'Too many requests running at once. Retry after 1 seconds', { retryAfterSeconds: 1 })
    }
    this.#used += 1
    this.#add(accountId, 1)
    this.#add(keyId, 1)
  }

  leave(accountId: string, keyId: string): void {
    this.#used -= 1
    this.#add(accountId, -1)
    this.#add(keyId, -1)
  }

  #add(caller: string, change: number): void {
    const count = (this.#byCaller.get(caller) ?? 0) + change
    if (count === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, count)
  }
}
