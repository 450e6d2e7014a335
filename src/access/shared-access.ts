import type { MinuteState, MinuteWish } from './sliding-window.ts'

/** A request for a place in an account's window over all nodes. */
export interface SharedTake {
  readonly accountId: string
  readonly requests: number
  readonly windowMs: number
  /** Monotonic time on this node, which is also the request's id there. */
  readonly timeMs: number
  /** The id of an earlier request that must be in the window; null = none is known. */
  readonly witness: number | null
  /** Requests that only this node has counted; repeating one is harmless. */
  readonly earlier: readonly { readonly timeMs: number; readonly ageMs: number }[]
}

/** Requests that a node accepted for an account, for a shared window that may lack them. */
export interface SharedPast {
  readonly accountId: string
  readonly windowMs: number
  readonly earlier: SharedTake['earlier']
}

export interface SharedTaken {
  readonly allowed: boolean
  /** Requests in the window, this one included if it was allowed. */
  readonly used: number
  /** ms until the oldest request leaves the window, and until there is room for one more. */
  readonly oldestLeftMs: number
  readonly slotLeftMs: number
}

/** Rate windows over all nodes. */
export interface SharedWindows {
  /** false = not reachable now: the caller uses its share. */
  readonly available: boolean
  /** `lost`: the witness is missing, and the earlier requests with it. null = no answer in time. */
  take(request: SharedTake): Promise<SharedTaken | 'lost' | null>
  /** false = no answer in time. */
  tell(past: SharedPast): Promise<boolean>
}

export interface SharedFailure {
  /** The address was blocked before this attempt. */
  readonly wasBlocked: boolean
  /** How long the block lasts; 0 = not blocked. */
  readonly leftMs: number
  readonly blocks: number
}

/** Failed authentications and blocks over all nodes. Addresses are in the form of `ipKey`. */
export interface SharedGuard {
  readonly available: boolean
  /** Counts a failed attempt; null = no answer in time. */
  fail(
    ip: string,
    rule: { readonly failures: number; readonly windowMs: number; readonly durationMs: number },
  ): Promise<SharedFailure | null>
  /** null = no answer in time. */
  blocked(ip: string): Promise<Omit<SharedFailure, 'wasBlocked'> | null>
  /** Removes the block and its count; without an answer it expires. */
  unblock(ip: string): Promise<void>
  /** Remembers for a day that the key worked from this address. */
  prove(ip: string, digest: string): void
  isProven(ip: string, digest: string): Promise<boolean>
}

/** A request for a place in every window of its key over all nodes. */
export interface SharedLimitsTake {
  readonly keyId: string
  readonly windows: readonly (MinuteWish & { readonly name: string })[]
  /** null = running requests have no limit. */
  readonly runningMost: number | null
  /** The request's id on this node. */
  readonly member: string
  /** How many seconds a request counts. */
  readonly seconds: number
}

export interface SharedLimitsTaken {
  readonly allowed: boolean
  /** The second by the shared clock, for a later correction. */
  readonly second: number
  /** Requests that ran before this one. */
  readonly running: number
  /** The windows as they were before this request. */
  readonly windows: readonly MinuteState[]
}

/** Limits of keys over all nodes. A running request whose lease nobody renews is dropped. */
export interface SharedKeyLimits {
  readonly available: boolean
  /** Counts the request in every window or in none; null = no answer in time. */
  take(request: SharedLimitsTake): Promise<SharedLimitsTaken | null>
  /** Adds tokens to a second, or takes them back. */
  correct(keyId: string, window: string, second: number, tokens: number): Promise<void>
  leave(keyId: string, member: string): Promise<void>
  renew(keyId: string, members: readonly string[]): Promise<void>
}
