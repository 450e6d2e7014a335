import { SqlAccounts } from './account-store.ts'
import { SqlAudit } from './audit-store.ts'
import { SqlCatalogs } from './catalog-store.ts'
import { SqlCodes } from './code-store.ts'
import type { Database } from './database.ts'
import { SqlEntries } from './entry-store.ts'
import { SqlEvents } from './event-store.ts'
import { SqlGenerations } from './generation-store.ts'
import { SqlKeys } from './key-store.ts'
import { SqlLog } from './log-store.ts'
import { migrate } from './migrations.ts'
import { SqlPayments } from './payment-store.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { SqlSessions } from './session-store.ts'
import { SqlSignIns } from './sign-in-store.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import type { Store } from './store.ts'
import { SqlUsers } from './user-store.ts'
import type { LedgerStore } from '../ledger/ledger-store.ts'

/** Opens the store that the settings name and brings its schema up to date. Throws StoreBusyError when another process has the embedded one. */
export async function openStore(options: { readonly dataDir: string; readonly databaseUrl: string | null }): Promise<Store> {
  if (options.databaseUrl === null) {
    const database = new SqliteDatabase(options.dataDir)
    const ledger = new SqliteLedger(database)
    return opened('embedded', database, ledger, () => ledger.open())
  }
  const database = new PostgresDatabase(options.databaseUrl)
  return opened('postgres', database, new PostgresLedger(database))
}

async function opened(kind: Store['kind'], database: Database, ledger: LedgerStore, migrated = (): void => undefined): Promise<Store> {
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
    catalogs: new SqlCatalogs(database),
    events: new SqlEvents(database),
    users: new SqlUsers(database),
    sessions: new SqlSessions(database),
    signIns: new SqlSignIns(database),
    codes: new SqlCodes(database),
    payments: new SqlPayments(database),
    log: new SqlLog(database),
    audit: new SqlAudit(database),
    close: () => database.close(),
  }
}
