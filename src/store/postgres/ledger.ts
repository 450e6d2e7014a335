import type { GenerationRecord } from '../../ledger/generation-record.ts'
import {
  claimOf,
  drawOf,
  movedJobOf,
  ownerOf,
  spendKeyText,
  type AccountRow,
  type HoldRow,
  type KeyRow,
  type LedgerChanges,
  type LedgerOperation,
  type LedgerRows,
  type LedgerStore,
  type PeriodStarts,
  type SpendKey,
} from '../../ledger/ledger-store.ts'
import { accountSpendText, limitPeriod } from '../../ledger/hold-rules.ts'
import type { Micro } from '../../base/money.ts'
import { big, integer, text, type Row, type Sql, type SqlValue } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { directStatements, hasDirect } from '../ledger/direct-changes.ts'
import {
  ACCOUNT_SELECT,
  HOLD_SELECT,
  KEY_SELECT,
  readAccountRow,
  readHoldRow,
  readKeyRow,
  readOpenHolds,
  spendingPeriodOf,
  uncountedPeriodOf,
} from '../ledger/ledger-rows.ts'
import type { LastStatement, PostgresDatabase } from './database.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import {
  accountValues,
  allowanceValues,
  entryValues,
  holdEndValues,
  holdValues,
  logValues,
  SELECT_ACCOUNT_SPEND,
  TYPES,
} from '../ledger/ledger-values.ts'
import type { Cell } from '../written-columns.ts'
import { addSums, appDays, bookedLater, endUsers, sumColumns, usageDays } from '../ledger/sums.ts'

const UPDATE_ACCOUNTS = update('account', TYPES.account)
const UPDATE_KEYS = update('api_key', 'held int8')
const UPDATE_HOLDS = update('hold', TYPES.holdEnd)
const UPDATE_ALLOWANCES = update('hold', TYPES.allowance)
const INSERT_HOLDS = insert('hold', TYPES.hold)
const ADD_SPENDS = addRows('key_spend')
const INSERT_ENTRIES = insert('entry', TYPES.entry)
const INSERT_LOGS = insert('generation', TYPES.log)
const INSERT_END_USERS = insert('generation_end_user', 'account_id text, end_user text, seq int8, ended_at int8')
const ADD_USAGE_DAYS = addRows('usage_day')
const ADD_APP_DAYS = addRows('app_day')
const ADD_BOOKED_LATER = addRows('booked_later')
const SELECT_SPENDS = `SELECT s.key_id AS key_id, s.period AS period, s.start AS start, s.spent AS spent FROM ${table('key_id text, period text, start text')}
  JOIN key_spend s ON s.key_id = v.key_id AND s.period = v.period AND s.start = v.start`
const OWNERS = 'SELECT account_id, key_id FROM hold WHERE id = ANY(?::text[])'
const RENEW = `UPDATE hold SET lease_until = ? WHERE id IN
  (SELECT id FROM hold WHERE state = 'open' AND id = ANY(?::text[]) ORDER BY id${ROW_LOCK})`

/**
 * The hot path on PostgreSQL: rows are locked in one order everywhere (accounts, keys, holds, each by id), a batch is
 * one transaction, and one statement writes everything.
 */
export class PostgresLedger implements LedgerStore {
  readonly decidesHoldsInMemory = false
  readonly #database: PostgresDatabase
  readonly #seal: BookSeal
  readonly #guess = new SpendGuess()

