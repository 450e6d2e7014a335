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

/**
 * The seconds for which a request counts: the current one and the sixty before, so that no minute exceeds the limit.
 */
export const MINUTE_SECONDS = 61

interface CountedSecond {
  readonly second: number
  requests: number
  tokens: number
}

/** Waiting times for one more request. */
export interface MinuteState {
  readonly requests: number
  readonly tokens: number
  /** Seconds until there is room; 0 = there is room now. */
  readonly requestsWait: number
  readonly tokensWait: number
  /** Seconds until the oldest second leaves; 0 = nothing is counted. */
  readonly resetSeconds: number
}

/** What a request asks of a window, which are one request and `tokens`, and the window's limits; null = no limit. */
export interface MinuteWish {
  readonly requestsMost: number | null
  readonly tokensMost: number | null
  /** At most `tokensMost`. */
  readonly tokens: number
}

/** Requests and tokens of the last minute, summed by second, so that the log's size does not depend on the traffic. */
export class MinuteLog {
  /** Oldest first. */
  #seconds: CountedSecond[] = []
  #requests = 0
  #tokens = 0

  isEmpty(second: number): boolean {
    this.#advance(second)
    return this.#seconds.length === 0
  }

  look(wish: MinuteWish, second: number): MinuteState {
    this.#advance(second)
    const [oldest] = this.#seconds
    return {
      requests: this.#requests,
      tokens: this.#tokens,
      requestsWait: this.#wait('requests', this.#requests, wish.requestsMost, 1, second),
      tokensWait: this.#wait('tokens', this.#tokens, wish.tokensMost, wish.tokens, second),
      resetSeconds: oldest === undefined ? 0 : oldest.second + MINUTE_SECONDS - second,
    }
  }

  /** `second` must be that of the latest `look`. */
  add(second: number, requests: number, tokens: number): void {
    let newest = this.#seconds.at(-1)
    if (newest?.second !== second) {
      newest = { second, requests: 0, tokens: 0 }
      this.#seconds.push(newest)
    }
    this.#change(newest, requests, tokens)
  }

  /** Adds tokens to a second, or takes them back; a second that has left the minute is ignored. */
  correct(second: number, tokens: number): void {
    this.#change(this.#find(second), 0, tokens)
  }

  takeBack(second: number, tokens: number): void {
    this.#change(this.#find(second), -1, -tokens)
  }

  #find(second: number): CountedSecond | undefined {
    return this.#seconds.findLast((each) => each.second === second)
  }

  #change(of: CountedSecond | undefined, requests: number, tokens: number): void {
    if (of === undefined) return
    of.requests += requests
    of.tokens += tokens
    this.#requests += requests
    this.#tokens += tokens
  }

  #wait(of: 'requests' | 'tokens', used: number, most: number | null, needed: number, second: number): number {
    if (most === null || used + needed <= most) return 0
    let left = used
    for (const each of this.#seconds) {
      left -= each[of]
      if (left + needed <= most) return each.second + MINUTE_SECONDS - second
    }
    return MINUTE_SECONDS
  }

  #advance(second: number): void {
    const kept = this.#seconds.findIndex((each) => each.second + MINUTE_SECONDS > second)
    const gone = this.#seconds.splice(0, kept === -1 ? this.#seconds.length : kept)
    for (const each of gone) {
      this.#requests -= each.requests
      this.#tokens -= each.tokens
    }
  }
}
