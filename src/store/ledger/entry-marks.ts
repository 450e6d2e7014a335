import type { Micro } from '../../base/money.ts'
import { StoreUnavailableError } from '../../ledger/ledger-store.ts'
import { type Database, type Row, big, integer, text } from '../database.ts'
import { firstSince, type TimeRange } from '../page.ts'

/** The number of entries of an account between two of its marks. */
export const MARK_ROWS = 256
/** The number of marks made in one step, which reads their entries: some milliseconds. */
const STEP_MARKS = 32
const STEP_ROWS = STEP_MARKS * MARK_ROWS
/** The most entries after the newest mark that a page may count. */
const TAIL_ROWS = 4 * MARK_ROWS

/** The kinds of an account's own entries. Insured entries explain the operator's loss, not money of the account. */
export const OWN_KINDS = `kind IN ('topup', 'refund', 'adjustment', 'charge')`

/** A position in an account's ledger; a mark is one at every `MARK_ROWS`th entry. */
export interface EntryMark {
  /** The entries up to it. */
  readonly rows: number
  /** The newest of them. */
  readonly lastId: bigint
  /** The balance of the account after that entry. */
  readonly balanceMicro: Micro
}

/** A part of a ledger: what follows `after`, up to and including `upTo`; and the number of marks of the whole. */
export interface LedgerSpan {
  readonly after: EntryMark
  readonly upTo: EntryMark
  readonly marked: number
}

const START: EntryMark = { rows: 0, lastId: 0n, balanceMicro: 0n }
const CHANGE = `CASE WHEN debit = 'account:' || account_id THEN -amount ELSE amount END AS change`

const INSERT = `INSERT INTO entry_mark (account_id, nth, last_id, balance)
  SELECT account_id, ? + place / ${MARK_ROWS}, id, ? + balance FROM (
    SELECT account_id, id, ROW_NUMBER() OVER (ORDER BY id) AS place, CAST(SUM(change) OVER (ORDER BY id) AS BIGINT) AS balance FROM (
      SELECT account_id, id, ${CHANGE}
      FROM entry WHERE account_id = ? AND ${OWN_KINDS} AND id > ? ORDER BY id LIMIT ${STEP_ROWS}) AS following) AS counted
  WHERE place % ${MARK_ROWS} = 0 ON CONFLICT DO NOTHING`

/** Finds marks that do not agree with the entries since the mark before. */
export const WRONG_MARKS = `SELECT 'ledger of ' || m.account_id || ': mark ' || m.nth || ' is not what its entries add up to' AS what
  FROM entry_mark m LEFT JOIN entry_mark b ON b.account_id = m.account_id AND b.nth = m.nth - 1
  WHERE (m.nth > 1 AND b.nth IS NULL)
    OR ${MARK_ROWS} <> (SELECT COUNT(*) FROM entry e WHERE e.account_id = m.account_id AND e.id > COALESCE(b.last_id, 0) AND e.id <= m.last_id AND e.${OWN_KINDS})
    OR m.balance - COALESCE(b.balance, 0) <> (SELECT COALESCE(SUM(CASE WHEN e.debit = 'account:' || e.account_id THEN -e.amount ELSE e.amount END), 0) FROM entry e
      WHERE e.account_id = m.account_id AND e.id > COALESCE(b.last_id, 0) AND e.id <= m.last_id AND e.${OWN_KINDS})`

/** The marks of ledgers. From the mark before it, any page of a ledger is found by its number, with its balances. */
export class EntryMarks {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * The entries of a time. Numbers of an account's entries grow with time, so few marks are looked up, and of the
   * entries those up to the next mark; late entries are among younger ones.
   */
  async span(accountId: string, { fromMs, toMs }: TimeRange): Promise<LedgerSpan> {
    const { newest, marked } = await this.#ledger(accountId)
    const before = (atMs: number): Promise<EntryMark> => this.#before(accountId, atMs, newest.lastId, marked)
    const after = fromMs === undefined ? START : await before(fromMs)
    const upTo = toMs === undefined ? newest : await before(toMs)
    // The first time may be the later one.
    return { after, upTo: upTo.rows < after.rows ? after : upTo, marked }
  }

