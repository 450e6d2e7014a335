import type { Sealing } from '../sealed-row.ts'
import type { Micro } from '../../money.ts'
import {
  big,
  bigOrNull,
  integer,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
  rowLock,
} from '../database.ts'
import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { tellBalance } from '../notices/notice-store.ts'
import { entryHash } from './hash-chain.ts'
import type { Page } from '../page.ts'

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

export interface NewEntry {
  readonly accountId: string
  readonly kind: 'topup' | 'refund' | 'adjustment'
  /** topup and refund > 0; adjustment signed and not 0. */
  readonly amountMicro: Micro
  readonly reason: string
  readonly reference: string
  readonly actor: string
  readonly atMs: number
  /** As for charges; absent = no balance is low. */
  readonly lowBalanceMicro?: Micro
}

export type PostOutcome =
  | { readonly status: 'created' | 'existing'; readonly entry: EntryRecord; readonly balanceMicro: Micro }
  /**
   * `conflict`: the reference exists with another amount or account; `uncovered`: the available balance does not cover
   * it.
   */
  | { readonly status: 'conflict' | 'uncovered' | 'no_account' }

/** Insured entries explain the operator's loss, not the account's money. */
const OWN_KINDS = `kind IN ('topup', 'refund', 'adjustment', 'charge')`
const OWN = `WHERE account_id = ? AND ${OWN_KINDS}`
/** Entries that are counted while others wait. */
const COUNT_MAX = 10_000
const SELECT = 'SELECT id, debit, credit, amount, kind, ref, account_id, reason, actor, created_at FROM entry'

/** An entry as its account sees it: money that leaves the account is negative. */
function readEntry(row: Row): EntryRecord {
  const amount = big(row, 'amount')
  const leaves = text(row, 'debit').startsWith('account:')
  return {
    id: integer(row, 'id'),
    // Only this folder writes the column.
    kind: text(row, 'kind') as OwnEntryKind,
    amountMicro: leaves ? -amount : amount,
    reference: text(row, 'ref'),
    reason: textOrNull(row, 'reason'),
    actor: textOrNull(row, 'actor'),
    createdAtMs: integer(row, 'created_at'),
  }
}

export class EntryStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  post(entry: NewEntry): Promise<PostOutcome> {
    return this.#database.transaction((sql) =>
      postWithin(sql, { dialect: this.#database.dialect, seal: this.#seal }, entry),
    )
  }

  /** A top-up of the account by its reference; null = there is none. */
  async topUp(accountId: string, reference: string): Promise<EntryRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE kind = 'topup' AND ref = ? AND account_id = ?`, [
      reference,
      accountId,
    ])
    return row === undefined ? null : readEntry(row)
  }

  async list(accountId: string, limit: number, offset: number): Promise<Page<EntryRecord>> {
    const [few] = await this.#database.all(
      `SELECT COUNT(*) AS total FROM (SELECT 1 FROM entry ${OWN} LIMIT ${COUNT_MAX}) AS found`,
      [accountId],
    )
    const total = few === undefined ? 0 : integer(few, 'total')
    if (total < COUNT_MAX) return { data: await page(this.#database, accountId, limit, offset), total }
    // An exact count is wanted, which may take its time.
    return this.#database.transaction(
      async (sql) => {
        const [count] = await sql.all(`SELECT COUNT(*) AS total FROM entry ${OWN}`, [accountId])
        return {
          data: await page(sql, accountId, limit, offset),
          total: count === undefined ? 0 : integer(count, 'total'),
        }
      },
      { purpose: 'snapshot' },
    )
  }

  /** Newest first, below `beforeId`; `money` = all but charges. */
  async before(filter: {
    readonly accountId: string
    readonly kind: 'topup' | 'refund' | 'adjustment' | 'charge' | 'money' | null
    readonly beforeId: number | null
    readonly limit: number
  }): Promise<readonly EntryRecord[]> {
    // The literal lets SQLite use the partial index of credits.
    const kind =
      filter.kind === null
        ? OWN_KINDS
        : filter.kind === 'charge'
          ? `kind = 'charge'`
          : filter.kind === 'money'
            ? `kind <> 'charge' AND ${OWN_KINDS}`
            : `kind <> 'charge' AND kind = ?`
    const values: SqlValue[] =
      filter.kind === null || filter.kind === 'money' || filter.kind === 'charge' ? [] : [filter.kind]
    const before = filter.beforeId === null ? '' : ' AND id < ?'
    if (filter.beforeId !== null) values.push(BigInt(filter.beforeId))
    return (
      await this.#database.all(`${SELECT} WHERE account_id = ? AND ${kind}${before} ORDER BY id DESC LIMIT ?`, [
        filter.accountId,
        ...values,
        BigInt(filter.limit),
      ])
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

async function page(
  sql: Pick<Sql, 'all'>,
  accountId: string,
  limit: number,
  offset: number,
): Promise<readonly EntryRecord[]> {
  return (
    await sql.all(`${SELECT} ${OWN} ORDER BY id DESC LIMIT ? OFFSET ?`, [accountId, BigInt(limit), BigInt(offset)])
  ).map(readEntry)
}

/** Posts an entry as part of a larger change. */
export async function postWithin(sql: Sql, { dialect, seal }: Sealing, entry: NewEntry): Promise<PostOutcome> {
  const changeMicro = entry.kind === 'refund' ? -entry.amountMicro : entry.amountMicro
  const lock = rowLock(dialect)
  const [account] = await sql.all(
    `SELECT available, held, low_balance, ${sealedSelect('account')} FROM account WHERE id = ?${lock}`,
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
