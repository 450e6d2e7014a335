import type { Micro } from '../base/money.ts'
import type { JobMove, NewJob } from './job.ts'
import type { GenerationRecord } from './generation-record.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import { UnavailableError } from '../base/errors.ts'

export type LimitReset = 'daily' | 'weekly' | 'monthly'
export type HoldState = 'open' | 'settled' | 'voided' | 'expired' | 'settled_late'

/** Starts of the spending-limit periods a hold is placed in, as local days such as `2026-11-01` (wire.md D-9.1). */
export interface PeriodStarts {
  readonly day: string
  readonly week: string
  readonly month: string
}

/** Fields of a log row that are kept for a request whose process dies. */
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
  /** The request may cost more than its hold: refused when the account has used up its free hour. */
  readonly mayExceed?: true
  /** Created in the commit of its hold, so that neither exists without the other. */
  readonly job?: NewJob
}

/** A hold that a node decided against one of its allowances: written with its end. */
export interface Draw {
  /** Id of the allowance. */
  readonly allowance: string
  readonly hold: HoldRequest
  /** Live nodes, for the share that the allowance may have; null = what is drawn is not put back. */
  readonly nodes: number | null
}

/** The allowance as the batch leaves it that ended a hold drawn from it; null = nothing more may be drawn. */
export interface AfterDraw {
  readonly allowance?: Readonly<HoldRow> | null
}

/**
 * Money of one key that a node holds for requests to come, so that it can decide their holds without a commit. In the
 * books it is an open hold. The operation opens it, gives it another size, or ends it.
 */
export interface AllowanceRequest {
  readonly op: 'allowance'
  /** Its own id, that of a hold. */
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  /** The amount that the node wishes to have; 0 = it gives the allowance back. */
  readonly wantedMicro: Micro
  /** A new one of less is of no use to it. */
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
  /** As the whole commit has left it, in which ends may have made it smaller; null = there is none. */
  readonly allowance: Readonly<HoldRow> | null
}

/** The ids of holds that are allowances begin with it. */
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
      /** The limit is the account's; absent = the key's. */
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
  /** The encrypted answer with this charge; null = it is not kept. May be called more than once. */
  readonly answer: (chargedMicro: Micro) => Buffer | null
}

/** The answer of a request that keeps it (clients.md 3), written in the commit that charges it. */
export interface SettledAnswer {
  /** The answer, encrypted, as it reads with this charge; null = it is too large. May be called more than once. */
  readonly answer: (chargedMicro: Micro) => Buffer | null
}

export interface SettleRequest {
  readonly op: 'settle'
  readonly generationId: string
  /** price(usage) of the answer; what exceeds the hold is taken only as far as account and key still have it. */
  readonly costMicro: Micro
  /** The provider's charge for it. */
  readonly providerCostMicro: Micro
  /** The most that providers may bill for failed attempts before it, booked as `insured`. */
  readonly insuredMicro: Micro
  /** The part of it that no customer caused, such as a provider's stall: it is not counted for rule 20; absent = none. */
  readonly blamelessMicro?: Micro
  readonly record: GenerationRecord
  /** The last move of the job that the hold belongs to, in the same commit. */
  readonly job?: JobMove
  readonly claim?: SettledClaim
  readonly kept?: SettledAnswer
  /** The hold, where the store does not have it yet. */
  readonly draw?: Draw
  readonly atMs: number
  /** Local day of `atMs`; absent = the day of the hold. */
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
   * On this machine's disk, and in the store as soon as it answers: the charge may then still be less than the cost.
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
  /** Provider cost of a free answer, booked as `insured`; 0 when nothing was spent. */
  readonly insuredMicro: Micro
  /** As for a settle. */
  readonly blamelessMicro?: Micro
  /** null = never sent to a provider: no usage-log row. */
  readonly record: GenerationRecord | null
  /** The last move of the job that the hold belongs to, in the same commit. */
  readonly job?: JobMove
  /** Present where the free rules can be abused; absent = free in any case. */
  readonly guarded?: GuardedCharge
  /** As for a settle. */
  readonly draw?: Draw
  readonly atMs: number
  /** As for a settle. */
  readonly day?: string
}

/** The charge for a free answer when its account has used up its free hour (guarantees.md rule 20). */
export interface GuardedCharge {
  /** The recorded usage at the provider's price. */
  readonly costMicro: Micro
  /** The provider's bill for it, at least as much; a part of the void's `insuredMicro`. */
  readonly providerCostMicro: Micro
  readonly record: GenerationRecord
  readonly claim?: SettledClaim
}

