/**
 * What the console and the server say to each other under `/cabinet/v1`. Types alone: the browser imports this file.
 *
 * - A session cookie opens it; API keys and the admin token are refused. Without a session: 401 `unauthorized`.
 * - A changing request must come from our own page: `Sec-Fetch-Site: same-origin` (or Origin equal to Host), JSON body.
 *   Else 403 `access_denied`.
 * - Amounts are RUB numbers with at most 6 decimals; times are ISO 8601 in UTC; days are `YYYY-MM-DD` in the service's
 *   time zone.
 * - Errors have one shape, `ErrorBody`; 400 `invalid_input` names the field at the start of its message (`password: must
 *   …`), and in `metadata.field` with `check` (one of `FieldChecks`) and its `params`; other refusals have
 *   `metadata.reason` (one of `RefusalReasons`).
 * - Lists that may be long are read with cursors: pass `next_cursor` back as `cursor`; null = the end. Cursors are
 *   opaque.
 * - Texts that users typed or clients sent (names, titles, referers) come back as they were: render them as text only.
 */
import type { ErrorType } from '../errors.ts'
import type { AttemptReason, BillingBasis, EndReason } from '../ledger/generation-record.ts'
import type { Statement } from '../ledger/statement.ts'
import type { Meter } from '../meters.ts'
import type { Identity, ProofBody } from './identity-contract.ts'
import type { Payment, PaymentMethod } from './payment-contract.ts'

export interface ErrorBody {
  readonly error: {
    /** The HTTP status. */
    readonly code: number
    readonly message: string
    /** Seconds, for `rate_limit_exceeded`. */
    readonly retry_after?: number
    readonly metadata: { readonly error_type: string } & Readonly<Record<string, unknown>>
  }
}

export type Language = 'en' | 'ru'
export type Theme = 'light' | 'dark' | 'auto'
export type Role = 'user' | 'admin'
export type ModelType = 'chat' | 'embeddings' | 'image' | 'tts' | 'transcription' | 'rerank' | 'video'
export type RequestType =
  | 'chat'
  | 'responses'
  | 'completions'
  | 'embeddings'
  | 'image'
  | 'tts'
  | 'transcription'
  | 'translation'
  | 'rerank'
  | 'video'
export type RequestStatus = 'completed' | 'error' | 'cancelled'
export type LimitReset = 'daily' | 'weekly' | 'monthly'

/** What the sign-in page needs before anybody is known. */
export interface ServiceFacts {
  readonly version: string
  readonly signup: 'open' | 'closed'
  /** A single sign-on button; `start` is where the browser goes (a full navigation). */
  readonly oidc: { readonly name: string; readonly start: '/cabinet/v1/oidc/start' } | null
  /** No administrator exists yet: whoever has the printed set-up link makes the first. */
  readonly needs_setup: boolean
  /** Message of the maintenance switch while it is on. */
  readonly maintenance: { readonly message: string | null } | null
  /** Base of the customer API for snippets, for example `https://ai.example.com/v1`. */
  readonly api_base: string
  readonly currency: 'RUB'
  /** Whose days and months limits and charts count. */
  readonly service_timezone: string
  readonly password: { readonly least: number; readonly most: number }
}

export interface Profile {
  readonly user_id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly account_id: string
  readonly account_status: 'active' | 'deactivated' | 'locked'
  readonly default_model: string | null
  /** IANA name; null = the browser's. */
  readonly timezone: string | null
  /** null = the browser's. */
  readonly language: Language | null
  readonly theme: Theme
  readonly has_password: boolean
  readonly has_oidc: boolean
  readonly totp: { readonly enabled: boolean; readonly recovery_codes_left: number }
  /** Until an administrator has turned two-step sign-in on, `/admin/v1` refuses them here. */
  readonly must_enrol_totp: boolean
  readonly created_at: string
}

export interface SessionState {
  readonly service: ServiceFacts
  /** null = not signed in. */
  readonly profile: Profile | null
  /**
   * When this session ends if it is left alone, and at the latest; until when its sign-in stands for a user who has
   * neither password nor two-step sign-in.
   */
  readonly session: {
    readonly id: string
    readonly idle_ends_at: string
    readonly ends_at: string
    readonly fresh_until: string
  } | null
}

export interface SignUpBody {
  readonly email: string
  readonly password: string
  readonly name?: string
  readonly language?: Language
}

export interface SignInBody {
  readonly email: string
  readonly password: string
  /** A six-digit code or a recovery code, where the user already gives it. */
  readonly code?: string
}

