import type { Micro } from '../base/money.ts'
import type { JobMove, NewJob } from './job.ts'
import type { GenerationRecord } from './generation-record.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import { UnavailableError } from '../base/errors.ts'

export type LimitReset = 'daily' | 'weekly' | 'monthly'
export type HoldState = 'open' | 'settled' | 'voided' | 'expired' | 'settled_late'

/** Starts of the spending periods in which a hold is placed, as local days such as `2026-11-01` (wire.md D-9.1). */
export interface PeriodStarts {
  readonly day: string
  readonly week: string
  readonly month: string
}

/** Fields of a log row that the hold stores, for a request whose process dies. */
export interface HoldSubject {
  readonly type: GenerationRecord['type']
  readonly model: string
  readonly requestId: string
  readonly streamed: boolean
}

export interface HoldRequest {
  readonly op: 'hold'
  /** The generation id. It makes the hold idempotent: a repeat changes nothing. */
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  readonly amountMicro: Micro
  readonly priceVersion: number
  readonly subject: HoldSubject
  readonly periods: PeriodStarts
  /** Unix ms. */
  readonly atMs: number
  readonly leaseUntilMs: number
  readonly node: string
  /** The request may cost more than its hold, so it is refused if the account has used up its free hour. */
  readonly mayExceed?: true
  /** Created in the commit of its hold, so that neither exists without the other. */
  readonly job?: NewJob
}

/** A hold that a node decided against one of its allowances; it is written with its end. */
export interface Draw {
  /** Id of the allowance. */
  readonly allowance: string
  readonly hold: HoldRequest
  /** The number of live nodes, which bounds the allowance; null = what is drawn is not put back. */
  readonly nodes: number | null
}

/** The allowance after the batch that ended a hold drawn from it; null = nothing more may be drawn. */
export interface AfterDraw {
  readonly allowance?: Readonly<HoldRow> | null
}

/**
 * A request about an allowance: money of one key that is set aside for a node, so that the node can decide holds
 * without a commit. In the books it is an open hold. The operation opens it, changes its size, or ends it.
 */
export interface AllowanceRequest {
  readonly op: 'allowance'
  /** The id of the allowance, as that of a hold. */
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  /** The amount that the node asks for; 0 = it gives the allowance back. */
  readonly wantedMicro: Micro
  /** The least amount of a new allowance that is of use to the node. */
  readonly leastMicro: Micro
  /** The amount that running requests have drawn; it is not given back. */
  readonly keepMicro: Micro
  readonly nodes: number
  readonly priceVersion: number
  readonly subject: HoldSubject
  readonly periods: PeriodStarts
  readonly atMs: number
  readonly leaseUntilMs: number
  readonly node: string
}

/** `closed`: nothing more may be drawn from it. */
export interface AllowanceOutcome {
  readonly status: 'allowed' | 'closed'
  /** The allowance after the whole commit, in which ends may have made it smaller; null = there is none. */
  readonly allowance: Readonly<HoldRow> | null
}

/** The prefix of the ids of holds that are allowances. */
export const ALLOWANCE_PREFIX = 'allowance-'

export type HoldOutcome =
  | { readonly status: 'held' }
  | { readonly status: 'insufficient_balance'; readonly availableMicro: Micro }
  | {
      readonly status: 'limit_exceeded'
      readonly limitMicro: Micro
      readonly limitReset: LimitReset | null
      readonly spentMicro: Micro
      readonly heldMicro: Micro
      /** Whether the limit is the account's; absent = it is the key's. */
      readonly ofAccount?: true
    }
  | {
      readonly status: 'refused'
      readonly reason:
        | 'account_deactivated'
        | 'api_locked'
        | 'key_deactivated'
        | 'key_expired'
        | 'invalid_api_key'
        | 'free_hour_used_up'
    }

/** The Idempotency-Key of a request: its claim ends, with the kept answer, in the commit of the charge. */
export interface SettledClaim {
  readonly id: string
  /** The encrypted answer, which contains this charge; null = it is not kept. May be called more than once. */
  readonly answer: (chargedMicro: Micro) => Buffer | null
}

/** The kept answer of a request (clients.md 3), written in the commit that charges the request. */
export interface SettledAnswer {
  /** The encrypted answer, which contains this charge; null = it is too large. May be called more than once. */
  readonly answer: (chargedMicro: Micro) => Buffer | null
}

