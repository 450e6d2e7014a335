import type { Clock } from '../base/clock.ts'

/** Reports operations that have waited too long. One timer serves all, since all may wait equally long. */
export class Patience<T> {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #overdue: (items: readonly T[]) => void
  /** In order of arrival. */
  readonly #dueMs = new Map<T, number>()
  #stop: (() => void) | null = null

  constructor(clock: Clock, limitMs: number, overdue: (items: readonly T[]) => void) {
    this.#clock = clock
    this.#limitMs = limitMs
    this.#overdue = overdue
  }

  watch(item: T): void {
    this.#dueMs.set(item, this.#clock.monotonic() + this.#limitMs)
    if (this.#stop === null) this.#time(this.#limitMs)
  }

  watches(item: T): boolean {
    return this.#dueMs.has(item)
  }

  /** It ended, or nobody waits for it any more. */
  forget(item: T): void {
    this.#dueMs.delete(item)
  }

  /** Ends the wait for all. */
  hurry(): readonly T[] {
    const items = [...this.#dueMs.keys()]
    this.#dueMs.clear()
    this.#stop?.()
    this.#stop = null
    return items
  }

  #time(afterMs: number): void {
    this.#stop = this.#clock.after(afterMs, () => {
      this.#stop = null
      const nowMs = this.#clock.monotonic()
      const items: T[] = []
      for (const [item, dueMs] of this.#dueMs) {
        if (dueMs > nowMs) {
          this.#time(dueMs - nowMs)
          break
        }
        items.push(item)
      }
      for (const item of items) this.#dueMs.delete(item)
      if (items.length > 0) this.#overdue(items)
    })
  }
}
