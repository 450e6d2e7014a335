const MINUTES = 24 * 60

/** Attempts of the last day, counted by the minute, so that a busy endpoint needs no more memory than a quiet one. */
export class Uptime {
  readonly #all = new Uint32Array(MINUTES)
  readonly #good = new Uint32Array(MINUTES)
  /** The latest minute counted, in whole minutes of clock.monotonic(). */
  #minute = 0

  add(ok: boolean, nowMs: number): void {
    const slot = this.#advance(nowMs) % MINUTES
    // Both arrays have MINUTES slots.
    this.#all[slot] = (this.#all[slot] ?? 0) + 1
    if (ok) this.#good[slot] = (this.#good[slot] ?? 0) + 1
  }

  /** The percentage of good attempts in the last `minutes`, with one decimal; null if there were none. */
  percent(minutes: number, nowMs: number): number | null {
    const minute = this.#advance(nowMs)
    let [all, good] = [0, 0]
    for (let back = 0; back < Math.min(minutes, MINUTES) && back <= minute; back += 1) {
      all += this.#all[(minute - back) % MINUTES] ?? 0
      good += this.#good[(minute - back) % MINUTES] ?? 0
    }
    return all === 0 ? null : Math.round((good / all) * 1_000) / 10
  }

  /** Clears the minutes that have begun since. */
  #advance(nowMs: number): number {
    const minute = Math.floor(nowMs / 60_000)
    for (let next = Math.max(this.#minute + 1, minute - MINUTES + 1); next <= minute; next += 1)
      this.#all[next % MINUTES] = this.#good[next % MINUTES] = 0
    this.#minute = Math.max(this.#minute, minute)
    return this.#minute
  }
}
