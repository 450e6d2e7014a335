import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { RateLimit } from '../store/accounts/account-store.ts'
import type { SharedTake, SharedWindows } from './shared-access.ts'
import { type RateDecision, SlidingWindow } from './sliding-window.ts'

const TICK_MS = 0.001

const SWEEP_START = 1_024
/** The most requests in one report. */
const TELL_MAX = 1_000

/** What one process cannot know: the requests of an account that other processes have accepted. */
export interface NodeShare {
  /** The number of live processes that take requests, this one included. */
  nodes(): number
  /** null = nothing is shared. */
  readonly windows: SharedWindows | null
}

const ALONE: NodeShare = Object.freeze({ nodes: () => 1, windows: null })

/**
 * The rate limit of every account (wire.md D-7.1): never more than L accepted in any N seconds. With shared windows
 * that holds over all nodes; while those cannot be reached each node accepts its share, which is ≤ L + N - 1 in all
 * (guarantees.md 6).
 */
export class RateLimiter {
  readonly #clock: Clock
  readonly #share: NodeShare
  readonly #accounts = new Map<string, OwnLog>()
  #sweepAt = SWEEP_START

  constructor(clock: Clock, share: NodeShare = ALONE) {
    this.#clock = clock
    this.#share = share
  }

  get size(): number {
    return this.#accounts.size
  }

  take(accountId: string, limit: RateLimit): RateDecision | Promise<RateDecision> {
    const own = this.#logOf(accountId)
    const { windows } = this.#share
    return windows?.available === true ? this.#takeShared(windows, own, accountId, limit) : this.#takeOwn(own, limit)
  }

  /** Decides only by requests that this process has seen. */
  takeHere(accountId: string, limit: RateLimit): RateDecision {
    return this.#takeOwn(this.#logOf(accountId), limit)
  }

  /** Reports this node's accepted requests to the shared windows, which may have missed or lost them. */
  async tell(): Promise<void> {
    const { windows } = this.#share
    for (const [accountId, { window }] of this.#accounts) {
      const nowMs = this.#clock.monotonic()
      const times = window.liveTimes(window.windowMs, nowMs)
      for (let from = 0; from < times.length; from += TELL_MAX) {
        const earlier = named(times.slice(from, from + TELL_MAX), nowMs)
        if ((await windows?.tell({ accountId, windowMs: window.windowMs, earlier })) !== true) return
      }
    }
  }

  #logOf(accountId: string): OwnLog {
    let own = this.#accounts.get(accountId)
    if (own === undefined) {
      if (this.#accounts.size >= this.#sweepAt) this.#sweep(this.#clock.monotonic())
      own = new OwnLog()
      this.#accounts.set(accountId, own)
    }
    return own
  }

