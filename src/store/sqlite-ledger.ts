import type { HoldRow, LedgerChanges, LedgerOperation, LedgerRows, LedgerStore, KeyRow, AccountRow } from '../ledger/ledger-store.ts'
import { limitPeriod } from '../ledger/ledger-core.ts'
import { spendKeyText } from '../ledger/ledger-store.ts'
import type { Micro } from '../money.ts'
import { big } from './database.ts'
import { ACCOUNT_SELECT, HOLD_SELECT, KEY_SELECT, readAccountRow, readHoldRow, readKeyRow } from './ledger-rows.ts'
import {
  ADD_SPEND, ADD_USAGE_DAY, bigintOrNull, holdValues, INSERT_ENTRY, INSERT_HOLD, INSERT_LOG, logValues, SELECT_SPEND, UPDATE_ACCOUNT, UPDATE_HOLD, UPDATE_KEY, usageDays, usageDayValues,
} from './ledger-values.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** The hot path of the embedded store: hand-written statements, one synchronous transaction a batch. */
export class SqliteLedger implements LedgerStore {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  commit(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges, durable: boolean): Promise<void> {
    return this.#database.exclusively(() => {
      this.#database.atomically(() => this.#write(decide(this.#load(operations))))
      return durable ? this.#database.sync() : undefined
    })
  }

  async renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    await this.#database.exclusively(() => {
      this.#database.atomically(() => {
        for (const id of generationIds) this.#run("UPDATE hold SET lease_until = ? WHERE id = ? AND state = 'open'", BigInt(leaseUntilMs), id)
      })
    })
  }

  async openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    const before = nowMs === null ? '' : ' AND lease_until < ?'
    return (await this.#database.all(`${HOLD_SELECT} WHERE state = 'open'${before}`, nowMs === null ? [] : [BigInt(nowMs)])).map(readHoldRow)
  }

  #load(operations: readonly LedgerOperation[]): LedgerRows {
    const accounts = new Map<string, AccountRow>()
    const keys = new Map<string, KeyRow>()
    const holds = new Map<string, HoldRow>()
    const spends = new Map<string, Micro>()
    for (const operation of operations) {
      let hold = holds.get(operation.generationId)
      if (hold === undefined) {
        const row = this.#database.prepare(`${HOLD_SELECT} WHERE id = ?`).get(operation.generationId)
        if (row !== undefined) {
          hold = readHoldRow(row)
          holds.set(hold.id, hold)
        }
      }
      const owner = hold ?? (operation.op === 'hold' ? operation : null)
      if (owner === null) continue
      this.#loadOwners(owner.accountId, owner.keyId, accounts, keys)
      const key = keys.get(owner.keyId)
      const period = key === undefined ? null : limitPeriod(key, owner.periods)
      if (period !== null && !spends.has(spendKeyText(period))) {
        const row = this.#database.prepare(SELECT_SPEND).get(period.keyId, period.period, period.start)
        spends.set(spendKeyText(period), row === undefined ? 0n : big(row, 'spent'))
      }
    }
    return { accounts, keys, holds, spends }
  }

  #loadOwners(accountId: string, keyId: string, accounts: Map<string, AccountRow>, keys: Map<string, KeyRow>): void {
    if (!accounts.has(accountId)) {
      const row = this.#database.prepare(`${ACCOUNT_SELECT} WHERE id = ?`).get(accountId)
      if (row !== undefined) accounts.set(accountId, readAccountRow(row))
    }
    if (!keys.has(keyId)) {
      const row = this.#database.prepare(`${KEY_SELECT} WHERE id = ?`).get(keyId)
      if (row !== undefined) keys.set(keyId, readKeyRow(row))
    }
  }

  #write(changes: LedgerChanges): void {
    for (const account of changes.accounts) this.#run(UPDATE_ACCOUNT, account.availableMicro, account.heldMicro, account.logRows, account.entryHead, account.id)
    for (const key of changes.keys) this.#run(UPDATE_KEY, key.heldMicro, key.id)
    for (const hold of changes.newHolds) this.#run(INSERT_HOLD, ...holdValues(hold))
    for (const hold of changes.endedHolds) this.#run(UPDATE_HOLD, hold.state, bigintOrNull(hold.endedAtMs), hold.chargedMicro, hold.shortfallMicro, hold.id)
    for (const spend of changes.spends) this.#run(ADD_SPEND, spend.keyId, spend.period, spend.start, spend.spentMicro, spend.excessMicro)
    for (const entry of changes.entries) {
      this.#run(INSERT_ENTRY, entry.debit, entry.credit, entry.amountMicro, entry.kind, entry.reference, entry.accountId, BigInt(entry.atMs), entry.hash)
    }
    for (const log of changes.log) this.#run(INSERT_LOG, ...logValues(log))
    for (const sum of usageDays(changes.log)) this.#run(ADD_USAGE_DAY, ...usageDayValues(sum))
  }

  #run(text: string, ...values: readonly (string | bigint | null)[]): void {
    this.#database.prepare(text).run(...values)
  }
}

