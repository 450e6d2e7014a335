import type { GenerationRecord, GenerationStatus } from '../ledger/generation-record.ts'
import type { LedgerStore, LimitReset, PeriodStarts } from '../ledger/ledger-store.ts'
import type { RateLimit } from '../catalog/catalog.ts'
import type { Micro } from '../money.ts'
import type { FileStore } from './file-store.ts'
import type { JobStore } from './job-store.ts'
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

export type AccountPatch = Partial<Pick<AccountRecord, 'name' | 'status' | 'defaultModel' | 'rateLimit' | 'allowedModels'>>

export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
}

export interface AccountStore {
  create(account: Pick<AccountRecord, 'id' | 'name' | 'email' | 'defaultModel' | 'rateLimit' | 'createdAtMs'>): Promise<AccountRecord>
  get(id: string): Promise<AccountRecord | null>
  list(filter: { readonly query: string | null; readonly limit: number; readonly offset: number }): Promise<Page<AccountRecord>>
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

export type KeyPatch = Partial<Pick<KeyRecord, 'name' | 'disabled' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels'>>
export type NewKey = Pick<KeyRecord, 'id' | 'accountId' | 'name' | 'label' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels' | 'createdAtMs'> & {
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
}

export interface KeyStore {
  create(key: NewKey): Promise<KeyRecord>
  findByDigest(digest: Buffer): Promise<KeyOwner | null>
  get(id: string, periods: PeriodStarts): Promise<{ readonly key: KeyRecord; readonly spend: KeySpend } | null>
  list(accountId: string, periods: PeriodStarts): Promise<readonly { readonly key: KeyRecord; readonly spend: KeySpend }[]>
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

export interface GenerationStore {
  /** Newest first. */
  list(filter: GenerationFilter): Promise<LogPage>
  get(generationId: string): Promise<GenerationRow | null>
  usage(query: { readonly groupBy: 'model' | 'provider' | 'account' | 'key' | 'day'; readonly fromDay: string; readonly toDay: string }): Promise<readonly UsageRow[]>
}

export interface CatalogVersion {
  readonly version: number
  /** JSON of the effective document, credentials taken out. */
  readonly document: string
  readonly createdAtMs: number
}

export interface CatalogStore {
  /** Appends the next version and, in the same commit, the sealed credentials and the digest of the file it came from. */
  append(version: { readonly document: string; readonly credentials: Buffer; readonly fileDigest: string | null; readonly atMs: number }): Promise<number>
  latest(): Promise<(CatalogVersion & { readonly credentials: Buffer; readonly fileDigest: string | null }) | null>
  byVersion(version: number): Promise<CatalogVersion | null>
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

export interface EventStore {
  append(event: Omit<EventRecord, 'id'>): Promise<void>
  list(limit: number, offset: number): Promise<Page<EventRecord>>
}

export interface AdministratorRecord {
  readonly id: string
  readonly email: string
  readonly passwordHash: string | null
  readonly createdAtMs: number
}

export interface AdministratorStore {
  count(): Promise<number>
  /** null = that e-mail is taken. */
  create(administrator: AdministratorRecord): Promise<AdministratorRecord | null>
  findByEmail(email: string): Promise<AdministratorRecord | null>
  setPassword(id: string, passwordHash: string): Promise<void>
  /** Token hashes are SHA-256 hex. A set-up token without an administrator makes the first one. */
  putSetupToken(token: { readonly hash: string; readonly administratorId: string | null; readonly expiresAtMs: number }): Promise<void>
  /** Takes the token out of use in the same step; null = unknown, used or expired. */
  claimSetupToken(hash: string, nowMs: number): Promise<{ readonly administratorId: string | null } | null>
  createSession(session: { readonly hash: string; readonly administratorId: string; readonly expiresAtMs: number }): Promise<void>
  findSession(hash: string, nowMs: number): Promise<AdministratorRecord | null>
  deleteSession(hash: string): Promise<void>
}

export interface AuditCheck {
  readonly id: string
  readonly name: string
  readonly violations: readonly string[]
}

/** Facts the audit reads in one snapshot; `replay` answers the exact charge of a log row for I17, or null when its price version is gone. */
export interface AuditStore {
  run(options: { readonly sinceMs: number; readonly nowMs: number; readonly replay: (row: GenerationRow) => Promise<Micro | null> }): Promise<readonly AuditCheck[]>
}

/** Everything durable. Nothing outside this folder knows SQL. */
export interface Store {
  readonly kind: 'embedded' | 'postgres'
  readonly ledger: LedgerStore
  readonly accounts: AccountStore
  readonly keys: KeyStore
  readonly entries: EntryStore
  readonly generations: GenerationStore
  readonly logUpkeep: LogUpkeep
  readonly catalogs: CatalogStore
  readonly events: EventStore
  readonly administrators: AdministratorStore
  readonly files: FileStore
  readonly jobs: JobStore
  readonly audit: AuditStore
  close(): Promise<void>
}
