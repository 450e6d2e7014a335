import { ERROR_TYPES } from '../base/errors.ts'
import { assert } from '../base/assert.ts'
import type { Label } from '../base/text.ts'
import type { Usage } from '../tables/meters.ts'
import { REQUEST_TYPES } from '../tables/model-types.ts'
import { type Micro, rubles } from '../base/money.ts'
import {
  flag,
  map,
  narrowed,
  nullable,
  number,
  oneOf,
  rub,
  text,
  time,
  whole,
  type ObjectOf,
  type Schema,
  type Static,
} from '../base/schema.ts'
import { isoTime } from '../base/time.ts'

export const RequestStatus = oneOf(['completed', 'error', 'cancelled'])
export type GenerationStatus = Static<typeof RequestStatus>
/** `provider_cost`: the answer would be free, but the account's free hour is used up (guarantees.md 3.5 row 20). */
export const BILLING_BASES = ['provider_usage', 'counted', 'drained', 'free', 'provider_cost'] as const
const BASES_MEAN =
  '`provider_usage`: what the provider reported; `counted`: it reported nothing, so Tollgate has counted; `drained`: read on for its bill after the client had left; `provider_cost`: free answers beyond those of an hour.'
export type BillingBasis = (typeof BILLING_BASES)[number]

/** Why an attempt failed, in the words of adapters and the relay. */
export const ATTEMPT_REASONS = [
  'connect',
  'saturated',
  'unsendable',
  'timeout',
  'stall',
  'status',
  'cut',
  'garbage',
  'error_event',
  'too_large',
  'cancelled',
  'empty',
] as const
export type AttemptReason = (typeof ATTEMPT_REASONS)[number]
/** Why an answer ended, in our words, whatever the provider's are. */
export const END_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'error'] as const
export type EndReason = (typeof END_REASONS)[number]

/** A failed attempt. The provider's words are redacted and never repeat the prompt. */
export interface FailedAttemptNote {
  readonly provider: string
  readonly reason: AttemptReason
  readonly status: number | null
  /** The provider's words; absent = it said nothing. */
  readonly said?: string
  /** The client was told these words too, so the customer may read them. */
  readonly told?: true
}

/** Longer than any provider's name: names are stored for years, and a hostile one could be as long as an answer. */
const NAME_CHARS_MAX = 256

/** A provider's name for something, cut to a bound and without characters that databases refuse in text. */
export function keptName(name: string | null): string | null {
  return name === null ? null : keptText(name)
}

/** The same for a text. */
export function keptText(given: string, charactersMax = NAME_CHARS_MAX): string {
  return given.slice(0, charactersMax).replaceAll('\0', '').toWellFormed()
}

/** Where and how an account sees a field. */
interface Shown {
  readonly name: string
  /** `log`: in each row of its log, and so on a request's page; `request`: only on that page. */
  readonly in: 'log' | 'request'
  /** Its position in that view, which no other field has; a new field takes the highest + 1. */
  readonly place: number
  /**
   * Whether it is a column of the account's CSV, for a field of `log`; the operator's has every field with `api` or
   * `operator`.
   */
  readonly csv?: true
  /** The console lists it among the facts of a request; absent = it is shown elsewhere on the page. */
  readonly fact?: { readonly label: Label; readonly style: FactStyle }
}

/** How the console shows a fact: in a monospaced font, or by its type. */
export type FactStyle = 'id' | 'plain'

interface Field<T = unknown> {
  /** Whether the request sets it, or only the ledger that charges it. */
  readonly by: 'request' | 'ledger'
  /** If it has no value, it is absent instead of null. Then the compiler asks for its value nowhere. */
  readonly optional?: true
  /**
   * Its value for a request whose process died; absent = the hold has it, or the field is optional. Where it is
   * forgotten, the compiler complains about `recordOfLost`.
   */
  readonly lost?: T
  /** The form in which readers get it; absent = unchanged. */
  readonly as?: 'rubles' | 'time'
  readonly shown?: Shown
  /** Its place in a record of `GET /v1/generation`, and in the operator's log. */
  readonly api?: Place
  /** Its place only in the operator's log, after the API's fields. */
  readonly operator?: Place
}

