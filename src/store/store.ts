import type { EventAction } from '../ledger/event-action.ts'
import type { GenerationRecord, GenerationStatus } from '../ledger/generation-record.ts'
import type { LedgerStore, LimitReset, PeriodStarts } from '../ledger/ledger-store.ts'
import type { RateLimit } from '../catalog/catalog.ts'
import type { Micro } from '../money.ts'
import type { Replay, ReplayReport } from './audit-replay.ts'
import type { Books } from './book-store.ts'
import type { FileStore } from './file-store.ts'
import type { IdempotencyStore } from './idempotency-store.ts'
import type { JobStore } from './job-store.ts'
import type { CodeStore, LogStore, PaymentStore, SessionStore, SignInStore, UserStore } from './console-records.ts'
import type { StatementStore } from './statement-store.ts'
import type { LogUpkeep } from './log-upkeep.ts'

export type AccountStatus = 'active' | 'deactivated' | 'locked'

export interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly status: AccountStatus
  readonly defaultModel: string | null
  readonly rateLimit: RateLimit | null
  readonly allowedModels: readonly string[] | null
  readonly availableMicro: Micro
  readonly heldMicro: Micro
  readonly createdAtMs: number
}

export type AccountPatch = Partial<
  Pick<AccountRecord, 'name' | 'status' | 'defaultModel' | 'rateLimit' | 'allowedModels'>
>

export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
}

export interface AccountStore {
  create(
    account: Pick<AccountRecord, 'id' | 'name' | 'email' | 'defaultModel' | 'rateLimit' | 'createdAtMs'>,
  ): Promise<AccountRecord>
  get(id: string): Promise<AccountRecord | null>
  list(filter: {
    readonly query: string | null
    readonly status?: AccountStatus | null
    readonly limit: number
    readonly offset: number
  }): Promise<Page<AccountRecord>>
  /** null = no such account. */
  update(id: string, patch: AccountPatch): Promise<AccountRecord | null>
}

export interface KeyRecord {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  readonly expiresAtMs: number | null
  readonly allowedModels: readonly string[] | null
  readonly createdAtMs: number
  readonly lastUsedAtMs: number | null
}

/** Money a key has spent, per period, and has on hold now. */
export interface KeySpend {
  readonly totalMicro: Micro
  readonly dayMicro: Micro
  readonly weekMicro: Micro
  readonly monthMicro: Micro
  readonly heldMicro: Micro
}

/** What authentication needs, joined in one look-up. */
export interface KeyOwner {
  readonly key: KeyRecord
  readonly account: AccountRecord
}

export type KeyPatch = Partial<
  Pick<KeyRecord, 'name' | 'disabled' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels'>
>
export type NewKey = Pick<
  KeyRecord,
  'id' | 'accountId' | 'name' | 'label' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels' | 'createdAtMs'
> & {
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
}

export interface KeyStore {
  create(key: NewKey): Promise<KeyRecord>
  findByDigest(digest: Buffer): Promise<KeyOwner | null>
  /** With its account, as authentication needs it; null once it is deleted. */
  findOwner(id: string): Promise<KeyOwner | null>
  get(id: string, periods: PeriodStarts): Promise<{ readonly key: KeyRecord; readonly spend: KeySpend } | null>
  list(
    accountId: string,
    periods: PeriodStarts,
  ): Promise<readonly { readonly key: KeyRecord; readonly spend: KeySpend }[]>
  /** `periods` = the current ones, in which a lowered limit may leave an overrun. */
  update(id: string, patch: KeyPatch, periods: PeriodStarts): Promise<KeyRecord | null>
  /** false = no such key. Its past stays in the log. */
  delete(id: string): Promise<boolean>
  touch(ids: readonly string[], atMs: number): Promise<void>
}

export type EntryKind = 'topup' | 'refund' | 'adjustment' | 'charge' | 'shortfall' | 'insured'

