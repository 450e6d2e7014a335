import { ApiError } from '../base/errors.ts'
import type { RateLimiter } from './rate-limit.ts'

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
