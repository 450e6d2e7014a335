const NODE_MAX = 64
const ACCOUNT_MAX = 10

/** Bounds the upstream answers read to their end after the client left; a slot is claimed at the disconnect, not at the next chunk. */
export class DrainSlots {
  readonly #byAccount = new Map<string, number>()
  #used = 0

  get used(): number {
    return this.#used
  }

  claim(accountId: string): boolean {
    const own = this.#byAccount.get(accountId) ?? 0
    if (this.#used >= NODE_MAX || own >= ACCOUNT_MAX) return false
    this.#used += 1
    this.#byAccount.set(accountId, own + 1)
    return true
  }

  release(accountId: string): void {
    const own = this.#byAccount.get(accountId) ?? 0
    this.#used -= 1
    if (own <= 1) this.#byAccount.delete(accountId)
    else this.#byAccount.set(accountId, own - 1)
  }
}