/** `code_required`: the password was right; send the ticket (5 minutes) with a code to `sign-in/code`. */
export type SignInAnswer =
  | ({ readonly status: 'signed_in' } & SessionState)
  | { readonly status: 'code_required'; readonly ticket: string }

export interface SessionItem {
  readonly id: string
  readonly current: boolean
  readonly ip: string
  readonly user_agent: string
  readonly created_at: string
  readonly last_seen_at: string
  readonly ends_at: string
}

export interface SignInItem {
  readonly id: number
  readonly at: string
  readonly ip: string
  readonly user_agent: string
  readonly method: 'password' | 'totp' | 'recovery_code' | 'oidc' | 'setup' | 'sign_up'
  readonly outcome: 'succeeded' | 'failed'
}

export interface Cursored<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

export interface Money {
  readonly balance: number
  readonly available: number
  readonly reserved: number
}

export interface SpendSums {
  readonly requests: number
  readonly errors: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number
}

export interface DaySums extends SpendSums {
  readonly day: string
}

export interface Summary {
  readonly money: Money
  readonly today: SpendSums
  readonly last_7_days: SpendSums
  readonly last_30_days: SpendSums
  /** 30 days, the last is today; days without requests are there with zeros. */
  readonly days: readonly DaySums[]
  /** Of the last 30 days, at most 5, by cost. */
  readonly top_models: readonly (SpendSums & { readonly model: string })[]
  /** Keys that have used 80 % of their limit or more, or whose expiry is within 7 days. */
  readonly keys_near_limit: readonly Key[]
  readonly keys: number
  /** The first-request guide is shown while there was none. */
  readonly has_requests: boolean
  /** For the snippets: the account's default model, else a cheap chat model that is on. */
  readonly example_model: string | null
}

export interface Key {
  readonly id: string
  readonly name: string
  /** `sk-tg-abc…xyz`: all that is ever shown again. */
  readonly label: string
  readonly disabled: boolean
  readonly limit: number | null
  readonly limit_reset: LimitReset | null
  readonly limit_remaining: number | null
  /** When the limit's period ends; null without one. */
  readonly limit_resets_at: string | null
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
  /** null or absent = no limit. */
  readonly limit?: number | null
  /** null = a limit for the whole life of the key. */
  readonly limit_reset?: LimitReset | null
  readonly expires_at?: string | null
  /** null = every model. */
  readonly allowed_models?: readonly string[] | null
}

/** Shown this once. */
export type NewKey = Key & { readonly key: string }

export type UsageGroup = 'model' | 'key' | 'app'

export interface UsageQuery {
  /** Days, both included; default the last 30. At most 366. */
  readonly from?: string
  readonly to?: string
  readonly group_by?: UsageGroup
}

export interface UsageAnswer {
  readonly from: string
  readonly to: string
  readonly totals: SpendSums
  /** Each day of the range, zeros included. */
  readonly days: readonly DaySums[]
  /** By cost, at most 50; the rest is summed under the id `…rest`. `label` is the key's name or the app's title. */
  readonly groups: readonly (SpendSums & { readonly id: string; readonly label: string })[]
  /** Day × group for stacked charts; only cells with requests. `group` is an id of `groups`. */
  readonly cells: readonly (DaySums & { readonly group: string })[]
}

export interface LogQuery {
  readonly key?: string
  readonly model?: string
  readonly type?: RequestType
  readonly provider?: string
  readonly status?: RequestStatus
  /** App as in `Apps`: its URL, else its title. Empty text = requests without an app. */
  readonly app?: string
  /** A generation id or a request id, exactly. */
  readonly id?: string
  /** ISO times; `to` is not included. */
  readonly from?: string
  readonly to?: string
  readonly cursor?: string
  /** 1 to 300, default 50. */
  readonly limit?: number
}

export interface LogRow {
  /** `gen-…`: the id of the request's page. */
  readonly generation_id: string
  readonly request_id: string
  readonly at: string
  readonly type: RequestType
  readonly model: string
  readonly provider: string | null
  readonly provider_name: string | null
  readonly status: RequestStatus
  readonly error_type: ErrorType | null
  readonly finish_reason: EndReason | null
  readonly key_id: string
  readonly key_name: string
  readonly app_title: string | null
  readonly app_url: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_tokens: number
  readonly reasoning_tokens: number
  readonly cost: number
  readonly streamed: boolean
  readonly latency_ms: number | null
  readonly duration_ms: number
  /** Output tokens per second after the first; null where it means nothing. */
  readonly tokens_per_second: number | null
}