  constructor(database: PostgresDatabase, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** If the answer to COMMIT is lost, the caller repeats: every operation has no effect the second time. */
  commit(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges): Promise<void> {
    return this.#database.charge(
      (sql) => load(sql, operations, this.#guess, this.#seal),
      (sql, rows) => write(sql, decide(rows), this.#seal),
    )
  }

  async flush(): Promise<void> {}

  async renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    await this.#database.run(RENEW, [BigInt(leaseUntilMs), arrayText(generationIds)])
  }

  openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    return readOpenHolds(this.#database, nowMs, this.#seal)
  }
}

/** Columns as arrays, one parameter each, so that a statement's text does not depend on the number of rows. */
function table(columns: string): string {
  const types = columns.split(', ').map((column) => column.split(' ')[1])
  return `unnest(${types.map((type) => `?::${type}[]`).join(', ')}) AS v(${namesOf(columns).join(', ')})`
}

function namesOf(columns: string): readonly string[] {
  return columns.split(', ').map((column) => column.split(' ')[0] ?? '')
}

function insert(into: string, columns: string): string {
  return `INSERT INTO ${into} (${namesOf(columns).join(', ')}) SELECT * FROM ${table(columns)}`
}

function update(into: string, columns: string): string {
  const sets = namesOf(columns).map((name) => `${name} = v.${name}`)
  return `UPDATE ${into} SET ${sets.join(', ')} FROM ${table(`id text, ${columns}`)} WHERE ${into}.id = v.id`
}

function addRows(to: Parameters<typeof sumColumns>[0]): string {
  const columns = sumColumns(to)
    .map(({ column, type }) => `${column} ${type}`)
    .join(', ')
  return addSums(to, `SELECT * FROM ${table(columns)}`)
}

/** PostgreSQL's text form of an array. */
export function arrayText(cells: readonly Cell[]): string {
  return `{${cells.map((cell) => (cell === null ? 'NULL' : typeof cell === 'bigint' ? String(cell) : quoted(cell))).join(',')}}`
}

/** JSON and PostgreSQL escape these differently. */
// oxlint-disable-next-line no-control-regex
const OTHER_IN_JSON = /[\u0000-\u001F\uD800-\uDFFF]/

/** Quoting by `JSON.stringify` costs a fifth of `replaceAll`, which took a fifth of the time of a charge. */
function quoted(cell: string): string {
  return OTHER_IN_JSON.test(cell) ? `"${cell.replaceAll(/["\\]/g, String.raw`\$&`)}"` : JSON.stringify(cell)
}

/** Turns rows into one array for each column. */
function columnsOf(rows: readonly (readonly Cell[])[]): readonly SqlValue[] {
  const width = rows[0]?.length ?? 0
  return Array.from({ length: width }, (_, column) => arrayText(rows.map((row) => row[column] ?? null)))
}

async function load(
  sql: Sql,
  operations: readonly LedgerOperation[],
  guess: SpendGuess,
  seal: BookSeal,
): Promise<LedgerRows> {
  const ids = new Set(operations.map(({ generationId }) => generationId))
  const accountIds = new Set<string>()
  const keyIds = new Set<string>()
  const ending: string[] = []
  for (const operation of operations) {
    const draw = drawOf(operation)
    if (draw !== null) ids.add(draw.allowance)
    const owner = ownerOf(operation) ?? recordOf(operation)
    if (owner === null) ending.push(operation.generationId)
    else {
      accountIds.add(owner.accountId)
      keyIds.add(owner.keyId)
    }
  }
  // Owners of a hold never change, so they are read without a lock before the accounts are locked in order. A log
  // record names them too.
  for (const row of ending.length === 0 ? [] : await sql.all(OWNERS, [arrayText(ending)])) {
    accountIds.add(text(row, 'account_id'))
    keyIds.add(text(row, 'key_id'))
  }
  // Sent together, and locked in this order.
  const [accounts, keys, holds, spends] = await Promise.all([
    locked(sql, ACCOUNT_SELECT, [...accountIds], (row) => readAccountRow(row, seal)),
    locked(sql, KEY_SELECT, [...keyIds], readKeyRow),
    locked(sql, HOLD_SELECT, [...ids], (row) => readHoldRow(row, seal)),
    readSpends(sql, guess.periods(operations, keyIds)),
  ])
  guess.learn(keys)
  await lockLateOwners(sql, { holds, accounts, keys }, seal)
  const loaded = { accounts, keys, holds, read: spends }
  return {
    accounts,
    keys,
    holds,
    spends: await loadSpends(sql, operations, loaded),
    jobs: await loadJobs(sql, operations),
    claims: await loadClaims(sql, operations),
  }
}

function recordOf(operation: LedgerOperation): GenerationRecord | null {
  return operation.op === 'settle' || operation.op === 'void' ? operation.record : null
}

/** Locked after the holds, as in every transaction. */
async function loadJobs(sql: Sql, operations: readonly LedgerOperation[]): Promise<Map<string, number>> {
  const ids = operations.flatMap((operation) => movedJobOf(operation)?.id ?? [])
  if (ids.length === 0) return new Map()
  const rows = await sql.all(`SELECT id, version FROM job WHERE id = ANY(?::text[]) ORDER BY id${ROW_LOCK}`, [
    arrayText(ids),
  ])
  return new Map(rows.map((row) => [text(row, 'id'), integer(row, 'version')]))
}

/** Locked last, as in every transaction. */
async function loadClaims(sql: Sql, operations: readonly LedgerOperation[]): Promise<Map<string, string>> {
  const ids = operations.flatMap((operation) => claimOf(operation)?.id ?? [])
  if (ids.length === 0) return new Map()
  const rows = await sql.all(
    `SELECT id, generation_id FROM idempotency_key WHERE id = ANY(?::text[]) AND state = 'running' ORDER BY id${ROW_LOCK}`,
    [arrayText(ids)],
  )
  return new Map(rows.map((row) => [text(row, 'id'), text(row, 'generation_id')]))
}

/**
 * Another node may have committed a hold after its owners were read and before it was locked. Locking them now violates
 * the common order; if that meets another batch, the database reports a deadlock and the whole batch is repeated.
 */
async function lockLateOwners(
  sql: Sql,
  {
    holds,
    accounts,
    keys,
  }: {
    readonly holds: ReadonlyMap<string, HoldRow>
    readonly accounts: Map<string, AccountRow>
    readonly keys: Map<string, KeyRow>
  },
  seal: BookSeal,
): Promise<void> {
  const late = [...holds.values()].filter(({ accountId, keyId }) => !accounts.has(accountId) || !keys.has(keyId))
  if (late.length === 0) return
  const accountIds = [...new Set(late.map(({ accountId }) => accountId))].filter((id) => !accounts.has(id))
  const keyIds = [...new Set(late.map(({ keyId }) => keyId))].filter((id) => !keys.has(id))
  for (const [id, row] of await locked(sql, ACCOUNT_SELECT, accountIds, (row) => readAccountRow(row, seal)))
    accounts.set(id, row)
  for (const [id, row] of await locked(sql, KEY_SELECT, keyIds, readKeyRow)) keys.set(id, row)
}

async function locked<T extends AccountRow | KeyRow | HoldRow>(
  sql: Sql,
  select: string,
  ids: readonly string[],
  read: (row: Row) => T,
): Promise<Map<string, T>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.all(`${select} WHERE id = ANY(?::text[]) ORDER BY id${ROW_LOCK}`, [arrayText(ids)])
  return new Map(rows.map((row) => [text(row, 'id'), read(row)]))
}

