import { ApiError } from '../../base/errors.ts'
import { fieldError } from '../../base/refusals.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'
import { type LogFilter, type LogFilterName, type LogFilterValues, matchesLogFilter } from '../../ledger/log-filters.ts'
import { type Database, type Row, type SqlValue, big, integer } from '../database.ts'
import { contains, type Dialect, indexHint, listedNumbers, uncommon } from '../dialect.ts'
import { firstSince, type Page, type PageRange, type TimeRange } from '../page.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'

export interface GenerationFilter extends LogFilter, PageRange {}

/** A page of the usage log. */
export interface LogPage extends Page<GenerationRow> {
  /** `total` is a lower bound: counting stopped there. */
  readonly atLeast?: true
  /** Rows that ended before this were not searched. */
  readonly searchedToMs?: number
}

/**
 * The most rows that are counted and skipped; beyond them the total is a lower bound, or is calculated from row
 * numbers.
 */
const COUNT_MAX = 10_000
const COUNTED_ROWS = COUNT_MAX + 1
/** The most rows that a search without an index reads: about 30 ms. */
const LOOK_ROWS = 10_000
/** The same with an index, whose rows are spread over the table. */
const LED_LOOK_ROWS = 2_000
const NOTHING: LogPage = { data: [], total: 0 }

const CURSOR = /^(seq|id)_(\d{1,15})$/

/** A range of rows: those of one account by their numbers in its log, or of all by their numbers in the table. */
export interface Range {
  readonly column: 'seq' | 'id'
  readonly accountId: string | null
  /** The first number in it, and the first after it. */
  readonly from: number
  readonly below: number
}

/** Pages of the usage log. No page counts or skips earlier rows one by one, however long the log is. */
export class LogQuery {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async page(filter: GenerationFilter): Promise<LogPage> {
    if (filter.generationId !== undefined) return this.#single(filter, filter.generationId)
    const accountId = filter.accountId ?? (filter.keyId === undefined ? null : await this.#ownerOf(filter.keyId))
    if (accountId === '') return NOTHING
    // A client's own request id matches fewer rows than its account.
    const range = belowCursor(
      filter.requestId === undefined && accountId !== null
        ? await ownRange(this.#database, accountId, filter)
        : await this.#wholeRange(filter),
      filter.cursor,
    )
    const [led, rest] = splitConditions(this.#database.dialect, filter, range.column === 'seq' ? 'account' : 'all')
    if (range.below <= range.from) return NOTHING
    if (led.texts.length + rest.texts.length === 0 && range.column === 'seq') return this.#numbered(range, filter)
    if (filter.offset > COUNT_MAX)
      throw new ApiError(
        'invalid_input',
        `offset: at most ${COUNT_MAX} with these filters, got ${filter.offset}. Narrow the time with from and to`,
      )
    if (filter.endUser !== undefined && range.accountId !== null)
      return this.#ofEndUser({ ...range, accountId: range.accountId }, filter.endUser, filter)
    return rest.texts.length === 0 ? this.#led(range, led, filter) : this.#searched(range, led, rest, filter)
  }

  async #single(filter: GenerationFilter, generationId: string): Promise<LogPage> {
    const rows = await this.#database.all(`${GENERATION_SELECT} WHERE generation.generation_id = ?`, [generationId])
    const data = rows.map(readGeneration).filter((row) => matchesLogFilter(row, filter))
    return { data: data.slice(filter.offset, filter.offset + filter.limit), total: data.length }
  }

  /** The key's account; empty if there is no such key. */
  async #ownerOf(keyId: string): Promise<string> {
    const [row] = await this.#database.all('SELECT account_id FROM api_key WHERE id = ?', [keyId])
    return typeof row?.['account_id'] === 'string' ? row['account_id'] : ''
  }

