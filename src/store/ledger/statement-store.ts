import { periodStarts, startOfDay } from '../../ledger/period.ts'
import type { Micro } from '../../base/money.ts'
import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { big, integer, text, type Database, type Row, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { column, Rows, type RecordOf } from '../rows.ts'
import { ownAmount, reasonOf, type EntryKind } from './entry-store.ts'
import { DAY_MS, dayAfter, isoDay } from '../../base/time.ts'

const PAGE_ROWS = 1_000n
const LINES_MAX = 20_000
/** The same date in two time zones begins at most this far apart. */
const ZONES_MS = 2 * DAY_MS

export interface StatementLine {
  /** The day of the booking. */
  readonly day: string
  /** The day of its hold if it was booked on a later day; null = the same day. */
  readonly ofDay: string | null
  readonly kind: Exclude<EntryKind, 'shortfall' | 'insured'>
  readonly text: string
  readonly requests: number | null
  readonly amountMicro: Micro
}

export interface StatementSheet {
  readonly openingMicro: Micro
  readonly closingMicro: Micro
  readonly lines: readonly StatementLine[]
  /** Whether the month is closed and can no longer change. */
  readonly closed: boolean
}

export interface StatementQuery {
  readonly accountId: string
  /** Days, both included. */
  readonly from: string
  readonly to: string
  /** The time zone of days in open months. */
  readonly timezone: string
  readonly nowMs: number
}

const MONTHS = new Rows('statement_month', {
  month: column.text('month'),
  timezone: column.text('timezone'),
  /** The first instant after the month. */
  endsAtMs: column.integer('ends_at'),
  /** The newest entry when the month was closed: later entries belong to a later month. */
  lastEntry: column.big('last_entry'),
  closingMicro: column.big('closing'),
})
type ClosedMonth = RecordOf<typeof MONTHS>

/**
 * A month is closed when a statement is first asked for after its end. Its time zone and figures are kept, and a
 * later booking belongs to the month that it is booked in. So the closing balance of a month is always the opening
 * balance of the next.
 */
export class StatementStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /**
   * Closes months that are over. In the result opening + lines = closing; `too_long` = more lines than a page can show.
   */
  async read(query: StatementQuery): Promise<StatementSheet | 'too_long'> {
    const firstOpen = periodStarts(query.nowMs, query.timezone).month
    const [account] = await this.#database.all('SELECT open_day FROM account WHERE id = ?', [query.accountId])
    if (account !== undefined && text(account, 'open_day') < firstOpen)
      await this.#database.transaction((sql) => this.#close(sql, query, firstOpen))
    return this.#database.transaction((sql) => sheet(sql, query), { purpose: 'snapshot' })
  }

  async #close(sql: Sql, { accountId, timezone, nowMs }: StatementQuery, firstOpen: string): Promise<void> {
    const [account] = await sql.all(
      `SELECT created_at, ${sealedSelect('account')} FROM account WHERE id = ?${ROW_LOCK}`,
      [accountId],
    )
    if (account === undefined || text(account, 'open_day') >= firstOpen) return
    const closed = [...(await closedMonths(sql, accountId))]
    const [newest] = await sql.all('SELECT COALESCE(MAX(id), 0) AS id FROM entry WHERE account_id = ?', [accountId])
    const lastEntry = newest === undefined ? 0n : big(newest, 'id')
    let opening = closed.at(-1)?.closingMicro ?? 0n
    let month = closed.length === 0 ? await firstMonth(sql, account, accountId, timezone) : text(account, 'open_day')
    // Nothing happened before this month, so there is none to close.
    if (month >= firstOpen) return
    for (; month < firstOpen; month = monthAfter(month)) {
      const after = monthAfter(month)
      const made: ClosedMonth = {
        month: month.slice(0, 7),
        timezone,
        endsAtMs: startOfDay(after, timezone),
        lastEntry,
        closingMicro: 0n,
      }
      closed.push(made)
      const closing = opening + (await movement(sql, accountId, closed, { from: month, to: lastDay(month) }, timezone))
      closed[closed.length - 1] = { ...made, closingMicro: closing }
      const values = [
        accountId,
        made.month,
        timezone,
        BigInt(made.endsAtMs),
        lastEntry,
        opening,
        closing,
        BigInt(nowMs),
      ]
      await sql.run(
        'INSERT INTO statement_month (account_id, month, timezone, ends_at, last_entry, opening, closing, closed_at, seal) VALUES (?,?,?,?,?,?,?,?,?)',
        [...values, this.#seal.of('statement_month', values)],
      )
      opening = closing
    }
    await sql.run('UPDATE account SET open_day = ?, seal = ? WHERE id = ?', [
      firstOpen,
      this.#seal.again('account', account, { open_day: firstOpen }),
      accountId,
    ])
  }
}