/** Its position among those of its kind, which no other field has; a new field takes the highest + 1. */
interface Place {
  readonly name: string
  readonly place: number
}

/** Names the type of a field's values; no field has this key. */
declare const VALUE: unique symbol
type Kept<F, T> = F extends { readonly as: 'rubles' } ? Micro : F extends { readonly as: 'time' } ? number : T

/** A field that is read, with the schema of its values. */
function field<T, const F extends Field<NoInfer<T>>>(
  schema: Schema<T>,
  of: F,
): F & { readonly schema: Schema<T>; readonly [VALUE]?: Kept<F, T> } {
  return { ...of, schema }
}

/** A field that no reader sees. */
function kept<T>() {
  return <const F extends Field>(of: F): F & { readonly [VALUE]?: T } => of
}

/**
 * A row for each field of the usage log: everything needed to explain and to replay a charge (wire.md 6, guarantees.md
 * I17). No bodies, no secrets. A new field is a row here and a value where requests end (docs/architecture.md, "To
 * add"): the store retains it, and the readers that the row names see it. Fields without a column in the store are
 * written in this order, so a new row comes last.
 */
export const LOG_FIELDS = {
  id: field(whole(), { by: 'ledger', api: { name: 'id', place: 1 } }),
  generationId: field(text('`gen-…`.'), {
    by: 'request',
    api: { name: 'generation_id', place: 7 },
    shown: { name: 'generation_id', in: 'log', place: 1, csv: true },
  }),
  accountId: field(text(), { by: 'request', operator: { name: 'account', place: 1 } }),
  keyId: field(text(), {
    by: 'request',
    operator: { name: 'key', place: 2 },
    shown: { name: 'key_id', in: 'log', place: 11 },
  }),
  requestId: field(text(), {
    by: 'request',
    api: { name: 'request_id', place: 8 },
    shown: {
      name: 'request_id',
      in: 'log',
      place: 2,
      csv: true,
      fact: { label: { en: 'Request id', ru: 'ID запроса' }, style: 'id' },
    },
  }),
  type: field(oneOf(REQUEST_TYPES), {
    by: 'request',
    api: { name: 'type', place: 9 },
    shown: { name: 'type', in: 'log', place: 4, csv: true },
  }),
  model: field(text(), {
    by: 'request',
    api: { name: 'model_name', place: 2 },
    shown: { name: 'model', in: 'log', place: 5, csv: true },
  }),
  providerSlug: field(nullable(text()), {
    by: 'request',
    lost: null,
    operator: { name: 'provider', place: 3 },
    shown: { name: 'provider', in: 'log', place: 6, csv: true },
  }),
  providerName: field(nullable(text()), {
    by: 'request',
    lost: null,
    api: { name: 'provider_name', place: 11 },
    shown: { name: 'provider_name', in: 'log', place: 7 },
  }),
  endpointId: field(nullable(text()), { by: 'request', lost: null, operator: { name: 'endpoint', place: 4 } }),
  upstreamId: field(nullable(text()), {
    by: 'request',
    lost: null,
    operator: { name: 'upstream_id', place: 5 },
    shown: {
      name: 'upstream_id',
      in: 'request',
      place: 1,
      fact: { label: { en: "Provider's id", ru: 'ID у провайдера' }, style: 'id' },
    },
  }),
  status: field(RequestStatus, {
    by: 'request',
    lost: 'error',
    api: { name: 'status', place: 10 },
    shown: { name: 'status', in: 'log', place: 8, csv: true },
  }),
  errorType: field(nullable(oneOf(ERROR_TYPES)), {
    by: 'request',
    lost: 'service_unavailable',
    operator: { name: 'error_type', place: 7 },
    shown: { name: 'error_type', in: 'log', place: 9, csv: true },
  }),
  finishReason: field(nullable(oneOf(END_REASONS)), {
    by: 'request',
    lost: 'error',
    api: { name: 'finish_reason', place: 12 },
    shown: { name: 'finish_reason', in: 'log', place: 10, csv: true },
  }),
  nativeFinishReason: field(nullable(text()), {
    by: 'request',
    lost: null,
    shown: { name: 'native_finish_reason', in: 'request', place: 2 },
  }),
  /** The key of the endpoint's price by resolution; absent = it has one price. */
  variant: kept<string>()({ by: 'request', optional: true }),
  /** The service tier that the provider says it has served; absent = it says none. */
  serviceTier: field(text('The service tier that the provider says it has served.'), {
    by: 'request',
    operator: { name: 'service_tier', place: 16 },
    optional: true,
  }),
  /** Names of parts of the request, one after another; absent = the whole request was sent. */
  dropped: field(text('Parts of the request that its provider was not sent, or was sent otherwise; null = none.'), {
    by: 'request',
    operator: { name: 'dropped', place: 19 },
    shown: {
      name: 'dropped',
      in: 'request',
      place: 7,
      fact: { label: { en: 'Not sent as it came', ru: 'Не передано или изменено' }, style: 'plain' },
    },
    optional: true,
  }),
  /** The condition of the price that was charged; absent = the plain price. */
  condition: field(text('The condition of the price, such as `flex, above 200000`; null = the plain price.'), {
    by: 'request',
    operator: { name: 'price_condition', place: 17 },
    shown: {
      name: 'price_condition',
      in: 'log',
      place: 23,
      csv: true,
      fact: { label: { en: 'Condition of the price', ru: 'Условие цены' }, style: 'plain' },
    },
    optional: true,
  }),
  /** The condition of the provider's bill if it differs: a separate price for customers has conditions of its own. */
  billedCondition: field(text("The condition of the provider's price; null = the plain one."), {
    by: 'request',
    operator: { name: 'provider_price_condition', place: 18 },
    optional: true,
  }),
  /** The usage that the charge is computed from. */
  usage: field(narrowed<Usage>(map(number())), { by: 'request', lost: {}, operator: { name: 'meters', place: 10 } }),
  /** The usage that the provider reported and bills; absent = it is the same. */
  reportedUsage: field(
    narrowed<Usage>(map(number(), 'What the provider reported and bills us; null where it is what is charged.')),
    { by: 'request', operator: { name: 'reported_meters', place: 11 }, optional: true },
  ),
  inputTokens: field(whole(), {
    by: 'request',
    lost: 0,
    api: { name: 'input_tokens', place: 3 },
    shown: { name: 'input_tokens', in: 'log', place: 15, csv: true },
  }),
  outputTokens: field(whole(), {
    by: 'request',
    lost: 0,
    api: { name: 'output_tokens', place: 4 },
    shown: { name: 'output_tokens', in: 'log', place: 16, csv: true },
  }),
  cachedTokens: field(whole(), {
    by: 'request',
    lost: 0,
    api: { name: 'cached_tokens', place: 13 },
    shown: { name: 'cached_tokens', in: 'log', place: 17, csv: true },
  }),
  reasoningTokens: field(whole(), {
    by: 'request',
    lost: 0,
    api: { name: 'reasoning_tokens', place: 14 },
    shown: { name: 'reasoning_tokens', in: 'log', place: 18, csv: true },
  }),
  /** Savings of the account by the prompt cache, micro-rubles; absent = none. */
  cacheSaved: kept<number>()({ by: 'request', optional: true }),
  billingBasis: field(oneOf(BILLING_BASES, BASES_MEAN), {
    by: 'request',
    lost: 'free',
    api: { name: 'billing_basis', place: 16 },
    shown: { name: 'billing_basis', in: 'request', place: 3 },
  }),
  /** Whether the provider reported an impossible number, or one that cannot be read. */
  flagged: field(
    flag('The provider reported more than there can be, which is not charged, or no number that can be read.'),
    {
      by: 'request',
      lost: false,
      operator: { name: 'flagged', place: 8 },
      shown: { name: 'flagged', in: 'request', place: 4 },
    },
  ),
  priceVersion: field(whole(), {
    by: 'request',
    operator: { name: 'price_version', place: 9 },
    shown: { name: 'price_version', in: 'request', place: 6 },
  }),
  /** The markup of the account or its group when the request was held; absent = everybody's prices. */
  markup: field(text('What the prices were multiplied with, by the rule of the account or its group.'), {
    by: 'request',
    operator: { name: 'markup', place: 15 },
    optional: true,
  }),
  streamed: field(flag(), {
    by: 'request',
    api: { name: 'streamed', place: 15 },
    shown: { name: 'streamed', in: 'log', place: 20, csv: true },
  }),
  attempts: field(whole(), { by: 'request', lost: 0, operator: { name: 'attempts', place: 6 } }),
  /** Absent = no attempt failed. */
  failedAttempts: kept<readonly FailedAttemptNote[] | undefined>()({ by: 'request', optional: true }),
  /** ms from arrival to the first upstream event; null when none came. */
  latencyMs: field(nullable(whole('To the first token.')), {
    by: 'request',
    lost: null,
    api: { name: 'latency_ms', place: 17 },
    shown: { name: 'latency_ms', in: 'log', place: 21, csv: true },
  }),
  durationMs: field(whole(), {
    by: 'request',
    lost: 0,
    api: { name: 'duration_ms', place: 18 },
    shown: { name: 'duration_ms', in: 'log', place: 22, csv: true },
  }),
  /** Unix ms of arrival. */
  createdAtMs: kept<number>()({ by: 'request' }),
  appUrl: field(nullable(text()), {
    by: 'request',
    lost: null,
    api: { name: 'app_url', place: 21 },
    shown: { name: 'app_url', in: 'log', place: 14, csv: true },
  }),
  appTitle: field(nullable(text()), {
    by: 'request',
    lost: null,
    api: { name: 'app_title', place: 20 },
    shown: { name: 'app_title', in: 'log', place: 13, csv: true },
  }),
  sessionId: field(nullable(text()), {
    by: 'request',
    lost: null,
    shown: {
      name: 'session_id',
      in: 'request',
      place: 5,
      fact: { label: { en: 'Session', ru: 'Сессия' }, style: 'plain' },
    },
  }),
  endUser: field(text("The client's own user, as the request named it; null = it named none."), {
    by: 'request',
    api: { name: 'end_user', place: 22 },
    shown: {
      name: 'end_user',
      in: 'log',
      place: 24,
      csv: true,
      fact: { label: { en: 'End user', ru: 'Конечный пользователь' }, style: 'plain' },
    },
    optional: true,
  }),
  costMicro: field(rub(), {
    by: 'ledger',
    as: 'rubles',
    api: { name: 'total_cost', place: 5 },
    shown: { name: 'cost', in: 'log', place: 19, csv: true },
  }),
  providerCostMicro: field(rub(), { by: 'ledger', as: 'rubles', operator: { name: 'provider_cost', place: 12 } }),
  shortfallMicro: field(rub(), { by: 'ledger', as: 'rubles', operator: { name: 'shortfall', place: 14 } }),
  insuredMicro: field(rub(), { by: 'ledger', as: 'rubles', operator: { name: 'insured', place: 13 } }),
  keyName: field(text(), {
    by: 'ledger',
    api: { name: 'key_name', place: 19 },
    shown: { name: 'key_name', in: 'log', place: 12, csv: true },
  }),
  endedAtMs: field(time('When it ended.'), {
    by: 'ledger',
    as: 'time',
    api: { name: 'timestamp', place: 6 },
    shown: { name: 'at', in: 'log', place: 3, csv: true },
  }),
} as const satisfies Readonly<Record<string, Field>>

