import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Clock, systemClock } from '../base/clock.ts'
import { OperatorError } from '../base/errors.ts'
import { ownValue } from '../base/own-value.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'
import { type Books, openBooks } from './audit/book-seal.ts'
import type { Database } from './database.ts'
import { FileStore } from './files/file-store.ts'
import { migrate } from './migrations.ts'
import { ChunkBytes } from './postgres/chunk-bytes.ts'
import { PostgresDatabase, refuseHiddenPooler, refuseUnsafeCommits } from './postgres/database.ts'
import { PostgresLedger } from './postgres/ledger.ts'
import { SqliteDatabase } from './sqlite/database.ts'
import { DiskBytes } from './sqlite/disk-bytes.ts'
import { diskFault } from './sqlite/disk-fault.ts'
import { SqliteLedger } from './sqlite/ledger.ts'
import { JournalFileBytes } from './sqlite/row-journal.ts'
import { type Store, storeOf } from './store.ts'

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

/** By codes of PostgreSQL and of sockets; other failures keep the driver's own text. */
const DATABASE_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections: is PostgreSQL running there?',
  ENOTFOUND: 'has a host name that does not resolve',
  EAI_AGAIN: 'has a host name that does not resolve now',
  EHOSTUNREACH: 'cannot be reached from this machine',
  ENETUNREACH: 'cannot be reached from this machine',
  ETIMEDOUT: 'does not answer',
  ECONNRESET: 'broke the connection off: does it want TLS (?sslmode=require)?',
  '3D000': 'does not exist there: create it first',
  '28P01': 'refuses the user or the password',
  '28000': 'refuses the user: see pg_hba.conf',
  '53300': 'has no connection left: see max_connections',
  '57P03': 'is starting up or shutting down: try again in a moment',
  '08P01': 'is behind PgBouncer, which refuses the settings of a connection: add ?pgbouncer=true to DATABASE_URL',
  '42501': 'does not let this user do what is needed',
  '25006': 'is read-only: name the primary and not a replica',
  '53100': 'has no disk space left',
}

/**
 * Why the store cannot be opened, as a sentence for the operator; an error of neither the database nor the disk is a
 * bug, and is returned unchanged.
 */
export function openFailure(
  thrown: unknown,
  { dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl: string | null },
): unknown {
  if (thrown instanceof OperatorError) return thrown
  return databaseUrl === null ? folderFailure(thrown, dataDir) : databaseFailure(thrown, databaseUrl)
}

/** Why a file of the data directory cannot be read or written. */
export function folderFailure(thrown: unknown, dataDir: string): unknown {
  const fault = causes(thrown)
    .map(diskFault)
    .find((known) => known !== null)
  return fault === undefined
    ? thrown
    : new OperatorError(`TOLLGATE_DATA: the folder ${resolve(dataDir)} cannot be used: ${fault}.`, { cause: thrown })
}

function databaseFailure(thrown: unknown, databaseUrl: string): unknown {
  const all = causes(thrown)
  const said = all.filter((cause) => 'code' in cause || /time-?out|terminated/i.test(cause.message))
  // The driver's own errors, such as a missing password, have no code; a StoreUnavailableError as their outermost error
  // distinguishes them from bugs.
  const last = said.at(-1) ?? (all[0] instanceof StoreUnavailableError ? all.at(-1) : undefined)
  if (last === undefined) return thrown
  const code = 'code' in last ? String(last.code) : ''
  // If a host has two addresses, both failures come as one error without a message.
  const words = last.message === '' ? code : last.message
  const fault = ownValue(DATABASE_FAULTS, code)
  return new OperatorError(
    `DATABASE_URL: the database ${placeOf(databaseUrl)} ${fault === undefined ? 'cannot be used' : fault} (${words}).`,
    { cause: thrown },
  )
}

/** The address without user and password. */
function placeOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `${decodeURIComponent(pathname.slice(1)) || 'without a name'} at ${hostname || 'localhost'}:${port || '5432'}`
}

/** An error and its causes, outermost first. */
function causes(thrown: unknown): readonly Error[] {
  const found: Error[] = []
  for (let error = thrown; error instanceof Error && found.length < 5; error = error.cause) found.push(error)
  return found
}
