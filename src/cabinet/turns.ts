import { RateLimiter } from '../access/rate-limit.ts'
import { ApiError } from '../base/errors.ts'
import type { Clock } from '../lib/clock.ts'

/** A limit on how often something that costs us may be done. */
export interface Turns {
  readonly limiter: RateLimiter
  readonly requests: number
  /** Seconds. */
  readonly window: number
}

export function turns(clock: Clock, requests: number, window: number): Turns {
  return { limiter: new RateLimiter(clock), requests, window }
}

/** Takes one turn; false = there is none left. */
export function hasTurn({ limiter, requests, window }: Turns, who: string): boolean {
  return limiter.takeHere(who, { requests, window }).allowed
}

/** Takes one turn, or refuses with the time until the next. */
export function takeTurn({ limiter, requests, window }: Turns, who: string, what: string): void {
  const { allowed, retryAfterSeconds } = limiter.takeHere(who, { requests, window })
  if (!allowed)
    throw new ApiError('rate_limit_exceeded', `Too many ${what}. Retry after ${retryAfterSeconds} seconds`, {
      retryAfterSeconds,
      noRetry: true,
    })
}
