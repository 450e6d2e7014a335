import type { Micro } from '../money.ts'
import type { LimitReset } from '../ledger/ledger-store.ts'
import type { RateLimit } from '../catalog/catalog.ts'
import type { KeyLimits } from '../store/accounts/key-limits.ts'

/** Whom a request of `/v1` acts for: a valid key of an active account. Cached ≤ 5 s by the key's full digest. */
export interface Principal {
  readonly accountId: string
  readonly keyId: string
  readonly keyName: string
  readonly keyLabel: string
  /** null = no spending limit. Only a hint for computing an affordable max_tokens: the hold decides. */
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  /** null = every model. Intersection of account's and key's lists. */
  readonly allowedModels: ReadonlySet<string> | null
  readonly defaultModel: string | null
  /** null = the service's. */
  readonly rateLimit: RateLimit | null
  /** null = no paid request of the key is counted beside the account's window. */
  readonly limits: KeyLimits | null
  /** It manages the keys of its account and opens no model. */
  readonly isManagement?: true
}
