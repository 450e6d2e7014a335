import type { LogFilter, LogFilterName, LogFilterValues } from '../../ledger/log-filters.ts'
import type { Database, SqlValue } from '../database.ts'
import { likeLiteral } from '../accounts/account-store.ts'
import { uncommon } from '../partial-index.ts'
import type { BlockLead } from './blocks.ts'

type Dialect = Database['dialect']

/** Conditions on rows of the log. */
export interface LogConditions {
  readonly texts: string[]
  readonly values: SqlValue[]
  /** The index that finds the rows; null = the one of their numbers, or blocks. */
  index: string | null
  /** What the blocks of an account's log find. */
  lead: BlockLead | null
}

interface FilterSql<T> {
  /** True of the rows with this value. */
  readonly where: (value: T, dialect: Dialect) => readonly [text: string, ...values: string[]]
  /** Finds these rows in order: in an account's log, or in all. */
  readonly index?: { readonly of: 'account' | 'all'; readonly name: (value: T) => string | null }
  /** The blocks find them in an account's log; the index does until all rows are in blocks. */
  readonly lead?: (value: T) => BlockLead
}

const column = (name: string) => ({ where: (value: string) => [`generation.${name} = ?`, value] as const })
const ofAccount = (name: string, field: BlockLead['field']) =>
  ({ index: { of: 'account', name: () => name }, lead: (value: string) => ({ field, value }) }) as const

/** A column with one common value, and an index of the rows with another. */
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
 * How each filter is searched for; where several have an index, the first one of the table leads. Null = the filter
 * chooses the range of rows, or the row.
 */
const CONDITIONS: { readonly [K in LogFilterName]: FilterSql<LogFilterValues[K]> | null } = {
  generationId: null,
  fromMs: null,
  toMs: null,
  // A client's own request id narrows the search more than its account does.
  requestId: { ...column('request_id'), index: { of: 'all', name: () => 'generation_request' } },
  accountId: column('account_id'),
  status: rare<LogFilterValues['status']>('status', 'completed', 'generation_status'),
  keyId: { ...column('key_id'), ...ofAccount('generation_key', 'key') },
  model: { ...column('model'), ...ofAccount('generation_model', 'model') },
  type: rare<string>('type', 'chat', 'generation_kind'),
  provider: column('provider'),
  errorType: {
    where: (type) => [String.raw`generation.record LIKE ? ESCAPE '\'`, `%"errorType":"${likeLiteral(type)}"%`],
  },
  flagged: { where: () => ['generation.record LIKE ?', '%"flagged":true%'] },
  app: { where: appCondition },
}
// The names of the table.
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
 * The conditions that an index or the blocks can answer, and those that remain for each row. `of` says whether the rows
 * searched are those of one account, which is then no condition; `byBlocks`, whether all of its rows are in blocks.
 */
export function splitConditions(
  dialect: Dialect,
  filter: LogFilter,
  of: 'account' | 'all',
  byBlocks: boolean,
): readonly [led: LogConditions, rest: LogConditions] {
  const led: LogConditions = { texts: [], values: [], index: null, lead: null }
  const rest: LogConditions = { texts: [], values: [], index: null, lead: null }
  const add = <K extends LogFilterName>(name: K, value: LogFilterValues[K] | undefined): void => {
    const condition = CONDITIONS[name]
    if (value === undefined || condition === null) return
    const usable = condition.index !== undefined && (condition.index.of === 'all' || of === 'account')
    const index = usable ? condition.index.name(value) : null
    const to = index !== null && led.texts.length === 0 ? led : rest
    if (to === led) {
      led.lead = (byBlocks ? condition.lead?.(value) : null) ?? null
      led.index = led.lead === null ? index : null
    }
    const [text, ...values] = condition.where(value, dialect)
    to.texts.push(text)
    to.values.push(...values)
  }
  for (const name of NAMES) if (of === 'all' || name !== 'accountId') add(name, filter[name])
  return [led, rest]
}