function closedMonths(sql: Sql, accountId: string): Promise<readonly ClosedMonth[]> {
  return MONTHS.all(sql, 'WHERE account_id = ? ORDER BY month', [accountId])
}

/** The first day of a month before which there is no entry and no charge, however their days were counted. */
async function firstMonth(sql: Sql, account: Row, accountId: string, timezone: string): Promise<string> {
  const [first] = await sql.all(
    'SELECT MIN(created_at) AS at FROM (SELECT created_at FROM entry WHERE account_id = ? ORDER BY id LIMIT 1) AS oldest',
    [accountId],
  )
  const [charged] = await sql.all('SELECT MIN(day) AS day FROM usage_day WHERE account_id = ?', [accountId])
  const createdMs = integer(account, 'created_at')
  const firstMs = typeof first?.['at'] === 'bigint' ? Math.min(createdMs, Number(first['at'])) : createdMs
  const month = periodStarts(firstMs, timezone).month
  const day = typeof charged?.['day'] === 'string' ? `${charged['day'].slice(0, 7)}-01` : month
  return day < month ? day : month
}

/** Reads everything in one snapshot of the books. */
async function sheet(
  sql: Sql,
  { accountId, from, to, timezone }: StatementQuery,
): Promise<StatementSheet | 'too_long'> {
  const [account = {}] = await sql.all('SELECT available + held AS balance, open_day FROM account WHERE id = ?', [
    accountId,
  ])
  const closed = await closedMonths(sql, accountId)
  const lines = [...(await chargeLines(sql, accountId, from, to))]
  let isLong = false
  const money: StatementLine[] = []
  await eachMoney(sql, accountId, closed, { from, to }, timezone, (line) => {
    isLong = money.length + lines.length >= LINES_MAX
    if (!isLong) money.push(line)
    return !isLong
  })
  if (isLong) return 'too_long'
  const all = [...money, ...lines].toSorted((left, right) => (left.day < right.day ? -1 : left.day > right.day ? 1 : 0))
  const closing =
    big(account, 'balance') -
    (await movement(sql, accountId, closed, { from: dayAfter(to), to: '9999-12-31' }, timezone))
  return {
    openingMicro: closing - all.reduce((sum, { amountMicro }) => sum + amountMicro, 0n),
    closingMicro: closing,
    lines: all,
    closed: to < text(account, 'open_day'),
  }
}

interface Days {
  readonly from: string
  readonly to: string
}

/** The account's gains and losses on those days. */
async function movement(
  sql: Sql,
  accountId: string,
  closed: readonly ClosedMonth[],
  days: Days,
  timezone: string,
): Promise<Micro> {
  const [row] = await sql.all(
    `SELECT (SELECT COALESCE(SUM(revenue), 0) FROM usage_day WHERE account_id = ? AND day >= ? AND day <= ?) - (SELECT COALESCE(SUM(amount), 0) FROM booked_later WHERE account_id = ? AND placed >= ? AND placed <= ?)
      + (SELECT COALESCE(SUM(amount), 0) FROM booked_later WHERE account_id = ? AND booked >= ? AND booked <= ?) AS charged`,
    [accountId, days.from, days.to, accountId, days.from, days.to, accountId, days.from, days.to],
  )
  let sum = -BigInt(String(row?.['charged'] ?? 0))
  await eachMoney(sql, accountId, closed, days, timezone, ({ amountMicro }) => {
    sum += amountMicro
    return true
  })
  return sum
}

