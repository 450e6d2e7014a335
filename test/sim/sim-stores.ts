import type {
  AccountRow,
  HoldRow,
  KeyRow,
  LedgerChanges,
  LedgerOperation,
  LedgerRows,
  LedgerStore,
} from '../../src/ledger/ledger-store.ts'
import { ALLOWANCE_PREFIX, drawOf, ownerOf, spendKeyText } from '../../src/ledger/ledger-store.ts'
import { type AccountPeriod, accountPeriod, accountSpendText, limitPeriod } from '../../src/ledger/hold-rules.ts'
import { FRESH_MS } from '../../src/ledger/allowances.ts'
import type { Micro } from '../../src/base/money.ts'
import {
  type ReadOptions,
  big,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
  type TransactionOptions,
} from '../../src/store/database.ts'
import { INSERT_NOTICE, noticeValues } from '../../src/store/notices/notice-store.ts'
import { BookSeal } from '../../src/store/audit/book-seal.ts'
import {
  ACCOUNT_SELECT,
  HOLD_SELECT,
  KEY_SELECT,
  readAccountRow,
  readHoldRow,
  readKeyRow,
  uncountedPeriodOf,
} from '../../src/store/ledger/ledger-rows.ts'
import {
  accountValues,
  allowanceValues,
  holdEndValues,
  holdValues,
  INSERT_ENTRY,
  INSERT_HOLD,
  INSERT_LOG,
  logValues,
  SELECT_ACCOUNT_SPEND,
  SELECT_SPEND,
  UPDATE_ACCOUNT,
  UPDATE_ALLOWANCE,
  UPDATE_HOLD,
  UPDATE_KEY,
} from '../../src/store/ledger/ledger-values.ts'
import { addSums, appDays, bookedLater, sumColumns, usageDays } from '../../src/store/ledger/sums.ts'
import type { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { SqliteLedger } from '../../src/store/sqlite/ledger.ts'
import { DiskFullError, type Disk } from './disk.ts'
import type { Link } from './link.ts'
import type { SimRowJournal } from './row-journal.ts'

const [ADD_SPEND, ADD_USAGE_DAY, ADD_APP_DAY, ADD_BOOKED_LATER] = (
  ['key_spend', 'usage_day', 'app_day', 'booked_later'] as const
).map((table) => addSums(table, `VALUES (${sumColumns(table).map(() => '?')})`)) as [string, string, string, string]
/** The key of all universes' seals. */
export const SIM_SEAL = new BookSeal(Buffer.alloc(32, 1))
const OPEN_HOLDS = `${HOLD_SELECT} WHERE state = 'open'`

/** Is told of a commit that must not happen. */
interface Witness {
  /** True time, Unix ms. */
  readonly nowMs: () => number
  readonly violation: (text: string) => void
}

/** A database shared by several nodes: every batch is a transaction, one at a time. */
export class SharedLedger implements LedgerStore {
  readonly decidesHoldsInMemory = false
  readonly #disk: Disk
  readonly #link: Link

  readonly #world: Witness

  constructor(disk: Disk, link: Link, world: Witness) {
    this.#disk = disk
    this.#link = link
    this.#world = world
  }

  async commit(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges): Promise<void> {
    const link = this.#link
    try {
      await link.call(() => this.#disk.atomically(() => this.#decide(operations, decide)))
      link.batchFailed = false
    } catch (thrown) {
      link.batchFailed = true
      throw thrown
    }
  }

  async flush(): Promise<void> {}

  renewLeases(generationIds: readonly string[], leaseUntilMs: number): Promise<void> {
    return this.#link.call(() =>
      this.#disk.atomically(() => {
        for (const id of generationIds)
          this.#disk.run("UPDATE hold SET lease_until = ? WHERE id = ? AND state = 'open'", [
            BigInt(Math.floor(leaseUntilMs)),
            id,
          ])
      }),
    )
  }

  openHolds(nowMs: number | null): Promise<readonly HoldRow[]> {
    return this.#link.call(
      () =>
        (nowMs === null
          ? this.#disk.all(OPEN_HOLDS)
          : this.#disk.all(`${OPEN_HOLDS} AND lease_until < ?`, [BigInt(Math.floor(nowMs))])
        ).map((row) => readHoldRow(row, SIM_SEAL)),
      true,
    )
  }

  #decide(operations: readonly LedgerOperation[], decide: (rows: LedgerRows) => LedgerChanges): void {
    const rows = this.#load(operations)
    const left = this.#checkDraws(operations, rows)
    const changes = decide(rows)
    for (const { id, accountId, state, amountMicro } of rows.holds.values())
      if (id.startsWith(ALLOWANCE_PREFIX) && state === 'open' && rows.accounts.get(accountId)?.exactHolds === true)
        if (amountMicro > (left.get(id) ?? 0n))
          this.#world.violation(`${id} was filled up to ${amountMicro}, and the database decides for ${accountId}`)
    this.#write(changes)
    for (const hold of changes.endedHolds) {
      if (hold.state === 'expired' && hold.chargedMicro === null && hold.leaseUntilMs > this.#world.nowMs())
        this.#world.violation(`I14 hold ${hold.id} expired before its lease was over`)
      if (operations.length !== 1) continue
      this.#checkOverrun(hold, rows.keys.get(hold.keyId))
      this.#checkAccountOverrun(hold, rows.accounts.get(hold.accountId))
    }
  }

  /**
   * An allowance covers all that its node has drawn from it; and one that is over was drawn from no longer than what
   * the store had said of it counts. Answers what is left of each, once all that ends is taken out.
   */
  #checkDraws(operations: readonly LedgerOperation[], { holds }: LedgerRows): ReadonlyMap<string, bigint> {
    const sums = new Map<string, bigint>()
    for (const operation of operations) {
      const draw = drawOf(operation)
      if (draw === null || holds.has(draw.hold.generationId)) continue
      const allowance = holds.get(draw.allowance)
      const sumMicro = (sums.get(draw.allowance) ?? 0n) + draw.hold.amountMicro
      sums.set(draw.allowance, sumMicro)
      if (allowance === undefined) this.#world.violation(`${draw.hold.generationId} was drawn from what never was`)
      else if (allowance.state === 'open' && allowance.amountMicro < sumMicro)
        this.#world.violation(`${allowance.id} has ${allowance.amountMicro}, and ${sumMicro} are drawn from it`)
      else if (allowance.state !== 'open' && draw.hold.atMs - (allowance.endedAtMs ?? 0) > FRESH_MS)
        this.#world.violation(`${draw.hold.generationId} was drawn from ${allowance.id} long after its end`)
    }
    return new Map([...holds.values()].map(({ id, amountMicro }) => [id, amountMicro - (sums.get(id) ?? 0n)]))
  }

  /** The part of a charge beyond its hold never exceeds the key's limit. */
  #checkOverrun(hold: HoldRow, key: KeyRow | undefined): void {
    const period = key === undefined ? null : limitPeriod(key, hold.periods)
    const coveredMicro = hold.state === 'settled' ? hold.amountMicro : 0n
    if (key === undefined || key.limitMicro === null || period === null || (hold.chargedMicro ?? 0n) <= coveredMicro)
      return
    const [spend] = this.#disk.all(SELECT_SPEND, [period.keyId, period.period, period.start])
    const spentMicro = spend === undefined ? 0n : big(spend, 'spent')
    if (spentMicro + key.heldMicro > key.limitMicro)
      this.#world.violation(
        `I6 the overrun of ${hold.id} passes the limit of its key: ${spentMicro} + ${key.heldMicro} > ${key.limitMicro}`,
      )
  }

  /** Nor that of its account. */
  #checkAccountOverrun(hold: HoldRow, account: AccountRow | undefined): void {
    const period = account === undefined ? null : accountPeriod(account, hold.periods)
    const coveredMicro = hold.state === 'settled' ? hold.amountMicro : 0n
    if (account === undefined || account.limitMicro === null || period === null) return
    if ((hold.chargedMicro ?? 0n) <= coveredMicro) return
    const spentMicro = this.#accountSpent(period)
    if (spentMicro + account.heldMicro > account.limitMicro)
      this.#world.violation(
        `I6 the overrun of ${hold.id} passes the limit of its account: ${spentMicro} + ${account.heldMicro} > ${account.limitMicro}`,
      )
  }

  #accountSpent({ period, start, accountId }: AccountPeriod): Micro {
    const [sum] = this.#disk.all(SELECT_ACCOUNT_SPEND, [period, start, accountId])
    return sum === undefined ? 0n : big(sum, 'spent')
  }

  #load(operations: readonly LedgerOperation[]): LedgerRows {
    const accounts = new Map<string, AccountRow>()
    const keys = new Map<string, KeyRow>()
    const holds = new Map<string, HoldRow>()
    const spends = new Map<string, Micro>()
    for (const operation of operations) {
      const { generationId } = operation
      const ids = [generationId, drawOf(operation)?.allowance ?? generationId]
      for (const id of ids) if (!holds.has(id)) this.#read(HOLD_SELECT, id, (row) => readHoldRow(row, SIM_SEAL), holds)
      const owner = holds.get(generationId) ?? ownerOf(operation)
      if (owner === null) continue
      if (!accounts.has(owner.accountId))
        this.#read(ACCOUNT_SELECT, owner.accountId, (row) => readAccountRow(row, SIM_SEAL), accounts)
      if (!keys.has(owner.keyId)) this.#read(KEY_SELECT, owner.keyId, readKeyRow, keys)
      const key = keys.get(owner.keyId)
      const period = key === undefined ? null : limitPeriod(key, owner.periods)
      const [spend] = period === null ? [] : this.#disk.all(SELECT_SPEND, [period.keyId, period.period, period.start])
      if (period !== null) spends.set(spendKeyText(period), spend === undefined ? 0n : big(spend, 'spent'))
      const uncounted = uncountedPeriodOf(operation, holds.get(generationId), accounts)
      if (uncounted !== null) spends.set(accountSpendText(uncounted), this.#accountSpent(uncounted))
    }
    // The simulation has neither jobs nor Idempotency-Keys.
    return { accounts, keys, holds, spends, jobs: new Map(), claims: new Map() }
  }

  #read<T>(select: string, id: string, read: (row: Row) => T, into: Map<string, T>): void {
    const [row] = this.#disk.all(`${select} WHERE id = ?`, [id])
    if (row !== undefined) into.set(id, read(row))
  }

  #write(changes: LedgerChanges): void {
    const disk = this.#disk
    for (const row of changes.accounts) disk.run(UPDATE_ACCOUNT, [...accountValues(row, SIM_SEAL), row.id])
    for (const row of changes.keys) disk.run(UPDATE_KEY, [row.heldMicro, row.id])
    for (const row of changes.newHolds) disk.run(INSERT_HOLD, holdValues(row, SIM_SEAL))
    for (const row of changes.allowances) disk.run(UPDATE_ALLOWANCE, [...allowanceValues(row, SIM_SEAL), row.id])
    for (const row of changes.endedHolds) disk.run(UPDATE_HOLD, [...holdEndValues(row, SIM_SEAL), row.id])
    for (const row of changes.spends)
      disk.run(ADD_SPEND, [row.keyId, row.period, row.start, row.spentMicro, row.excessMicro])
    for (const row of changes.entries)
      disk.run(INSERT_ENTRY, [
        row.debit,
        row.credit,
        row.amountMicro,
        row.kind,
        row.reference,
        row.accountId,
        BigInt(row.atMs),
        row.hash,
      ])
    for (const row of changes.log) disk.run(INSERT_LOG, logValues(row, SIM_SEAL))
    for (const row of usageDays(changes.log)) disk.run(ADD_USAGE_DAY, row)
    for (const row of appDays(changes.log)) disk.run(ADD_APP_DAY, row)
    for (const row of bookedLater(changes.log)) disk.run(ADD_BOOKED_LATER, row)
    for (const notice of changes.notices) disk.run(INSERT_NOTICE, noticeValues(notice))
  }
}

