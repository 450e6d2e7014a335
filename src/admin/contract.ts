import type { ErrorType, FieldCheck } from '../errors.ts'
import type { BillingBasis, EndReason } from '../ledger/generation-record.ts'
import type { EventAction } from '../ledger/event-action.ts'
import type { Statement } from '../ledger/statement.ts'

/**
 * What the operator's part of the console and the server say to each other under `/admin/v1`. Types alone: the browser
 * imports this file.
 *
 * Opened by an administrator's console session or the admin token; a user's session is refused with 403
 * `access_denied`, as is an administrator who must still turn two-step sign-in on. Amounts, times, errors and the
 * origin of changes are as in the cabinet's contract. Unknown body fields are a 400 that names them. Lists take `limit`
 * (1–1000, default 100) and `offset`.
 */
import type { AuditInvariant } from '../store/store.ts'
import type { Code, CodeBody, PaymentRow } from './top-up-contract.ts'
import type { OperatorWarning } from './warning-contract.ts'

export interface Listed<T> {
  readonly data: readonly T[]
  readonly total: number
}

export interface PageQuery {
  readonly limit?: number
  readonly offset?: number
}

export interface RateLimit {
  readonly requests: number
  /** Seconds. */
  readonly window: number
}

export interface Deleted {
  readonly id: string
  readonly deleted: true
}

export type AccountStatus = 'active' | 'deactivated' | 'locked'

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly status: AccountStatus
  readonly default_model: string | null
  /** null = the service's. */
  readonly rate_limit: RateLimit | null
  readonly allowed_models: readonly string[] | null
  readonly balance: number
  readonly available: number
  readonly reserved: number
  readonly created_at: string
}

/** `query` finds by the beginning of id, name or e-mail. */
export interface AccountQuery extends PageQuery {
  readonly query?: string
  readonly status?: AccountStatus
}

export interface AccountBody {
  readonly name: string
  readonly email?: string | null
  readonly default_model?: string | null
  readonly rate_limit?: RateLimit | null
}

export interface AccountPatch {
  readonly name?: string
  /** `deactivated`: nothing works; `locked`: the API does not. */
  readonly status?: AccountStatus
  readonly default_model?: string | null
  readonly rate_limit?: RateLimit | null
  readonly allowed_models?: readonly string[] | null
}

export interface EntryBody {
  /** `refund` is money paid back to the customer and leaves the balance; `adjustment` is signed. */
  readonly kind: 'topup' | 'refund' | 'adjustment'
  readonly amount: number
  readonly reason: string
  /** Unique per kind: a repeat answers the first entry, with another amount 409. */
  readonly reference: string
}

export interface Entry {
  readonly id: number
  readonly kind: 'topup' | 'refund' | 'adjustment' | 'charge'
  readonly amount: number
  readonly reference: string
  readonly reason: string | null
  readonly actor: string | null
  readonly created_at: string
}

export interface Key {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly limit: number | null
  readonly limit_reset: 'daily' | 'weekly' | 'monthly' | null
  readonly limit_remaining: number | null
  readonly usage: number
  readonly usage_daily: number
  readonly usage_weekly: number
  readonly usage_monthly: number
  readonly expires_at: string | null
  readonly allowed_models: readonly string[] | null
  readonly created_at: string
  readonly last_used_at: string | null
}

export interface KeyBody {
  readonly name: string
  readonly limit?: number | null
  readonly limit_reset?: 'daily' | 'weekly' | 'monthly' | null
  readonly expires_at?: string | null
  readonly allowed_models?: readonly string[] | null
}

/** A person who signs in to the console. */
export interface ConsoleUser {
  readonly id: string
  readonly email: string
  readonly role: 'user' | 'admin'
  readonly account: string | null
  readonly disabled: boolean
  readonly has_password: boolean
  readonly has_oidc: boolean
  /** Who at the issuer of single sign-on may sign in as this user. */
  readonly identities: readonly {
    readonly id: string
    readonly issuer: string
    readonly subject: string
    readonly email: string | null
    readonly linked_at: string | null
  }[]
  readonly totp: boolean
  readonly created_at: string
  readonly last_sign_in_at: string | null
}

