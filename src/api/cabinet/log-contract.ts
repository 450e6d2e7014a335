import { FileFormat } from '../records/route-rows.ts'
import { PAGE_DEPTH_MAX } from '../../base/query-parameters.ts'
import { Refusal, REFUSAL_FILTERS } from '../records/refusals.ts'
import {
  flag,
  list,
  nullable,
  object,
  oneOf,
  optional,
  rub,
  text,
  time,
  whole,
  day,
  number,
  type Static,
  type Schema,
} from '../../base/schema.ts'
import { type WireRoute } from '../../base/wire-route.ts'
import { viewSchemas } from '../../ledger/generation-record.ts'
import { filterFields } from '../../ledger/log-filters.ts'
import { STORY_FIELDS, StoryAttempt } from '../records/request-story-contract.ts'
import { REQUEST_TYPES } from '../../tables/model-types.ts'

export const PAGE_SIZE = whole('50 if absent.', { minimum: 1, maximum: 300 })
export const CURSOR = text('`next_cursor` of the page before.')

export function cursored<T>(items: Schema<T>) {
  return object({ data: list(items), next_cursor: nullable(text('Of the next page; null = the end.')) })
}

export const RequestType = oneOf(REQUEST_TYPES)
export type RequestType = Static<typeof RequestType>

export const SpendSums = object({
  requests: whole(),
  errors: whole(),
  input_tokens: whole(),
  output_tokens: whole(),
  cost: rub(),
  cache_saved: rub('What prompt caches saved.'),
})
export type SpendSums = Static<typeof SpendSums>

export const DaySums = object({ ...SpendSums.fields, day: day() })
export type DaySums = Static<typeof DaySums>

export const UsageGroup = oneOf(
  ['model', 'key', 'app', 'person', 'end_user'],
  '`person`: who made the keys; the id is empty for those of programs and of the operator. `end_user`: whom requests name, read from the log, at most 500,000 requests of it; the id is empty for those that name nobody and for those that the log has no more.',
)
export type UsageGroup = Static<typeof UsageGroup>

export const AppsQuery = object({
  from: optional(day('30 days before `to` if absent.')),
  to: optional(day('Included; today if absent. At most 366 days in all.')),
})
export const UsageQuery = object({ ...AppsQuery.fields, group_by: optional(UsageGroup) })
export type UsageQuery = Static<typeof UsageQuery>

const UsageGroups = list(
  object({ ...SpendSums.fields, id: text(), label: text() }),
  "By cost, at most 50; the rest is summed under the id `…rest`. `label` is the key's name, the app's title or the person's e-mail.",
)

const Forecast = object(
  {
    spent: rub('Since the first day of the month.'),
    average: rub('A day of the last seven full days.'),
    days_left: whole('Days after today.'),
    expected: rub('`spent` + `average` × `days_left`.'),
  },
  'What this month will cost; null until the account has seven full days with requests before or in them.',
)

export const UsageAnswer = object({
  from: text(),
  to: text(),
  totals: SpendSums,
  forecast: nullable(Forecast),
  days: list(DaySums, 'Each day of the range, zeros included.'),
  groups: UsageGroups,
  cells: list(
    object({ ...DaySums.fields, group: text() }),
    'Day × group for stacked charts; only cells with requests. `group` is an id of `groups`.',
  ),
})
export type UsageAnswer = Static<typeof UsageAnswer>

export const HourSums = object({ ...SpendSums.fields, at: time('When the hour begins.') })

export const UsageHoursQuery = object({
  from: optional(time('24 hours before `to` if absent. Counts from the beginning of its hour.')),
  to: optional(time('Now if absent. Counts to the end of its hour. At most 168 hours in all.')),
  group_by: optional(UsageGroup),
})
export type UsageHoursQuery = Static<typeof UsageHoursQuery>

export const UsageHours = object({
  from: time(),
  to: time(),
  totals: SpendSums,
  hours: list(HourSums, 'Each hour of the range, zeros included. A request counts in the hour in which it ended.'),
  groups: UsageGroups,
  cells: list(object({ ...HourSums.fields, group: text() }), 'Hour × group; only cells with requests.'),
})
export type UsageHours = Static<typeof UsageHours>

