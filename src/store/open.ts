import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { openBooks, type Books } from './audit/book-store.ts'
import type { Database } from './database.ts'
import { FileStore } from './files/file-store.ts'
import { migrate } from './migrations.ts'
import { openFailure } from './open-failure.ts'
import { PostgresDatabase, refuseHiddenPooler, refuseUnsafeCommits } from './postgres/database.ts'
import { ChunkBytes } from './postgres/chunk-bytes.ts'
import { PostgresLedger } from './postgres/ledger.ts'
import { DiskBytes } from './sqlite/disk-bytes.ts'
import { SqliteDatabase } from './sqlite/database.ts'
import { JournalFileBytes } from './sqlite/journal-bytes.ts'
import { SqliteLedger } from './sqlite/ledger.ts'
import { storeOf, type Store } from './store.ts'

export interface StoreOptions {
  /** The directory of the embedded store. */
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly clock?: Clock
}

export interface SealedStoreOptions extends StoreOptions {
  /** Decrypts the key of the seals. */
  readonly keyWrap: KeyWrap
}

/**
 * Opens the store of the settings and brings its schema up to date. Throws an OperatorError if the database, the
 * directory or the schema forbids it, StoreBusyError if another process has the embedded store open.
 */
export async function openStore(options: SealedStoreOptions): Promise<Store> {
  try {
    return await open(options)
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

async function open(options: SealedStoreOptions): Promise<Store> {
  const store = await opened(options)
  await store.notices.sealPlain()
  return store
}

async function opened({ dataDir, databaseUrl, keyWrap, clock = systemClock }: SealedStoreOptions): Promise<Store> {
  if (databaseUrl === null) {
    const database = new SqliteDatabase(dataDir)
    const books = await prepared(database, keyWrap, databaseUrl)
    const ledger = new SqliteLedger(database, books.seal, new JournalFileBytes(dataDir))
    ledger.open()
    return storeOf(
      { kind: 'embedded', keyWrap },
      database,
      books,
      ledger,
      new FileStore(database, new DiskBytes(join(dataDir, 'files')), clock),
    )
  }
  const database = new PostgresDatabase(databaseUrl)
  const books = await prepared(database, keyWrap, databaseUrl)
  return storeOf(
    { kind: 'postgres', keyWrap },
    database,
    books,
    new PostgresLedger(database, books.seal),
    new FileStore(database, new ChunkBytes(database, clock), clock),
  )
}

/** Whether a store exists; none is created. */
export async function hasStore(options: StoreOptions): Promise<boolean> {
  const { dataDir, databaseUrl } = options
  if (databaseUrl === null) return existsSync(join(dataDir, 'tollgate.db'))
  try {
    const database = new PostgresDatabase(databaseUrl)
    try {
      return (await database.all("SELECT 1 AS one WHERE to_regclass('schema_version') IS NOT NULL")).length > 0
    } finally {
      await database.close()
    }
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

/** Brings the schema up to date without opening the store. */
export async function migrateStore(options: StoreOptions): Promise<void> {
  const { dataDir, databaseUrl } = options
  try {
    const database = databaseUrl === null ? new SqliteDatabase(dataDir) : new PostgresDatabase(databaseUrl)
    try {
      if (databaseUrl !== null) await refuseUnfit(database, databaseUrl)
      await migrate(database)
    } finally {
      await database.close()
    }
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

export async function refuseUnfit(database: Database, databaseUrl: string): Promise<void> {
  await refuseHiddenPooler(database, databaseUrl)
  await refuseUnsafeCommits(database)
}

async function prepared(database: Database, keyWrap: KeyWrap, databaseUrl: string | null): Promise<Books> {
  try {
    if (databaseUrl !== null) await refuseUnfit(database, databaseUrl)
    await migrate(database)
    return await openBooks(database, keyWrap)
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}
