import { join } from 'node:path'
import type { LedgerStore } from '../ledger/ledger-store.ts'
import type { KeyWrap } from '../ledger/seal.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { SqlAccounts } from './account-store.ts'
import { SqlAudit } from './audit-store.ts'
import { openBooks, type Books } from './book-store.ts'
import { SqlCatalogs } from './catalog-store.ts'
import { SqlCodes } from './code-store.ts'
import { refuseUnsafeCommits } from './commit-check.ts'
import type { Database } from './database.ts'
import { DiskFiles } from './disk-files.ts'
import { SqlEntries } from './entry-store.ts'
import { SqlEvents } from './event-store.ts'
import type { FileStore } from './file-store.ts'
import { SqlGenerations } from './generation-store.ts'
import { SqlIdempotency } from './idempotency-store.ts'
import { SqlJobs } from './job-store.ts'
import { SqlKeys } from './key-store.ts'
import { SqlLog } from './log-store.ts'
import { SqlLogUpkeep } from './log-upkeep.ts'
import { migrate, SEALING_SCHEMA } from './migrations.ts'
import { openFailure } from './open-failure.ts'
import { SqlNodes } from './node-store.ts'
import { SqlPayments } from './payment-store.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { PostgresFiles } from './postgres-files.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { SqlSessions } from './session-store.ts'
import { SqlSignIns } from './sign-in-store.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import type { Store } from './store.ts'
import { SqlStatements } from './statement-store.ts'
import { SqlUsers } from './user-store.ts'

export interface StoreOptions {
  /** Where the embedded store is. */
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly clock?: Clock
}

export interface SealedStoreOptions extends StoreOptions {
  /** Opens the key that the books are sealed with. */
  readonly keyWrap: KeyWrap
}

/**
 * Opens the store that the settings name and brings its schema up to date. Throws an OperatorError where the database,
 * the folder or its schema forbids it, StoreBusyError when another process has the embedded store.
 */
export async function openStore(options: SealedStoreOptions): Promise<Store> {
  try {
    return await open(options)
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

async function open({ dataDir, databaseUrl, keyWrap, clock = systemClock }: SealedStoreOptions): Promise<Store> {
  if (databaseUrl === null) {
    const database = new SqliteDatabase(dataDir)
    const books = await prepared(database, keyWrap)
    const ledger = new SqliteLedger(database, books.seal)
    ledger.open()
    return storeOf('embedded', database, books, ledger, new DiskFiles(database, join(dataDir, 'files'), clock))
  }
  const database = new PostgresDatabase(databaseUrl)
  const books = await prepared(database, keyWrap)
  return storeOf(
    'postgres',
    database,
    books,
    new PostgresLedger(database, books.seal),
    new PostgresFiles(database, clock),
  )
}

/** Brings the schema up to date and does nothing else. */
export async function migrateStore(options: StoreOptions): Promise<void> {
  const { dataDir, databaseUrl } = options
  try {
    const database = databaseUrl === null ? new SqliteDatabase(dataDir) : new PostgresDatabase(databaseUrl)
    try {
      if (databaseUrl !== null) await refuseUnsafeCommits(database)
      await migrate(database)
    } finally {
      await database.close()
    }
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

async function prepared(database: Database, keyWrap: KeyWrap): Promise<Books> {
  try {
    if (database.dialect === 'postgres') await refuseUnsafeCommits(database)
    await migrate(database)
    return await openBooks(database, keyWrap, SEALING_SCHEMA)
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

function storeOf(kind: Store['kind'], database: Database, books: Books, ledger: LedgerStore, files: FileStore): Store {
  const { seal } = books
  return {
    kind,
    ledger,
    accounts: new SqlAccounts(database, seal),
    keys: new SqlKeys(database, seal),
    entries: new SqlEntries(database, seal),
    statements: new SqlStatements(database, seal),
    generations: new SqlGenerations(database),
    logUpkeep: new SqlLogUpkeep(database, seal),
    catalogs: new SqlCatalogs(database),
    events: new SqlEvents(database, seal),
    users: new SqlUsers(database),
    sessions: new SqlSessions(database),
    signIns: new SqlSignIns(database),
    codes: new SqlCodes(database, seal),
    payments: new SqlPayments(database, seal),
    log: new SqlLog(database, seal),
    files,
    books,
    jobs: new SqlJobs(database),
    idempotency: new SqlIdempotency(database),
    audit: new SqlAudit(database, books),
    nodes: kind === 'postgres' ? new SqlNodes(database) : null,
    close: () => database.close(),
  }
}
