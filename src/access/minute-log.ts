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
