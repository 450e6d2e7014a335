/** The most bytes of request bodies that one node holds. */
const BODY_BUDGET_BYTES = 256 * 1_048_576
/** A refusal below this part of the budget means that the node is full, not that an origin has used up its share. */
const LARGE_SHARE = 4

/** Why no more bytes are accepted: the node is full, or the origin has used its share. */
export type BudgetRefusal = 'node' | 'share'

interface Share {
  bytes: number
  holds: number
}

/**
 * The bytes of request bodies that the node holds. Bytes count when they arrive: a declared length reserves nothing. An
 * origin (an address or an account) may hold at most as much as is still free. So a single origin gets at most half of
 * the budget, and something is always left for the next one.
 */
export class BodyBudget {
  readonly bytesMax: number
  readonly #shares = new Map<string, Share>()
  bytes = 0

  constructor(bytesMax: number = BODY_BUDGET_BYTES) {
    this.bytesMax = bytesMax
  }

  /** Opens an empty hold for a request of these origins. */
  hold(address: string, account: string | null): BodyHold {
    return new BodyHold(this, address, account)
  }

  /** The share of an origin, which exists as long as the origin has holds. */
  join(origin: string): Share {
    let share = this.#shares.get(origin)
    if (share === undefined) {
      share = { bytes: 0, holds: 0 }
      this.#shares.set(origin, share)
    }
    share.holds += 1
    return share
  }

  leave(origin: string, share: Share): void {
    share.holds -= 1
    if (share.holds === 0) this.#shares.delete(origin)
  }
}

/** The bytes that one request holds until it is released. */
export class BodyHold {
  readonly #budget: BodyBudget
  readonly #address: string
  readonly #account: string | null
  readonly #ofAddress: Share
  readonly #ofAccount: Share | null
  #bytes = 0
  #released = false

  constructor(budget: BodyBudget, address: string, account: string | null) {
    this.#budget = budget
    this.#address = address
    this.#account = account
    this.#ofAddress = budget.join(address)
    this.#ofAccount = account === null ? null : budget.join(account)
  }

  /** Counts bytes that have arrived. A refusal counts nothing. */
  take(bytes: number): BudgetRefusal | null {
    const budget = this.#budget
    const freeBytes = budget.bytesMax - budget.bytes - bytes
    const ownBytes = Math.max(this.#ofAddress.bytes, this.#ofAccount?.bytes ?? 0) + bytes
    if (ownBytes > freeBytes) return ownBytes * LARGE_SHARE > budget.bytesMax ? 'share' : 'node'
    this.#bytes += bytes
    budget.bytes += bytes
    this.#ofAddress.bytes += bytes
    if (this.#ofAccount !== null) this.#ofAccount.bytes += bytes
    return null
  }

  release(): void {
    if (this.#released) return
    this.#released = true
    this.#budget.bytes -= this.#bytes
    this.#ofAddress.bytes -= this.#bytes
    this.#budget.leave(this.#address, this.#ofAddress)
    if (this.#account === null || this.#ofAccount === null) return
    this.#ofAccount.bytes -= this.#bytes
    this.#budget.leave(this.#account, this.#ofAccount)
  }
}