type Spends = Map<string, Micro>

/** Reads the spendings that were not read together with the locks. */
async function loadSpends(
  sql: Sql,
  operations: readonly LedgerOperation[],
  loaded: {
    readonly accounts: ReadonlyMap<string, AccountRow>
    readonly keys: ReadonlyMap<string, KeyRow>
    readonly holds: ReadonlyMap<string, HoldRow>
    readonly read: Spends
  },
): Promise<Spends> {
  const spends: Spends = new Map()
  const missing = new Map<string, SpendKey>()
  for (const operation of operations) {
    const period = spendingPeriodOf(operation, loaded.holds.get(operation.generationId), loaded.keys)
    if (period === null) continue
    const name = spendKeyText(period)
    const spent = loaded.read.get(name)
    if (spent === undefined) missing.set(name, period)
    else spends.set(name, spent)
  }
  for (const [name, spent] of await readSpends(sql, missing)) spends.set(name, spent)
  // Read after the locks, so that the charges of all earlier batches are committed. Only the first batches of a period
  // read it.
  for (const operation of operations) {
    const period = uncountedPeriodOf(operation, loaded.holds.get(operation.generationId), loaded.accounts)
    const name = period === null ? null : accountSpendText(period)
    if (period === null || name === null || spends.has(name)) continue
    const [row] = await sql.all(SELECT_ACCOUNT_SPEND, [period.period, period.start, period.accountId])
    spends.set(name, row === undefined ? 0n : big(row, 'spent'))
  }
  return spends
}

async function readSpends(sql: Sql, wanted: ReadonlyMap<string, SpendKey>): Promise<Spends> {
  // A period without a charge gets 0, so that the first charge of a batch counts for the holds after it.
  const spends: Spends = new Map([...wanted.keys()].map((name) => [name, 0n]))
  if (wanted.size === 0) return spends
  const rows = await sql.all(
    SELECT_SPENDS,
    columnsOf([...wanted.values()].map(({ keyId, period, start }) => [keyId, period, start])),
  )
  for (const row of rows)
    spends.set(`${text(row, 'key_id')} ${text(row, 'period')} ${text(row, 'start')}`, big(row, 'spent'))
  return spends
}

const GUESSES_MAX = 8_192

/**
 * Guesses which spendings a batch needs, from what its keys had when they were last locked. They are read in the same
 * round trip as the locks, after them; a wrong guess costs a second round trip.
 */
class SpendGuess {
  readonly #limits = new Map<string, Pick<KeyRow, 'id' | 'limitMicro' | 'limitReset'>>()
  /** The periods of the latest operation that has them: the end of a request does not say when its hold was placed. */
  #latest: PeriodStarts | null = null