  /** An account's rows are numbered without gaps, so total and offset are calculated. */
  async #numbered({ accountId, from, below }: Range, { limit, offset }: GenerationFilter): Promise<LogPage> {
    const before = below - offset
    const first = Math.max(from, before - limit)
    const rows = await this.#database.all(
      `${GENERATION_SELECT} WHERE generation.account_id = ? AND generation.seq < ? AND generation.seq >= ? ORDER BY generation.seq DESC`,
      [accountId, BigInt(before), BigInt(first)],
    )
    return {
      data: rows.map(readGeneration),
      total: below - from,
      ...(first > from && rows.length > 0 ? { next: `seq_${first}` } : {}),
    }
  }

  /** An index lists the matching rows in order. */
  async #led(range: Range, led: LogConditions, filter: GenerationFilter): Promise<LogPage> {
    const { limit, offset, fromMs, toMs, cursor, uncounted } = filter
    const { where, values } = within(range, led)
    const { column } = range
    const hint = indexHint(this.#database.dialect, led.index)
    const rows = await this.#database.all(
      `${numberedSelect(hint)}${where} ORDER BY generation.${column} DESC LIMIT ? OFFSET ?`,
      [...values, BigInt(limit), BigInt(offset)],
    )
    const found = { data: rows.map(readGeneration), ...nextOf(column, rows, limit) }
    if (uncounted === true) return { ...found, total: 0 }
    if (led.texts.length === 0 && fromMs === undefined && toMs === undefined && typeof cursor !== 'string')
      return { ...found, total: await this.#all() }
    const total = await this.#counted(
      `SELECT 1 FROM generation${hint}${where} ORDER BY generation.${column} DESC LIMIT ${COUNTED_ROWS}`,
      values,
    )
    return total > COUNT_MAX ? { ...found, total: COUNT_MAX, atLeast: true } : { ...found, total }
  }

  /** Reads the newest rows once, as many as a page may cost, and reports how far it got. */
  async #searched(
    range: Range,
    led: LogConditions,
    rest: LogConditions,
    { limit, offset }: GenerationFilter,
  ): Promise<LogPage> {
    const looksMax = led.index === null ? LOOK_ROWS : LED_LOOK_ROWS
    const { where, values } = within(range, led)
    const condition = rest.texts.join(' AND ')
    const hint = indexHint(this.#database.dialect, led.index)
    const { column } = range
    const looked = await this.#database.all(
      `SELECT generation.id AS id, generation.seq AS seq, ended_at, CAST(CASE WHEN ${condition} THEN 1 ELSE 0 END AS BIGINT) AS fits FROM generation${hint}${where} ORDER BY generation.${column} DESC LIMIT ?`,
      [...rest.values, ...values, BigInt(looksMax)],
    )
    const found = looked.filter((row) => integer(row, 'fits') === 1)
    const shown = found.slice(offset, offset + limit)
    const data = await this.#byIds(shown.map((row) => big(row, 'id')))
    const last = looked.at(-1)
    if (last === undefined || looked.length < looksMax)
      return { data, total: found.length, ...(found.length > offset + limit ? nextOf(column, shown, limit) : {}) }
    // If the page shows all that was found, the search continues where it stopped.
    const next = nextOf(column, found.length > offset + limit ? shown : [last], 1)
    return { data, total: found.length, atLeast: true, searchedToMs: integer(last, 'ended_at'), ...next }
  }

  async #ofEndUser(range: OwnRange, endUser: string, filter: GenerationFilter): Promise<LogPage> {
    const found = await rowsOfEndUser(this.#database, range, { ...filter, endUser }, filter)
    const next = found.next === null ? {} : { next: `seq_${found.next}` }
    const page = { data: found.data, ...next }
    if (found.searchedToMs !== null)
      return { ...page, total: found.found, atLeast: true, searchedToMs: found.searchedToMs }
    if (found.isNarrowed || filter.uncounted === true) return { ...page, total: found.found }
    const total = await this.#counted(
      `SELECT 1 FROM generation_end_user WHERE account_id = ? AND end_user = ? AND seq >= ? AND seq < ? LIMIT ${COUNTED_ROWS}`,
      [range.accountId, endUser, BigInt(range.from), BigInt(range.below)],
    )
    return total > COUNT_MAX ? { ...page, total: COUNT_MAX, atLeast: true } : { ...page, total }
  }

  async #byIds(ids: readonly bigint[]): Promise<readonly GenerationRow[]> {
    if (ids.length === 0) return []
    const marks = ids.map(() => '?').join(', ')
    const rows = await this.#database.all(
      `${GENERATION_SELECT} WHERE generation.id IN (${marks}) ORDER BY generation.id DESC`,
      ids,
    )
    return rows.map(readGeneration)
  }

  async #counted(select: string, values: readonly SqlValue[]): Promise<number> {
    const [row] = await this.#database.all(`SELECT COUNT(*) AS total FROM (${select}) AS found`, values)
    return row === undefined ? 0 : integer(row, 'total')
  }

  async #all(): Promise<number> {
    const [row] = await this.#database.all(
      'SELECT CAST(COALESCE(SUM(log_rows - log_dropped), 0) AS BIGINT) AS total FROM account',
    )
    return row === undefined ? 0 : integer(row, 'total')
  }

  async #wholeRange(filter: GenerationFilter): Promise<Range> {
    const ends = 'SELECT id FROM generation ORDER BY id'
    const [[oldest], [newest]] = [
      await this.#database.all(`${ends} LIMIT 1`),
      await this.#database.all(`${ends} DESC LIMIT 1`),
    ]
    if (oldest === undefined || newest === undefined) return { column: 'id', accountId: null, from: 0, below: 0 }
    const at = (id: number): Promise<readonly Row[]> =>
      this.#database.all('SELECT ended_at FROM generation WHERE id >= ? ORDER BY id LIMIT 1', [BigInt(id)])
    return {
      column: 'id',
      accountId: null,
      ...(await narrowed(integer(oldest, 'id'), integer(newest, 'id') + 1, filter, at)),
    }
  }
}

