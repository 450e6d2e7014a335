import { createHash } from 'node:crypto'
import type { ErrorType } from '../../base/errors.ts'
import { DAY_MS } from '../../base/time.ts'
import { integer, text, type Database, type SqlValue } from '../database.ts'
import { jsonField, listedIds, listedRows } from '../dialect.ts'
import { conditionsOf, readPage, type Page, type PageRange, type TimeRange } from '../page.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'

const REFUSALS = new Rows('refusal', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  keyId: column.text('key_id'),
  keyName: column.text('key_name'),
  model: column.text('model'),
  cause: column.text<ErrorType>('cause'),
  minuteMs: column.integer('minute'),
  times: column.integer('times'),
  atMs: column.integer('at'),
  requestId: column.text('request_id'),
  status: column.integer('status'),
  path: column.text('path'),
  message: column.text('message'),
  figures: column.json<Readonly<Record<string, unknown>>>('figures'),
})

/**
 * How often one key was refused for one cause in a minute (`minuteMs`, Unix ms), and the newest of these refusals:
 * `atMs`, its request, the answer's status and message, and the figures of its `error.metadata`. `model` is what the
 * request named, '' = nothing, or one of too many names.
 */
export type RefusalRecord = RecordOf<typeof REFUSALS>

/** With the ids of the requests before the newest, as far as they are kept. */
export type NewRefusal = Omit<RefusalRecord, 'id'> & { readonly earlierIds?: readonly string[] }

export interface RefusalFilter extends TimeRange {
  readonly accountId?: string
  readonly keyId?: string
  readonly cause?: string
  readonly requestId?: string
}

/** All refusals of one cause: of a key of the account, or of an account where all accounts are read. */
export interface RefusalSum {
  readonly times: number
  readonly newest: RefusalRecord
}

/** Sums read at most so many minutes, the newest. */
const SUMMED_ROWS_MAX = 10_000n
const KEPT_MS = 7 * DAY_MS
const KEPT_ROWS = 5_000n
/** At once. */
const REMOVED_ROWS = 500
/** A minute keeps the ids of about so many requests, the first ones. */
export const KEPT_IDS = 20

/** The row has the count of its minute, and the newest refusal. */
const NEWEST = ['at', 'request_id', 'status', 'path', 'message', 'figures']
const sets = ['times = refusal.times + excluded.times', ...NEWEST.map((name) => `${name} = excluded.${name}`)]
const COUNTED = ` ON CONFLICT (id) DO UPDATE SET ${sets.join(', ')}`

