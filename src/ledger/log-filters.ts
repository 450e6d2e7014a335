import { ERROR_TYPES } from '../base/errors.ts'
import { REQUEST_TYPES } from '../tables/model-types.ts'
import { choiceParameter, onlyParameter, textParameter, timeParameter } from '../base/query-parameters.ts'
import { oneOf, only, optional, text, time, type OptionalField, type Schema } from '../base/schema.ts'
import { RequestStatus, type GenerationRow } from './generation-record.ts'

/** The readers who filter the log: a customer through the API, the operator, and a customer in the console. */
export type LogReader = 'api' | 'operator' | 'console'
/** The name of a filter's parameter for each reader; null = this reader does not have the filter. */
type ParameterNames = Readonly<Record<LogReader, string | null>>

interface FilterRow<T, W> {
  readonly schema: Schema<W>
  readonly read: (query: URLSearchParams, name: string) => T | null
  readonly fits: (row: GenerationRow, value: T) => boolean
}

function filter<T, W, const P extends ParameterNames>(parameters: P, of: FilterRow<T, W>) {
  return { ...of, parameters }
}

/** A filter for rows whose field has exactly this text. */
function exact<const P extends ParameterNames>(
  field: 'accountId' | 'keyId' | 'generationId' | 'requestId' | 'model' | 'type' | 'providerSlug',
  parameters: P,
  description = '',
) {
  const fits = (row: GenerationRow, value: string): boolean => row[field] === value
  return filter(parameters, { schema: text(description), read: textParameter, fits })
}

const ErrorName = oneOf(ERROR_TYPES, 'Only requests that failed for this reason.')

/**
 * A row for each filter of the usage log: how readers ask for it, and which rows it finds. The query's schema and its
 * reader derive from it, and the store has a condition for each row.
 */
export const LOG_FILTERS = {
  accountId: exact('accountId', { api: null, operator: 'account', console: null }),
  keyId: exact('keyId', { api: null, operator: 'key', console: 'key' }),
  // The console has one parameter for both ids.
  generationId: exact('generationId', { api: 'generation_id', operator: 'generation_id', console: null }),
  requestId: exact('requestId', { api: 'request_id', operator: 'request_id', console: null }),
  model: exact('model', { api: 'model', operator: 'model', console: 'model' }),
  type: exact(
    'type',
    { api: 'type', operator: 'type', console: 'type' },
    `One of ${REQUEST_TYPES.map((type) => `\`${type}\``).join(', ')}.`,
  ),
  provider: exact('providerSlug', { api: null, operator: 'provider', console: 'provider' }),
  status: filter(
    { api: null, operator: 'status', console: 'status' },
    {
      schema: RequestStatus,
      read: (query, name) => choiceParameter(query, name, RequestStatus),
      fits: (row, status) => row.status === status,
    },
  ),
  errorType: filter(
    { api: null, operator: 'error_type', console: null },
    {
      schema: ErrorName,
      read: (query, name) => choiceParameter(query, name, ErrorName),
      fits: (row, type) => row.errorType === type,
    },
  ),
  flagged: filter(
    { api: null, operator: 'flagged', console: null },
    {
      schema: only(
        'true',
        'Only answers whose provider reported more than there can be, or no number that can be read.',
      ),
      read: onlyParameter,
      fits: (row) => row.flagged,
    },
  ),
  app: filter(
    { api: null, operator: null, console: 'app' },
    {
      schema: text('App as in `Apps`: its URL, else its title. Empty text = requests without an app.'),
      read: textParameter,
      fits: ({ appUrl, appTitle }, app) => (appUrl ?? appTitle ?? '') === app,
    },
  ),
  endUser: filter(
    { api: 'end_user', operator: 'end_user', console: 'end_user' },
    {
      schema: text("The client's own user, exactly as the log has it."),
      read: textParameter,
      fits: ({ endUser }, user) => endUser === user,
    },
  ),
  fromMs: filter(
    { api: 'from', operator: 'from', console: 'from' },
    { schema: time(), read: timeParameter, fits: ({ endedAtMs }, fromMs) => endedAtMs >= fromMs },
  ),
  toMs: filter(
    { api: 'to', operator: 'to', console: 'to' },
    { schema: time('Not included.'), read: timeParameter, fits: ({ endedAtMs }, toMs) => endedAtMs < toMs },
  ),
}

type Filters = typeof LOG_FILTERS
export type LogFilterName = keyof Filters
export type LogFilterValues = {
  readonly [K in LogFilterName]: Filters[K] extends FilterRow<infer T, infer _> ? T : never
}
/** The filter of a reader's query; a part that is absent finds every row. */
export type LogFilter = Partial<LogFilterValues>

type ParameterOf<K extends LogFilterName, R extends LogReader> = Filters[K]['parameters'][R]
type FilterFields<R extends LogReader> = {
  readonly [K in LogFilterName as ParameterOf<K, R> extends string ? ParameterOf<K, R> : never]: OptionalField<
    Filters[K] extends FilterRow<infer _, infer W> ? W : never
  >
}

// The names of the table.
const NAMES = Object.keys(LOG_FILTERS) as LogFilterName[]

/** The parameters that a reader filters by. */
export function filterFields<R extends LogReader>(reader: R): FilterFields<R> {
  const fields = NAMES.flatMap((filterName) => {
    const { parameters, schema } = LOG_FILTERS[filterName]
    const name = parameters[reader]
    return name === null ? [] : [[name, optional<unknown>(schema)]]
  })
  // Each name of the type has its schema.
  return Object.fromEntries(fields) as FilterFields<R>
}

export function readLogFilter(query: URLSearchParams, reader: LogReader): LogFilter {
  const found = NAMES.flatMap((filterName) => {
    const { parameters, read } = LOG_FILTERS[filterName]
    const name = parameters[reader]
    const value = name === null ? null : read(query, name)
    return value === null ? [] : [[filterName, value]]
  })
  // Each value was read by its filter.
  return Object.fromEntries(found) as LogFilter
}

export function matchesLogFilter(row: GenerationRow, asked: LogFilter): boolean {
  return NAMES.every((name) => fits(name, row, asked[name]))
}

function fits<K extends LogFilterName>(name: K, row: GenerationRow, value: LogFilterValues[K] | undefined): boolean {
  const rows: { readonly [N in LogFilterName]: Pick<FilterRow<LogFilterValues[N], unknown>, 'fits'> } = LOG_FILTERS
  return value === undefined || rows[name].fits(row, value)
}
