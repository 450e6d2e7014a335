import type { Micro } from '../../base/money.ts'
import { fieldError } from '../../base/refusals.ts'
import { entryHash } from '../../ledger/hash-chain.ts'
import { StoreUnavailableError } from '../../ledger/ledger-store.ts'
import { type BookSeal, sealedSelect } from '../audit/book-seal.ts'
import {
  type Database,
  type Row,
  type Sql,
  type SqlValue,
  big,
  bigOrNull,
  integer,
  text,
  textOrNull,
} from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { tellBalance } from '../notices/notice-store.ts'
import { type Page, type PageRange, refuseDepth } from '../page.ts'

export type EntryKind = 'topup' | 'refund' | 'adjustment' | 'charge' | 'shortfall' | 'insured'

/** The kinds of entries that an account sees. */
export type OwnEntryKind = Exclude<EntryKind, 'shortfall' | 'insured'>

export interface EntryRecord {
  readonly id: number
  readonly kind: OwnEntryKind
  /** The change of the account: charges and refunds are negative. */
  readonly amountMicro: Micro
  readonly reference: string
  readonly reason: string | null
  readonly actor: string | null
  readonly createdAtMs: number
}

/** An entry as a line of a ledger. */
export interface LedgerEntry extends EntryRecord {
  /**
   * The balance of the account after the entry; null = there is too much between this entry and the one before it on
   * the page.
   */
  readonly balanceMicro: Micro | null
}

/** `money` = all kinds except charges. */
export type EntryFilter = OwnEntryKind | 'money'

export interface NewEntry {
  readonly accountId: string
  readonly kind: 'topup' | 'refund' | 'adjustment'
  /** Positive for topup and refund; for an adjustment positive or negative, but not 0. */
  readonly amountMicro: Micro
  readonly reason: string
  readonly reference: string
  readonly actor: string
  readonly atMs: number
  /** The same as for charges; absent = no balance counts as low. */
  readonly lowBalanceMicro?: Micro
}

export type PostOutcome =
  | { readonly status: 'created' | 'existing'; readonly entry: EntryRecord; readonly balanceMicro: Micro }
  /**
   * `conflict`: the reference exists with another amount or account; `uncovered`: the available balance does not cover
   * it.
   */
  | { readonly status: 'conflict' | 'uncovered' | 'no_account' }
  /** An adjustment of a charge only gives back, and no more than was charged. */
  | { readonly status: 'beyond_charge'; readonly chargedMicro: Micro }

/** The most entries of other kinds that are read to know the balances of a filtered page. */
const BETWEEN_MAX = 10_000
const COLUMNS = 'id, debit, credit, amount, kind, ref, account_id, reason, actor, created_at'
const SELECT = `SELECT ${COLUMNS} FROM entry`

/** The amount of an entry as its account sees it: money that leaves the account is negative. */
export function ownAmount(row: Row): Micro {
  const amount = big(row, 'amount')
  return text(row, 'debit').startsWith('account:') ? -amount : amount
}

/** Why an entry was made, as its account reads it. */
export function reasonOf(row: Row): string {
  return textOrNull(row, 'reason') ?? text(row, 'ref')
}

function readEntry(row: Row): EntryRecord {
  return {
    id: integer(row, 'id'),
    // Only this folder writes the column.
    kind: text(row, 'kind') as OwnEntryKind,
    amountMicro: ownAmount(row),
    reference: text(row, 'ref'),
    reason: textOrNull(row, 'reason'),
    actor: textOrNull(row, 'actor'),
    createdAtMs: integer(row, 'created_at'),
  }
}