export interface SettleRequest {
  readonly op: 'settle'
  readonly generationId: string
  /** price(usage) of the answer; the part beyond the hold is taken only as far as account and key still have it. */
  readonly costMicro: Micro
  /** The provider's bill for the answer. */
  readonly providerCostMicro: Micro
  /** The most that providers may bill for failed attempts before the answer, booked as `insured`. */
  readonly insuredMicro: Micro
  /**
   * The part of `insuredMicro` that no customer caused, such as a provider's stall, which rule 20 does not count;
   * absent = none.
   */
  readonly blamelessMicro?: Micro
  readonly record: GenerationRecord
  /** The last move of the job that the hold belongs to, in the same commit. */
  readonly job?: JobMove
  readonly claim?: SettledClaim
  readonly kept?: SettledAnswer
  /** The hold, if the store does not have it yet. */
  readonly draw?: Draw
  readonly atMs: number
  /** The local day of `atMs`; absent = the day of the hold. */
  readonly day?: string
}

export type SettleOutcome = AfterDraw & SettleEnd
type SettleEnd =
  /** `replayed`: this generation was settled before; nothing changed. */
  | {
      readonly status: 'settled' | 'settled_late' | 'replayed'
      readonly chargedMicro: Micro
      readonly shortfallMicro: Micro
    }
  /**
   * The end is on this machine's disk, and goes to the store as soon as the store answers: the charge may then still be
   * less than the cost.
   */
  | { readonly status: 'journaled'; readonly chargedMicro: Micro; readonly shortfallMicro: Micro }
  /**
   * `job_moved`: the job is no longer at the version of the move; `claim_lost`: another request has the key now.
   * Nothing was changed.
   */
  | { readonly status: 'not_open'; readonly state: 'voided' | 'missing' | 'job_moved' | 'claim_lost' }

export interface VoidRequest {
  readonly op: 'void'
  readonly generationId: string
  /** The provider cost of a free answer, booked as `insured`; 0 = nothing was spent. */
  readonly insuredMicro: Micro
  /** As for a settle. */
  readonly blamelessMicro?: Micro
  /** null = nothing was sent to a provider, so there is no row of the usage log. */
  readonly record: GenerationRecord | null
  /** The last move of the job that the hold belongs to, in the same commit. */
  readonly job?: JobMove
  /** Present if the rules for free answers can be abused here; absent = it is free in any case. */
  readonly guarded?: GuardedCharge
  /** As for a settle. */
  readonly draw?: Draw
  readonly atMs: number
  /** As for a settle. */
  readonly day?: string
}

/** The charge for a free answer if its account has used up its free hour (guarantees.md rule 20). */
export interface GuardedCharge {
  /** The charge: the recorded usage at the provider's price. */
  readonly costMicro: Micro
  /** The provider's bill for it, which is at least as much, and a part of the void's `insuredMicro`. */
  readonly providerCostMicro: Micro
  readonly record: GenerationRecord
  readonly claim?: SettledClaim
}

export type VoidOutcome = AfterDraw & VoidEnd
type VoidEnd =
  | { readonly status: 'voided' | 'replayed' | 'journaled' }
  /** The answer was charged after all. */
  | { readonly status: 'charged'; readonly chargedMicro: Micro; readonly shortfallMicro: Micro }
  | { readonly status: 'not_open'; readonly state: 'settled' | 'missing' | 'job_moved' }

/** The sweep's end of a hold whose lease ended: the money returns, and a late settle stays possible. */
export interface ExpireRequest {
  readonly op: 'expire'
  readonly generationId: string
  readonly atMs: number
}

export type ExpireOutcome = { readonly status: 'expired' | 'kept' }

export type LedgerOperation = HoldRequest | SettleRequest | VoidRequest | ExpireRequest | AllowanceRequest
export type LedgerOutcome = HoldOutcome | SettleOutcome | VoidOutcome | ExpireOutcome | AllowanceOutcome

