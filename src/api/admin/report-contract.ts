import { TIME_RANGE } from '../../base/time-range.ts'
import { Refusal, REFUSAL_FILTERS } from '../records/refusals.ts'
import { EXAMPLE_DAYS } from '../records/route-rows.ts'
import { ERROR_TYPES } from '../../base/errors.ts'
import { EVENT_ACTIONS } from '../../ledger/event-action.ts'
import { viewSchemas } from '../../ledger/generation-record.ts'
import { filterFields } from '../../ledger/log-filters.ts'
import { BillAdjustment, BillLine, STORY_FIELDS, StoryAttempt } from '../records/request-story-contract.ts'
import { LogRecord, SearchNotes } from '../public/contract.ts'
import type { AuditInvariant } from '../../store/audit/audit-store.ts'
import { UsageAnswer, UsageQuery as AccountUsageQuery } from '../cabinet/log-contract.ts'
import { PageQuery, listed } from './record-contract.ts'
import {
  anything,
  day,
  flag,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
  either,
  only,
} from '../../base/schema.ts'
import type { AdminWireRoute } from './admin-route.ts'

/** A condition that the operator should know of; it disappears when its cause is removed. */
export const OperatorWarning = either(
  object({ kind: only('rates_failed'), since: time(), reason: text() }),
  object({
    kind: only('rates_refused'),
    since: time(),
    rates: list(object({ currency: text(), rate: text(), held: text() })),
  }),
)
export type OperatorWarning = Static<typeof OperatorWarning>

export const UsageGroup = oneOf(
  ['model', 'provider', 'account', 'key', 'day', 'person', 'end_user'],
  '`person`: who made the keys, by id; empty = programs and the operator. `end_user`: whom requests of one `account` name, the 50 most expensive and `…rest` for the others; requests that name nobody are in none. It reads at most 500,000 requests of the log.',
)
export type UsageGroup = Static<typeof UsageGroup>

export const UsageSums = object({
  requests: whole(),
  input_tokens: whole(),
  output_tokens: whole(),
  revenue: rub(),
  provider_cost: rub(),
  margin: rub('revenue − provider_cost − insured.'),
  insured: rub(),
  shortfall: rub(),
})
export type UsageSums = Static<typeof UsageSums>

const GroupNames = object({
  model: optional(text()),
  provider: optional(text()),
  account: optional(text()),
  key: optional(text()),
  day: optional(day()),
  person: optional(text()),
  end_user: optional(text()),
})

export const UsageRow = object(
  { ...UsageSums.fields, ...GroupNames.fields },
  "The group's value stands under the group's own name, for example `model`.",
)
export type UsageRow = Static<typeof UsageRow>

export const MarginReport = object({
  from: text(),
  to: text(),
  totals: object({ ...UsageSums.fields, margin_percent: nullable(number()) }),
  days: list(object({ ...UsageSums.fields, day: day() }), 'Each day of the range, zeros included.'),
  models: list(object({ ...UsageSums.fields, id: text(), margin_percent: nullable(number()) })),
  providers: list(object({ ...UsageSums.fields, id: text(), margin_percent: nullable(number()) })),
  conditions: list(
    object({
      ...UsageSums.fields,
      id: text('Of the model.'),
      condition: nullable(text('Of the price that was charged; null = the plain one.')),
      margin_percent: nullable(number()),
    }),
    'Each price of the models that were sold under any condition.',
  ),
  accounts: list(
    object({ ...UsageSums.fields, id: text(), name: text(), margin_percent: nullable(number()) }),
    'At most 100, by revenue.',
  ),
  caches: object(
    {
      saved: rub(),
      models: list(object({ id: text(), saved: rub() })),
      keys: list(object({ id: text(), name: text(), account: text(), saved: rub() }), 'At most 100, by `saved`.'),
    },
    'What prompt caches of providers saved the customers: cached units × (plain price − cached price).',
  ),
})
export type MarginReport = Static<typeof MarginReport>

export const RefusalQuery = object({ ...PageQuery.fields, ...REFUSAL_FILTERS, account: optional(text()) })
export const OperatorRefusal = object({ ...Refusal.fields, account_name: text() })
export type OperatorRefusal = Static<typeof OperatorRefusal>