/**
 * A provider as in the catalogue file; `api_key` is write-only and comes back cut to `…` and its last four characters.
 * Sent back like this it stays.
 */
export interface ProviderEntry {
  readonly name?: string
  readonly adapter: string
  readonly base_url?: string
  readonly api_key?: string | readonly string[]
  readonly cancel_stops_billing?: boolean
  readonly timeouts?: {
    readonly connect?: number
    readonly first_byte?: number
    readonly progress?: number
    readonly total?: number
  }
  readonly [field: string]: unknown
}

/** Prices in the file's units: per million tokens or characters, else per unit. Decimals may be numbers or texts. */
export interface PriceEntry {
  readonly currency: string
  readonly [meter: string]: number | string | Readonly<Record<string, number | string>>
}

export interface EndpointEntry {
  readonly provider: string
  readonly model: string
  readonly price: PriceEntry
  /** RUB, instead of price × rate × markup. */
  readonly sell?: Readonly<Record<string, number | string | Readonly<Record<string, number | string>>>>
  readonly supported_parameters?: readonly string[]
  readonly [field: string]: unknown
}

/** A model as in the catalogue file. */
export interface ModelEntry {
  readonly id: string
  readonly name?: string
  readonly type: 'chat' | 'embeddings' | 'image' | 'tts' | 'transcription' | 'rerank' | 'video'
  readonly active?: boolean
  readonly hidden?: boolean
  readonly context_length?: number
  readonly endpoints: readonly EndpointEntry[]
  readonly [field: string]: unknown
}

export interface CatalogDocument {
  readonly providers: Readonly<Record<string, ProviderEntry>>
  readonly models: readonly ModelEntry[]
  readonly [setting: string]: unknown
}

/** A change that would sell something below its cost is made all the same, and says so. */
export interface Warned {
  readonly warnings?: readonly string[]
}

/** `changes`: one line each, `+ model a/b`, `- …`, `~ …`. */
export interface CatalogChange extends Warned {
  readonly applied: boolean
  readonly changes: readonly string[]
  readonly price_version: number
}

/**
 * What one endpoint of a model costs us and sells for, in RUB: per million tokens or characters, else per unit; exact
 * decimals.
 */
export interface PricedEndpoint {
  readonly endpoint: string
  readonly provider: string
  readonly provider_name: string
  /** The provider's own name of the model. */
  readonly upstream_model: string
  readonly state: 'healthy' | 'cooling_down'
  readonly lines: readonly {
    /** As in the file: `prompt`, `completion`, … */
    readonly price: string
    readonly cost: string
    readonly sell: string
    /** (sell − cost) / sell in percent, one decimal; null when it sells for nothing. */
    readonly margin_percent: number | null
  }[]
}

export interface PricedModel {
  readonly id: string
  readonly name: string
  readonly type: ModelEntry['type']
  readonly active: boolean
  readonly hidden: boolean
  readonly context_length: number | null
  readonly endpoints: readonly PricedEndpoint[]
}

export interface Settings {
  readonly maintenance: { readonly message: string | null; readonly retry_after: number | null } | null
  readonly timezone: string
  /** RUB per unit of each currency, and `source: 'cbr'` where they are fetched. */
  readonly rates: Readonly<Record<string, number | string>>
  readonly markup: number
  readonly rate_limit: RateLimit
  readonly ip_block: { readonly failures: number; readonly window: number; readonly duration: number }
  readonly midstream_error: 'free' | 'delivered'
  readonly stream_resume: { readonly grace: number; readonly retention: number }
  readonly fetch_urls: boolean
  /** Whether anybody may sign up in the console. */
  readonly signup: 'open' | 'closed'
}

export type UsageGroup = 'model' | 'provider' | 'account' | 'key' | 'day'

export interface UsageSums {
  readonly requests: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly revenue: number
  readonly provider_cost: number
  /** revenue − provider_cost − insured. */
  readonly margin: number
  readonly insured: number
  readonly shortfall: number
}

