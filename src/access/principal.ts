import type { Micro } from '../base/money.ts'
import type { LimitReset } from '../ledger/ledger-store.ts'
import type { RateLimit } from '../store/accounts/account-store.ts'
import type { Reach } from '../store/accounts/key-lists.ts'
import type { KeyLimits } from '../store/accounts/key-store.ts'

/**
 * The account and key that a request of `/v1` acts for: the key is valid and the account active. Cached ≤ 5 s by the
 * key's full digest.
 */
export interface Principal {
  readonly accountId: string
  readonly keyId: string
  readonly keyName: string
  readonly keyLabel: string
  /** null = no spending limit. Only a hint for computing an affordable max_tokens: the hold decides. */
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  /** null = every model; else the models in both the account's and the key's list. */
  readonly allowedModels: ReadonlySet<string> | null
  readonly defaultModel: string | null
  /** null = the service's default. */
  readonly rateLimit: RateLimit | null
  readonly groupId?: string
  /** The factor of the prices, by the rule of the account or its group; absent = 1. */
  readonly markup?: string
  /** null = the key has no limits beside the account's window. */
  readonly limits: KeyLimits | null
  /** The member whose things the key reaches; absent = those of the account (`Reach`). */
  readonly person?: string
  /** The key manages the keys of its account and opens no model. */
  readonly isManagement?: true
}

/** One name for a reach, by which every node knows who owns a stream. Ids contain no slash. */
export function reachName({ accountId, person }: Reach): string {
  return person === undefined ? accountId : `${accountId}/${person}`
}
