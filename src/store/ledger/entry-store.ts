import type { Micro } from '../../base/money.ts'
import { fieldError } from '../../base/refusals.ts'
import { entryHash } from '../../ledger/hash-chain.ts'
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
import { type Page, type PageRange, refuseDepth, type TimeRange } from '../page.ts'
import { type EntryMark, EntryMarks, type LedgerSpan, MARK_ROWS, OWN_KINDS } from './entry-marks.ts'

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

/** Which entries of a ledger; `toMs` is not included. */
export interface LedgerFilter extends TimeRange {
  readonly kind?: EntryFilter
}

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
  async list(accountId: string, range: PageRange, filter: LedgerFilter = {}): Promise<Page<LedgerEntry>> {
    const span = await this.#marks.span(accountId, filter)
    return filter.kind === undefined
      ? this.#numbered(accountId, range, span)
      : this.#filtered(accountId, range, filter.kind, span)
  }

  async #numbered(
    accountId: string,
    { limit, offset, cursor = null }: PageRange,
    { after, upTo, marked }: LedgerSpan,
  ): Promise<Page<LedgerEntry>> {
    const total = upTo.rows - after.rows
    const newest = (cursor === null ? upTo.rows : Math.min(upTo.rows, numberOf(cursor))) - offset
    if (newest <= after.rows) return { data: [], total }
    // Entries by their numbers in the account's ledger, from `oldest` to `newest`, found from the mark before them.
    const oldest = Math.max(after.rows + 1, newest - limit + 1)
    const from = await this.#marks.at(accountId, Math.min(marked, Math.floor((oldest - 1) / MARK_ROWS)))
    const rows = await this.#database.all(
      `${SELECT} WHERE account_id = ? AND ${OWN_KINDS} AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
      [accountId, from.lastId, upTo.lastId, BigInt(newest - from.rows)],
    )
    let balanceMicro = from.balanceMicro
    const data = rows.map((row) => {
      const entry = readEntry(row)
      balanceMicro += entry.amountMicro
      return { ...entry, balanceMicro }
    })
    return {
      data: data.slice(oldest - 1 - from.rows).toReversed(),
      total,
      ...(oldest > after.rows + 1 ? { next: String(oldest - 1) } : {}),
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
    { after, upTo }: LedgerSpan,
  ): Promise<Page<LedgerEntry>> {
    refuseDepth(offset)
    const count = (of: EntryFilter): Promise<number> => this.#count(accountId, of, after, upTo)
    // Charges are all entries but the few others.
    const total = uncounted
      ? 0
      : kind === 'charge'
        ? upTo.rows - after.rows - (await count('money'))
        : await count(kind)
    const top = cursor === null ? { id: Number(upTo.lastId) + 1, balanceMicro: upTo.balanceMicro } : placeOf(cursor)
    const condition = conditionOf(kind)
    const rows = await this.#database.all(
      `${SELECT} WHERE account_id = ? AND ${condition} AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`,
      [accountId, ...valuesOf(kind), after.lastId, BigInt(top.id), BigInt(offset + limit)],
    )
    const last = rows.at(-1)
    if (last === undefined) return { data: [], total }
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

  async #count(accountId: string, kind: EntryFilter, after: EntryMark, upTo: EntryMark): Promise<number> {
    const condition = conditionOf(kind)
    const [row = {}] = await this.#database.all(
      `SELECT COUNT(*) AS rows FROM entry WHERE account_id = ? AND ${condition} AND id > ? AND id <= ?`,
      [accountId, ...valuesOf(kind), after.lastId, upTo.lastId],
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