export interface EntryRecord {
  readonly id: number
  readonly kind: EntryKind
  /** As it changed the account: charges and refunds are negative. */
  readonly amountMicro: Micro
  readonly reference: string
  readonly reason: string | null
  readonly actor: string | null
  readonly createdAtMs: number
}

export interface NewEntry {
  readonly accountId: string
  readonly kind: 'topup' | 'refund' | 'adjustment'
  /** topup and refund > 0, adjustment signed and not 0. */
  readonly amountMicro: Micro
  readonly reason: string
  readonly reference: string
  readonly actor: string
  readonly atMs: number
}

export type PostOutcome =
  | { readonly status: 'created' | 'existing'; readonly entry: EntryRecord; readonly balanceMicro: Micro }
  /** `conflict`: the reference stands with another amount or account; `uncovered`: available does not cover it. */
  | { readonly status: 'conflict' | 'uncovered' | 'no_account' }

export interface EntryStore {
  post(entry: NewEntry): Promise<PostOutcome>
  list(accountId: string, limit: number, offset: number): Promise<Page<EntryRecord>>
  /** Newest first, below `beforeId`; `money` = all but charges. */
  before(filter: {
    readonly accountId: string
    readonly kind: 'topup' | 'refund' | 'adjustment' | 'charge' | 'money' | null
    readonly beforeId: number | null
    readonly limit: number
  }): Promise<readonly EntryRecord[]>
  /** Sum of top-ups and of charges of one account. */
  totals(accountId: string): Promise<{ readonly creditsMicro: Micro; readonly chargesMicro: Micro }>
}

export interface GenerationRow extends GenerationRecord {
  readonly id: number
  readonly costMicro: Micro
  readonly providerCostMicro: Micro
  readonly shortfallMicro: Micro
  readonly insuredMicro: Micro
  readonly keyName: string
  readonly endedAtMs: number
}

export interface GenerationFilter {
  readonly accountId?: string
  readonly keyId?: string
  readonly generationId?: string
  readonly requestId?: string
  readonly model?: string
  readonly type?: string
  readonly provider?: string
  readonly status?: GenerationStatus
  readonly flagged?: true
  readonly fromMs?: number
  readonly toMs?: number
  readonly limit: number
  readonly offset: number
}

/** A page of the usage log. */
export interface LogPage extends Page<GenerationRow> {
  /** There may be more than `total`, which is as far as was counted. */
  readonly atLeast?: true
  /** Rows that ended before it were not looked at. */
  readonly searchedToMs?: number
}

export interface UsageRow {
  readonly group: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly revenueMicro: Micro
  readonly providerCostMicro: Micro
  readonly insuredMicro: Micro
  readonly shortfallMicro: Micro
}

/** What a provider cost on a day for a model of ours: answers, and what was free or failed. */
export interface ProviderDay {
  readonly day: string
  readonly model: string
  readonly costMicro: Micro
}

export interface GenerationStore {
  /** Newest first. */
  list(filter: GenerationFilter): Promise<LogPage>
  get(generationId: string): Promise<GenerationRow | null>
  usage(query: {
    readonly groupBy: 'model' | 'provider' | 'account' | 'key' | 'day'
    readonly fromDay: string
    readonly toDay: string
  }): Promise<readonly UsageRow[]>
  /** From `fromDay` on and before `toDay`, from the sums that outlive the log's rows. */
  providerDays(provider: string, fromDay: string, toDay: string): Promise<readonly ProviderDay[]>
}

export interface CatalogVersion {
  readonly version: number
  /** JSON of the effective document, credentials taken out. */
  readonly document: string
  readonly createdAtMs: number
}

