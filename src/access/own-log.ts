import { SlidingWindow } from './sliding-window.ts'

const TICK_MS = 0.001

/**
 * The requests of one account that this node has accepted, beside the window of all nodes. Their monotonic times also
 * identify them.
 */
export class OwnLog {
  readonly window = new SlidingWindow()
  /** Accepted without the shared window, which does not have them yet. */
  #unknown: number[] = []
  #newestMs = Number.NEGATIVE_INFINITY
  #sharedMs = Number.NEGATIVE_INFINITY

  /** A time that no other request has. */
  nextTime(nowMs: number): number {
    this.#newestMs = Math.max(nowMs, this.#newestMs + TICK_MS)
    return this.#newestMs
  }

  /** A request that the shared window must have; null where none is younger than `sinceMs`. */
  witness(sinceMs: number): number | null {
    return this.#sharedMs > sinceMs ? this.#sharedMs : null
  }

  /** Takes the requests younger than `sinceMs` that the shared window needs; the caller reports them. */
  takeUnknown(sinceMs: number): readonly number[] {
    if (this.#unknown.length === 0) return this.#unknown
    const taken = this.#unknown.filter((timeMs) => timeMs > sinceMs)
    this.#unknown = []
    return taken
  }

  /** At most `limit` requests fit into a window, so older ones need not be reported. */
  giveBack(times: readonly number[], limit: number): void {
    this.#unknown.push(...times)
    if (this.#unknown.length > 2 * limit) this.#unknown = this.#unknown.slice(-limit)
  }

  /** Notes a request that the shared window accepted. */
  accepted(limit: number, windowMs: number, timeMs: number): void {
    this.window.note(limit, windowMs, timeMs)
    this.#sharedMs = Math.max(this.#sharedMs, timeMs)
  }
}