/** The numbers of an account's rows that ended in the time of the filter. */
export async function ownRange(
  database: Database,
  accountId: string,
  filter: Pick<LogFilter, 'fromMs' | 'toMs'>,
): Promise<Range> {
  const [account] = await database.all('SELECT log_rows, log_dropped FROM account WHERE id = ?', [accountId])
  const first = account === undefined ? 1 : integer(account, 'log_dropped') + 1
  const below = account === undefined ? 1 : integer(account, 'log_rows') + 1
  const at = (seq: number): Promise<readonly Row[]> =>
    database.all('SELECT ended_at FROM generation WHERE account_id = ? AND seq >= ? ORDER BY seq LIMIT 1', [
      accountId,
      BigInt(seq),
    ])
  return { column: 'seq', accountId, ...(await narrowed(first, below, filter, at)) }
}

/** Rows of one account. */
export interface OwnRange extends Pick<Range, 'from' | 'below'> {
  readonly accountId: string
}

interface EndUserRows {
  readonly data: readonly GenerationRow[]
  /** The number of the row after which the next page begins; null = there is none. */
  readonly next: number | null
  /** How many rows were found; if other filters narrow the user's, on this page and those before. */
  readonly found: number
  /** Other filters were checked on each row. */
  readonly isNarrowed: boolean
  /** Set if the search stopped before the page was full. */
  readonly searchedToMs: number | null
}

/** A page of an end user's rows, newest first. Other filters are checked on a bounded number of them. */
export async function rowsOfEndUser(
  database: Database,
  { accountId, from, below }: OwnRange,
  { endUser, ...others }: LogFilter & { readonly endUser: string },
  { limit, offset }: Pick<PageRange, 'limit' | 'offset'>,
): Promise<EndUserRows> {
  const { dialect } = database
  const [led, rest] = splitConditions(dialect, others, 'account')
  const where = [...led.texts, ...rest.texts].map((text) => ` AND ${text}`).join('')
  const isNarrowed = where !== ''
  const condition = listedNumbers(dialect, 'generation.seq')
  const looksMax = isNarrowed ? LED_LOOK_ROWS : limit
  const looked = await database.all(
    'SELECT seq FROM generation_end_user WHERE account_id = ? AND end_user = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ? OFFSET ?',
    [accountId, endUser, BigInt(from), BigInt(below), BigInt(looksMax), BigInt(isNarrowed ? 0 : offset)],
  )
  const numbers = looked.map((row) => integer(row, 'seq'))
  const rows = await database.all(
    `${numberedSelect('')} WHERE generation.account_id = ? AND ${condition}${where} ORDER BY generation.seq DESC`,
    [accountId, JSON.stringify(numbers), ...led.values, ...rest.values],
  )
  const shown = isNarrowed ? rows.slice(offset, offset + limit) : rows
  const page = { data: shown.map(readGeneration), found: rows.length, isNarrowed }
  const [isFull, last] = [isNarrowed && rows.length > offset + limit, shown.at(-1)]
  if (isFull && last !== undefined) return { ...page, next: integer(last, 'seq'), searchedToMs: null }
  const end = numbers.length < looksMax ? null : (numbers.at(-1) ?? null)
  if (end === null || !isNarrowed) return { ...page, next: end, searchedToMs: null }
  const [stop = {}] = await database.all('SELECT ended_at FROM generation WHERE account_id = ? AND seq = ?', [
    accountId,
    BigInt(end),
  ])
  return { ...page, next: end, searchedToMs: integer(stop, 'ended_at') }
}

