import type { Micro } from '../money.ts'
import type { GenerationRecord } from './generation-record.ts'

export type LimitReset = 'daily' | 'weekly' | 'monthly'

/** The spending-limit periods a hold is placed in: period start per kind, computed from the clock and the service's time zone. */
export interface PeriodStarts {
  /** ISO dates such as `2026-11-01`, the local day a period began. */
  readonly day: string
  readonly week: string
  readonly month: string
}

/** Everything `hold` decides on, in one guarded step of the store. */
export interface HoldRequest {
  readonly op: 'hold'
  /** The generation id; also the idempotency of the hold: a repeat is a no-op with the first outcome. */
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  readonly amountMicro: Micro
  readonly priceVersion: number
  readonly periods: PeriodStarts
  /** Unix ms. */
  readonly atMs: number
  readonly leaseUntilMs: number
  readonly node: string
}

export type HoldOutcome =
  | { readonly status: 'held' }
  | { readonly status: 'insufficient_balance'; readonly availableMicro: Micro }
  | {
      readonly status: 'limit_exceeded'
      readonly limitMicro: Micro
      readonly limitReset: LimitReset | null
      readonly spentMicro: Micro
      readonly heldMicro: Micro
    }
  | { readonly status: 'refused'; readonly reason: 'account_deactivated' | 'api_locked' | 'key_deactivated' | 'key_expired' | 'invalid_api_key' }

export interface SettleRequest {
  readonly op: 'settle'
  readonly generationId: string
  /** price(usage) of the answer; what exceeds the hold is taken only as far as account and key still have it. */
  readonly costMicro: Micro
  /** What the provider charges us for it. */
  readonly providerCostMicro: Micro
  readonly record: GenerationRecord
  readonly atMs: number
}

export type SettleOutcome =
  /** `replayed`: this generation had been settled before; nothing moved. */
  | { readonly status: 'settled' | 'settled_late' | 'replayed'; readonly chargedMicro: Micro; readonly shortfallMicro: Micro }
  | { readonly status: 'not_open'; readonly state: 'voided' | 'missing' }

export interface VoidRequest {
  readonly op: 'void'
  readonly generationId: string
  /** Provider cost of a free answer, booked to `insured`; 0 when nothing was spent. */
  readonly insuredMicro: Micro
  /** null = never dispatched: no usage-log row. */
  readonly record: GenerationRecord | null
  readonly atMs: number
}

export type VoidOutcome = { readonly status: 'voided' | 'replayed' } | { readonly status: 'not_open'; readonly state: 'settled' | 'missing' }

export type LedgerOperation = HoldRequest | SettleRequest | VoidRequest
export type LedgerOutcome = HoldOutcome | SettleOutcome | VoidOutcome

/**
 * The money half of the store: many operations in one durable commit. Both stores implement it and share one contract test.
 * Operations of one batch are decided in array order. Resolves only when every settle in the batch is on the disk.
 */
export interface LedgerStore {
  commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]>
  /** Moves the leases of running holds. */
  renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void>
  /** open → expired for holds whose lease ended before `nowMs`; answers how many. */
  expireLeases(nowMs: number): Promise<number>
  /** Voids every open hold, at the start of a single-process store; answers how many. Dispatched ones get a log row `error` with cost 0. */
  recoverHolds(atMs: number): Promise<number>
}
