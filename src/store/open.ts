import { join } from 'node:path'
import type { LedgerStore } from '../ledger/ledger-store.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { SqlAccounts } from './account-store.ts'
import { SqlAdministrators } from './administrator-store.ts'
import { SqlAudit } from './audit-store.ts'
import { SqlCatalogs } from './catalog-store.ts'
import type { Database } from './database.ts'
import { DiskFiles } from './disk-files.ts'
import { SqlEntries } from './entry-store.ts'
import { SqlEvents } from './event-store.ts'
import type { FileStore } from './file-store.ts'
import { SqlGenerations } from './generation-store.ts'
import { SqlJobs } from './job-store.ts'
import { SqlKeys } from './key-store.ts'
import { SqlLogUpkeep } from './log-upkeep.ts'
import { migrate } from './migrations.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { PostgresFiles } from './postgres-files.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  /** Where the embedded store is. */
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly clock?: Clock
}

/** Opens the store that the settings name and brings its schema up to date. Throws StoreBusyError when another process has the embedded one. */
export async function openStore({ dataDir, databaseUrl, clock = systemClock }: StoreOptions): Promise<Store> {
  if (databaseUrl === null) {
    const database = new SqliteDatabase(dataDir)
    const ledger = new SqliteLedger(database)
    return opened('embedded', database, ledger, new DiskFiles(database, join(dataDir, 'files'), clock), () => ledger.open())
  }
  const database = new PostgresDatabase(databaseUrl)
  return opened('postgres', database, new PostgresLedger(database), new PostgresFiles(database, clock))
}

async function opened(kind: Store['kind'], database: Database, ledger: LedgerStore, files: FileStore, migrated = (): void => undefined): Promise<Store> {
  try {
    await migrate(database)
    migrated()
  } catch (thrown) {
    await database.close()
    throw thrown
  }
  return {
    kind,
    ledger,
    accounts: new SqlAccounts(database),
    keys: new SqlKeys(database),
    entries: new SqlEntries(database),
    generations: new SqlGenerations(database),
    logUpkeep: new SqlLogUpkeep(database),
    catalogs: new SqlCatalogs(database),
    events: new SqlEvents(database),
    administrators: new SqlAdministrators(database),
    files,
    jobs: new SqlJobs(database),
    audit: new SqlAudit(database),
    close: () => database.close(),
  }
}