export const Overview = object({
  recent: object(
    {
      from: nullable(time('When the oldest of them ended.')),
      requests: whole(),
      errors: whole(),
      flagged: whole('Answers whose provider reported more than there can be.'),
      cache_saved: rub('What prompt caches saved the accounts.'),
      ttft_ms: nullable(object({ p50: number(), p99: number() })),
    },
    'The requests of the last 24 hours, the newest 10,000 at most.',
  ),
  errors: list(
    object({ provider: nullable(text()), error_type: nullable(oneOf(ERROR_TYPES)), requests: whole() }),
    'Of these requests, by provider and cause, most first; at most 20. `null`: no provider was asked.',
  ),
  low_balances: list(
    object({ id: text(), name: text(), available: rub(), spent: rub('In the last 30 days.') }),
    'Active accounts whose money covers less than three days of their spend, or less than a request that was refused in the last 24 hours; at most 10.',
  ),
  refused: list(
    object({ times: whole(), newest: OperatorRefusal }),
    'Requests that were refused in the last 24 hours, the newest 10,000 minutes at most: by account and cause, most first; at most 10.',
  ),
  locked: object({ accounts: whole(), amount: rub() }, 'Money of accounts that are not active.'),
  pending_payments: object({ payments: whole(), amount: rub() }),
})
export type Overview = Static<typeof Overview>

export const Generation = object(
  { ...LogRecord.fields, ...viewSchemas('operator'), account_name: text('Empty for an account without a name.') },
  'A row of the log across accounts.',
)
export type Generation = Static<typeof Generation>

export const GenerationStory = object({
  ...Generation.fields,
  native_finish_reason: nullable(text("The provider's own.")),
  session_id: nullable(text()),
  tries: list(
    object({
      ...StoryAttempt.fields,
      said: nullable(text('What the provider said: redacted, and withheld where it may repeat the prompt.')),
    }),
    'Every attempt in order; the last one answered where the status is `completed`.',
  ),
  ...STORY_FIELDS,
  provider_bill: list(BillLine, 'What the provider bills us by its own prices, for the usage that it reported.'),
  provider_bill_total: nullable(text('The exact sum of it before rounding.')),
  provider_bill_adjustments: list(BillAdjustment, 'They and `provider_bill_total` add up to `provider_cost` exactly.'),
  tokens_per_second: nullable(number()),
})
export type GenerationStory = Static<typeof GenerationStory>

export const GenerationQuery = object({ ...PageQuery.fields, ...filterFields('operator') })
export type GenerationQuery = Static<typeof GenerationQuery>

const Percentiles = object({ p50: number(), p75: number(), p90: number(), p99: number() })

export const EndpointHealth = object({
  model: text(),
  provider: text(),
  endpoint: text(),
  state: oneOf(['healthy', 'cooling_down']),
  error_rate_30m: nullable(number('0 to 1.')),
  ttft_ms_30m: nullable(Percentiles),
  throughput_30m: nullable(Percentiles),
  refused_today: list(
    object({
      parameter: text(),
      requests: whole(),
      said: nullable(
        text("The provider's newest words, without secrets and texts of the request; null = it said nothing."),
      ),
      others: nullable(
        list(
          text(),
          "The endpoint's `supported_parameters` without it, to put to the model: it is then no longer sent, and named in `X-Tollgate-Dropped`. null = that would not help, or the model is not of type `chat`.",
        ),
      ),
    }),
    'Parameters for which it refused requests since midnight UTC, as this node has seen, while it is sent them.',
  ),
})
export type EndpointHealth = Static<typeof EndpointHealth>

export const AuditReport = object({
  ok: flag(),
  violations: whole(),
  checks: list(
    object({
      id: text<AuditInvariant>('The invariant, such as `I1`.'),
      name: text(),
      ok: flag(),
      violations: whole('How many.'),
      found: list(text(), 'Each of them.'),
    }),
  ),
})
export type AuditReport = Static<typeof AuditReport>

export const ReplayReport = object(
  {
    ok: flag(),
    from: nullable(text()),
    to: nullable(text()),
    rows: whole(),
    charged: rub(),
    shortfall: rub(),
    provider_cost: rub(),
    types: list(object({ type: text(), rows: whole(), charged: rub(), shortfall: rub(), provider_cost: rub() })),
    price_versions: list(
      object({
        version: whole(),
        rows: whole(),
        rates: map(text(), 'RUB for one unit of each currency, as exact decimals.'),
      }),
    ),
    without_log: object({ rows: whole(), charged: rub() }, 'Charges whose log rows retention has taken.'),
    violations: whole('How many charges differ.'),
    found: list(text(), 'Each of them.'),
  },
  'The charges of a period made again from the log: price version (with its exchange rates) × meters. Amounts are RUB.',
)
export type ReplayReport = Static<typeof ReplayReport>

