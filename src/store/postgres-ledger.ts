import { limitPeriod } from '../ledger/ledger-core.ts'
import { spendKeyText, type AccountRow, type HoldRow, type KeyRow, type LedgerChanges, type LedgerOperation, type LedgerRows, type LedgerStore } from '../ledger/ledger-store.ts'
import type { Micro } from '../money.ts'
import { big, type Sql, type SqlValue } from './database.ts'
import { ACCOUNT_SELECT, HOLD_SELECT, KEY_SELECT, readAccountRow, readHoldRow, readKeyRow } from './ledger-rows.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import {
  ADD_SPEND, ADD_USAGE_DAY, bigintOrNull, holdValues, INSERT_ENTRY, INSERT_HOLD, INSERT_LOG, logValues, SELECT_SPEND, UPDATE_ACCOUNT, UPDATE_HOLD, UPDATE_KEY, usageDayValues,
} from './ledger-values.ts'

/** The hot path on PostgreSQL: rows locked in one order everywhere (accounts, keys, holds, each by id), one transaction a batch. */
export class PostgresLedger implements LedgerStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** A lost answer to COMMIT is resolved by the caller's retry: every operation is a no-op the second time. */
  commit(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await write(sql, decide(await load(sql, operations)))
    })
  }

  async renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    await this.#database.run(`UPDATE hold SET lease_until = ? WHERE state = 'open' AND id IN (${marks(generationIds)})`, [BigInt(leaseUntilMs), ...generationIds])
  }

  async openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    const before = nowMs === null ? '' : ' AND lease_until < ?'
    return (await this.#database.all(`${HOLD_SELECT} WHERE state = 'open'${before}`, nowMs === null ? [] : [BigInt(nowMs)])).map(readHoldRow)
  }
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(',')
}

async function load(sql: Sql, operations: readonly LedgerOperation[]): Promise<LedgerRows> {
  const ids = [...new Set(operations.map(({ generationId }) => generationId))].toSorted()
  // Owners of a hold never change, so they are read without a lock before the accounts are locked in order.
  const owners = await sql.all(`SELECT account_id, key_id FROM hold WHERE id IN (${marks(ids)})`, ids)
  const accountIds = new Set(owners.map((row) => String(row['account_id'])))
  const keyIds = new Set(owners.map((row) => String(row['key_id'])))
  for (const operation of operations) {
    if (operation.op !== 'hold') continue
    accountIds.add(operation.accountId)
    keyIds.add(operation.keyId)
  }
  const accounts = new Map<string, AccountRow>()
  const keys = new Map<string, KeyRow>()
  const holds = new Map<string, HoldRow>()
  for (const row of await locked(sql, ACCOUNT_SELECT, [...accountIds])) accounts.set(String(row['id']), readAccountRow(row))
  for (const row of await locked(sql, KEY_SELECT, [...keyIds])) keys.set(String(row['id']), readKeyRow(row))
  for (const row of await locked(sql, HOLD_SELECT, ids)) holds.set(String(row['id']), readHoldRow(row))
  return { accounts, keys, holds, spends: await loadSpends(sql, operations, keys, holds) }
}

async function locked(sql: Sql, select: string, ids: readonly string[]): ReturnType<Sql['all']> {
  if (ids.length === 0) return []
  return sql.all(`${select} WHERE id IN (${marks(ids)}) ORDER BY id FOR UPDATE`, ids)
}

async function loadSpends(sql: Sql, operations: readonly LedgerOperation[], keys: ReadonlyMap<string, KeyRow>, holds: ReadonlyMap<string, HoldRow>): Promise<Map<string, Micro>> {
  const spends = new Map<string, Micro>()
  for (const operation of operations) {
    const owner = holds.get(operation.generationId) ?? (operation.op === 'hold' ? operation : null)
    const key = owner === null ? undefined : keys.get(owner.keyId)
    const period = owner === null || key === undefined ? null : limitPeriod(key, owner.periods)
    if (period === null || spends.has(spendKeyText(period))) continue
    const [row] = await sql.all(SELECT_SPEND, [period.keyId, period.period, period.start])
    spends.set(spendKeyText(period), row === undefined ? 0n : big(row, 'spent'))
  }
  return spends
}

/** The statements go out in order without waiting for each answer; the driver queues them on the one connection. */
async function write(sql: Sql, changes: LedgerChanges): Promise<void> {
  const sent: Promise<number>[] = []
  const run = (text: string, values: readonly SqlValue[]): void => {
    sent.push(sql.run(text, values))
  }
  for (const account of changes.accounts) run(UPDATE_ACCOUNT, [account.availableMicro, account.heldMicro, account.logRows, account.id])
  for (const key of changes.keys) run(UPDATE_KEY, [key.heldMicro, key.id])
  for (const hold of changes.newHolds) run(INSERT_HOLD, holdValues(hold))
  for (const hold of changes.endedHolds) run(UPDATE_HOLD, [hold.state, bigintOrNull(hold.endedAtMs), hold.chargedMicro, hold.shortfallMicro, hold.id])
  for (const spend of changes.spends) run(ADD_SPEND, [spend.keyId, spend.period, spend.start, spend.spentMicro, spend.excessMicro])
  for (const entry of changes.entries) run(INSERT_ENTRY, [entry.debit, entry.credit, entry.amountMicro, entry.kind, entry.reference, entry.accountId, BigInt(entry.atMs)])
  for (const log of changes.log) {
    run(INSERT_LOG, logValues(log))
    run(ADD_USAGE_DAY, usageDayValues(log))
  }
  await Promise.all(sent)
}