  /** Only periods of `lockedFirst`, the keys that are locked before these are read. */
  periods(operations: readonly LedgerOperation[], lockedFirst: ReadonlySet<string>): ReadonlyMap<string, SpendKey> {
    const guessed = new Map<string, SpendKey>()
    for (const operation of operations) {
      const owner = ownerOf(operation)
      this.#latest = owner?.periods ?? this.#latest
      const keyId = (owner ?? recordOf(operation))?.keyId ?? ''
      const limits = this.#limits.get(keyId)
      if (limits === undefined || this.#latest === null || !lockedFirst.has(keyId)) continue
      const period = limitPeriod(limits, this.#latest)
      if (period !== null) guessed.set(spendKeyText(period), period)
    }
    return guessed
  }

  learn(keys: ReadonlyMap<string, KeyRow>): void {
    if (this.#limits.size > GUESSES_MAX) this.#limits.clear()
    for (const [id, { limitMicro, limitReset }] of keys) this.#limits.set(id, { id, limitMicro, limitReset })
  }
}

/** Returns the statement that is to be sent with the commit. */
async function write(sql: Sql, changes: LedgerChanges, seal: BookSeal): Promise<LastStatement> {
  if (!hasDirect(changes)) return () => writeRows(sql, changes, seal)
  await writeRows(sql, changes, seal)
  const statements = directStatements(changes, seal)
  for (let next = statements.next(); next.done !== true;) {
    const [row] = await sql.all(...next.value)
    next = statements.next(row)
  }
  return async () => undefined
}

/**
 * One statement writes the rows of all tables: each statement takes time on the server while the account stays locked.
 * Its parts do not see each other's changes, and need not, since no two change the same row.
 */
async function writeRows(sql: Sql, changes: LedgerChanges, seal: BookSeal): Promise<void> {
  const parts = partsOf(changes, seal).filter(({ rows }) => rows.length > 0)
  if (parts.length === 0) return
  // Parts with one row and parts with many are not mixed, so that there are few different texts.
  const isLone = parts.every(({ statement, rows }) => rows.length === 1 || statement === ADD_SPENDS)
  await sql.run(
    together(parts.map(({ statement, rows }) => (isLone && rows.length === 1 ? ofOneRow(statement) : statement))),
    parts.flatMap(({ rows }) => (isLone && rows.length === 1 ? (rows[0] ?? []) : columnsOf(rows))),
  )
}

const ROWS_BEGIN = 'unnest('
const ROWS_END = ') AS v'

/** The statement with its one row as plain values: arrays of one element cost the server more than the row. */
function ofOneRow(statement: string): string {
  const begin = statement.indexOf(ROWS_BEGIN)
  const end = statement.indexOf(ROWS_END, begin)
  if (begin === -1 || end === -1) throw new Error(`A statement of rows has no ${ROWS_BEGIN}…${ROWS_END}: ${statement}`)
  const rows = statement.slice(begin, end + ROWS_END.length)
  const marks = rows.slice(ROWS_BEGIN.length, -ROWS_END.length).replaceAll('[]', '')
  return statement.replace(rows, () => `(VALUES (${marks})) AS v`)
}

/** The last statement, with the others as WITH clauses before it. */
function together(statements: readonly string[]): string {
  const before = statements.slice(0, -1).map((statement, place) => `p${place} AS (${statement})`)
  return `${before.length === 0 ? '' : `WITH ${before.join(', ')} `}${statements.at(-1) ?? ''}`
}

interface WritePart {
  readonly statement: string
  readonly rows: readonly (readonly Cell[])[]
}

function partsOf(changes: LedgerChanges, seal: BookSeal): WritePart[] {
  return [
    { statement: UPDATE_ACCOUNTS, rows: [...changes.accounts].map((row) => [row.id, ...accountValues(row, seal)]) },
    { statement: UPDATE_KEYS, rows: [...changes.keys].map((row) => [row.id, row.heldMicro]) },
    { statement: INSERT_HOLDS, rows: [...changes.newHolds].map((hold) => holdValues(hold, seal)) },
    { statement: UPDATE_ALLOWANCES, rows: changes.allowances.map((row) => [row.id, ...allowanceValues(row, seal)]) },
    { statement: UPDATE_HOLDS, rows: [...changes.endedHolds].map((row) => [row.id, ...holdEndValues(row, seal)]) },
    {
      statement: ADD_SPENDS,
      rows: changes.spends.map((row) => [row.keyId, row.period, row.start, row.spentMicro, row.excessMicro]),
    },
    { statement: INSERT_ENTRIES, rows: changes.entries.map(entryValues) },
    { statement: INSERT_LOGS, rows: changes.log.map((log) => logValues(log, seal)) },
    { statement: INSERT_END_USERS, rows: endUsers(changes.log) },
    { statement: ADD_USAGE_DAYS, rows: usageDays(changes.log) },
    { statement: ADD_BOOKED_LATER, rows: bookedLater(changes.log) },
    { statement: ADD_APP_DAYS, rows: appDays(changes.log) },
  ]
}
