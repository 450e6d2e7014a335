import { ApiError, overloaded } from '../../base/errors.ts'

export const NODE_MAX = 2_000
const ACCOUNT_MAX = 200
const KEY_MAX = 100
const SHARE_SLACK_MIN = 8

/** Caps on paid requests running at once (guarantees.md 5): a caller's own cap is a 429, the node's a 503. */
export class InFlight {
  readonly #random: () => number
  readonly #byCaller = new Map<string, number>()
  #accounts = 0
  #used = 0

  /** `random` is uniform in [0, 1). */
  constructor(random: () => number) {
    this.#random = random
  }

  get count(): number {
    return this.#used
  }

  /**
   * Whether an account uses clearly more of the node than its part, while several accounts use it; equal users are
   * never exactly equal.
   */
  isAboveFairShare(accountId: string): boolean {
    const fair = this.#used / Math.max(1, this.#accounts)
    return (this.#byCaller.get(accountId) ?? 0) > fair + Math.max(SHARE_SLACK_MIN, fair / 2)
  }

  /** The refusal of a further request of the caller, or null. */
  refusal(accountId: string, keyId: string): ApiError | null {
    if (this.#used >= NODE_MAX) return overloaded(this.#random(), 'in_flight')
    if ((this.#byCaller.get(accountId) ?? 0) < ACCOUNT_MAX && (this.#byCaller.get(keyId) ?? 0) < KEY_MAX) return null
    return new ApiError('rate_limit_exceeded', 'Too many requests running at once. Retry after 1 seconds', {
      retryAfterSeconds: 1,
    })
  }

  /** Counts a request, or refuses it. Each success is paired with one `leave`. */
  enter(accountId: string, keyId: string): void {
    const refusal = this.refusal(accountId, keyId)
    if (refusal !== null) throw refusal
    this.#used += 1
    if (!this.#byCaller.has(accountId)) this.#accounts += 1
    this.#add(accountId, 1)
    this.#add(keyId, 1)
  }

  leave(accountId: string, keyId: string): void {
    this.#used -= 1
    this.#add(accountId, -1)
    this.#add(keyId, -1)
    if (!this.#byCaller.has(accountId)) this.#accounts -= 1
  }

  #add(caller: string, change: number): void {
    const count = (this.#byCaller.get(caller) ?? 0) + change
    if (count === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, count)
  }
}