export class EntryStore {
  readonly #database: Database
  readonly #seal: BookSeal
  readonly #marks: EntryMarks

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
    this.#marks = new EntryMarks(database)
  }

  post(entry: NewEntry): Promise<PostOutcome> {
    return this.#database.transaction((sql) => postWithin(sql, this.#seal, entry))
  }

  /** What was booked under a reference: a top-up, or what was given back of a charge; null = nothing. */
  async booked(accountId: string, kind: 'topup' | 'adjustment', reference: string): Promise<EntryRecord | null> {
    const values = [kind, reference, accountId]
    const [row] = await this.#database.all(`${SELECT} WHERE kind = ? AND ref = ? AND account_id = ?`, values)
    return row === undefined ? null : readEntry(row)
  }

  /** The newest first, each with the balance after it. A page far down costs as little as the first one. */
  async list(accountId: string, range: PageRange, kind: EntryFilter | null = null): Promise<Page<LedgerEntry>> {
    if (kind !== null) return this.#filtered(accountId, range, kind)
    const { limit, offset, cursor = null } = range
    const ledger = await this.#marks.ledger(accountId)
    const { total } = ledger
    const newest = (cursor === null ? total : Math.min(total, numberOf(cursor))) - offset
    if (newest < 1) return { data: [], total }
    // Entries by their numbers in the account's ledger, from `oldest` to `newest`, found from the mark before them.
    const oldest = Math.max(1, newest - limit + 1)
    const from = await this.#marks.at(accountId, Math.min(ledger.newest.nth, Math.floor((oldest - 1) / MARK_ROWS)))
    const rows = await this.#database.all(
      `${SELECT} WHERE account_id = ? AND ${OWN_KINDS} AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
      [accountId, from.lastId, ledger.lastId, BigInt(newest - from.nth * MARK_ROWS)],
    )
    let balanceMicro = from.balanceMicro
    const data = rows.map((row) => {
      const entry = readEntry(row)
      balanceMicro += entry.amountMicro
      return { ...entry, balanceMicro }
    })
    return {
      data: data.slice(oldest - 1 - from.nth * MARK_ROWS).toReversed(),
      total,
      ...(oldest > 1 ? { next: String(oldest - 1) } : {}),
    }
  }

  /** Makes marks of long ledgers, like `EntryMarks.fill`. */
  fillMarks(after: string): Promise<string | null> {
    return this.#marks.fill(after)
  }

  /** The entries of a kind. A cursor has the balance before the last entry of its page, so no page reads those above it. */
  async #filtered(
    accountId: string,
    { limit, offset, cursor = null, uncounted = false }: PageRange,
    kind: EntryFilter,
  ): Promise<Page<LedgerEntry>> {
    refuseDepth(offset)
    const total = uncounted ? 0 : await this.#count(accountId, kind)
    const place = cursor === null ? null : placeOf(cursor)
    const condition = place === null ? conditionOf(kind) : `${conditionOf(kind)} AND id < ?`
    const rows = await this.#database.all(
      `SELECT ${COLUMNS}, (SELECT available + held FROM account WHERE id = ?) AS balance_now, (SELECT MAX(id) FROM entry WHERE account_id = ?) AS newest
        FROM entry WHERE account_id = ? AND ${condition} ORDER BY id DESC LIMIT ?`,
      [
        accountId,
        accountId,
        accountId,
        ...valuesOf(kind),
        ...(place === null ? [] : [BigInt(place.id)]),
        BigInt(offset + limit),
      ],
    )
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) return { data: [], total }
    const top = place ?? { id: integer(first, 'newest') + 1, balanceMicro: big(first, 'balance_now') }
    const entries = rows.map(readEntry)
    const data =
      top.balanceMicro === null
        ? entries.map((entry) => ({ ...entry, balanceMicro: null }))
        : withBalances(entries, await this.#between(accountId, kind, top.id, integer(last, 'id')), top.balanceMicro)
    return {
      data: data.slice(offset),
      total,
      ...(rows.length < offset + limit ? {} : { next: cursorAfter(data.at(-1)) }),
    }
  }

  /** Charges are all entries but the few others. */
  async #count(accountId: string, kind: EntryFilter): Promise<number> {
    if (kind === 'charge') return (await this.#marks.ledger(accountId)).total - (await this.#count(accountId, 'money'))
    const condition = conditionOf(kind)
    const [row = {}] = await this.#database.all(
      `SELECT COUNT(*) AS rows FROM entry WHERE account_id = ? AND ${condition}`,
      [accountId, ...valuesOf(kind)],
    )
    return integer(row, 'rows')
  }

  /**
   * The entries that a filter leaves out, the newest first. Numbers of an account's entries are in the order of their
   * commits, so no entry is added here after the page was read.
   */
  async #between(
    accountId: string,
    kind: EntryFilter,
    belowId: number,
    aboveId: number,
  ): Promise<readonly EntryRecord[]> {
    const condition = kind === 'charge' ? conditionOf('money') : kind === 'money' ? conditionOf('charge') : `kind <> ?`
    return (
      await this.#database.all(
        `${SELECT} WHERE account_id = ? AND ${condition} AND ${OWN_KINDS} AND id < ? AND id > ? ORDER BY id DESC LIMIT ${BETWEEN_MAX}`,
        [accountId, ...valuesOf(kind), BigInt(belowId), BigInt(aboveId)],
      )
    ).map(readEntry)
  }

  /** Sum of top-ups and of charges of one account. */
  async totals(accountId: string): Promise<{ readonly creditsMicro: bigint; readonly chargesMicro: bigint }> {
    const [spent] = await this.#database.all(
      `SELECT COALESCE(SUM(spent), 0) AS spent FROM key_spend JOIN api_key ON api_key.id = key_spend.key_id WHERE api_key.account_id = ? AND period = 'total'`,
      [accountId],
    )
    const [account] = await this.#database.all('SELECT available + held AS balance FROM account WHERE id = ?', [
      accountId,
    ])
    const chargesMicro = spent === undefined ? 0n : BigInt(String(spent['spent']))
    return {
      creditsMicro: chargesMicro + (account === undefined ? 0n : BigInt(String(account['balance']))),
      chargesMicro,
    }
  }
}

/** The number in a cursor: that of the entries that are left. Entries that come later do not change it. */
function numberOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw fieldError('cursor', 'cursor')
}

/**
 * The balance after each entry of a page, from the one after the newest of `entries` and `between`. Both are newest
 * first; `between` has the entries that the page leaves out.
 */
function withBalances(
  entries: readonly EntryRecord[],
  between: readonly EntryRecord[],
  newestMicro: Micro,
): readonly LedgerEntry[] {
  const knownTo = between.length < BETWEEN_MAX ? 0 : (between.at(-1)?.id ?? 0)
  let balanceMicro = newestMicro
  let at = 0
  return entries.map((entry) => {
    for (let left = between[at]; left !== undefined && left.id > entry.id; left = between[at]) {
      balanceMicro -= left.amountMicro
      at += 1
    }
    const afterMicro = entry.id > knownTo ? balanceMicro : null
    balanceMicro -= entry.amountMicro
    return { ...entry, balanceMicro: afterMicro }
  })
}

/** A page of a kind begins below an entry, and its balances are computed from the balance before that entry. */
const FILTERED_CURSOR = /^(\d{1,15})(?:_(-?\d{1,18}))?$/

function placeOf(cursor: string): { readonly id: number; readonly balanceMicro: Micro | null } {
  const [, id, balance] = FILTERED_CURSOR.exec(cursor) ?? []
  if (id === undefined) throw fieldError('cursor', 'cursor')
  return { id: Number(id), balanceMicro: balance === undefined ? null : BigInt(balance) }
}

function cursorAfter(last: LedgerEntry | undefined): string {
  if (last === undefined) return ''
  return last.balanceMicro === null ? String(last.id) : `${last.id}_${last.balanceMicro - last.amountMicro}`
}

/** The condition of a kind, written with literals, so that SQLite can use the partial index of credits. */
function conditionOf(kind: EntryFilter): string {
  if (kind === 'charge') return `kind = 'charge'`
  return kind === 'money' ? `kind <> 'charge' AND ${OWN_KINDS}` : `kind <> 'charge' AND kind = ?`
}

/** The values of the condition of a kind. */
function valuesOf(kind: EntryFilter): readonly SqlValue[] {
  return kind === 'charge' || kind === 'money' ? [] : [kind]
}

/** Posts an entry as part of a larger change. */
export async function postWithin(sql: Sql, seal: BookSeal, entry: NewEntry): Promise<PostOutcome> {
  const changeMicro = entry.kind === 'refund' ? -entry.amountMicro : entry.amountMicro
  const [account] = await sql.all(
    `SELECT available, held, low_balance, ${sealedSelect('account')} FROM account WHERE id = ?${ROW_LOCK}`,
    [entry.accountId],
  )
  if (account === undefined) return { status: 'no_account' }
  const balanceMicro = big(account, 'available') + big(account, 'held')
  const [known] = await sql.all(`${SELECT} WHERE kind = ? AND ref = ?`, [entry.kind, entry.reference])
  if (known !== undefined) {
    const same = text(known, 'account_id') === entry.accountId && readEntry(known).amountMicro === changeMicro
    return same ? { status: 'existing', entry: readEntry(known), balanceMicro } : { status: 'conflict' }
  }
  if (entry.kind === 'adjustment') {
    const [charge] = await sql.all(`${SELECT} WHERE kind = 'charge' AND ref = ?`, [entry.reference])
    const isOwn = charge !== undefined && text(charge, 'account_id') === entry.accountId
    const chargedMicro = isOwn ? big(charge, 'amount') : 0n
    if (charge !== undefined && (changeMicro < 0n || changeMicro > chargedMicro))
      return { status: 'beyond_charge', chargedMicro }
  }
  if (big(account, 'available') + changeMicro < 0n) return { status: 'uncovered' }
  const created = await insert(sql, entry, changeMicro, account, seal)
  await tellBalance(
    sql,
    {
      accountId: entry.accountId,
      beforeMicro: balanceMicro,
      afterMicro: balanceMicro + changeMicro,
      lowMicro: bigOrNull(account, 'low_balance') ?? entry.lowBalanceMicro ?? 0n,
    },
    `${entry.kind} ${entry.reference}`,
    entry.atMs,
  )
  return { status: 'created', entry: created, balanceMicro: balanceMicro + changeMicro }
}

async function insert(
  sql: Sql,
  entry: NewEntry,
  changeMicro: bigint,
  account: Row,
  seal: BookSeal,
): Promise<EntryRecord> {
  const own = `account:${entry.accountId}`
  const other = entry.kind === 'adjustment' ? 'adjustment' : 'world'
  const [debit, credit] = changeMicro < 0n ? [own, other] : [other, own]
  const amountMicro = changeMicro < 0n ? -changeMicro : changeMicro
  const hash = entryHash(text(account, 'entry_head'), { ...entry, debit, credit, amountMicro })
  await sql.run('UPDATE account SET available = available + ?, entry_head = ?, seal = ? WHERE id = ?', [
    changeMicro,
    hash,
    seal.again('account', account, { entry_head: hash }),
    entry.accountId,
  ])
  await sql.run(
    'INSERT INTO entry (debit, credit, amount, kind, ref, account_id, reason, actor, created_at, hash) VALUES (?,?,?,?,?,?,?,?,?,?)',
    [
      debit,
      credit,
      amountMicro,
      entry.kind,
      entry.reference,
      entry.accountId,
      entry.reason,
      entry.actor,
      BigInt(entry.atMs),
      hash,
    ],
  )
  const [row] = await sql.all(`${SELECT} WHERE kind = ? AND ref = ?`, [entry.kind, entry.reference])
  if (row === undefined) throw new Error(`Entry ${entry.kind} ${entry.reference} was not found after it was posted.`)
  return readEntry(row)
}

/** The number of entries of an account between two of its marks. */
const MARK_ROWS = 256
/** The number of marks made in one step, which reads their entries: some milliseconds. */
const STEP_MARKS = 32
const STEP_ROWS = STEP_MARKS * MARK_ROWS
/** The most entries after the newest mark that a page may count. */
const TAIL_ROWS = 4 * MARK_ROWS

/** The kinds of an account's own entries. Insured entries explain the operator's loss, not money of the account. */
const OWN_KINDS = `kind IN ('topup', 'refund', 'adjustment', 'charge')`

/** A position in an account's ledger. */
export interface EntryMark {
  /** The position, counted from the oldest entry in steps of `MARK_ROWS`. */
  readonly nth: number
  /** The newest entry before the mark. */
  readonly lastId: bigint
  /** The balance of the account after that entry. */
  readonly balanceMicro: Micro
}

export interface MarkedLedger {
  readonly newest: EntryMark
  readonly total: number
  /** The newest entry that was counted. */
  readonly lastId: bigint
}

const START: EntryMark = { nth: 0, lastId: 0n, balanceMicro: 0n }

const INSERT = `INSERT INTO entry_mark (account_id, nth, last_id, balance)
  SELECT account_id, ? + place / ${MARK_ROWS}, id, ? + balance FROM (
    SELECT account_id, id, ROW_NUMBER() OVER (ORDER BY id) AS place, CAST(SUM(change) OVER (ORDER BY id) AS BIGINT) AS balance FROM (
      SELECT account_id, id, CASE WHEN debit = 'account:' || account_id THEN -amount ELSE amount END AS change
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
class EntryMarks {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Counts the entries from the newest mark on; missing marks are made first. */
  async ledger(accountId: string): Promise<MarkedLedger> {
    for (let before = -1; ;) {
      const newest = await this.#newest(accountId)
      // Marks cannot be written, so all entries are counted this time.
      const scan = newest.nth === before ? '' : ` LIMIT ${TAIL_ROWS + 1}`
      const [tail = {}] = await this.#database.all(
        `SELECT COUNT(*) AS rows, COALESCE(MAX(id), 0) AS last FROM (SELECT id FROM entry WHERE account_id = ? AND ${OWN_KINDS} AND id > ? ORDER BY id${scan}) AS tail`,
        [accountId, newest.lastId],
      )
      const rows = integer(tail, 'rows')
      if (rows <= TAIL_ROWS || scan === '')
        return {
          newest,
          total: newest.nth * MARK_ROWS + rows,
          lastId: rows === 0 ? newest.lastId : big(tail, 'last'),
        }
      before = newest.nth
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
    return { nth: integer(row, 'nth'), lastId: big(row, 'last_id'), balanceMicro: big(row, 'balance') }
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
    return row === undefined
      ? START
      : { nth: integer(row, 'nth'), lastId: big(row, 'last_id'), balanceMicro: big(row, 'balance') }
  }

  /** Makes marks; returns whether there may be more to make. Two nodes that do it at once make the same marks. */
  async #extend(accountId: string): Promise<boolean> {
    const { nth, lastId, balanceMicro } = await this.#newest(accountId)
    const made = await this.#database.transaction(
      (sql) => sql.run(INSERT, [BigInt(nth), balanceMicro, accountId, lastId]),
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