/** What was refused before it could cost anything, for a week. */
export class RefusalStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Counts them beside those of the same minute. */
  async add(refusals: readonly NewRefusal[]): Promise<void> {
    // One order of locks for all nodes.
    const rows = refusals
      .map((refusal) => ({ id: idOf(refusal), ...refusal }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const { dialect } = this.#database
    const [table, column] = [listedRows(dialect), jsonField(dialect, 'value', 'request')]
    const insert = `INSERT INTO refused_request (refusal_id, request_id) SELECT CAST(? AS TEXT), ${column} FROM ${table}
      WHERE (SELECT COUNT(*) FROM refused_request WHERE refusal_id = ?) < ? ON CONFLICT DO NOTHING`
    await this.#database.transaction(async (sql) => {
      for (const { earlierIds = [], ...row } of rows) {
        await insertRow(sql, 'refusal', REFUSALS.cells(row), COUNTED)
        const ids = [...earlierIds, row.requestId].map((request) => ({ request }))
        await sql.run(insert, [row.id, JSON.stringify(ids), row.id, BigInt(KEPT_IDS)])
      }
    })
  }

  /** The newest first. */
  list(range: PageRange, filter: RefusalFilter): Promise<Page<RefusalRecord>> {
    const columns = { at: { sql: 'at', is: 'number' } } as const
    return readPage(this.#database, { rows: REFUSALS, ...conditions(filter), order: '-at', columns }, range)
  }

  /** Whether the key was refused for the cause since `fromMs`. */
  async hasAny(of: Pick<RefusalRecord, 'accountId' | 'keyId' | 'cause'>, fromMs: number): Promise<boolean> {
    const { accountId, keyId, cause } = of
    const { conditions: parts, values } = conditions({ accountId, keyId, cause, fromMs })
    const rows = await this.#database.all(`SELECT id FROM refusal WHERE ${parts.join(' AND ')} LIMIT 1`, values)
    return rows.length > 0
  }

  /** Since `fromMs`, the most frequent first: by key of the account; null = by account. */
  async sums(accountId: string | null, fromMs: number, most: number): Promise<readonly RefusalSum[]> {
    const kind = accountId === null ? 'account_id, cause' : 'key_id, cause'
    const { conditions: parts, values } = conditions({ ...(accountId === null ? {} : { accountId }), fromMs })
    const rows = await this.#database.all(
      `SELECT * FROM (
         SELECT ${REFUSALS.list}, CAST(SUM(times) OVER (PARTITION BY ${kind}) AS BIGINT) AS summed,
           ROW_NUMBER() OVER (PARTITION BY ${kind} ORDER BY at DESC, id) AS place
         FROM (SELECT ${REFUSALS.list} FROM refusal WHERE ${parts.join(' AND ')} ORDER BY at DESC LIMIT ?) AS newest
       ) AS ranked WHERE place = 1 ORDER BY summed DESC, id LIMIT ?`,
      [...values, SUMMED_ROWS_MAX, BigInt(most)],
    )
    return rows.map((row) => ({ times: integer(row, 'summed'), newest: REFUSALS.read(row) }))
  }

  /** How often each key of the account was refused since then. */
  async byKey(accountId: string, fromMs: number): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all(
      `SELECT key_id, CAST(SUM(times) AS BIGINT) AS times FROM refusal WHERE account_id = ? AND at >= ? GROUP BY key_id`,
      [accountId, BigInt(fromMs)],
    )
    return new Map(rows.map((row) => [text(row, 'key_id'), integer(row, 'times')]))
  }

  /** Removes those older than a week. */
  async removeExpired(nowMs: number): Promise<void> {
    await this.#remove('at < ?', [BigInt(nowMs - KEPT_MS)])
  }

  /** Removes all but the newest of an account: its customer may be refused for ever, in ever new words. */
  async trim(accountId: string, keptRows = KEPT_ROWS): Promise<void> {
    await this.#remove(
      'account_id = ? AND at < (SELECT at FROM refusal WHERE account_id = ? ORDER BY at DESC LIMIT 1 OFFSET ?)',
      [accountId, accountId, keptRows],
    )
  }

  /** The rows are locked in one order before their requests go with them. */
  async #remove(where: string, values: readonly SqlValue[]): Promise<void> {
    const condition = listedIds(this.#database.dialect)
    const select = ['SELECT id FROM refusal WHERE', where, 'ORDER BY id LIMIT ? FOR UPDATE'].join(' ')
    for (let removed = REMOVED_ROWS; removed === REMOVED_ROWS;)
      removed = await this.#database.transaction(async (sql) => {
        const ids = (await sql.all(select, [...values, BigInt(REMOVED_ROWS)])).map((row) => text(row, 'id'))
        if (ids.length > 0) await sql.run(`DELETE FROM refusal WHERE ${condition}`, [JSON.stringify(ids)])
        return ids.length
      })
  }
}

function idOf({ accountId, keyId, model, cause, minuteMs }: Omit<RefusalRecord, 'id'>): string {
  const parts = JSON.stringify([accountId, keyId, model, cause, minuteMs])
  return `rfs_${createHash('sha256').update(parts).digest('base64url').slice(0, 24)}`
}

const OF_REQUEST =
  'id IN (SELECT id FROM refusal WHERE request_id = ? UNION SELECT refusal_id FROM refused_request WHERE request_id = ?)'

function conditions(filter: RefusalFilter): ReturnType<typeof conditionsOf> {
  const { accountId, keyId, cause, requestId, fromMs, toMs } = filter
  const found = conditionsOf([
    ['account_id = ?', accountId],
    ['key_id = ?', keyId],
    ['cause = ?', cause],
    ['at >= ?', fromMs === undefined ? undefined : BigInt(fromMs)],
    ['at < ?', toMs === undefined ? undefined : BigInt(toMs)],
  ])
  if (requestId === undefined) return found
  return { conditions: [...found.conditions, OF_REQUEST], values: [...found.values, requestId, requestId] }
}