export interface AccountRow {
  readonly id: string
  readonly status: 'active' | 'deactivated' | 'locked'
  availableMicro: Micro
  heldMicro: Micro
  /** The number of rows in its usage log, which are numbered without gaps. */
  logRows: bigint
  /** Hash of its newest entry, which the next one is chained to; empty before the first. */
  entryHead: string
  /**
   * The start of the hour of the next two sums, Unix ms: the hour's insured and short amounts, and its charges
   * (`free-hour.ts`).
   */
  freeHourMs: number
  freeInsuredMicro: Micro
  freeSpentMicro: Micro
  /** These four as stored: the account's seal covers them, but the ledger does not read them. */
  readonly rateLimitText: string | null
  readonly allowedModelsText: string | null
  readonly groupId: string | null
  readonly markup: string | null
  /** The number of rows of its usage log that retention has removed. */
  readonly logDropped: bigint
  /** The first day that is not in a closed month; empty = no month is closed. */
  readonly openDay: string
  /** People of the account get a notice when the balance falls below this; null = the default of the service. */
  readonly lowBalanceMicro: Micro | null
  /** Whether no node may have an allowance of its money, so that the database decides each of its holds. */
  readonly exactHolds: boolean
  /** The most that all its keys together may spend in a period; null = no limit. */
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  /** The newest period of the limit that has been counted, such as `month 2026-11-01`; null = none yet. */
  limitStart: string | null
  /** The charges of holds that were placed in that period. */
  limitSpentMicro: Micro
  /** These two as stored: the account's seal covers them, and only the audit reads them. */
  readonly limitOverMicro: Micro | null
  readonly limitOverStart: string | null
  /** Whether its seal was right when it was read. */
  readonly intact: boolean
}

export interface KeyRow {
  readonly id: string
  readonly accountId: string
  readonly disabled: boolean
  readonly deleted: boolean
  readonly expiresAtMs: number | null
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  heldMicro: Micro
}

export interface HoldRow {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  /** Changes only in an allowance. */
  amountMicro: Micro
  state: HoldState
  readonly priceVersion: number
  readonly subject: HoldSubject
  readonly periods: PeriodStarts
  readonly node: string
  readonly leaseUntilMs: number
  readonly placedAtMs: number
  endedAtMs: number | null
  chargedMicro: Micro | null
  shortfallMicro: Micro | null
  /** The day of its charge in statements; empty = the day of the hold. */
  bookedDay: string
  /** Whether its seal was right when it was read. */
  readonly intact: boolean
}

export type SpendPeriod = 'total' | 'day' | 'week' | 'month'

export interface SpendKey {
  readonly keyId: string
  readonly period: SpendPeriod
  readonly start: string
}

/** An amount added to a key's spend of one period; `excessMicro` is the part above hold and limit. */
export interface SpendChange extends SpendKey {
  readonly spentMicro: Micro
  readonly excessMicro: Micro
}

export interface EntryRow {
  readonly debit: string
  readonly credit: string
  readonly amountMicro: Micro
  readonly kind: 'charge' | 'shortfall' | 'insured'
  readonly reference: string
  readonly accountId: string
  readonly atMs: number
  readonly hash: string
}

export interface LogRow {
  readonly record: GenerationRecord
  readonly seq: bigint
  readonly costMicro: Micro
  readonly providerCostMicro: Micro
  readonly shortfallMicro: Micro
  readonly insuredMicro: Micro
  /** Local day of the hold, for the roll-up. */
  readonly day: string
  /** As in its hold. */
  readonly bookedDay: string
  readonly atMs: number
}

/** Working copies of every row a batch may touch, locked until it commits. */
export interface LedgerRows {
  readonly accounts: ReadonlyMap<string, AccountRow>
  readonly keys: ReadonlyMap<string, KeyRow>
  readonly holds: Map<string, HoldRow>
  /**
   * The spending so far in each period of a limit that the batch touches: of a key by `spendKeyText`, and by
   * `accountSpendText` of an account whose row has another period. Other periods are absent.
   */
  readonly spends: Map<string, Micro>
  /** Versions of the jobs that operations of the batch move. */
  readonly jobs: Map<string, number>
  /** The generation of each running claim that operations of the batch end. */
  readonly claims: Map<string, string>
}