export interface CatalogStore {
  /**
   * Appends the version after `after` and, in the same commit, the sealed credentials and the digest of the file it
   * came from. null = another node was first: the change must be made again on what it left.
   */
  append(version: {
    readonly after: number
    readonly document: string
    readonly credentials: Buffer
    readonly fileDigest: string | null
    readonly atMs: number
  }): Promise<number | null>
  /** 0 before the first. */
  newest(): Promise<number>
  latest(): Promise<(CatalogVersion & { readonly credentials: Buffer; readonly fileDigest: string | null }) | null>
  byVersion(version: number): Promise<CatalogVersion | null>
  /** The one in force at that time, Unix ms; before the first, the first. */
  at(atMs: number): Promise<CatalogVersion | null>
}

export interface EventRecord {
  readonly id: number
  readonly atMs: number
  readonly actor: string
  readonly ip: string | null
  readonly action: string
  readonly object: string
  readonly before: string | null
  readonly after: string | null
}

/** Read ones may be of an older release, written ones are of this. */
export type NewEvent = Omit<EventRecord, 'id' | 'action'> & { readonly action: EventAction }

/** `action` matches by its beginning. */
export interface EventFilter {
  readonly actor?: string
  readonly action?: string
  readonly object?: string
  readonly fromMs?: number
  readonly toMs?: number
}

export interface EventStore {
  append(event: NewEvent): Promise<void>
  list(limit: number, offset: number, filter?: EventFilter): Promise<Page<EventRecord>>
  /** The newest event of any of these actions. */
  newest(actions: readonly EventAction[]): Promise<EventRecord | null>
}

export type AuditInvariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I12'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'
  | 'I18'
  | 'I19'
  | 'I20'
  | 'I21'
  | 'I22'

export interface AuditCheck {
  readonly id: AuditInvariant
  readonly name: string
  readonly violations: readonly string[]
}

/** Facts the audit reads in one snapshot. */
export interface AuditStore {
  run(options: {
    readonly sinceMs: number
    readonly nowMs: number
    readonly replay: Replay
  }): Promise<readonly AuditCheck[]>
  /** The charges of a period made again from the log. */
  replay(options: { readonly fromMs: number; readonly toMs: number; readonly replay: Replay }): Promise<ReplayReport>
}

/** An address that may not try keys for a while. */
export interface SharedBlock {
  /** As `ipKey` writes it. */
  readonly ip: string
  readonly leftMs: number
  /** Blocks in a row, each within a day of the one before; 0 = an administrator has lifted it. */
  readonly blocks: number
}

/** What a node learns at each beat. */
export interface NodeView {
  /** Unix ms by the database's clock, which all nodes share. */
  readonly nowMs: number
  /** Live ones, this one included. */
  readonly nodes: number
  /** This is the oldest live node. Two may believe it for some seconds: what a leader does is harmless when done twice. */
  readonly leads: boolean
  /** Those that changed since the beat before. */
  readonly blocks: readonly SharedBlock[]
}

/** The nodes that share the store. */
export interface NodeStore {
  /** Says that the node lives and answers what it should know of the others. */
  beat(id: string): Promise<NodeView>
  leave(id: string): Promise<void>
  block(block: SharedBlock): Promise<void>
  /** Ends a block on all nodes; what was counted before it is forgotten. */
  unblock(ip: string): Promise<void>
}

/** Everything durable. Nothing outside this folder knows SQL. */
export interface Store {
  readonly kind: 'embedded' | 'postgres'
  readonly ledger: LedgerStore
  readonly accounts: AccountStore
  readonly keys: KeyStore
  readonly entries: EntryStore
  readonly statements: StatementStore
  readonly generations: GenerationStore
  readonly logUpkeep: LogUpkeep
  readonly catalogs: CatalogStore
  readonly events: EventStore
  readonly users: UserStore
  readonly sessions: SessionStore
  readonly signIns: SignInStore
  readonly codes: CodeStore
  readonly payments: PaymentStore
  readonly log: LogStore
  readonly files: FileStore
  readonly books: Books
  readonly jobs: JobStore
  readonly idempotency: IdempotencyStore
  readonly audit: AuditStore
  /** null = the store has one process. */
  readonly nodes: NodeStore | null
  close(): Promise<void>
}
