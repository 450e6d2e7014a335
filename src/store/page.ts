import { PAGE_DEPTH_MAX } from '../base/query-parameters.ts'
import { fieldError } from '../base/refusals.ts'
import { integer, type Database, type Row, type SqlValue, big, readBeside, text, type Sql } from './database.ts'
import { sealedSelect, type BookSeal } from './audit/book-seal.ts'
import { ROW_LOCK } from './dialect.ts'

/** Tables whose rows are never removed, and where nothing else would reveal a missing row. */
type CountedTable = 'account' | 'api_key' | 'redeem_code' | 'payment_order' | 'payment_refund' | 'catalog_version'

/** What a violation calls the rows of each table. */
const TABLES: Readonly<Record<CountedTable, string>> = {
  account: 'accounts',
  api_key: 'keys',
  redeem_code: 'codes',
  payment_order: 'orders',
  payment_refund: 'refunds',
  catalog_version: 'versions of the catalogue',
}

const SELECT = `SELECT ${sealedSelect('row_count')} FROM row_count`

/** Counts rows in the transaction that adds them. */
export async function countRows(sql: Sql, seal: BookSeal, table: CountedTable, added = 1n): Promise<void> {
  const [before] = await sql.all(`${SELECT} WHERE name = ?${ROW_LOCK}`, [table])
  // The count itself was removed from outside; the audit reports it.
  if (before === undefined) return
  const rows = big(before, 'rows') + added
  await sql.run('UPDATE row_count SET rows = ?, seal = ? WHERE name = ?', [
    rows,
    seal.again('row_count', before, { rows }),
    table,
  ])
}

/** Tables whose number of rows differs from the count, so rows were removed or inserted from outside. */
export async function wrongCounts(sql: Sql): Promise<readonly string[]> {
  const counts = new Map((await sql.all(SELECT)).map((row) => [text(row, 'name'), big(row, 'rows')]))
  const violations: string[] = []
  for (const [table, name] of Object.entries(TABLES)) {
    const [there = {}] = await sql.all(`SELECT COUNT(*) AS rows FROM ${table}`)
    const [is, was] = [big(there, 'rows'), counts.get(table)]
    if (is !== was) violations.push(`${name}: there are ${is}, and ${was ?? 'no number'} were made`)
  }
  return violations
}

/** Some of the matching rows, and how many match. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
  /** There may be more than `total`. */
  readonly atLeast?: boolean
  /** The cursor of the next page; absent = there is none, or these rows have no cursors. */
  readonly next?: string
}

/** Which of the matching rows. */
export interface PageRange {
  readonly limit: number
  /** The number of rows to skip. */
  readonly offset: number
  /** The `next` of an earlier page; the result begins after that page. */
  readonly cursor?: string | null
  /** Does not count the rows, as for a file that is read page by page. */
  readonly uncounted?: boolean
}

/** An expression that rows are ordered by. */
export interface Ordered {
  readonly sql: string
  readonly is: 'number' | 'text'
}

/** A column that has an index, the largest first after `-`. */
export type Order<Column extends string> = Column | `-${Column}`

/** The order and the id of most tables. */
export const CREATED_AT: Ordered = { sql: 'created_at', is: 'number' }
const ROW_ID: Ordered = { sql: 'id', is: 'text' }

export interface PageQuery<Column extends string, T> {
  readonly rows: {
    /** The columns of a SELECT, and the tables. */
    readonly list: string
    readonly from: string
    readonly read: (row: Row) => T
  }
  /** Other tables to count the rows in, if fewer are enough. */
  readonly counted?: string
  readonly conditions?: readonly string[]
  readonly values?: readonly SqlValue[]
  /** So many rows match that they are not counted; they are read beside the other work of this database. */
  readonly common?: Pick<Database, 'transaction'> | null
  readonly order: Order<Column>
  readonly columns: Readonly<Record<Column, Ordered>>
  /** Its value is unique; absent = the column `id`. */
  readonly id?: Ordered
}

/**
 * Reads a page. Its cost does not grow with its depth: a cursor is looked up in the index of the order, and an offset
 * has a bound.
 */