/** The group's value stands under the group's own name, for example `model`. */
export type UsageRow = UsageSums & { readonly [Group in UsageGroup]?: string }

export interface MarginReport {
  readonly from: string
  readonly to: string
  readonly totals: UsageSums & { readonly margin_percent: number | null }
  /** Each day of the range, zeros included. */
  readonly days: readonly (UsageSums & { readonly day: string })[]
  readonly models: readonly (UsageSums & { readonly id: string; readonly margin_percent: number | null })[]
  readonly providers: readonly (UsageSums & { readonly id: string; readonly margin_percent: number | null })[]
  /** At most 100, by revenue. */
  readonly accounts: readonly (UsageSums & {
    readonly id: string
    readonly name: string
    readonly margin_percent: number | null
  })[]
}

/** A row of the log across accounts. */
export interface Generation {
  readonly id: number
  readonly generation_id: string
  readonly request_id: string
  readonly timestamp: string
  readonly type: string
  readonly status: 'completed' | 'error' | 'cancelled'
  readonly model_name: string
  readonly account: string
  readonly key: string
  readonly key_name: string
  readonly provider: string | null
  readonly provider_name: string | null
  readonly endpoint: string | null
  readonly upstream_id: string | null
  readonly attempts: number
  readonly error_type: ErrorType | null
  readonly finish_reason: EndReason | null
  readonly flagged: boolean
  readonly streamed: boolean
  readonly billing_basis: BillingBasis
  readonly price_version: number
  readonly meters: Readonly<Record<string, number>>
  /** What the provider reported and bills us; null where it is what is charged. */
  readonly reported_meters: Readonly<Record<string, number>> | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_tokens: number
  readonly reasoning_tokens: number
  readonly total_cost: number
  readonly currency: 'RUB'
  readonly provider_cost: number
  readonly insured: number
  readonly shortfall: number
  readonly latency_ms: number | null
  readonly duration_ms: number
  readonly app_title: string | null
  readonly app_url: string | null
}

export interface GenerationQuery extends PageQuery {
  readonly account?: string
  readonly key?: string
  readonly provider?: string
  readonly status?: 'completed' | 'error' | 'cancelled'
  /** Only answers whose provider reported more than there can be, or no number that can be read. */
  readonly flagged?: 'true'
  readonly model?: string
  readonly type?: string
  readonly generation_id?: string
  readonly request_id?: string
  readonly from?: string
  readonly to?: string
}

export interface EndpointHealth {
  readonly model: string
  readonly provider: string
  readonly endpoint: string
  readonly state: 'healthy' | 'cooling_down'
  /** 0 to 1. */
  readonly error_rate_30m: number | null
  readonly ttft_ms_30m: Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>> | null
  readonly throughput_30m: Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>> | null
}

export interface AuditReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly {
    readonly id: AuditInvariant
    readonly name: string
    readonly ok: boolean
    readonly violations: readonly string[]
  }[]
}

/** The charges of a period made again from the log: price version (with its exchange rates) × meters. Amounts are RUB. */
export interface ReplayReport {
  readonly ok: boolean
  readonly from: string | null
  readonly to: string | null
  readonly rows: number
  readonly charged: number
  readonly shortfall: number
  readonly provider_cost: number
  readonly types: readonly {
    readonly type: string
    readonly rows: number
    readonly charged: number
    readonly shortfall: number
    readonly provider_cost: number
  }[]
  /** `rates`: RUB per unit, as exact decimals. */
  readonly price_versions: readonly {
    readonly version: number
    readonly rows: number
    readonly rates: Readonly<Record<string, string>>
  }[]
  /** Charges whose log rows retention has taken. */
  readonly without_log: { readonly rows: number; readonly charged: number }
  readonly violations: readonly string[]
}

/** Amounts are RUB; `difference` = theirs − ours. */
export interface ReconciliationRow {
  /** Days, both included: one day, or a period of the bill. */
  readonly from: string
  readonly to: string
  /** The provider's own name of it. */
  readonly model: string
  readonly ours: number
  readonly theirs: number
  readonly difference: number
  readonly difference_percent: number | null
  readonly verdict: 'match' | 'billed_more' | 'billed_less' | 'not_billed' | 'not_ours'
}