/** With the rows' numbers in their account's log. */
export function numberedSelect(hint: string): string {
  return GENERATION_SELECT.replace('generation.id AS id', 'generation.id AS id, generation.seq AS seq').replace(
    'FROM generation ',
    `FROM generation${hint} `,
  )
}

/** The cursor after the last row, where there may be more. */
function nextOf(column: Range['column'], rows: readonly Row[], limit: number): Pick<LogPage, 'next'> {
  const last = rows.length < limit ? undefined : rows.at(-1)
  return last === undefined ? {} : { next: `${column}_${integer(last, column)}` }
}

function belowCursor(range: Range, cursor: string | null | undefined): Range {
  if (cursor === null || cursor === undefined) return range
  const [, column, number] = CURSOR.exec(cursor) ?? []
  if (column !== range.column)
    throw fieldError('cursor', 'cursor', {}, 'must be one that an answer with the same filters gave')
  return { ...range, below: Math.min(range.below, Number(number)) }
}

/** `at` finds the row of a number, or the next one. */
async function narrowed(
  from: number,
  below: number,
  { fromMs, toMs }: TimeRange,
  at: (number: number) => Promise<readonly Row[]>,
): Promise<Pick<Range, 'from' | 'below'>> {
  const timeOf = async (number: number): Promise<number | null> => {
    const [row] = await at(number)
    return row === undefined ? null : integer(row, 'ended_at')
  }
  return {
    from: fromMs === undefined ? from : await firstSince(fromMs, from, below, timeOf),
    below: toMs === undefined ? below : await firstSince(toMs, from, below, timeOf),
  }
}

interface Where {
  readonly where: string
  readonly values: readonly SqlValue[]
}

function within({ column, accountId, from, below }: Range, { texts, values }: LogConditions): Where {
  const own = accountId === null ? [] : [accountId]
  const parts = [
    ...own.map(() => 'generation.account_id = ?'),
    `generation.${column} >= ?`,
    `generation.${column} < ?`,
    ...texts,
  ]
  return { where: ` WHERE ${parts.join(' AND ')}`, values: [...own, BigInt(from), BigInt(below), ...values] }
}

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
  errorType: inRecord((type) => `"errorType":"${type}"`),
  flagged: inRecord(() => '"flagged":true'),
  app: { where: appCondition },
  endUser: inRecord((user) => `"endUser":${JSON.stringify(user)}`),
}
// These are exactly the names of the table.
const NAMES = Object.keys(CONDITIONS) as LogFilterName[]

/** The record is JSON as written by JSON.stringify. */
function inRecord<T>(part: (value: T) => string): FilterSql<T> {
  return { where: (value, dialect) => [contains(dialect, 'generation.record'), part(value)] }
}

/** An app is its URL, else its title. */
function appCondition(app: string, dialect: Dialect): readonly [string, ...string[]] {
  const has = contains(dialect, 'generation.record')
  const [url, title] = ['"appUrl":', '"appTitle":']
  if (app === '') return [`NOT ${has} AND NOT ${has}`, url, title]
  const value = JSON.stringify(app)
  return [`(${has} OR (${has} AND NOT ${has}))`, url + value, title + value, url]
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