export const AuditEvent = object({
  id: whole(),
  at: time(),
  actor: text("`token`, `token:NAME`, an administrator's e-mail, a user's e-mail, or `start`."),
  ip: nullable(text()),
  action: oneOf(EVENT_ACTIONS),
  object: text(),
  before: anything(),
  after: anything(),
})
export type AuditEvent = Static<typeof AuditEvent>

export const EventSort = oneOf(['at', '-at'], '`-at`, the newest first, if absent.')

export const EventQuery = object(
  {
    ...PageQuery.fields,
    actor: optional(text()),
    action: optional(text()),
    object: optional(text()),
    ...TIME_RANGE,
    sort: optional(EventSort),
  },
  'The filters match exactly, but `action`, which matches by its beginning.',
)
export type EventQuery = Static<typeof EventQuery>

export const UsageQuery = object({
  group_by: optional(UsageGroup),
  account: optional(text('Only of this one, by its id.')),
  from: optional(time('30 days before `to` if absent.')),
  to: optional(time('Now if absent.')),
})
export const DayRangeQuery = object({
  from: optional(day('30 days before `to` if absent.')),
  to: optional(day('Included; today if absent. At most 366 days in all.')),
})
export const SinceQuery = object({ since: optional(time('What is newer is looked at; everything if absent.')) })
export const ReplayQuery = object({ from: optional(time()), to: optional(time()) })
export const Generations = object({ ...listed(Generation).fields, ...SearchNotes.fields })

/** Routes of the admin API that report what happened, and change nothing. */
export const REPORT_ROUTES = {
  'GET /admin/v1/usage': {
    command: 'usage',
    scope: 'usage:read',
    summary: 'Requests, tokens and money by group.',
    query: UsageQuery,
    answer: listed(UsageRow),
    example: { query: { group_by: 'provider' } },
  },
  'GET /admin/v1/accounts/:id/usage': {
    command: 'account usage',
    scope: 'usage:read',
    summary: "An account's usage by day and group, as its people see it.",
    query: AccountUsageQuery,
    answer: UsageAnswer,
    example: { query: { group_by: 'end_user' } },
  },
  'GET /admin/v1/margin': {
    command: 'margin',
    scope: 'usage:read',
    summary: 'What was earned, by day, model, provider and account.',
    query: DayRangeQuery,
    answer: MarginReport,
    example: { query: EXAMPLE_DAYS },
  },
  'GET /admin/v1/generations': {
    command: 'generation list',
    scope: 'log:read',
    summary: 'The log of all accounts, newest first.',
    query: GenerationQuery,
    answer: Generations,
    example: { query: { status: 'completed', limit: '20' } },
  },
  'GET /admin/v1/generations/:id': {
    command: 'generation show',
    scope: 'log:read',
    summary: 'One request: its attempts with what each provider said, both bills, its hold and its times.',
    answer: GenerationStory,
  },
  'GET /admin/v1/refusals': {
    command: 'refusal list',
    scope: 'log:read',
    summary: 'Requests of all accounts that were refused before they could cost anything, newest first.',
    query: RefusalQuery,
    answer: listed(OperatorRefusal),
    example: { query: { error_type: 'insufficient_balance', limit: '20' } },
  },
  'GET /admin/v1/endpoints/health': {
    command: 'health',
    scope: 'health:read',
    summary: 'Of each endpoint its state, errors, and percentiles.',
    answer: listed(EndpointHealth),
  },
  'GET /admin/v1/audit': {
    command: 'audit',
    scope: 'audit:read',
    summary: 'Checks the invariants of the books.',
    query: SinceQuery,
    answer: AuditReport,
  },
  'GET /admin/v1/audit/replay': {
    command: 'audit',
    scope: 'audit:read',
    summary: 'Makes every charge of a period again from the log: price version × meters.',
    query: ReplayQuery,
    answer: ReplayReport,
  },
  'GET /admin/v1/events': {
    command: 'event list',
    scope: 'audit:read',
    summary: 'Who changed what, when. The filters match exactly; `action` matches by its beginning.',
    query: EventQuery,
    answer: listed(AuditEvent),
    example: { query: { action: 'account.' } },
  },
  'GET /admin/v1/overview': {
    command: 'overview',
    scope: 'usage:read',
    summary: 'What an operator looks at first: the last requests and their errors, low and locked balances, payments.',
    answer: Overview,
  },
  'GET /admin/v1/warnings': {
    command: 'warnings',
    scope: 'health:read',
    summary: 'What the operator should look at.',
    answer: object({ data: list(OperatorWarning) }),
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>