export type VoidOutcome = AfterDraw & VoidEnd
type VoidEnd =
  | { readonly status: 'voided' | 'replayed' | 'journaled' }
  /** Not free after all. */
  | { readonly status: 'charged'; readonly chargedMicro: Micro; readonly shortfallMicro: Micro }
  | { readonly status: 'not_open'; readonly state: 'settled' | 'missing' | 'job_moved' }

/** The sweeper's end of a hold whose lease ended: the money returns, and a late settle stays possible. */
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
   * Start of the hour of these two sums, Unix ms: the hour's insured and short amounts, and its charges; for
   * `free-hour.ts`.
   */
  freeHourMs: number
  freeInsuredMicro: Micro
  freeSpentMicro: Micro
  /** These four as stored: under the account's seal, and not read here. */
  readonly rateLimitText: string | null
  readonly allowedModelsText: string | null
  readonly groupId: string | null
  readonly markup: string | null
  /** The number of rows of its usage log that retention has removed. */
  readonly logDropped: bigint
  /** The first day that is not in a closed month; empty = no month is closed. */
  readonly openDay: string
  /** Its owner is told when the balance falls below this; null = below the service's own. */
  readonly lowBalanceMicro: Micro | null
  /** No node has an allowance of its money: the database decides each of its holds. */
  readonly exactHolds: boolean
  /** What all its keys together may spend in a period; null = no limit. */
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  /** The newest period that the limit has counted, such as `month 2026-11-01`; null = none yet. */
  limitStart: string | null
  /** Charges of holds that were placed in that period. */
  limitSpentMicro: Micro
  /** These two as stored: under the account's seal, and read by the audit. */
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
  /** Only that of an allowance changes. */
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
  /** As of its hold. */
  readonly bookedDay: string
  readonly atMs: number
}

/** Working copies of every row a batch may touch, locked until it commits. */
export interface LedgerRows {
  readonly accounts: ReadonlyMap<string, AccountRow>
  readonly keys: ReadonlyMap<string, KeyRow>
  readonly holds: Map<string, HoldRow>
  /**
   * Spending so far in each period that a limit of the batch counts in: of a key by `spendKeyText`, of an account,
   * where its row has another period, by `accountSpendText`. Other periods are absent.
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
  /** Of another size than before, or given back. */
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

/** Whose money the operation moves, as far as it says so itself. */
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
 * The store's part for money. It loads and writes; the ledger's pure core decides on the rows. Both stores implement it
 * and share one contract test.
 */
export interface LedgerStore {
  /** The store has one writer and keeps the rows it works with: holds are decided without a write. */
  readonly decidesHoldsInMemory: boolean
  /**
   * Loads and locks the rows of the operations, lets `decide` change them and writes its changes in one commit.
   * Resolves when the commit is durable, where `durable` asks for it. A hold need not survive a crash, since its
   * request dies with the process: a batch of only holds may be written with the next one.
   */
  commit(
    operations: readonly LedgerOperation[],
    decide: (rows: LedgerRows) => LedgerChanges,
    durable: boolean,
  ): Promise<void>
  /** Writes the unwritten changes of earlier batches of holds. */
  flush(): Promise<void>
  /**
   * Brings a part of what is durable where readers look for it, and answers whether more is on its way; absent = it is
   * there with its commit.
   */
  checkpoint?(): Promise<boolean>
  /** A checkpoint failed, and nothing has been written there since: a commit that was durable says nothing against it. */
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
  /** Open holds whose lease ended before `nowMs`; all open ones when null. */
  openHolds(nowMs: number | null): Promise<readonly HoldRow[]>
}

/** Something that people are to be told, as its cause writes it. */
export interface NewNotice {
  readonly id: string
  readonly kind: NoticeKind
  /** The account that it is about; null = none. */
  readonly accountId: string | null
  /** Written once while another notice has the same one; null = always. */
  readonly subject: string | null
  /** The balance at which the subject may be told again; null = never. */
  readonly clearAtMicro: Micro | null
  readonly atMs: number
  /** For people and programs: `data` of a webhook. */
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * The database does not answer: it is unknown whether its last transaction was committed, and a repeat with the same
 * ids is safe.
 */
export class StoreUnavailableError extends UnavailableError {
  override readonly name = 'StoreUnavailableError'
}
