import type { Micro } from '../../base/money.ts'
import { big, bigOrNull, integer, text, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { tellBalance } from '../notices/notice-store.ts'
import { EntryMarks, MARK_ROWS, OWN_KINDS } from './entry-marks.ts'
import { entryHash } from '../../ledger/hash-chain.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Page, PageRange } from '../page.ts'

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

export interface LedgerFilter {
  readonly accountId: string
  /** `money` = all kinds except charges; null = all kinds. */
  readonly kind: OwnEntryKind | 'money' | null
  /** The entry below which the page begins, and the balance before it; null = the page begins with the newest. */
  readonly before: { readonly id: number; readonly balanceMicro: Micro | null } | null
  readonly limit: number
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

  /** A top-up of the account by its reference; null = there is none. */
  async topUp(accountId: string, reference: string): Promise<EntryRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE kind = 'topup' AND ref = ? AND account_id = ?`, [
      reference,
      accountId,
    ])
    return row === undefined ? null : readEntry(row)
  }

  /** The newest first, each with the balance after it. A page far down costs as little as the first one. */
  async list(accountId: string, { limit, offset, cursor = null }: PageRange): Promise<Page<LedgerEntry>> {
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

  /** The newest first, each with the balance after it. */
  async before({ accountId, kind, before: place, limit }: LedgerFilter): Promise<readonly LedgerEntry[]> {
    const condition = conditionOf(kind)
    const before = place === null ? '' : ' AND id < ?'
    const rows = await this.#database.all(
      `SELECT ${COLUMNS}, (SELECT available + held FROM account WHERE id = ?) AS balance_now, (SELECT MAX(id) FROM entry WHERE account_id = ?) AS newest
        FROM entry WHERE account_id = ? AND ${condition}${before} ORDER BY id DESC LIMIT ?`,
      [
        accountId,
        accountId,
        accountId,
        ...(kind === null || kind === 'money' || kind === 'charge' ? [] : [kind]),
        ...(place === null ? [] : [BigInt(place.id)]),
        BigInt(limit),
      ],
    )
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) return []
    const entries = rows.map(readEntry)
    const top =
      place === null
        ? { id: integer(first, 'newest') + 1, balanceMicro: big(first, 'balance_now') }
        : { id: place.id, balanceMicro: place.balanceMicro }
    if (top.balanceMicro === null) return entries.map((entry) => ({ ...entry, balanceMicro: null }))
    const between = kind === null ? [] : await this.#between(accountId, kind, top.id, integer(last, 'id'))
    return withBalances(entries, between, top.balanceMicro)
  }

  /**
   * The entries that a filter leaves out, the newest first. Numbers of an account's entries are in the order of their
   * commits, so no entry is added here after the page was read.
   */
  async #between(
    accountId: string,
    kind: OwnEntryKind | 'money',
    belowId: number,
    aboveId: number,
  ): Promise<readonly EntryRecord[]> {
    const condition = kind === 'charge' ? conditionOf('money') : kind === 'money' ? conditionOf('charge') : `kind <> ?`
    return (
      await this.#database.all(
        `${SELECT} WHERE account_id = ? AND ${condition} AND ${OWN_KINDS} AND id < ? AND id > ? ORDER BY id DESC LIMIT ${BETWEEN_MAX}`,
        [accountId, ...(kind === 'charge' || kind === 'money' ? [] : [kind]), BigInt(belowId), BigInt(aboveId)],
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

/** The condition of a kind, written with literals, so that SQLite can use the partial index of credits. */
function conditionOf(kind: OwnEntryKind | 'money' | null): string {
  if (kind === null) return OWN_KINDS
  if (kind === 'charge') return `kind = 'charge'`
  return kind === 'money' ? `kind <> 'charge' AND ${OWN_KINDS}` : `kind <> 'charge' AND kind = ?`
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
