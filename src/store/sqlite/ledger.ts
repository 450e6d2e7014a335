import type {
  HoldRow,
  LedgerChanges,
  LedgerOperation,
  LedgerRows,
  LedgerStore,
  KeyRow,
  AccountRow,
} from '../../ledger/ledger-store.ts'
import { assert } from '../../base/assert.ts'
import { claimOf, movedJobOf } from '../../ledger/ledger-store.ts'
import type { Micro } from '../../base/money.ts'
import { big, integer, text } from '../database.ts'
import { RUNNING_CLAIM } from '../idempotency/idempotency-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import {
  ACCOUNT_SELECT,
  HOLD_SELECT,
  KEY_SELECT,
  readAccountRow,
  readHoldRow,
  readKeyRow,
  readOpenHolds,
  spendQueries,
  type SpendQuery,
} from '../ledger/ledger-rows.ts'
import { accountValues, entryValues, holdValues, logValues } from '../ledger/ledger-values.ts'
import type { SqliteDatabase } from './database.ts'
import { JournaledRows } from './journaled-rows.ts'
import type { CommitRows } from './pending-rows.ts'
import type { JournalBytes } from './row-journal.ts'

const ACCOUNT_BY_ID = `${ACCOUNT_SELECT} WHERE id = ?`
const KEY_BY_ID = `${KEY_SELECT} WHERE id = ?`
const HOLD_BY_ID = `${HOLD_SELECT} WHERE id = ?`
const RENEW = "UPDATE hold SET lease_until = ? WHERE id = ? AND state = 'open'"
const JOB_VERSION = 'SELECT version FROM job WHERE id = ?'
/** The most rows of each kind that are kept in memory; beyond it they are read again. */
const KEPT_MAX = 20_000
/** The most remembered ids of written holds, so that a repeat is recognised without a look-up. */
const WRITTEN_MAX = 10_000
/** The number of charges in the journal after which they are written into their tables and the sums. */
const CHECKPOINT_CHARGES = 1_024

/** A hold that is not on the disk in any form: its row in memory, and a copy of the row as it was placed. */
interface Unwritten {
  readonly row: HoldRow
  readonly placed: HoldRow
}

/** The part of a batch that goes through the journal; the sums of spending are calculated from the log. */
type JournaledChanges = Pick<LedgerChanges, 'accounts' | 'keys' | 'newHolds' | 'endedHolds' | 'entries' | 'log'>

/** Whether the rows in memory are those of the last write. */
type Kept =
  /** No other writer has written since. `coldWrites`: the number of writes other than the ledger's at that time. */
  | { readonly at: 'written'; readonly coldWrites: number }
  /** Nothing has been read yet, or a write failed: the rows in memory may have changes that were not written. */
  | { readonly at: 'stale' }

/**
 * The hot path of the embedded store. One process has the file open, so it keeps the rows that it works with in memory
 * and decides there. JournaledRows brings rows to the disk. A hold is written when its request ends, or soon after it
 * was placed.
 */
export class SqliteLedger implements LedgerStore {
  readonly decidesHoldsInMemory = true
  readonly #database: SqliteDatabase
  readonly #seal: BookSeal
  readonly #accounts = new Map<string, AccountRow>()
  readonly #keys = new Map<string, KeyRow>()
  /** The `held` of each key in memory, as it was last written. */
  readonly #writtenHeld = new WeakMap<KeyRow, Micro>()
  readonly #holds = new Map<string, HoldRow>()
  readonly #spends = new Map<string, Micro>()
  /** Holds that are in the database but not kept in memory: ended, or dropped. */
  readonly #written = new Set<string>()
  readonly #rows: JournaledRows
  /** A new map after each write: a cleared one would keep garbage alive (base/bag.ts). */
  #unwritten = new Map<string, Unwritten>()
  /**
   * Ended holds that are in their table. They stay in memory until the next batch, since a hold that is being loaded
   * may refer to one.
   */
  #over: string[] = []
  #kept: Kept = { at: 'stale' }
  /** The damage that the start found, for the operator. */
  openingNotice: string | null = null

