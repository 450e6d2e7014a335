import { SlidingWindow } from './sliding-window.ts'

const TICK_MS = 0.001

/**
 * What this node has accepted of one account, beside what all nodes together have. Times are monotonic and name their
 * requests.
 */
export class OwnLog {
  readonly window = new SlidingWindow()
  /** Accepted without the shared window, which does not know of them yet. */
  #unknown: number[] = []
  #newestMs = Number.NEGATIVE_INFINITY
  #sharedMs = Number.NEGATIVE_INFINITY

  /** No two requests have the same time. */
  nextTime(nowMs: number): number {
    this.#newestMs = Math.max(nowMs, this.#newestMs + TICK_MS)
    return this.#newestMs
  }

  /** A request that the shared window must know of; null where none is younger than `sinceMs`. */
  witness(sinceMs: number): number | null {
    return this.#sharedMs > sinceMs ? this.#sharedMs : null
  }

  /** What the shared window should be told, younger than `sinceMs`; it is another's to tell from now on. */
  takeUnknown(sinceMs: number): readonly number[] {
    if (this.#unknown.length === 0) return this.#unknown
    const taken = this.#unknown.filter((timeMs) => timeMs > sinceMs)
    this.#unknown = []
    return taken
  }

  /** No more than `limit` can be in a window, so older ones need not be told. */
  giveBack(times: readonly number[], limit: number): void {
    this.#unknown.push(...times)
    if (this.#unknown.length > 2 * limit) this.#unknown = this.#unknown.slice(-limit)
  }

  /** The shared window has accepted it. */
  accepted(limit: number, windowMs: number, timeMs: number): void {
    this.window.note(limit, windowMs, timeMs)
    this.#sharedMs = Math.max(this.#sharedMs, timeMs)
  }
}
