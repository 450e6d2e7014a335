const RING_START = 8

export interface RateDecision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Unix seconds at which the oldest accepted request leaves the window. */
  readonly resetSeconds: number
  /** Whole seconds after which a slot is free; 0 when allowed. */
  readonly retryAfterSeconds: number
}

/** An exact sliding log: the times of one owner's last accepted requests, on a monotonic clock. */
export class SlidingWindow {
  #ring = new Float64Array(RING_START)
  /** The number of requests ever accepted; request `n` is at `n mod ring length`. */
  #accepted = 0
  /** The first request still inside the window. */
  #live = 0
  #windowMs = 0

  /** The newest request's time plus the window: until then this log must be kept. */
  get emptyAtMs(): number {
    return this.#accepted === 0 ? 0 : this.#time(this.#accepted - 1) + this.#windowMs
  }

  /** The window of the latest decision. */
  get windowMs(): number {
    return this.#windowMs
  }

  /** Decides and records in one step. `nowMs` is monotonic, `wallMs` Unix. */
  take(limit: number, windowMs: number, nowMs: number, wallMs: number): RateDecision {
    this.#advance(windowMs, nowMs)
    const allowed = this.#accepted - this.#live < limit
    if (allowed) this.#push(nowMs, limit)
    const used = this.#accepted - this.#live
    const oldestMs = used === 0 ? nowMs : this.#time(this.#live)
    const resetSeconds = Math.ceil((wallMs + oldestMs + windowMs - nowMs) / 1_000)
    const remaining = Math.max(0, limit - used)
    if (allowed) return { allowed, limit, remaining, resetSeconds, retryAfterSeconds: 0 }
    // After the limit was lowered, more than `limit` requests may be live: a slot is free when the limit-th last has
    // left.
    const blockerMs = this.#time(this.#accepted - Math.min(limit, used))
    const retryAfterSeconds = Math.max(1, Math.ceil((blockerMs + windowMs - nowMs) / 1_000))
    return { allowed, limit, remaining: 0, resetSeconds, retryAfterSeconds }
  }

  /** Records a request that was accepted elsewhere. `timeMs` is later than all earlier ones. */
  note(limit: number, windowMs: number, timeMs: number): void {
    this.#advance(windowMs, timeMs)
    this.#push(timeMs, limit)
  }

  /** Monotonic times of the accepted requests that are in the window, oldest first. */
  liveTimes(windowMs: number, nowMs: number): readonly number[] {
    this.#advance(windowMs, nowMs)
    return Array.from({ length: this.#accepted - this.#live }, (_, index) => this.#time(this.#live + index))
  }

  #time(number: number): number {
    return this.#ring[number % this.#ring.length] ?? 0
  }

  #advance(windowMs: number, nowMs: number): void {
    if (windowMs !== this.#windowMs) {
      // A longer window includes older requests that the ring still has.
      this.#windowMs = windowMs
      this.#live = Math.max(0, this.#accepted - this.#ring.length)
    }
    while (this.#live < this.#accepted && this.#time(this.#live) + windowMs <= nowMs) this.#live += 1
  }

  #push(nowMs: number, limit: number): void {
    if (this.#accepted - this.#live === this.#ring.length) this.#grow(limit)
    this.#ring[this.#accepted % this.#ring.length] = nowMs
    this.#accepted += 1
  }

  /** Rings start small because most accounts send little; they never outgrow the limit. */
  #grow(limit: number): void {
    const times: number[] = []
    for (let number = this.#live; number < this.#accepted; number += 1) times.push(this.#time(number))
    this.#ring = new Float64Array(Math.max(times.length + 1, Math.min(limit, times.length * 2)))
    this.#ring.set(times)
    this.#accepted = times.length
    this.#live = 0
  }
}
