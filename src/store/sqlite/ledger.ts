import type {
  HoldRow,
  LedgerChanges,
  LedgerOperation,
  LedgerRows,
  LedgerStore,
  KeyRow,
  AccountRow,
} from '../../ledger/ledger-store.ts'
import { assert } from '../../lib/assert.ts'
import { claimOf, movedJobOf, spendKeyText, type SpendKey } from '../../ledger/ledger-store.ts'
import type { Micro } from '../../money.ts'
import { big, integer, text, type SqlValue } from '../database.ts'
import { END_CLAIM, RUNNING_CLAIM } from '../idempotency/idempotency-store.ts'
import { KEEP_ANSWER } from '../responses/response-store.ts'
import { INSERT_JOB, jobMoveValues, MOVE_JOB, newJobValues, SEALED_JOB } from '../jobs/job-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import {
  ACCOUNT_SELECT,
  HOLD_SELECT,
  KEY_SELECT,
  readAccountRow,
  readHoldRow,
  readKeyRow,
  readOpenHolds,
  spendingPeriodOf,
} from '../ledger/ledger-rows.ts'
import {
  accountValues,
  entryValues,
  holdEndValues,
  holdValues,
  INSERT_ENTRY,
  INSERT_HOLD,
  INSERT_LOG,
  logValues,
  SELECT_SPEND,
  UPDATE_ACCOUNT,
  UPDATE_HOLD,
  UPDATE_KEY,
} from '../ledger/ledger-values.ts'
import type { SqliteDatabase } from './database.ts'
import { SqliteRollup } from './rollup.ts'

const ACCOUNT_BY_ID = `${ACCOUNT_SELECT} WHERE id = ?`
const KEY_BY_ID = `${KEY_SELECT} WHERE id = ?`
const HOLD_BY_ID = `${HOLD_SELECT} WHERE id = ?`
const JOB_VERSION = 'SELECT version FROM job WHERE id = ?'
/** Rows of each kind that are kept; beyond it they are read again. */
const KEPT_MAX = 20_000
/** Log rows after which the sums are updated. */
const ROLL_UP_ROWS = 256
/** Remembered ids of written holds, so that a repeat is recognised without a look-up. */
const WRITTEN_MAX = 10_000
const NOTHING: LedgerChanges = {
  accounts: new Set(),
  keys: new Set(),
  newHolds: new Set(),
  endedHolds: new Set(),
  allowances: [],
  spends: [],
  entries: [],
  log: [],
  newJobs: [],
  movedJobs: [],
  endedClaims: [],
  keptAnswers: [],
}

/** Changes that holds made in memory and that are not written yet. */
class Unwritten {
  readonly accounts = new Set<AccountRow>()
  readonly keys = new Set<KeyRow>()
  /** The kept row, and a copy of it as it was placed. */
  readonly holds = new Map<string, { readonly row: HoldRow; readonly placed: HoldRow }>()
}

/**
 * The hot path of the embedded store: hand-written statements, one synchronous transaction for each batch. Only one
 * process has the file open, so it keeps rows in memory and decides holds there: they are written with the next settle
 * or flush, in their final state if they have ended by then.
 */
export class SqliteLedger implements LedgerStore {
  readonly decidesHoldsInMemory = true
  readonly #database: SqliteDatabase
  readonly #seal: BookSeal
  readonly #accounts = new Map<string, AccountRow>()
  readonly #keys = new Map<string, KeyRow>()
  /** The `held` of a kept key in the database. */
  readonly #writtenHeld = new WeakMap<KeyRow, Micro>()
  readonly #holds = new Map<string, HoldRow>()
  readonly #spends = new Map<string, Micro>()
  /** Holds that are in the database but not kept in memory: ended, or dropped. */
  readonly #written = new Set<string>()
  readonly #rollup: SqliteRollup
  /** Replaced after each write: clearing one would keep garbage alive (lib/bag.ts). */
  #unwritten = new Unwritten()
  /** A write failed: the kept rows have changes that the database does not. */
  #stale = false
  /** The number of writes by others when the rows above were read. */
  #coldWrites = 0