type LogFieldRows = typeof LOG_FIELDS
export type FieldName = keyof LogFieldRows
type ValueOf<F> = F extends { readonly [VALUE]?: infer T } ? T : never
type NamesBy<By, Optional> = {
  [K in FieldName]: LogFieldRows[K]['by'] extends By
    ? LogFieldRows[K] extends { readonly optional: true }
      ? Optional extends true
        ? K
        : never
      : Optional extends true
        ? never
        : K
    : never
}[FieldName]
type Flat<T> = { readonly [K in keyof T]: T[K] }
type RowBy<By> = Flat<
  { [K in NamesBy<By, false>]: ValueOf<LogFieldRows[K]> } & { [K in NamesBy<By, true>]?: ValueOf<LogFieldRows[K]> }
>

/** A request's record in the usage log. */
export type GenerationRecord = RowBy<'request'>
/** A row of the usage log: the record, with the ledger's fields. */
export type GenerationRow = RowBy<'request' | 'ledger'>

/** Readers of a row: the account's log, the page of one request, the API, the operator. */
export type LogView = Shown['in'] | 'api' | 'operator'
type WrittenBy<F> = F extends { readonly schema: Schema<infer T> }
  ? Schema<F extends { readonly optional: true } ? T | null : T>
  : never
type NameIn<F, V extends LogView> = V extends 'api' | 'operator'
  ? F extends { readonly [K in V]: { readonly name: infer Name extends string } }
    ? Name
    : never
  : F extends { readonly shown: { readonly in: V; readonly name: infer Name extends string } }
    ? Name
    : never