/**
 * A search that found too little in the time it may take answers what it has, with `next_cursor` and `searched_to`, the
 * time it got back to: ask again with the cursor to go on.
 */
export interface LogAnswer extends Cursored<LogRow> {
  readonly searched_to: string | null
}

/** What the log can be filtered by: the values of the last 90 days. */
export interface LogFilters {
  readonly models: readonly string[]
  readonly providers: readonly string[]
  readonly keys: readonly {
    readonly id: string
    readonly name: string
    readonly label: string
    readonly deleted: boolean
  }[]
  readonly apps: readonly { readonly id: string; readonly title: string }[]
}

/** One line of the bill: units × price = cost, before the one rounding up to a micro-ruble. */
export interface BillLine {
  /** For example `input`, `output`, `cache_read`, `image_output`. */
  readonly meter: Meter
  readonly units: number
  /** RUB per unit, an exact decimal. */
  readonly price: string
  /** RUB, an exact decimal. */
  readonly cost: string
}

export interface RequestStory extends LogRow {
  readonly upstream_id: string | null
  readonly native_finish_reason: string | null
  readonly billing_basis: BillingBasis
  /** The provider reported more than there can be, which is not charged, or no number that can be read. */
  readonly flagged: boolean
  readonly session_id: string | null
  readonly price_version: number
  /** Every try in order; the last one answered when the status is `completed`. */
  readonly attempts: readonly {
    readonly provider: string | null
    readonly outcome: 'answered' | 'failed'
    readonly reason: AttemptReason | ErrorType | null
    readonly status: number | null
  }[]
  readonly attempt_count: number
  readonly bill: readonly BillLine[]
  /** The exact sum of the bill before rounding; null when its price version is gone. */
  readonly bill_total: string | null
  /** Money set aside and what became of it; null for requests that held nothing. */
  readonly hold: {
    readonly amount: number
    readonly state: 'open' | 'settled' | 'voided' | 'expired' | 'settled_late'
    readonly placed_at: string
    readonly ended_at: string | null
    readonly charged: number
    readonly returned: number
    readonly shortfall: number
  } | null
  readonly timings: { readonly arrived_at: string; readonly first_token_at: string | null; readonly ended_at: string }
}

export interface AppRow extends SpendSums {
  /** URL, else title; empty for requests without an app. */
  readonly id: string
  readonly title: string | null
  readonly url: string | null
  /** Of the account's spend in the range, 0 to 1. */
  readonly share: number
  readonly top_models: readonly { readonly model: string; readonly requests: number; readonly cost: number }[]
  readonly last_used_at: string
}

/**
 * RUB per million tokens or characters (`prompt`, `completion`, `input_cache_read`, …, `characters`) or per unit
 * (`request`, `image`, `image_output`, `search`, `second`, `video_second`): exact decimals.
 */
export type Prices = Readonly<Record<string, string>>

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

export interface ModelEndpoint {
  readonly id: string
  readonly provider: string
  readonly provider_name: string
  readonly state: 'healthy' | 'cooling_down'
  readonly prices: Prices
  readonly context_length: number | null
  readonly max_completion_tokens: number | null
  readonly supported_parameters: readonly string[]
  /** Percent of answered requests, null when nobody asked. */
  readonly uptime_5m: number | null
  readonly uptime_30m: number | null
  readonly uptime_1d: number | null
  readonly ttft_ms: Percentiles | null
  /** Tokens per second. */
  readonly throughput: Percentiles | null
}

export interface ModelRow {
  readonly id: string
  readonly name: string
  readonly type: ModelType
  readonly description: string | null
  readonly context_length: number | null
  readonly max_completion_tokens: number | null
  readonly input_modalities: readonly string[]
  readonly output_modalities: readonly string[]
  /** ISO day. */
  readonly created: string
  /** Of the cheapest endpoint. */
  readonly prices: Prices
  readonly aliases: readonly string[]
  /** Usable by this account and its settings. */
  readonly allowed: boolean
  readonly voices: readonly string[]
  readonly formats: readonly string[]
  readonly sizes: readonly string[]
  readonly durations: readonly number[]
  readonly endpoints: readonly ModelEndpoint[]
}

export type EntryKind = 'topup' | 'refund' | 'adjustment' | 'charge'

export interface Entry {
  readonly id: number
  readonly at: string
  readonly kind: EntryKind
  /** As it changed the balance: charges and refunds are negative. */
  readonly amount: number
  /** A charge's generation id, a payment's id, a code's label, or the operator's reference. */
  readonly reference: string
  readonly reason: string | null
}