/** The changes of a batch, written in one commit. */
export interface LedgerChanges {
  readonly accounts: ReadonlySet<AccountRow>
  readonly keys: ReadonlySet<KeyRow>
  readonly newHolds: ReadonlySet<HoldRow>
  readonly endedHolds: ReadonlySet<HoldRow>
  /** Allowances whose size changed, or that were given back. */
  readonly allowances: readonly HoldRow[]
  readonly spends: readonly SpendChange[]
  readonly entries: readonly EntryRow[]
  readonly log: readonly LogRow[]
  readonly newJobs: readonly NewJob[]
  readonly movedJobs: readonly JobMove[]
  readonly endedClaims: readonly { readonly id: string; readonly answer: Buffer | null }[]
  /** By generation id. */
  readonly keptAnswers: readonly { readonly id: string; readonly answer: Buffer }[]
  /** Notices to people about the change. */
  readonly notices: readonly NewNotice[]
}

/** The job whose version decides whether the operation may move it. */
export function movedJobOf(operation: LedgerOperation): JobMove | null {
  return operation.op === 'settle' || operation.op === 'void' ? (operation.job ?? null) : null
}

/** The hold that an end brings with it. */
export function drawOf(operation: LedgerOperation): Draw | null {
  return operation.op === 'settle' || operation.op === 'void' ? (operation.draw ?? null) : null
}

/** The account and key of the money that the operation moves; null = only its hold knows them. */
export function ownerOf(
  operation: LedgerOperation,
): { readonly accountId: string; readonly keyId: string; readonly periods: PeriodStarts } | null {
  if (operation.op === 'hold' || operation.op === 'allowance') return operation
  return drawOf(operation)?.hold ?? null
}

/** The claim that the operation ends. */
export function claimOf(operation: LedgerOperation): SettledClaim | null {
  if (operation.op === 'void') return operation.guarded?.claim ?? null
  return operation.op === 'settle' ? (operation.claim ?? null) : null
}

export function spendKeyText(key: SpendKey): string {
  return `${key.keyId} ${key.period} ${key.start}`
}

/**
 * The store of money. It loads and writes; the ledger's pure core decides on the rows. Both stores implement it and
 * share one contract test.
 */
export interface LedgerStore {
  /** Whether the store has one writer and keeps its working rows in memory, so holds are decided without a write. */
  readonly decidesHoldsInMemory: boolean
  /**
   * Loads and locks the rows of the operations, lets `decide` change them and writes the changes in one commit. If
   * `durable`, it resolves when the commit is durable. A hold need not survive a crash, since its request dies with the
   * process: a batch of only holds may be written with the next one.
   */
  commit(
    operations: readonly LedgerOperation[],
    decide: (rows: LedgerRows) => LedgerChanges,
    durable: boolean,
  ): Promise<void>
  /** Writes the unwritten changes of earlier batches of holds. */
  flush(): Promise<void>
  /**
   * Moves a part of what is durable to where readers look for it, and resolves to whether more remains; absent = the
   * commit itself puts it there.
   */
  checkpoint?(): Promise<boolean>
  /**
   * Whether a checkpoint failed and nothing has been written there since; a durable commit does not prove that this is
   * over.
   */
  readonly isFailing?: boolean
  /** The damage that its start found, as a sentence; null or absent = none. */
  readonly openingNotice?: string | null
  /**
   * Resolves when a larger write succeeds again after a failure. Absent = the next hold tests whether the store can
   * write.
   */
  probe?(): Promise<void>
  /** Moves the leases of running holds. */
  renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void>
  /** Open holds whose lease ended before `nowMs`; null = all open holds. */
  openHolds(nowMs: number | null): Promise<readonly HoldRow[]>
}

/** A notice as its cause writes it. */
export interface NewNotice {
  readonly id: string
  readonly kind: NoticeKind
  /** The account that the notice is about; null = none. */
  readonly accountId: string | null
  /** The notice is not written while another one has the same subject; null = it always is. */
  readonly subject: string | null
  /** The balance from which the subject is free for another notice; null = it never is. */
  readonly clearAtMicro: Micro | null
  readonly atMs: number
  /** The details for people and programs: `data` of a webhook. */
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * Thrown if the database does not answer: it is unknown whether its last transaction was committed, and a repeat with
 * the same ids is safe.
 */
export class StoreUnavailableError extends UnavailableError {
  override readonly name = 'StoreUnavailableError'
}