  async #before(accountId: string, atMs: number, newestId: bigint, marked: number): Promise<EntryMark> {
    const timeOf = async (nth: number): Promise<number | null> => {
      const { lastId } = await this.at(accountId, nth)
      const [row] = await this.#database.all('SELECT created_at FROM entry WHERE id = ?', [lastId])
      return row === undefined ? null : integer(row, 'created_at')
    }
    const nth = (await firstSince(atMs, 1, marked + 1, timeOf)) - 1
    const mark = await this.at(accountId, nth)
    const scan = nth < marked ? ` LIMIT ${MARK_ROWS}` : ''
    const following = await this.#database.all(
      `SELECT id, ${CHANGE}, created_at FROM entry WHERE account_id = ? AND ${OWN_KINDS} AND id > ? AND id <= ? ORDER BY id${scan}`,
      [accountId, mark.lastId, newestId],
    )
    const first = following.findIndex((row) => integer(row, 'created_at') >= atMs)
    const earlier = first < 0 ? following : following.slice(0, first)
    const last = earlier.at(-1)
    return {
      rows: mark.rows + earlier.length,
      lastId: last === undefined ? mark.lastId : big(last, 'id'),
      balanceMicro: earlier.reduce((sum, row) => sum + big(row, 'change'), mark.balanceMicro),
    }
  }

  /** The newest entry, and the number of marks before it; missing marks are made first. */
  async #ledger(accountId: string): Promise<{ readonly newest: EntryMark; readonly marked: number }> {
    for (let before = -1; ;) {
      const mark = await this.#newest(accountId)
      // Marks cannot be written, so all entries are counted this time.
      const scan = mark.rows === before ? '' : ` LIMIT ${TAIL_ROWS + 1}`
      const [tail = {}] = await this.#database.all(
        `SELECT COUNT(*) AS rows, COALESCE(MAX(id), 0) AS last, CAST(COALESCE(SUM(change), 0) AS BIGINT) AS change
          FROM (SELECT id, ${CHANGE} FROM entry WHERE account_id = ? AND ${OWN_KINDS} AND id > ? ORDER BY id${scan}) AS tail`,
        [accountId, mark.lastId],
      )
      const rows = integer(tail, 'rows')
      if (rows <= TAIL_ROWS || scan === '')
        return {
          newest: {
            rows: mark.rows + rows,
            lastId: rows === 0 ? mark.lastId : big(tail, 'last'),
            balanceMicro: mark.balanceMicro + big(tail, 'change'),
          },
          marked: mark.rows / MARK_ROWS,
        }
      before = mark.rows
      await this.#tryToExtend(accountId)
    }
  }

  async at(accountId: string, nth: number): Promise<EntryMark> {
    if (nth === 0) return START
    const [row] = await this.#database.all(
      `SELECT nth, last_id, balance FROM entry_mark WHERE account_id = ? AND nth = ?`,
      [accountId, BigInt(nth)],
    )
    if (row === undefined) throw new Error(`The ledger of ${accountId} has no mark ${nth}.`)
    return readMark(row)
  }

  /**
   * Makes a bounded number of missing marks in long ledgers, in accounts whose ids come after `after`; returns the id
   * from which to continue, or null if all are made.
   */
  async fill(after: string): Promise<string | null> {
    // An account with few requests has few entries, except for those that people book.
    const [first] = await this.#database.all(
      `SELECT a.id AS id FROM account a WHERE a.id > ? AND a.log_rows >= COALESCE((SELECT MAX(nth) FROM entry_mark m WHERE m.account_id = a.id), 0) * ${MARK_ROWS} + ${TAIL_ROWS} ORDER BY a.id LIMIT 1`,
      [after],
    )
    if (first === undefined) return null
    const accountId = text(first, 'id')
    return (await this.#extend(accountId)) ? after : accountId
  }

  async #newest(accountId: string): Promise<EntryMark> {
    const [row] = await this.#database.all(
      'SELECT nth, last_id, balance FROM entry_mark WHERE account_id = ? ORDER BY nth DESC LIMIT 1',
      [accountId],
    )
    return row === undefined ? START : readMark(row)
  }

  /** Makes marks; returns whether there may be more to make. Two nodes that do it at once make the same marks. */
  async #extend(accountId: string): Promise<boolean> {
    const { rows, lastId, balanceMicro } = await this.#newest(accountId)
    const made = await this.#database.transaction(
      (sql) => sql.run(INSERT, [BigInt(rows / MARK_ROWS), balanceMicro, accountId, lastId]),
      { purpose: 'note' },
    )
    return made === STEP_MARKS
  }

  async #tryToExtend(accountId: string): Promise<void> {
    try {
      await this.#extend(accountId)
    } catch (thrown) {
      if (!(thrown instanceof StoreUnavailableError)) throw thrown
    }
  }
}

function readMark(row: Row): EntryMark {
  return { rows: integer(row, 'nth') * MARK_ROWS, lastId: big(row, 'last_id'), balanceMicro: big(row, 'balance') }
}