export interface LedgerQuery {
  /** `money` = everything but charges. */
  readonly kind?: EntryKind | 'money'
  readonly cursor?: string
  readonly limit?: number
}

/**
 * Every endpoint as `METHOD path`. GET takes `query`, the others `body`; `answer` is the JSON of a 2xx.
 * Not JSON, and so not below:
 *
 * - `GET /cabinet/v1/log.csv?` LogQuery without cursor and limit: `text/csv`, streamed, newest first, at most a million
 *   rows;
 * - `GET /cabinet/v1/oidc/start` (navigation; signs in) and `/cabinet/v1/oidc/callback`, which ends at `/` or at
 *   `/sign-in#ticket=…` (a code is needed) or `/sign-in#error=<ErrorType>`; where an identity was to be linked, at
 *   `/security#linked` or `/security#error=<ErrorType>`;
 * - `POST /cabinet/v1/playground/<path of /v1>`, for example `…/playground/chat/completions`: body and answer of the
 *   customer API, streams included (`text/event-stream`), also `DELETE …/playground/streams?id=` to stop one, and GET
 *   routes of jobs. The header `X-Tollgate-Key-Id: key_…` names the key that it is charged and limited by.
 */
export interface CabinetApi {
  /** Open to anybody; says who is signed in. */
  readonly 'GET /cabinet/v1/session': { readonly answer: SessionState }
  /** 201. 403 `access_denied` while closed; 409 `conflict` for a known e-mail. */
  readonly 'POST /cabinet/v1/sign-up': { readonly body: SignUpBody; readonly answer: SessionState }
  /**
   * 401 `unauthorized` for a wrong e-mail or password alike; 429 with `retry_after` after too many; 503 when too many
   * wait.
   */
  readonly 'POST /cabinet/v1/sign-in': { readonly body: SignInBody; readonly answer: SignInAnswer }
  readonly 'POST /cabinet/v1/sign-in/code': {
    readonly body: { readonly ticket: string; readonly code: string }
    readonly answer: SignInAnswer
  }
  readonly 'POST /cabinet/v1/sign-out': {
    readonly body: Record<string, never>
    readonly answer: { readonly signed_out: true }
  }
  /**
   * What a set-up link (`/setup?token=…`) is for: the first administrator, an invited one, or a new password. 403 when
   * it is used or expired. `email` null = asked for.
   */
  readonly 'POST /cabinet/v1/setup/check': {
    readonly body: { readonly token: string }
    readonly answer: {
      readonly purpose: 'first_administrator' | 'administrator' | 'password'
      readonly email: string | null
      readonly code_required: boolean
    }
  }
  /**
   * 201, signed in. `code` (from the authenticator, or a recovery code) where `setup/check` says `code_required`: 401
   * for a wrong one, and the link stays good.
   */
  readonly 'POST /cabinet/v1/setup': {
    readonly body: {
      readonly token: string
      readonly email?: string
      readonly password: string
      readonly code?: string
    }
    readonly answer: SessionState
  }

  readonly 'GET /cabinet/v1/profile': { readonly answer: Profile }
  readonly 'PATCH /cabinet/v1/profile': {
    readonly body: {
      readonly name?: string
      readonly default_model?: string | null
      readonly timezone?: string | null
      readonly language?: Language | null
      readonly theme?: Theme
    }
    readonly answer: Profile
  }
  /** All other sessions end. A proof as in `ProofBody`, the password being `current_password`. */
  readonly 'POST /cabinet/v1/password': {
    readonly body: { readonly current_password?: string; readonly code?: string; readonly new_password: string }
    readonly answer: Profile
  }
  /** A new seed, in use once it is confirmed. `uri` is the otpauth:// address for an authenticator. */
  readonly 'POST /cabinet/v1/totp': {
    readonly body: ProofBody
    readonly answer: { readonly secret: string; readonly uri: string }
  }
  /** All other sessions end; the ten codes are shown this once. */
  readonly 'POST /cabinet/v1/totp/confirm': {
    readonly body: { readonly code: string }
    readonly answer: { readonly recovery_codes: readonly string[] }
  }
  readonly 'POST /cabinet/v1/totp/recovery-codes': {
    readonly body: { readonly code: string }
    readonly answer: { readonly recovery_codes: readonly string[] }
  }
  /** `code`: from the authenticator or a recovery code. All other sessions end. */
  readonly 'POST /cabinet/v1/totp/disable': { readonly body: { readonly code: string }; readonly answer: Profile }
  readonly 'GET /cabinet/v1/identities': { readonly answer: { readonly data: readonly Identity[] } }
  /** Send the browser to `url`. 409 `conflict` while one is linked; 404 where there is no single sign-on. */
  readonly 'POST /cabinet/v1/identities/link': { readonly body: ProofBody; readonly answer: { readonly url: string } }
  /** All other sessions end. 409 `conflict` for the only way in. */
  readonly 'POST /cabinet/v1/identities/:id/unlink': {
    readonly body: ProofBody
    readonly answer: { readonly id: string; readonly deleted: true }
  }
  readonly 'GET /cabinet/v1/sessions': { readonly answer: { readonly data: readonly SessionItem[] } }
  readonly 'DELETE /cabinet/v1/sessions/:id': { readonly answer: { readonly id: string; readonly deleted: true } }
  readonly 'POST /cabinet/v1/sessions/revoke-others': {
    readonly body: Record<string, never>
    readonly answer: { readonly revoked: number }
  }
  readonly 'GET /cabinet/v1/sign-ins': {
    readonly query: { readonly cursor?: string; readonly limit?: number }
    readonly answer: Cursored<SignInItem>
  }