/** The store's other transactions on a shared database. */
export function sharedDatabase(disk: Disk): Database {
  const sql: Sql = {
    all: async (text, values) => disk.all(text, values),
    run: async (text, values) => disk.run(text, values),
  }
  return {
    ...sql,
    dialect: 'sqlite',
    coldWrites: null,
    transaction: async (work) => {
      disk.enter()
      let kept = false
      try {
        const result = await work(sql)
        kept = true
        return result
      } finally {
        disk.leave(kept)
      }
    },
    close: async () => undefined,
  }
}

/**
 * The embedded store's file as its only process has it: the part of `SqliteDatabase`, on a disk that fails and takes
 * virtual time.
 */
export class EmbeddedDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly #disk: Disk
  readonly #link: Link
  readonly #rows: SimRowJournal
  /** What is committed is on the disk. */
  readonly failedSyncs = 0
  #coldWrites = 0
  #beforeColdAccess = (): void => undefined
  #finishOpened = (): void => undefined
  #isOpened = false
  #tail: Promise<unknown> = Promise.resolve()

  constructor(disk: Disk, link: Link, rows: SimRowJournal) {
    this.#disk = disk
    this.#link = link
    this.#rows = rows
  }

  beforeClose(): void {}

  /** The product's own ledger of the embedded store on this file. */
  ledger(checkpointCharges?: number): SqliteLedger {
    // It requires the class itself but uses only the members below.
    const ledger = new SqliteLedger(this as unknown as SqliteDatabase, SIM_SEAL, this.#rows, checkpointCharges)
    ledger.open()
    return ledger
  }

  get coldWrites(): number {
    return this.#coldWrites
  }

  beforeColdAccess(flush: () => void, finish: () => void): void {
    this.#beforeColdAccess = flush
    this.#finishOpened = finish
  }

  openForLater(): void {
    this.#disk.enter()
    this.#isOpened = true
  }

  closeOpened(keep: boolean): void {
    // The disk was full before the last page was written.
    if (keep && this.#link.fault() === 'before') throw new DiskFullError('database or disk is full')
    this.#disk.leave(keep)
    this.#isOpened = false
  }

  /** Its process dies: an open transaction is none. */
  die(): void {
    if (this.#isOpened) this.closeOpened(false)
  }

  prepare(text: string): ReturnType<Disk['prepare']> {
    return this.#disk.prepare(text)
  }

  atomically<T>(work: () => T): T {
    if (this.#disk.isTransaction) return work()
    const fails = this.#link.fault() === 'before'
    return this.#disk.atomically(() => {
      const result = work()
      // The disk was full before the last page was written.
      if (fails) throw new DiskFullError('database or disk is full')
      return result
    })
  }

  exclusively<T>(work: () => T | Promise<T>): Promise<T> {
    const taken = this.#tail.then(work)
    this.#tail = taken.catch(() => undefined)
    return taken
  }

  async sync(): Promise<void> {
    await this.#link.latency()
    if (this.#link.fault() !== null) throw new DiskFullError('fdatasync failed')
  }

  async all(
    text: string,
    values: readonly SqlValue[] = [],
    { withoutAmounts = false }: ReadOptions = {},
  ): Promise<readonly Row[]> {
    if (!withoutAmounts && (this.#isOpened || !this.#disk.isTransaction)) this.#beforeColdAccess()
    return this.#disk.all(text, values)
  }

  run(text: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.exclusively(async () => {
      this.#beforeColdAccess()
      this.#coldWrites += 1
      return this.#disk.run(text, values)
    })
  }

  transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const sql: Sql = {
      all: (text, values) => this.all(text, values),
      run: async (text, values = []) => this.#disk.run(text, values),
    }
    return this.exclusively(async () => {
      if (options.purpose === 'note') this.#finishOpened()
      else this.#beforeColdAccess()
      if (options.purpose === 'snapshot') return work(sql)
      if (options.purpose !== 'note') this.#coldWrites += 1
      this.#disk.enter()
      let kept = false
      try {
        const result = await work(sql)
        kept = true
        return result
      } finally {
        this.#disk.leave(kept)
      }
    })
  }

  async close(): Promise<void> {
    await this.exclusively(() => this.#beforeColdAccess())
  }
}