  constructor(
    database: SqliteDatabase,
    seal: BookSeal,
    journalBytes: JournalBytes,
    checkpointCharges = CHECKPOINT_CHARGES,
  ) {
    this.#database = database
    this.#seal = seal
    this.#rows = new JournaledRows({ database, seal, bytes: journalBytes, charges: checkpointCharges }, (ids) =>
      this.#isInTables(ids),
    )
    database.beforeColdAccess(
      () => this.#flush(),
      () => this.#rows.finish(),
    )
    database.beforeClose(() => journalBytes.close())
  }

  /** Whether the last write into tables failed. */
  get isFailing(): boolean {
    return this.#rows.isFailing
  }

  async commit(
    operations: readonly LedgerOperation[],
    decide: (rows: LedgerRows) => LedgerChanges,
    durable: boolean,
  ): Promise<void> {
    const isJournaled = await this.#database.exclusively(async () => {
      this.#refresh()
      const changesOf = (): LedgerChanges => decide(this.#load(operations))
      if (durable) return this.#write(changesOf)
      this.#keepForLater(changesOf)
      return false
    })
    // The ledger's turn is over, so that holds are decided while the disk works.
    if (isJournaled) await this.#rows.syncJournal()
  }

  /** The schema exists. Rows that an earlier process left in the journal go to their tables. */
  open(): void {
    this.openingNotice = this.#rows.open()
  }

  async flush(): Promise<void> {
    await this.#database.exclusively(() => this.#writeHolds())
  }

  checkpoint(): Promise<boolean> {
    return this.#database.exclusively(() => this.#rows.moveSome())
  }

  probe(): Promise<void> {
    return this.#database.probe()
  }

  async renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    await this.#database.exclusively(() => {
      this.#flush()
      this.#database.atomically(() => {
        for (const id of generationIds) {
          this.#letGo(id)
          this.#database.prepare(RENEW).run(BigInt(leaseUntilMs), id)
        }
      })
    })
  }

  openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    return readOpenHolds(this.#database, nowMs, this.#seal)
  }

  /** Writes everything into its table, and updates the sums. */
  #flush(): void {
    this.#writeHolds()
    this.#rows.flush()
  }

  /** Writes the holds that are only in memory. */
  #writeHolds(): void {
    if (this.#unwritten.size === 0) return
    this.#refresh()
    const holds = new Set<HoldRow>()
    const accounts = new Set<AccountRow>()
    const keys = new Set<KeyRow>()
    for (const { row } of this.#unwritten.values()) {
      const account = this.#accounts.get(row.accountId)
      const key = this.#keys.get(row.keyId)
      assert(account !== undefined && key !== undefined, `The owners of hold ${row.id} are kept with it.`)
      holds.add(row)
      accounts.add(account)
      keys.add(key)
    }
    const changes = { accounts, keys, newHolds: holds, endedHolds: new Set<HoldRow>(), entries: [], log: [] }
    this.#orStale(() => {
      this.#rows.write(this.#rowsOf(changes))
      this.#wrote(changes)
    })
  }

  /**
   * Returns whether the rows are in the journal, which is then to be synced; otherwise they are on the disk in their
   * tables.
   */
  async #write(changesOf: () => LedgerChanges): Promise<boolean> {
    this.#rows.makeRoom()
    const isJournaled = this.#orStale(() => {
      const changes = changesOf()
      assert(changes.allowances.length === 0, 'The one process of the embedded store leases nothing.')
      const isAppended = this.#rows.write(this.#rowsOf(changes), changes)
      this.#wrote(changes)
      return isAppended
    })
    if (!isJournaled) await this.#rows.syncTables()
    return isJournaled
  }

  /** The rows that a batch writes. Their sums do not include holds that are only in memory. */
  #rowsOf({ accounts, keys, newHolds, endedHolds, entries, log }: JournaledChanges): CommitRows {
    const heldMicro = this.#unwrittenMicro(newHolds, endedHolds)
    const keyRows: (readonly [Micro, string])[] = []
    for (const key of keys) {
      const held = key.heldMicro - (heldMicro.get(key.id) ?? 0n)
      // A request that begins and ends between two writes does not change the key's row.
      if (this.#writtenHeld.get(key) !== held) keyRows.push([held, key.id])
    }
    return {
      accounts: [...accounts].map((account) => {
        const micro = heldMicro.get(account.id) ?? 0n
        const { availableMicro, heldMicro: held } = account
        return [
          ...accountValues({ ...account, availableMicro: availableMicro + micro, heldMicro: held - micro }, this.#seal),
          account.id,
        ]
      }),
      keys: keyRows,
      holds: [...newHolds, ...endedHolds].map((hold) => holdValues(hold, this.#seal)),
      entries: entries.map(entryValues),
      log: log.map((row) => logValues(row, this.#seal)),
    }
  }

  /** By account and key: the amount of the holds that stay unwritten when these are written. */
  #unwrittenMicro(newHolds: ReadonlySet<HoldRow>, endedHolds: ReadonlySet<HoldRow>): ReadonlyMap<string, Micro> {
    const sums = new Map<string, Micro>()
    for (const { row, placed } of this.#unwritten.values()) {
      if (newHolds.has(row) || endedHolds.has(row)) continue
      for (const id of [placed.accountId, placed.keyId]) sums.set(id, (sums.get(id) ?? 0n) + placed.amountMicro)
    }
    return sums
  }

  /** Updates the state after the rows of a batch are written. */
  #wrote({ keys, newHolds, endedHolds }: JournaledChanges): void {
    const left = new Map<string, Unwritten>()
    for (const [id, unwritten] of this.#unwritten)
      if (!newHolds.has(unwritten.row) && !endedHolds.has(unwritten.row)) left.set(id, unwritten)
    this.#unwritten = left
    const heldMicro = this.#unwrittenMicro(newHolds, endedHolds)
    for (const key of keys) this.#writtenHeld.set(key, key.heldMicro - (heldMicro.get(key.id) ?? 0n))
  }

  #isInTables(holdIds: Iterable<string>): void {
    for (const id of holdIds) if (this.#holds.get(id)?.state !== 'open') this.#over.push(id)
  }

  #letGo(id: string): void {
    this.#holds.delete(id)
    if (this.#written.size >= WRITTEN_MAX) this.#written.clear()
    this.#written.add(id)
  }

  #keepForLater(changesOf: () => LedgerChanges): void {
    const { newHolds } = this.#orStale(changesOf)
    for (const hold of newHolds) this.#unwritten.set(hold.id, { row: hold, placed: { ...hold } })
  }

  #orStale<T>(work: () => T): T {
    try {
      return work()
    } catch (thrown) {
      this.#kept = { at: 'stale' }
      throw thrown
    }
  }

  /** Drops rows that may differ from what is written, and places the holds again that are not written yet. */
  #refresh(): void {
    // A hold that a late settle has changed since stays in memory.
    for (const id of this.#over) if (!this.#rows.hasHold(id)) this.#letGo(id)
    this.#over = []
    const full = Math.max(this.#accounts.size, this.#keys.size, this.#holds.size, this.#spends.size) > KEPT_MAX
    const { coldWrites } = this.#database
    if (!full && this.#kept.at === 'written' && this.#kept.coldWrites === coldWrites) return
    this.#rows.checkpoint()
    this.#accounts.clear()
    this.#keys.clear()
    for (const id of this.#holds.keys()) this.#letGo(id)
    this.#spends.clear()
    const waiting = [...this.#unwritten.values()].map(({ placed }) => placed)
    this.#kept = { at: 'stale' }
    const unwritten = new Map<string, Unwritten>()
    for (const placed of waiting) unwritten.set(placed.id, this.#placeAgain(placed))
    this.#unwritten = unwritten
    this.#kept = { at: 'written', coldWrites }
  }

  #placeAgain(placed: HoldRow): Unwritten {
    this.#loadOwners(placed.accountId, placed.keyId)
    const account = this.#accounts.get(placed.accountId)
    const key = this.#keys.get(placed.keyId)
    // A cold write waits until all holds are written, so the money is still there.
    assert(
      account !== undefined && key !== undefined && account.availableMicro >= placed.amountMicro,
      `Hold ${placed.id} was placed, and its account no longer has the money.`,
    )
    account.availableMicro -= placed.amountMicro
    account.heldMicro += placed.amountMicro
    key.heldMicro += placed.amountMicro
    const row = { ...placed }
    this.#holds.set(row.id, row)
    return { row, placed }
  }

  #load(operations: readonly LedgerOperation[]): LedgerRows {
    const jobs = new Map<string, number>()
    const claims = new Map<string, string>()
    for (const operation of operations) {
      const hold = this.#holds.get(operation.generationId) ?? this.#loadHold(operation)
      const owner = hold ?? (operation.op === 'hold' ? operation : null)
      if (owner === null) continue
      this.#loadOwners(owner.accountId, owner.keyId)
      for (const query of spendQueries(operation, hold, this.#accounts, this.#keys)) this.#loadSpend(query)
      const job = movedJobOf(operation)
      const row = job === null ? undefined : this.#database.prepare(JOB_VERSION).get(job.id)
      if (job !== null && row !== undefined) jobs.set(job.id, integer(row, 'version'))
      const claim = claimOf(operation)
      const claimed = claim === null ? undefined : this.#database.prepare(RUNNING_CLAIM).get(claim.id)
      if (claim !== null && claimed !== undefined) claims.set(claim.id, text(claimed, 'generation_id'))
    }
    return { accounts: this.#accounts, keys: this.#keys, holds: this.#holds, spends: this.#spends, jobs, claims }
  }

  #loadHold({ op, generationId }: LedgerOperation): HoldRow | undefined {
    // Ids are random, so a new hold is in the database only if it repeats one that was written a moment ago.
    if (op === 'hold' && !this.#written.has(generationId)) return undefined
    const row = this.#database.prepare(HOLD_BY_ID).get(generationId)
    if (row === undefined) return undefined
    const hold = readHoldRow(row, this.#seal)
    this.#holds.set(hold.id, hold)
    return hold
  }

  #loadSpend({ name, keyId, select, values }: SpendQuery): void {
    if (this.#spends.has(name)) return
    this.#rows.catchUp(keyId)
    const row = this.#database.prepare(select).get(...values)
    this.#spends.set(name, row === undefined ? 0n : big(row, 'spent'))
  }

  #loadOwners(accountId: string, keyId: string): void {
    if (!this.#accounts.has(accountId)) {
      const row = this.#database.prepare(ACCOUNT_BY_ID).get(accountId)
      if (row !== undefined) this.#accounts.set(accountId, readAccountRow(row, this.#seal))
    }
    if (!this.#keys.has(keyId)) {
      const row = this.#database.prepare(KEY_BY_ID).get(keyId)
      if (row === undefined) return
      const key = readKeyRow(row)
      this.#keys.set(keyId, key)
      this.#writtenHeld.set(key, key.heldMicro)
    }
  }
}