  constructor(database: SqliteDatabase, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
    this.#rollup = new SqliteRollup(database)
    database.beforeColdAccess(() => this.#flush())
  }

  async commit(
    operations: readonly LedgerOperation[],
    decide: (rows: LedgerRows) => LedgerChanges,
    durable: boolean,
  ): Promise<void> {
    await this.#database.exclusively(() => {
      this.#refresh()
      if (durable) this.#writeNow(() => decide(this.#load(operations)))
      else this.#keepForLater(() => decide(this.#load(operations)))
    })
    // The turn is over: holds are decided while the disk works.
    if (durable) await this.#database.sync()
  }

  /** Called when the schema exists. */
  open(): void {
    this.#rollup.open()
  }

  async flush(): Promise<void> {
    await this.#database.exclusively(() => this.#writeHolds())
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
          this.#run("UPDATE hold SET lease_until = ? WHERE id = ? AND state = 'open'", BigInt(leaseUntilMs), id)
        }
      })
    })
  }

  openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    return readOpenHolds(this.#database, nowMs, this.#seal)
  }

  /** Writes everything, the sums included. */
  #flush(): void {
    this.#writeHolds()
    this.#rollup.catchUp()
  }

  #writeHolds(): void {
    if (this.#unwritten.holds.size === 0) return
    this.#refresh()
    this.#writeNow(() => NOTHING)
  }

  #writeNow(changesOf: () => LedgerChanges): void {
    const changes = this.#orStale(() =>
      this.#database.atomically(() => {
        const decided = changesOf()
        this.#write(decided)
        return decided
      }),
    )
    this.#unwritten = new Unwritten()
    for (const { id } of changes.endedHolds) this.#letGo(id)
    for (const { id, state } of changes.newHolds) if (state !== 'open') this.#letGo(id)
  }

  #letGo(id: string): void {
    this.#holds.delete(id)
    if (this.#written.size >= WRITTEN_MAX) this.#written.clear()
    this.#written.add(id)
  }

  #keepForLater(changesOf: () => LedgerChanges): void {
    const { accounts, keys, newHolds } = this.#orStale(changesOf)
    for (const account of accounts) this.#unwritten.accounts.add(account)
    for (const key of keys) this.#unwritten.keys.add(key)
    for (const hold of newHolds) this.#unwritten.holds.set(hold.id, { row: hold, placed: { ...hold } })
  }

  #orStale<T>(work: () => T): T {
    try {
      return work()
    } catch (thrown) {
      this.#stale = true
      this.#rollup.reset()
      throw thrown
    }
  }

  /** Drops kept rows that may differ from the database, and places the unwritten holds again. */
  #refresh(): void {
    const full = Math.max(this.#accounts.size, this.#keys.size, this.#holds.size, this.#spends.size) > KEPT_MAX
    const { coldWrites } = this.#database
    if (!full && !this.#stale && this.#coldWrites === coldWrites) return
    this.#accounts.clear()
    this.#keys.clear()
    for (const id of this.#holds.keys()) this.#letGo(id)
    this.#spends.clear()
    const waiting = [...this.#unwritten.holds.values()].map(({ placed }) => placed)
    this.#unwritten.accounts.clear()
    this.#unwritten.keys.clear()
    this.#stale = true
    for (const placed of waiting) this.#placeAgain(placed)
    this.#stale = false
    this.#coldWrites = coldWrites
  }

  #placeAgain(placed: HoldRow): void {
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
    this.#unwritten.holds.set(row.id, { row, placed })
    this.#unwritten.accounts.add(account)
    this.#unwritten.keys.add(key)
  }

  #load(operations: readonly LedgerOperation[]): LedgerRows {
    const jobs = new Map<string, number>()
    const claims = new Map<string, string>()
    for (const operation of operations) {
      const hold = this.#holds.get(operation.generationId) ?? this.#loadHold(operation)
      const owner = hold ?? (operation.op === 'hold' ? operation : null)
      if (owner === null) continue
      this.#loadOwners(owner.accountId, owner.keyId)
      const period = spendingPeriodOf(operation, hold, this.#keys)
      if (period !== null) this.#loadSpend(period)
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
    // Ids are random, so a new hold can be in the database only if it repeats one that was written a moment ago.
    if (op === 'hold' && !this.#written.has(generationId)) return undefined
    const row = this.#database.prepare(HOLD_BY_ID).get(generationId)
    if (row === undefined) return undefined
    const hold = readHoldRow(row, this.#seal)
    this.#holds.set(hold.id, hold)
    return hold
  }

  #loadSpend(period: SpendKey): void {
    const name = spendKeyText(period)
    if (this.#spends.has(name)) return
    this.#rollup.catchUp()
    const row = this.#database.prepare(SELECT_SPEND).get(period.keyId, period.period, period.start)
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

  /** Writes the earlier unwritten changes and these. */
  #write(changes: LedgerChanges): void {
    assert(changes.allowances.length === 0, 'The one process of the embedded store leases nothing.')
    const unwritten = this.#unwritten
    for (const account of union(unwritten.accounts, changes.accounts))
      this.#run(UPDATE_ACCOUNT, ...accountValues(account, this.#seal), account.id)
    for (const key of union(unwritten.keys, changes.keys)) this.#writeKey(key)
    for (const { row } of unwritten.holds.values()) this.#run(INSERT_HOLD, ...holdValues(row, this.#seal))
    for (const hold of changes.newHolds) this.#run(INSERT_HOLD, ...holdValues(hold, this.#seal))
    for (const hold of changes.endedHolds) {
      if (!unwritten.holds.has(hold.id)) this.#run(UPDATE_HOLD, ...holdEndValues(hold, this.#seal), hold.id)
    }
    for (const entry of changes.entries) this.#run(INSERT_ENTRY, ...entryValues(entry))
    for (const log of changes.log) this.#run(INSERT_LOG, ...logValues(log, this.#seal))
    for (const job of changes.newJobs) this.#run(INSERT_JOB, ...newJobValues(job, this.#seal))
    for (const move of changes.movedJobs)
      this.#run(MOVE_JOB, ...jobMoveValues(move, this.#database.prepare(SEALED_JOB).get(move.id), this.#seal))
    for (const { id, answer } of changes.endedClaims) this.#run(END_CLAIM, answer, id)
    for (const { id, answer } of changes.keptAnswers) this.#run(KEEP_ANSWER, answer, BigInt(answer.length), id)
    this.#rollup.added(changes.log.length)
    if (this.#rollup.behind >= ROLL_UP_ROWS) this.#rollup.catchUp()
  }

  /** A request that begins and ends between two writes leaves its key as it was. */
  #writeKey(key: KeyRow): void {
    if (this.#writtenHeld.get(key) === key.heldMicro) return
    this.#run(UPDATE_KEY, key.heldMicro, key.id)
    this.#writtenHeld.set(key, key.heldMicro)
  }

  #run(text: string, ...values: readonly SqlValue[]): void {
    this.#database.prepare(text).run(...values)
  }
}

function union<T>(first: ReadonlySet<T>, second: ReadonlySet<T>): ReadonlySet<T> {
  if (first.size === 0) return second
  return second.size === 0 ? first : first.union(second)
}