/** Charges of one day and model are one line. Those that were booked on a later day are another line, on that day. */
async function chargeLines(sql: Sql, accountId: string, from: string, to: string): Promise<readonly StatementLine[]> {
  const rows = await sql.all(
    `SELECT day, of_day, model, CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(amount) AS BIGINT) AS amount FROM (
      SELECT day, '' AS of_day, model, requests, revenue AS amount FROM usage_day WHERE account_id = ? AND day >= ? AND day <= ?
      UNION ALL SELECT placed, '', model, -requests, -amount FROM booked_later WHERE account_id = ? AND placed >= ? AND placed <= ?
      UNION ALL SELECT booked, placed, model, requests, amount FROM booked_later WHERE account_id = ? AND booked >= ? AND booked <= ?
    ) AS charges GROUP BY day, of_day, model ORDER BY day, of_day, model`,
    [accountId, from, to, accountId, from, to, accountId, from, to],
  )
  return rows.flatMap((row) => {
    const amountMicro = -big(row, 'amount')
    const ofDay = text(row, 'of_day')
    return amountMicro === 0n
      ? []
      : [
          {
            day: text(row, 'day'),
            ofDay: ofDay === '' ? null : ofDay,
            kind: 'charge' as const,
            text: text(row, 'model'),
            requests: integer(row, 'requests'),
            amountMicro,
          },
        ]
  })
}

/** Entries other than charges that are booked on those days, oldest first, page by page until `visit` returns false. */
async function eachMoney(
  sql: Sql,
  accountId: string,
  closed: readonly ClosedMonth[],
  { from, to }: Days,
  timezone: string,
  visit: (line: StatementLine) => boolean,
): Promise<void> {
  const sinceMs = Date.parse(from) - ZONES_MS
  let after = 0n
  for (;;) {
    const rows = await sql.all(
      `SELECT id, debit, amount, kind, ref, reason, created_at FROM entry WHERE account_id = ? AND kind <> 'charge' AND kind IN ('topup', 'refund', 'adjustment') AND id > ? AND created_at >= ? ORDER BY id LIMIT ?`,
      [accountId, after, BigInt(sinceMs), PAGE_ROWS],
    )
    for (const row of rows) {
      after = big(row, 'id')
      const { day, ofDay } = bookedOn(after, integer(row, 'created_at'), closed, timezone)
      if (day < from || day > to) continue
      // Only this folder writes the column.
      const kind = text(row, 'kind') as StatementLine['kind']
      const line = { day, ofDay, kind, text: reasonOf(row), requests: null, amountMicro: ownAmount(row) }
      if (!visit(line)) return
    }
    if (rows.length < Number(PAGE_ROWS)) return
  }
}

/**
 * The day of an entry, by the time zone with which its month was closed, or else by today's; never a day of a month
 * that was closed before the entry.
 */
function bookedOn(
  id: bigint,
  atMs: number,
  closed: readonly ClosedMonth[],
  timezone: string,
): Pick<StatementLine, 'day' | 'ofDay'> {
  const own = closed.find(({ endsAtMs, lastEntry }) => atMs < endsAtMs && id <= lastEntry)
  const natural = periodStarts(atMs, own?.timezone ?? timezone).day
  if (own !== undefined) return { day: clipped(natural, `${own.month}-01`, lastDay(`${own.month}-01`)), ofDay: null }
  const last = closed.at(-1)
  const open = last === undefined ? '' : monthAfter(`${last.month}-01`)
  return natural < open ? { day: open, ofDay: natural } : { day: natural, ofDay: null }
}

/** A zone that changed between two months leaves hours that belong to both; a day outside its month moves into it. */
function clipped(day: string, first: string, last: string): string {
  return day < first ? first : day > last ? last : day
}

function monthAfter(firstDay: string): string {
  const date = new Date(firstDay)
  return isoDay(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1))
}

function lastDay(firstDay: string): string {
  return dayAfter(monthAfter(firstDay), -1)
}