export interface Reconciliation {
  readonly provider: string
  readonly from: string
  readonly to: string
  readonly tolerance_percent: number
  /** Every line matches. */
  readonly ok: boolean
  readonly totals: { readonly ours: number; readonly theirs: number; readonly difference: number }
  readonly data: readonly ReconciliationRow[]
}

/**
 * Of `error.metadata.problems`, where a document, provider, model or setting was refused: the first 50 of
 * `problem_count`.
 */
export interface CatalogProblem {
  readonly path: string
  readonly message: string
  /** null where only the message says it. */
  readonly check: FieldCheck | null
  readonly params: Readonly<Record<string, string | number>>
}

export interface AuditEvent {
  readonly id: number
  readonly at: string
  /** `token`, an administrator's e-mail, a user's e-mail, or `start`. */
  readonly actor: string
  readonly ip: string | null
  /** For example `account.update`, `code.create`, `sign_in`. */
  readonly action: EventAction
  readonly object: string
  readonly before: unknown
  readonly after: unknown
}

/** The filters match exactly, but `action`, which matches by its beginning. */
export interface EventQuery extends PageQuery {
  readonly actor?: string
  readonly action?: string
  readonly object?: string
  readonly from?: string
  readonly to?: string
}

export interface IpBlock {
  /** An IPv4 address, or the /64 of an IPv6 one. */
  readonly ip: string
  readonly until: string
  /** How often it was blocked within a day. */
  readonly times: number
}

/** Every endpoint as `METHOD path`. GET takes `query`, the others `body`; `answer` is the JSON of a 2xx. */
export interface AdminApi {
  readonly 'GET /admin/v1/accounts': { readonly query: AccountQuery; readonly answer: Listed<Account> }
  readonly 'POST /admin/v1/accounts': { readonly body: AccountBody; readonly answer: Account }
  readonly 'GET /admin/v1/accounts/:id': { readonly answer: Account }
  readonly 'PATCH /admin/v1/accounts/:id': { readonly body: AccountPatch; readonly answer: Account }
  /** 201, or 200 for a repeated reference; 409 `conflict` where `available` does not cover it. */
  readonly 'POST /admin/v1/accounts/:id/ledger': {
    readonly body: EntryBody
    readonly answer: { readonly id: number; readonly kind: string; readonly amount: number; readonly balance: number }
  }
  readonly 'GET /admin/v1/accounts/:id/statement': {
    readonly query: { readonly from: string; readonly to: string }
    readonly answer: Statement
  }
  readonly 'GET /admin/v1/accounts/:id/ledger': { readonly query: PageQuery; readonly answer: Listed<Entry> }
  readonly 'GET /admin/v1/accounts/:id/keys': { readonly query: PageQuery; readonly answer: Listed<Key> }
  readonly 'POST /admin/v1/accounts/:id/keys': {
    readonly body: KeyBody
    readonly answer: Key & { readonly key: string }
  }
  readonly 'PATCH /admin/v1/keys/:id': {
    readonly body: Partial<KeyBody> & { readonly disabled?: boolean }
    readonly answer: Key
  }
  readonly 'DELETE /admin/v1/keys/:id': { readonly answer: Deleted }

  /** `account` narrows to one account's; `query` is the beginning of the e-mail. */
  readonly 'GET /admin/v1/users': {
    readonly query: PageQuery & { readonly account?: string; readonly role?: 'user' | 'admin'; readonly query?: string }
    readonly answer: Listed<ConsoleUser>
  }
  /**
   * Disabling ends every session; so does a changed role. Nobody can disable or demote themselves or the last
   * administrator (409).
   */
  readonly 'PATCH /admin/v1/users/:id': {
    readonly body: { readonly role?: 'user' | 'admin'; readonly disabled?: boolean }
    readonly answer: ConsoleUser
  }
  /**
   * A one-time link with which the user sets a new password (60 minutes); `clear_totp` also takes two-step sign-in off
   * when it is used.
   */
  readonly 'POST /admin/v1/users/:id/password-link': {
    readonly body: { readonly clear_totp?: boolean }
    readonly answer: { readonly id: string; readonly email: string; readonly link: string }
  }
  /** Every session of the user ends. 409 `conflict` for the user's only way in. */
  readonly 'DELETE /admin/v1/users/:id/identities/:identity': { readonly answer: Deleted }
  readonly 'POST /admin/v1/administrators': {
    readonly body: { readonly email: string }
    readonly answer: { readonly id: string; readonly email: string; readonly link: string }
  }