export const LogQuery = object({
  ...filterFields('console'),
  id: optional(text('A generation id or a request id, exactly.')),
  cursor: optional(CURSOR),
  limit: optional(PAGE_SIZE),
})
export type LogQuery = Static<typeof LogQuery>

export const LogRow = object({
  ...viewSchemas('log'),
  tokens_per_second: nullable(number('Output tokens per second after the first; null where it means nothing.')),
})
export type LogRow = Static<typeof LogRow>

export const LogAnswer = object(
  { ...cursored(LogRow).fields, searched_to: nullable(text()) },
  'A search that found too little in the time it may take answers what it has, with `next_cursor` and `searched_to`, the time it got back to: ask again with the cursor to go on.',
)
export type LogAnswer = Static<typeof LogAnswer>

export const RefusalQuery = object({
  ...REFUSAL_FILTERS,
  cursor: optional(CURSOR),
  limit: optional(PAGE_SIZE),
  offset: optional(whole('Rows that are skipped; 0 if absent.', { minimum: 0, maximum: PAGE_DEPTH_MAX })),
  format: optional(FileFormat),
})

export const RefusalPage = object({
  data: list(Refusal),
  total: whole('How many rows there are in all.'),
  next_cursor: optional(text('Of the next page; absent = the end.')),
})
export type RefusalPage = Static<typeof RefusalPage>

export const LogFilters = object(
  {
    models: list(text()),
    providers: list(text()),
    keys: list(object({ id: text(), name: text(), label: text(), deleted: flag() })),
    apps: list(object({ id: text(), title: text() })),
  },
  'What the log can be filtered by: the values of the last 90 days.',
)
export type LogFilters = Static<typeof LogFilters>

export const RequestStory = object({
  ...LogRow.fields,
  ...viewSchemas('request'),
  attempts: list(
    object({ ...StoryAttempt.fields, said: nullable(text('What the provider said, where the answer told it.')) }),
    'Every try in order; the last one answered when the status is `completed`.',
  ),
  attempt_count: whole(),
  ...STORY_FIELDS,
})
export type RequestStory = Static<typeof RequestStory>

export const AppRow = object({
  ...SpendSums.fields,
  id: text('URL, else title; empty for requests without an app.'),
  title: nullable(text()),
  url: nullable(text()),
  share: number("Of the account's spend in the range, 0 to 1."),
  top_models: list(object({ model: text(), requests: whole(), cost: rub() })),
  last_used_at: time(),
})
export type AppRow = Static<typeof AppRow>

export const Apps = object({ data: list(AppRow) })

/** Usage and the log. */
export const LOG_ROUTES = {
  'GET /cabinet/v1/usage': {
    summary: 'Requests, tokens and cost by day and group.',
    query: UsageQuery,
    answer: UsageAnswer,
    example: { query: { group_by: 'key' } },
  },
  'GET /cabinet/v1/usage/hours': {
    summary: 'The same by hour, of at most a week and a million requests.',
    query: UsageHoursQuery,
    answer: UsageHours,
    errors: ['rate_limit_exceeded'],
    example: { query: { group_by: 'model' } },
  },
  'GET /cabinet/v1/log': {
    summary:
      'The log, newest first. A search that found too little in its time answers what it has, with `searched_to`, the time it got back to; the cursor goes on.',
    query: LogQuery,
    answer: LogAnswer,
    example: { query: { status: 'completed', limit: '20' } },
  },
  'GET /cabinet/v1/log/filters': {
    summary: 'What the log can be filtered by: the values of the last 90 days.',
    answer: LogFilters,
  },
  'GET /cabinet/v1/log/:id': {
    summary: 'Everything about one request, by its generation id.',
    answer: RequestStory,
    errors: ['generation_not_found'],
  },
  'GET /cabinet/v1/refusals': {
    summary: 'Requests that were refused before they could cost anything, newest first.',
    query: RefusalQuery,
    answer: RefusalPage,
    example: { query: { error_type: 'insufficient_balance' } },
  },
  'GET /cabinet/v1/apps': {
    summary: 'Spending by application.',
    query: AppsQuery,
    answer: Apps,
    example: { query: { from: '2026-11-01', to: '2026-11-30' } },
  },
} as const satisfies Readonly<Record<string, WireRoute>>