type ViewSchemas<V extends LogView> = {
  readonly [K in FieldName as NameIn<LogFieldRows[K], V>]: WrittenBy<LogFieldRows[K]>
}
/** A reader's view of a row. */
export type RowView<V extends LogView> = ObjectOf<ViewSchemas<V>>

export interface ViewField extends Place, Pick<Shown, 'csv' | 'fact'> {
  readonly field: FieldName
  readonly as: 'rubles' | 'time' | null
}

/** The fields of a view, in its order. */
export function viewFields(view: LogView): readonly ViewField[] {
  // The names and rows of the table.
  return (Object.entries(LOG_FIELDS) as [FieldName, Field][])
    .flatMap(([field, { shown, as = null, ...row }]) => {
      const place = view === 'api' || view === 'operator' ? row[view] : shown?.in === view ? shown : undefined
      return place === undefined ? [] : [{ ...place, field, as }]
    })
    .toSorted((one, other) => one.place - other.place)
}

/** The schemas of a view's fields, in its order. */
export function viewSchemas<V extends LogView>(view: V): ViewSchemas<V> {
  const named = viewFields(view).map(({ field, name }) => {
    const of: Field & { readonly schema?: Schema<unknown> } = LOG_FIELDS[field]
    assert(of.schema !== undefined, 'A field that is shown has a schema.')
    return [name, of.optional ? nullable(of.schema) : of.schema]
  })
  // Each name of the type has a schema.
  return Object.fromEntries(named) as ViewSchemas<V>
}

type LostName = { [K in FieldName]: LogFieldRows[K] extends { readonly lost: unknown } ? K : never }[FieldName]

/** Values for a request whose process died, in addition to those in its hold. */
export const LOST_FIELDS = Object.fromEntries(
  Object.entries(LOG_FIELDS).flatMap(([name, row]) => ('lost' in row ? [[name, row.lost]] : [])),
  // Each of these names has a value.
) as Pick<GenerationRecord, LostName>

const FIELDS: Readonly<Record<LogView, readonly ViewField[]>> = {
  log: viewFields('log'),
  request: viewFields('request'),
  api: viewFields('api'),
  operator: viewFields('operator'),
}

/** A reader's view of a row of the usage log, with the names and order of the table. */
export function viewOf<V extends LogView>(row: GenerationRow, view: V): RowView<V> {
  const seen: Record<string, unknown> = {}
  for (const { field, name, as } of FIELDS[view]) seen[name] = written(row[field], as)
  // Each field of the type has been set.
  return seen as RowView<V>
}

function written(value: unknown, as: ViewField['as']): unknown {
  if (as === 'rubles' && typeof value === 'bigint') return rubles(value)
  if (as === 'time' && typeof value === 'number') return isoTime(value)
  return value ?? null
}
