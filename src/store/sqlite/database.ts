import { closeSync, existsSync, fdatasync, openSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { OperatorError } from '../../base/errors.ts'
import { makeFolder } from '../../base/folder.ts'
import {
  type Database,
  type ReadOptions,
  type Row,
  type Sql,
  type SqlValue,
  type TransactionOptions,
  refuseNul,
} from '../database.ts'
import { withoutLocks } from '../dialect.ts'
import { type DirectoryLock, takeLock } from './directory-lock.ts'
import { asUnavailable, diskFault } from './disk-fault.ts'
import { SqliteSnapshot } from './snapshot.ts'

const STATEMENTS_MAX = 256
const PROBE_BYTES = 1_048_576
const PROBES_MAX = 2 ** 30

/**
 * The embedded store's file. Commits run with synchronous=NORMAL and are made durable by an fdatasync of the WAL in the
 * thread pool: as safe as FULL, without blocking the event loop for the disk.
 */
export class SqliteDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly #database: DatabaseSync
  readonly #lock: DirectoryLock
  readonly #path: string
  readonly #walPath: string
  readonly #walCheckpoints: WalCheckpoints
  readonly #statements = new Map<string, StatementSync>()
  #coldWrites = 0
  #beforeColdAccess = (): void => undefined
  #finishOpened = (): void => undefined
  /** The ledger's transaction is open from one turn of the event loop to another. */
  #isOpened = false
  #beforeClose = (): void => undefined
  #failedSyncs = 0
  #wal: number | null = null
  readonly #probePath: string
  #probes = 0
  /**
   * Transactions other than the ledger's run one after another: they contain awaits, and a connection has one
   * transaction at a time.
   */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(directory: string) {
    makeFolder(directory)
    const path = join(directory, 'tollgate.db')
    this.#lock = takeDirectory(directory)
    this.#database = new DatabaseSync(path, { readBigInts: true, enableForeignKeyConstraints: true })
    this.#database.exec(
      `PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=2000; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-32000; PRAGMA wal_autocheckpoint=${PAGES_MAX}`,
    )
    this.#path = path
    this.#walPath = `${path}-wal`
    this.#walCheckpoints = new WalCheckpoints(path)
    this.#probePath = join(directory, 'probe')
  }

  get coldWrites(): number {
    return this.#coldWrites
  }

  /**
   * `flush`: writes what must be written before any access other than the ledger's. `finish`: ends the transaction that
   * `openForLater` began, which must come before any other write.
   */
  beforeColdAccess(flush: () => void, finish: () => void): void {
    this.#beforeColdAccess = flush
    this.#finishOpened = finish
  }

  /** Registers what is to be closed with the database. */
  beforeClose(close: () => void): void {
    this.#beforeClose = close
  }

  /** How often the disk has not confirmed committed data. */
  get failedSyncs(): number {
    return this.#failedSyncs
  }

  /** A prepared statement that is cached, since preparing costs more than running. */
  prepare(text: string): StatementSync {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear()
    const statement = this.#database.prepare(withoutLocks(text))
    this.#statements.set(text, statement)
    return statement
  }

  /** Runs `work`, which is synchronous, in a transaction; inside another transaction, as a part of that one. */
  atomically<T>(work: () => T): T {
    if (this.#database.isTransaction) return work()
    this.prepare('BEGIN IMMEDIATE').run()
    try {
      const result = work()
      this.prepare('COMMIT').run()
      return result
    } catch (thrown) {
      // SQLite rolls back by itself when the disk is full.
      if (this.#database.isTransaction) this.prepare('ROLLBACK').run()
      throw thrown
    }
  }

  /** Begins a transaction that stays open until `closeOpened`; any other access finishes it first. */
  openForLater(): void {
    this.prepare('BEGIN IMMEDIATE').run()
    this.#isOpened = true
  }

  /** If it throws, nothing is committed: call it again with `keep` = false. */
  closeOpened(keep: boolean): void {
    if (keep) this.prepare('COMMIT').run()
    // SQLite rolls back by itself when the disk is full.
    else if (this.#database.isTransaction) this.prepare('ROLLBACK').run()
    this.#isOpened = false
  }

  /** Runs `work` while no other cold transaction runs. */
  exclusively<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#tail.then(work).catch((thrown: unknown) => {
      throw asUnavailable(thrown)
    })
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when everything committed so far is on the disk. */
  sync(): Promise<void> {
    const descriptor = this.#walDescriptor()
    if (descriptor === null) return Promise.resolve()
    return new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => {
        if (error === null) {
          if (this.#database.isOpen && !this.#database.isTransaction)
            this.#walCheckpoints.synced(this.prepare(WAL_LENGTH))
          return resolve()
        }
        this.#failedSyncs += 1
        reject(asUnavailable(error))
      })
    })
  }

  /**
   * Resolves when the disk has durably stored a megabyte and the database one more page, so that there is room for many
   * charges.
   */
  async probe(): Promise<void> {
    try {
      await writeFile(this.#probePath, Buffer.alloc(PROBE_BYTES, 1), { flush: true })
    } catch (thrown) {
      throw asUnavailable(thrown)
    } finally {
      await rm(this.#probePath, { force: true })
    }
    await this.exclusively(async () => {
      this.#finishOpened()
      this.#probes += 1
      // The number has no meaning: a change of it writes a page.
      this.#database.exec(`PRAGMA user_version=${this.#probes % PROBES_MAX}`)
      await this.sync()
    })
  }

  async all(
    text: string,
    values: readonly SqlValue[] = [],
    { withoutAmounts = false }: ReadOptions = {},
  ): Promise<readonly Row[]> {
    // Within a cold transaction the ledger has nothing to write, since it waits for its turn.
    try {
      if (!withoutAmounts && (this.#isOpened || !this.#database.isTransaction)) this.#flushForReading()
      refuseNul(values)
      return this.prepare(text).all(...values)
    } catch (thrown) {
      throw asUnavailable(thrown)
    }
  }

  run(text: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.exclusively(async () => {
      this.#beforeColdAccess()
      this.#coldWrites += 1
      const changed = this.#run(text, values)
      await this.sync()
      return changed
    })
  }

  transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (options.purpose === 'snapshot') return this.#snapshot(work)
    const sql: Sql = {
      all: (text, values) => this.all(text, values),
      run: async (text, values = []) => this.#run(text, values),
    }
    return this.exclusively(async () => {
      if (options.purpose !== 'note') {
        this.#beforeColdAccess()
        this.#coldWrites += 1
      } else this.#finishOpened()
      this.prepare('BEGIN IMMEDIATE').run()
      try {
        const result = await work(sql)
        this.prepare('COMMIT').run()
        await this.sync()
        return result
      } catch (thrown) {
        if (this.#database.isTransaction) this.prepare('ROLLBACK').run()
        throw thrown
      } finally {
        // Reads since the transaction began may have seen old rows.
        if (options.purpose !== 'note') this.#coldWrites += 1
      }
    })
  }

  async close(): Promise<void> {
    await this.exclusively(() => this.#beforeColdAccess())
    this.#beforeClose()
    await this.#walCheckpoints.close()
    if (this.#wal !== null) closeSync(this.#wal)
    this.#statements.clear()
    this.#database.close()
    this.#lock.close()
  }

  /** On a full disk a reader sees the rows that are written, without the newest holds, needed only by writers. */
  #flushForReading(): void {
    try {
      this.#beforeColdAccess()
    } catch (thrown) {
      if (diskFault(thrown) === null) throw thrown
    }
  }

  async #snapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const snapshot = new SqliteSnapshot(this.#path)
    try {
      await snapshot.opened()
      // Otherwise a charge between the two reads would appear without its sums.
      await this.exclusively(() => {
        this.#beforeColdAccess()
        return snapshot.take()
      })
      return await work({
        all: async (text, values = []) => {
          refuseNul(values)
          return snapshot.all(text, values)
        },
        run: () => Promise.reject(new TypeError('A snapshot is only read.')),
      })
    } finally {
      await snapshot.close()
    }
  }

  #run(text: string, values: readonly SqlValue[]): number {
    refuseNul(values)
    return Number(this.prepare(text).run(...values).changes)
  }

  /** The WAL is one file from the first write until the last connection, which is ours, closes. */
  #walDescriptor(): number | null {
    if (this.#wal === null && existsSync(this.#walPath)) this.#wal = openSync(this.#walPath, 'r+')
    return this.#wal
  }
}

function takeDirectory(directory: string): DirectoryLock {
  const lock = takeLock(directory)
  if (lock === null)
    throw new StoreBusyError(
      `The data directory ${directory} is in use by another running Tollgate. Stop it, or set TOLLGATE_DATA to another directory.`,
    )
  return lock
}

/** Another process has the embedded store open. */
export class StoreBusyError extends OperatorError {
  override readonly name = 'StoreBusyError'
}

/** The number of pages in the log at which the thread moves them: 16 MB. */
const PAGES = 4_000n
/** The number at which SQLite moves them itself while its writer waits, because the thread did not keep up. */
const PAGES_MAX = 16_000

/** Returns the length of the log, and how much of it is in the database's file. */
export const WAL_LENGTH = 'PRAGMA wal_checkpoint(NOOP)'

/**
 * Moves pages of SQLite's write-ahead log into the database's file in another thread. Within a commit this would block
 * the event loop for two syncs of the disk.
 */
class WalCheckpoints {
  readonly #path: string
  /** Started when it is first needed; null = not yet, or it has failed. */
  #worker: Worker | null = null
  #isMoving = false
  #hasFailed = false

  constructor(path: string) {
    this.#path = path
  }

  /** Call it when everything committed is on the disk and no transaction is open. */
  synced(length: StatementSync): void {
    if (this.#isMoving || this.#hasFailed) return
    const { log, checkpointed } = length.get() ?? {}
    // -1 = there is no log.
    if (typeof log !== 'bigint' || typeof checkpointed !== 'bigint' || log - checkpointed < PAGES) return
    this.#isMoving = true
    this.#worker ??= this.#started()
    this.#worker.postMessage('move')
  }

  /** Resolves when the thread has closed the database. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === null) return
    this.#hasFailed = true
    const over = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage(null)
    await over
  }

  #started(): Worker {
    const worker = new Worker(new URL('./wal-thread.ts', import.meta.url), { workerData: this.#path })
    // The process may end without `close`.
    worker.unref()
    worker.on('message', () => (this.#isMoving = false))
    // Without the thread SQLite moves the pages itself.
    worker.on('error', () => (this.#hasFailed = true))
    worker.on('exit', () => (this.#worker = null))
    return worker
  }
}