export async function readPage<Column extends string, T>(
  database: Pick<Database, 'all'>,
  query: PageQuery<Column, T>,
  range: PageRange,
): Promise<Page<T>> {
  const { rows: form, conditions = [], values = [], common = null, id = ROW_ID } = query
  const { list: columns, from: table } = form
  const { limit, offset, cursor = null, uncounted = false } = range
  refuseDepth(offset)
  const falling = query.order.startsWith('-')
  // An Order without its sign is a Column.
  const by = query.columns[query.order.replace(/^-/, '') as Column]
  const place = cursor === null ? null : placeOf(cursor, [query.order, by, id])
  const all = whereOf(conditions)
  const [count] =
    uncounted || common !== null
      ? []
      : await database.all(['SELECT COUNT(*) AS total FROM ', query.counted ?? table, all].join(''), values)
  const where = place === null ? all : whereOf([...conditions, after(by.sql, id.sql, falling)])
  const order = ['ORDER BY', by.sql, falling ? 'DESC,' : 'ASC,', id.sql, falling ? 'ASC' : 'DESC'].join(' ')
  const select = ['SELECT', by.sql, 'AS page_value,', id.sql, 'AS page_id,', columns, 'FROM', table].join(' ')
  const statement = `${select}${where} ${order} LIMIT ? OFFSET ?`
  const bounds = [...(place === null ? [] : [place.value, place.value, place.id]), BigInt(limit), BigInt(offset)]
  const rows = await (common === null
    ? database.all(statement, [...values, ...bounds])
    : readBeside(common, statement, [...values, ...bounds]))
  const last = rows.length < limit ? undefined : rows.at(-1)
  return {
    data: rows.map((row) => form.read(row)),
    ...(common === null
      ? { total: count === undefined ? 0 : integer(count, 'total') }
      : { total: offset + rows.length + (last === undefined ? 0 : 1), atLeast: last !== undefined }),
    ...(last === undefined ? {} : { next: cursorOf(query.order, last) }),
  }
}

/** A part of a list by time; `toMs` is not included. */
export interface TimeRange {
  readonly fromMs?: number
  readonly toMs?: number
}

/**
 * The first number from `low` on, below `high`, whose row is of the time or later; `high` = none is. Numbers grow with
 * time, so a few look-ups find it. Late rows from the journal are among younger rows.
 */
export async function firstSince(
  atMs: number,
  low: number,
  high: number,
  timeOf: (number: number) => Promise<number | null>,
): Promise<number> {
  let [from, below] = [low, high]
  while (from < below) {
    const middle = Math.floor((from + below) / 2)
    const time = await timeOf(middle)
    if (time !== null && time < atMs) from = middle + 1
    else below = middle
  }
  return from
}

/** A page of rows in memory. Its cursor is the number of rows before the next page. */
export function pageOf<T>(rows: readonly T[], { limit, offset, cursor = null }: PageRange): Page<T> {
  if (cursor !== null && !/^\d{1,15}$/.test(cursor)) throw fieldError('cursor', 'cursor')
  const first = Number(cursor ?? 0) + offset
  const end = first + limit
  return { data: rows.slice(first, end), total: rows.length, ...(end < rows.length ? { next: String(end) } : {}) }
}

/** Refuses a large offset, for lists that are paged by offset. */
export function refuseDepth(offset: number): void {
  if (offset > PAGE_DEPTH_MAX)
    throw fieldError(
      'offset',
      'whole',
      { least: 0, most: PAGE_DEPTH_MAX },
      `must be a whole number from 0 to ${PAGE_DEPTH_MAX}; further on, give the answer's next_cursor as cursor`,
    )
}

/**
 * Rows with equal values are in the order of their ids, in the same direction, so one index serves both directions. The
 * first condition is a range of that index.
 */
function after(column: string, id: string, falling: boolean): string {
  const [before, beyond] = falling ? ['<', '>'] : ['>', '<']
  return [column, `${before}= ? AND (`, column, before, '? OR', id, beyond, '?)'].join(' ')
}

/** The conditions of a `PageQuery`: those whose value is given. */
export function conditionsOf(
  all: readonly (readonly [condition: string, value: SqlValue | undefined])[],
): Required<Pick<PageQuery<never, never>, 'conditions' | 'values'>> {
  const given = all.flatMap(([condition, value]) => (value === undefined ? [] : [{ condition, value }]))
  return { conditions: given.map(({ condition }) => condition), values: given.map(({ value }) => value) }
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : [' WHERE', conditions.join(' AND ')].join(' ')
}

interface Place {
  readonly value: SqlValue
  readonly id: SqlValue
}

function cursorOf(order: string, row: Row): string {
  const parts = [order, row['page_value'], row['page_id']].map(String)
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

function placeOf(cursor: string, [order, column, row]: readonly [string, Ordered, Ordered]): Place {
  const [ofOrder, value, id] = partsOf(cursor)
  const place = { value: valueOf(value, column), id: valueOf(id, row) }
  if (ofOrder !== order || place.value === undefined || place.id === undefined)
    throw fieldError('cursor', 'cursor', {}, 'must be one that an answer in the same order gave')
  return { value: place.value, id: place.id }
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

/** PostgreSQL refuses texts with a NUL. */
function valueOf(part: unknown, { is }: Ordered): SqlValue | undefined {
  if (typeof part !== 'string' || part.includes('\0')) return undefined
  if (is === 'text') return part
  return /^-?\d{1,18}$/.test(part) ? BigInt(part) : undefined
}