  readonly 'GET /cabinet/v1/summary': { readonly answer: Summary }
  readonly 'GET /cabinet/v1/keys': { readonly answer: { readonly data: readonly Key[] } }
  /** 201. */
  readonly 'POST /cabinet/v1/keys': { readonly body: KeyBody; readonly answer: NewKey }
  readonly 'GET /cabinet/v1/keys/:id': { readonly answer: Key }
  readonly 'PATCH /cabinet/v1/keys/:id': {
    readonly body: Partial<KeyBody> & { readonly disabled?: boolean }
    readonly answer: Key
  }
  readonly 'DELETE /cabinet/v1/keys/:id': { readonly answer: { readonly id: string; readonly deleted: true } }

  readonly 'GET /cabinet/v1/usage': { readonly query: UsageQuery; readonly answer: UsageAnswer }
  readonly 'GET /cabinet/v1/log': { readonly query: LogQuery; readonly answer: LogAnswer }
  readonly 'GET /cabinet/v1/log/filters': { readonly answer: LogFilters }
  /** By generation id; 404 `generation_not_found`. */
  readonly 'GET /cabinet/v1/log/:id': { readonly answer: RequestStory }
  readonly 'GET /cabinet/v1/apps': {
    readonly query: { readonly range?: 'day' | '7d' | '30d' }
    readonly answer: { readonly data: readonly AppRow[] }
  }

  /** The whole catalogue that is listed; filtering and comparing is the browser's. */
  readonly 'GET /cabinet/v1/models': { readonly answer: { readonly data: readonly ModelRow[] } }
  /** Ids have slashes: `GET /cabinet/v1/models/openai/gpt-4o`. */
  readonly 'GET /cabinet/v1/models/*id': { readonly answer: ModelRow }

  readonly 'GET /cabinet/v1/ledger': { readonly query: LedgerQuery; readonly answer: Cursored<Entry> & Money }
  /** Days, both included. At most 366. */
  readonly 'GET /cabinet/v1/statement': {
    readonly query: { readonly from: string; readonly to: string }
    readonly answer: Statement
  }
  /**
   * 404 `not_found` for an unknown, used-up or expired code; 409 `conflict` when this account has used it; 429 after 10
   * tries in an hour.
   */
  readonly 'POST /cabinet/v1/codes/redeem': {
    readonly body: { readonly code: string }
    readonly answer: { readonly amount: number; readonly balance: number }
  }
  /** `methods` is empty when no payment provider is set up. */
  readonly 'GET /cabinet/v1/payments': {
    readonly query: { readonly cursor?: string; readonly limit?: number }
    readonly answer: Cursored<Payment> & { readonly methods: readonly PaymentMethod[] }
  }
  /** 201; send the browser to `confirmation_url`. It comes back to `/top-up?payment=<id>`. */
  readonly 'POST /cabinet/v1/payments': {
    readonly body: { readonly method: 'yookassa'; readonly amount: number }
    readonly answer: Payment
  }
  readonly 'GET /cabinet/v1/payments/:id': { readonly answer: Payment }
  /** Asks the provider now instead of waiting for its notification. */
  readonly 'POST /cabinet/v1/payments/:id/check': { readonly body: Record<string, never>; readonly answer: Payment }
}
