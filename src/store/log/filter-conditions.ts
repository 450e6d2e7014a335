import type { LogFilter, LogFilterName, LogFilterValues } from '../../ledger/log-filters.ts'
import type { SqlValue } from '../database.ts'
import { uncommon, type Dialect } from '../dialect.ts'
import { likeLiteral } from '../accounts/account-store.ts'

/** Conditions on rows of the log. */
export interface LogConditions {
  readonly texts: string[]
  readonly values: SqlValue[]
  /** The index that finds the rows; null = the rows are found by their numbers. */
  index: string | null
}

interface FilterSql<T> {
  /** The condition that rows with this value meet. */
  readonly where: (value: T, dialect: Dialect) => readonly [text: string, ...values: string[]]
  /** An index that lists these rows in order, in the log of one account or of all. */
  readonly index?: { readonly of: 'account' | 'all'; readonly name: (value: T) => string | null }
}

const column = (name: string) => ({ where: (value: string) => [`generation.${name} = ?`, value] as const })
const ofAccount = (name: string) => ({ index: { of: 'account', name: () => name } }) as const

/** A column with one common value, and an index of the rows with any other value. */
function rare<T extends string>(name: string, common: NoInfer<T>, index: string): FilterSql<T> {
  return {
    where: (value, dialect) => [
      value === common ? `generation.${name} = ?` : uncommon(dialect, `generation.${name}`, common),
      value,
    ],
    index: { of: 'account', name: (value) => (value === common ? null : index) },
  }
}

/**
 * How to find the rows of each filter; where several filters have an index, the first in this table is used. Null = the
 * filter chooses the range of rows, or the row.
 */
const CONDITIONS: { readonly [K in LogFilterName]: FilterSql<LogFilterValues[K]> | null } = {
  generationId: null,
  fromMs: null,
  toMs: null,
  // A client's own request id matches fewer rows than its account.
  requestId: { ...column('request_id'), index: { of: 'all', name: () => 'generation_request' } },
  accountId: column('account_id'),
  status: rare<LogFilterValues['status']>('status', 'completed', 'generation_status'),
  keyId: { ...column('key_id'), ...ofAccount('generation_key') },
  model: { ...column('model'), ...ofAccount('generation_model') },
  type: rare<string>('type', 'chat', 'generation_kind'),
  provider: column('provider'),
  errorType: {
    where: (type) => [String.raw`generation.record LIKE ? ESCAPE '\'`, `%"errorType":"${likeLiteral(type)}"%`],
  },
  flagged: { where: () => ['generation.record LIKE ?', '%"flagged":true%'] },
  app: { where: appCondition },
}
// These are exactly the names of the table.
const NAMES = Object.keys(CONDITIONS) as LogFilterName[]

/** The record is JSON as written by JSON.stringify; an app is its URL, else its title. */
function appCondition(app: string): readonly [string, ...string[]] {
  if (app === '')
    return [String.raw`generation.record NOT LIKE '%"appUrl":%' AND generation.record NOT LIKE '%"appTitle":%'`]
  const value = likeLiteral(JSON.stringify(app))
  return [
    String.raw`(generation.record LIKE ? ESCAPE '\' OR (generation.record LIKE ? ESCAPE '\' AND generation.record NOT LIKE '%"appUrl":%'))`,
    `%"appUrl":${value}%`,
    `%"appTitle":${value}%`,
  ]
}

/**
 * The conditions that an index can answer, and those to check on each row. `of`: whether the search is within one
 * account, whose condition is then left out.
 */
export function splitConditions(
  dialect: Dialect,
  filter: LogFilter,
  of: 'account' | 'all',
): readonly [led: LogConditions, rest: LogConditions] {
  const led: LogConditions = { texts: [], values: [], index: null }
  const rest: LogConditions = { texts: [], values: [], index: null }
  const add = <K extends LogFilterName>(name: K, value: LogFilterValues[K] | undefined): void => {
    const condition = CONDITIONS[name]
    if (value === undefined || condition === null) return
    const index = condition.index?.of === 'all' || of === 'account' ? (condition.index?.name(value) ?? null) : null
    const to = index !== null && led.texts.length === 0 ? led : rest
    if (to === led) led.index = index
    const [text, ...values] = condition.where(value, dialect)
    to.texts.push(text)
    to.values.push(...values)
  }
  for (const name of NAMES) if (of === 'all' || name !== 'accountId') add(name, filter[name])
  return [led, rest]
}