  async #takeShared(windows: SharedWindows, own: OwnLog, accountId: string, limit: RateLimit): Promise<RateDecision> {
    const nowMs = this.#clock.monotonic()
    const windowMs = limit.window * 1_000
    const timeMs = own.nextTime(nowMs)
    const unknown = own.takeUnknown(nowMs - windowMs)
    const ask = (witness: number | null, times: readonly number[]): ReturnType<SharedWindows['take']> =>
      windows.take({ accountId, requests: limit.requests, windowMs, timeMs, witness, earlier: named(times, nowMs) })
    let taken = await ask(own.witness(nowMs - windowMs / 2), unknown)
    // The shared window was flushed or restarted empty, so it gets all that this node has accepted once more.
    if (taken === 'lost') taken = await ask(null, own.window.liveTimes(windowMs, nowMs))
    if (taken === null || taken === 'lost') {
      own.giveBack(unknown, limit.requests)
      return this.#takeOwn(own, limit)
    }
    const { allowed, used, oldestLeftMs, slotLeftMs } = taken
    if (allowed) own.accepted(limit.requests, windowMs, timeMs)
    return {
      allowed,
      limit: limit.requests,
      remaining: Math.max(0, limit.requests - used),
      resetSeconds: Math.ceil((this.#clock.now() + oldestLeftMs) / 1_000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(slotLeftMs / 1_000)),
    }
  }

  /**
   * Decides only by requests that this node has seen. Its share is rounded up, so that a small limit does not
   * close any node.
   */
  #takeOwn(own: OwnLog, limit: RateLimit): RateDecision {
    const share = Math.ceil(limit.requests / this.#share.nodes())
    const shared = this.#share.windows !== null
    const timeMs = shared ? own.nextTime(this.#clock.monotonic()) : this.#clock.monotonic()
    const decision = own.window.take(share, limit.window * 1_000, timeMs, this.#clock.now())
    if (shared && decision.allowed) own.giveBack([timeMs], limit.requests)
    return { ...decision, limit: limit.requests }
  }

  /**
   * Only empty windows are removed: removing another would give its account a second limit. The cost is spread over the
   * inserts.
   */
  #sweep(nowMs: number): void {
    for (const [accountId, { window }] of this.#accounts)
      if (window.emptyAtMs <= nowMs) this.#accounts.delete(accountId)
    this.#sweepAt = Math.max(SWEEP_START, this.#accounts.size * 2)
  }
}

function named(times: readonly number[], nowMs: number): SharedTake['earlier'] {
  return times.map((timeMs) => ({ timeMs, ageMs: nowMs - timeMs }))
}

/** The three headers of wire.md D-7.1. */
export function rateHeaders(decision: RateDecision): Readonly<Record<string, string>> {
  return {
    'x-ratelimit-limit': String(decision.limit),
    'x-ratelimit-remaining': String(decision.remaining),
    'x-ratelimit-reset': String(decision.resetSeconds),
  }
}

/**
 * The requests of one account that this node has accepted, beside the window of all nodes. Their monotonic times also
 * identify them.
 */
class OwnLog {
  readonly window = new SlidingWindow()
  /** Times of requests accepted without the shared window, which does not have them yet. */
  #unknown: number[] = []
  #newestMs = Number.NEGATIVE_INFINITY
  #sharedMs = Number.NEGATIVE_INFINITY

  /** A time that no other request has. */
  nextTime(nowMs: number): number {
    this.#newestMs = Math.max(nowMs, this.#newestMs + TICK_MS)
    return this.#newestMs
  }

  /** A request that the shared window must have; null = none is younger than `sinceMs`. */
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

  /** Puts back what could not be reported. At most `limit` requests fit into a window, so older ones may be dropped. */
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

const PERIODS = {
  minute: { seconds: 60, text: 'a minute' },
  hour: { seconds: 3_600, text: 'an hour' },
  day: { seconds: 86_400, text: 'a day' },
} as const

interface Bound {
  readonly most: number
  /** The length of the sliding window. */
  readonly per: keyof typeof PERIODS
  readonly what: string
}

/** How often one caller may do each thing that neither the rate limit nor money bounds (guarantees.md 5). */
export const BOUNDS = {
  changes: { most: 600, per: 'minute', what: 'changes of an account' },
  admin_changes: { most: 6_000, per: 'minute', what: 'changes of one caller of the admin API' },
  sign_ins: { most: 600, per: 'hour', what: 'sign-ins of one person' },
  sign_ups: { most: 100, per: 'hour', what: 'sign-ups from one address' },
  joins: { most: 10, per: 'hour', what: 'tries of one invitation' },
  codes: { most: 10, per: 'hour', what: 'codes of an account' },
  proofs: { most: 20, per: 'hour', what: 'tries of one person' },
  hour_reports: { most: 600, per: 'hour', what: 'reports by hour of an account' },
  letters: { most: 100, per: 'day', what: 'letters of an account' },
  admin_letters: { most: 1_000, per: 'day', what: 'letters of one caller of the admin API' },
  mailbox: { most: 5, per: 'hour', what: 'letters to one mailbox' },
  resets: { most: 20, per: 'hour', what: 'links from one address' },
  reset_letters: { most: 3, per: 'hour', what: 'links to one e-mail address' },
  tagged_resets: { most: 5, per: 'hour', what: 'links to one mailbox' },
  receiver_codes: { most: 5, per: 'hour', what: 'codes for receivers of an account' },
  mailbox_codes: { most: 3, per: 'day', what: 'codes to one receiver' },
  notice_tests: { most: 20, per: 'hour', what: 'messages asked for by an account' },
  orders: { most: 60, per: 'hour', what: 'orders of an account' },
  looks: { most: 30, per: 'day', what: 'looks at one order' },
  /** Far above the volume of any shop. A refused notification is lost only until the provider repeats it. */
  notifications: { most: 20_000, per: 'hour', what: 'notifications' },
  strange_notifications: { most: 600, per: 'hour', what: 'notifications that name no order' },
} as const satisfies Readonly<Record<string, Bound>>

export type BoundName = keyof typeof BOUNDS

/**
 * Counts what callers do against `BOUNDS`: over all nodes with Valkey; without it each node allows its share
 * (guarantees.md 6).
 */
export class Bounds {
  readonly #limiter: RateLimiter

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter
  }

  /** Takes a turn, or throws a refusal with the time until the next turn. */
  async take(name: BoundName, of: string): Promise<void> {
    const refusal = await this.refusal(name, of)
    if (refusal !== null) throw refusal
  }

  /** Takes a turn; false = none is left. */
  async has(name: BoundName, of: string): Promise<boolean> {
    return (await this.refusal(name, of)) === null
  }

  /** Takes a turn; the error = none is left. `kept` turns are left for owners. */
  async refusal(name: BoundName, of: string, kept = 0): Promise<ApiError | null> {
    const { most, per, what } = BOUNDS[name]
    const { seconds, text } = PERIODS[per]
    const limit = { requests: most - kept, window: seconds }
    // No account's id has a space.
    const { allowed, retryAfterSeconds } = await this.#limiter.take(`${name} ${of}`, limit)
    if (allowed) return null
    const others = kept === 0 ? '' : `, the last ${kept} by its owners alone`
    const message = `At most ${most} ${what} ${text}${others}. Retry after ${retryAfterSeconds} seconds`
    return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds, noRetry: per !== 'minute' })
  }
}
