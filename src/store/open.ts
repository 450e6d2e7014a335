import { join } from 'node:path'
import type { LedgerStore } from '../ledger/ledger-store.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { SqlAccounts } from './account-store.ts'
import { SqlAudit } from './audit-store.ts'
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
import { migrate } from './migrations.ts'
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
import { SqlUsers } from './user-store.ts'

export interface StoreOptions {
  /** Where the embedded store is. */
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly clock?: Clock
}

/** Opens the store that the settings name and brings its schema up to date. Throws an OperatorError where the database, the folder or its schema forbids it, StoreBusyError when another process has the embedded store. */
export async function openStore(options: StoreOptions): Promise<Store> {
  try {
    return await open(options)
  } catch (thrown) {
    throw openFailure(thrown, options)
  }
}

async function open({ dataDir, databaseUrl, clock = systemClock }: StoreOptions): Promise<Store> {
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
    if (kind === 'postgres') await refuseUnsafeCommits(database)
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
    users: new SqlUsers(database),
    sessions: new SqlSessions(database),
    signIns: new SqlSignIns(database),
    codes: new SqlCodes(database),
    payments: new SqlPayments(database),
    log: new SqlLog(database),
    files,
    jobs: new SqlJobs(database),
    idempotency: new SqlIdempotency(database),
    audit: new SqlAudit(database),
    nodes: kind === 'postgres' ? new SqlNodes(database) : null,
    close: () => database.close(),
  }
}
