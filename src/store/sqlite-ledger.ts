import type { HoldRow, LedgerChanges, LedgerOperation, LedgerRows, LedgerStore, KeyRow, AccountRow, SpendChange } from '../ledger/ledger-store.ts'
import { limitPeriod } from '../ledger/ledger-core.ts'
import { spendKeyText } from '../ledger/ledger-store.ts'
import type { Micro } from '../money.ts'
import { big } from './database.ts'
import { ACCOUNT_SELECT, HOLD_SELECT, KEY_SELECT, readAccountRow, readHoldRow, readKeyRow } from './ledger-rows.ts'
import {
  addSpends, ADD_USAGE_DAY, bigintOrNull, holdValues, INSERT_ENTRY, INSERT_HOLD, INSERT_LOG, logValues, SELECT_SPEND, UPDATE_ACCOUNT, UPDATE_HOLD, UPDATE_KEY, usageDays, usageDayValues,
} from './ledger-values.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const ACCOUNT_BY_ID = `${ACCOUNT_SELECT} WHERE id = ?`
const KEY_BY_ID = `${KEY_SELECT} WHERE id = ?`
const HOLD_BY_ID = `${HOLD_SELECT} WHERE id = ?`
/** Rows kept of each kind; beyond it they are read again. */
const KEPT_MAX = 20_000
const SPENDS_AT_ONCE = 8

/**
 * The hot path of the embedded store: hand-written statements, one synchronous transaction a batch. One process has the
 * file, so rows it wrote last are kept in memory; a third of a pair's cost was to read them back.
 */
export class SqliteLedger implements LedgerStore {
  readonly #database: SqliteDatabase
  readonly #accounts = new Map<string, AccountRow>()
  readonly #keys = new Map<string, KeyRow>()
  readonly #holds = new Map<string, HoldRow>()
  /** Writes besides the ledger's at the time of the rows above. */
  #coldWrites = 0

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  commit(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges, durable: boolean): Promise<void> {
    return this.#database.exclusively(() => {
      this.#forgetWhatMayHaveChanged()
      try {
        this.#database.atomically(() => {
          const changes = decide(this.#load(operations))
          this.#write(changes)
          for (const hold of changes.endedHolds) this.#holds.delete(hold.id)
        })
      } catch (thrown) {
        // The core has changed the kept rows, the database has not.
        this.#forget()
        throw thrown
      }
      return durable ? this.#database.sync() : undefined
    })
  }

  async renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    await this.#database.exclusively(() => {
      this.#database.atomically(() => {
        for (const id of generationIds) {
          this.#holds.delete(id)
          this.#run("UPDATE hold SET lease_until = ? WHERE id = ? AND state = 'open'", BigInt(leaseUntilMs), id)
        }
      })
    })
  }

  async openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    const before = nowMs === null ? '' : ' AND lease_until < ?'
    return (await this.#database.all(`${HOLD_SELECT} WHERE state = 'open'${before}`, nowMs === null ? [] : [BigInt(nowMs)])).map(readHoldRow)
  }

  #forgetWhatMayHaveChanged(): void {
    const full = Math.max(this.#accounts.size, this.#keys.size, this.#holds.size) > KEPT_MAX
    if (full || this.#coldWrites !== this.#database.coldWrites) this.#forget()
    this.#coldWrites = this.#database.coldWrites
  }

  #forget(): void {
    this.#accounts.clear()
    this.#keys.clear()
    this.#holds.clear()
  }

  #load(operations: readonly LedgerOperation[]): LedgerRows {
    // Not kept: the core adds to periods it never asked the whole of.
    const spends = new Map<string, Micro>()
    for (const operation of operations) {
      const hold = this.#holds.get(operation.generationId) ?? this.#loadHold(operation)
      const owner = hold ?? (operation.op === 'hold' ? operation : null)
      if (owner === null) continue
      this.#loadOwners(owner.accountId, owner.keyId)
      const key = this.#keys.get(owner.keyId)
      const period = key === undefined ? null : limitPeriod(key, owner.periods)
      if (period !== null && !spends.has(spendKeyText(period))) {
        const row = this.#database.prepare(SELECT_SPEND).get(period.keyId, period.period, period.start)
        spends.set(spendKeyText(period), row === undefined ? 0n : big(row, 'spent'))
      }
    }
    return { accounts: this.#accounts, keys: this.#keys, holds: this.#holds, spends }
  }

  #loadHold(operation: LedgerOperation): HoldRow | undefined {
    const row = this.#database.prepare(HOLD_BY_ID).get(operation.generationId)
    if (row === undefined) return undefined
    const hold = readHoldRow(row)
    this.#holds.set(hold.id, hold)
    return hold
  }

  #loadOwners(accountId: string, keyId: string): void {
    if (!this.#accounts.has(accountId)) {
      const row = this.#database.prepare(ACCOUNT_BY_ID).get(accountId)
      if (row !== undefined) this.#accounts.set(accountId, readAccountRow(row))
    }
    if (!this.#keys.has(keyId)) {
      const row = this.#database.prepare(KEY_BY_ID).get(keyId)
      if (row !== undefined) this.#keys.set(keyId, readKeyRow(row))
    }
  }

  #write(changes: LedgerChanges): void {
    for (const account of changes.accounts) this.#run(UPDATE_ACCOUNT, account.availableMicro, account.heldMicro, account.logRows, account.entryHead, account.id)
    for (const key of changes.keys) this.#run(UPDATE_KEY, key.heldMicro, key.id)
    for (const hold of changes.newHolds) this.#run(INSERT_HOLD, ...holdValues(hold))
    for (const hold of changes.endedHolds) this.#run(UPDATE_HOLD, hold.state, bigintOrNull(hold.endedAtMs), hold.chargedMicro, hold.shortfallMicro, hold.id)
    this.#writeSpends(changes.spends)
    for (const entry of changes.entries) {
      this.#run(INSERT_ENTRY, entry.debit, entry.credit, entry.amountMicro, entry.kind, entry.reference, entry.accountId, BigInt(entry.atMs), entry.hash)
    }
    for (const log of changes.log) this.#run(INSERT_LOG, ...logValues(log))
    for (const sum of usageDays(changes.log)) this.#run(ADD_USAGE_DAY, ...usageDayValues(sum))
  }

  #writeSpends(spends: readonly SpendChange[]): void {
    for (let from = 0; from < spends.length; from += SPENDS_AT_ONCE) {
      const some = spends.slice(from, from + SPENDS_AT_ONCE)
      this.#run(addSpends(some.length), ...some.flatMap((spend) => [spend.keyId, spend.period, spend.start, spend.spentMicro, spend.excessMicro]))
    }
  }

  #run(text: string, ...values: readonly (string | bigint | null)[]): void {
    this.#database.prepare(text).run(...values)
  }
}