  readonly 'GET /admin/v1/catalog': { readonly answer: CatalogDocument }
  /** `dry_run=1` answers the difference alone. */
  readonly 'PUT /admin/v1/catalog': {
    readonly query: { readonly dry_run?: '1' }
    readonly body: CatalogDocument
    readonly answer: CatalogChange
  }
  /** Takes the bundled models of this release. */
  readonly 'POST /admin/v1/catalog/update': {
    readonly query: { readonly dry_run?: '1' }
    readonly body: Record<string, never>
    readonly answer: CatalogChange
  }
  readonly 'PUT /admin/v1/providers/:slug': {
    readonly body: ProviderEntry
    readonly answer: ProviderEntry & { readonly slug: string }
  }
  readonly 'DELETE /admin/v1/providers/:slug': { readonly answer: Deleted }
  readonly 'PUT /admin/v1/models/*id': { readonly body: ModelEntry; readonly answer: ModelEntry & Warned }
  readonly 'DELETE /admin/v1/models/*id': { readonly answer: Deleted }
  /** Every model with what it costs and sells for, hidden and inactive ones included. */
  readonly 'GET /admin/v1/models': { readonly answer: Listed<PricedModel> }
  readonly 'GET /admin/v1/settings': { readonly answer: Settings }
  readonly 'PATCH /admin/v1/settings': { readonly body: Partial<Settings>; readonly answer: Settings & Warned }

  /** `from`, `to`: ISO times; default the last 30 days. */
  readonly 'GET /admin/v1/usage': {
    readonly query: { readonly group_by?: UsageGroup; readonly from?: string; readonly to?: string }
    readonly answer: Listed<UsageRow>
  }
  /** `from`, `to`: days, both included; default the last 30, at most 366. */
  readonly 'GET /admin/v1/margin': {
    readonly query: { readonly from?: string; readonly to?: string }
    readonly answer: MarginReport
  }
  /** With `total_exact: false` there are at least `total`; rows that ended before `searched_to` were not looked at. */
  readonly 'GET /admin/v1/generations': {
    readonly query: GenerationQuery
    readonly answer: Listed<Generation> & { readonly total_exact?: false; readonly searched_to?: string }
  }
  readonly 'GET /admin/v1/endpoints/health': { readonly answer: Listed<EndpointHealth> }
  readonly 'GET /admin/v1/audit': { readonly query: { readonly since?: string }; readonly answer: AuditReport }
  readonly 'GET /admin/v1/events': { readonly query: EventQuery; readonly answer: Listed<AuditEvent> }
  readonly 'GET /admin/v1/warnings': { readonly answer: { readonly data: readonly OperatorWarning[] } }
  readonly 'POST /admin/v1/kek/rotate': { readonly answer: { readonly rewrapped: number } }

  readonly 'GET /admin/v1/codes': { readonly query: PageQuery; readonly answer: Listed<Code> }
  /** 201; `code` of each is shown this once. */
  readonly 'POST /admin/v1/codes': {
    readonly body: CodeBody
    readonly answer: { readonly data: readonly (Code & { readonly code: string })[] }
  }
  readonly 'PATCH /admin/v1/codes/:id': {
    readonly body: { readonly disabled?: boolean; readonly note?: string | null }
    readonly answer: Code
  }
  readonly 'GET /admin/v1/payments': {
    readonly query: PageQuery & { readonly account?: string }
    readonly answer: Listed<PaymentRow>
  }
  readonly 'GET /admin/v1/ip-blocks': { readonly answer: Listed<IpBlock> }
  readonly 'DELETE /admin/v1/ip-blocks/*ip': { readonly answer: Deleted }
}
