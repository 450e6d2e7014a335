import type { MinuteState, MinuteWish } from './minute-log.ts'

/** One request asking for its place in an account's window over all nodes. */
export interface SharedTake {
  readonly accountId: string
  readonly requests: number
  readonly windowMs: number
  /** Its name on this node. */
  readonly timeMs: number
  /** The name of an earlier request that must be there; null = none is known to be. */
  readonly witness: number | null
  /** Requests that only this node has counted; to report one twice is harmless. */
  readonly earlier: readonly { readonly timeMs: number; readonly ageMs: number }[]
}

/** What a node accepted of an account, for a shared window that may not know of it. */
export interface SharedPast {
  readonly accountId: string
  readonly windowMs: number
  readonly earlier: SharedTake['earlier']
}

export interface SharedTaken {
  readonly allowed: boolean
  /** Requests in the window, with this one if it was allowed. */
  readonly used: number
  /** Until the oldest leaves the window, and until there is room for one more. */
  readonly oldestLeftMs: number
  readonly slotLeftMs: number
}

/** Rate windows over all nodes. */
export interface SharedWindows {
  /** false = not to be asked now: the caller goes by its share. */
  readonly available: boolean
  /** `lost`: the witness is missing, and with it the earlier requests. null = no answer in time. */
  take(request: SharedTake): Promise<SharedTaken | 'lost' | null>
  /** false = no answer in time. */
  tell(past: SharedPast): Promise<boolean>
}

export interface SharedFailure {
  /** The address had been blocked before this attempt. */
  readonly wasBlocked: boolean
  /** 0 = it is not blocked. */
  readonly leftMs: number
  readonly blocks: number
}

/** Failed attempts to authenticate, and blocks, over all nodes. Addresses are as `ipKey` writes them. */
export interface SharedGuard {
  readonly available: boolean
  /** Counts an attempt that failed; null = no answer in time. */
  fail(
    ip: string,
    rule: { readonly failures: number; readonly windowMs: number; readonly durationMs: number },
  ): Promise<SharedFailure | null>
  /** null = no answer in time. */
  blocked(ip: string): Promise<Omit<SharedFailure, 'wasBlocked'> | null>
  /** Forgets the block and its count; without an answer it expires. */
  unblock(ip: string): Promise<void>
  /** Remembers for a day that the key worked from there. */
  prove(ip: string, digest: string): void
  isProven(ip: string, digest: string): Promise<boolean>
}

/** One request asking for its place in every window of its key over all nodes. */
export interface SharedLimitsTake {
  readonly keyId: string
  readonly windows: readonly (MinuteWish & { readonly name: string })[]
  /** null = running requests have no limit. */
  readonly runningMost: number | null
  /** The request's name on this node. */
  readonly member: string
  /** How long a request counts. */
  readonly seconds: number
}

export interface SharedLimitsTaken {
  readonly allowed: boolean
  /** By the shared clock, for the correction. */
  readonly second: number
  /** Running before this one. */
  readonly running: number
  /** As they were before this request. */
  readonly windows: readonly MinuteState[]
}

/** Limits of keys over all nodes. A running request is forgotten when nobody renews it. */
export interface SharedKeyLimits {
  readonly available: boolean
  /** Counted in every window or in none; null = no answer in time. */
  take(request: SharedLimitsTake): Promise<SharedLimitsTaken | null>
  /** Adds tokens to those of a second, or takes them back. */
  correct(keyId: string, window: string, second: number, tokens: number): Promise<void>
  leave(keyId: string, member: string): Promise<void>
  renew(keyId: string, members: readonly string[]): Promise<void>
}
