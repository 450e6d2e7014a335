import type { LedgerStore } from '../ledger/ledger-store.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import { AccountGroupStore } from './accounts/account-group-store.ts'
import { AccountNoteStore } from './accounts/account-note-store.ts'
import { AccountStore } from './accounts/account-store.ts'
import { AdminTokenStore } from './people/admin-token-store.ts'
import { AuditStore } from './audit/audit-store.ts'
import type { Books } from './audit/book-seal.ts'
import { CatalogStore } from './catalog/catalog-store.ts'
import { CodeStore } from './accounts/code-store.ts'
import type { Database } from './database.ts'
import { ChargeStore } from './ledger/charge-store.ts'
import { ExternalIdStore } from './accounts/external-id-store.ts'
import { EntryStore } from './ledger/entry-store.ts'
import { EventStore } from './events/event-store.ts'
import type { FileStore } from './files/file-store.ts'
import { GenerationStore } from './log/generation-store.ts'
import { OverviewStore } from './log/overview-store.ts'
import { IdempotencyStore } from './idempotency/idempotency-store.ts'
import { JobStore } from './jobs/job-store.ts'
import { KeyStore, ManagementKeyStore } from './accounts/key-store.ts'
import { LogStore } from './log/log-store.ts'
import { LogUpkeep } from './log/upkeep.ts'
import { NoticeStore } from './notices/notice-store.ts'
import { NodeStore } from './nodes/node-store.ts'
import { PaymentStore } from './accounts/payment-store.ts'
import { RefusalStore } from './refusals/refusal-store.ts'
import { ResponseStore } from './responses/response-store.ts'
import { MemberStore } from './people/member-store.ts'
import { SessionStore, SignInStore } from './people/sign-in-store.ts'
import { StatementStore } from './ledger/statement-store.ts'
import { WordStore } from './search/word-store.ts'
import { UserStore } from './people/user-store.ts'

/**
 * Everything durable, behind one class for each aggregate. Nothing outside this folder contains SQL.
 *
 * **Two engines.** The embedded store is one SQLite file that one process has; with `TOLLGATE_DATABASE_URL` it is a
 * PostgreSQL that several share. A store class is written once, in SQL that both read; `dialect.ts` has the words in
 * which they differ. Only the hot path has a class for each engine (`sqlite/ledger.ts`, `postgres/ledger.ts`): one
 * decides in memory and writes a journal of rows, the other locks rows and writes with one statement. The schema of
 * each is one readable file, `sqlite-schema.sql` and `postgres-schema.sql`; `migrations.ts` changes it later.
 *
 * **Folders.** `ledger` has what holds and settles write: accounts' balances, holds, entries, sums. `log` is the usage
 * log and its reports. `audit` has the seals, the chain of entries and the checks of `tollgate audit`. The others are
 * an aggregate each: `accounts` (keys, groups, payments), `people`, `catalog`, `jobs`, `files`, `idempotency`,
 * `responses`, `refusals`, `notices`, `events`, `nodes`, `search`. `open.ts` constructs them; `backup.ts` and
 * `copy-store.ts` are the ways of the whole store to another place.
 *
 * **What it promises.** A write that has resolved is on the disk. What belongs together is one transaction. Rows that
 * decide money carry a seal and entries are a chain, so the audit finds changes by anything but Tollgate. Locks are
 * taken in one order everywhere: accounts, keys, holds, jobs, claims, each by id. Lists are read in pages with a bound,
 * never whole.
 *
 * **What it never does.** It decides no charge: `ledger` decides on loaded rows. It calls nobody over the network but
 * its database, and knows no request. Amounts are bigints of micro-rubles, times are Unix ms.
 */
export type Store = Readonly<ReturnType<typeof storeOf>>

/** The store over an open database. */
export function storeOf(
  { kind, keyWrap }: { readonly kind: 'embedded' | 'postgres'; readonly keyWrap: KeyWrap },
  database: Database,
  books: Books,
  ledger: LedgerStore,
  files: FileStore,
) {
  const { seal } = books
  const words = new WordStore(database)
  return {
    kind,
    ledger,
    accounts: new AccountStore(database, seal, words),
    accountNotes: new AccountNoteStore(database),
    accountGroups: new AccountGroupStore(database, seal),
    keys: new KeyStore(database, seal, words),
    managementKeys: new ManagementKeyStore(database),
    externalIds: new ExternalIdStore(database),
    entries: new EntryStore(database, seal),
    statements: new StatementStore(database, seal),
    charges: new ChargeStore(database),
    generations: new GenerationStore(database),
    overview: new OverviewStore(database),
    logUpkeep: new LogUpkeep(database, seal),
    catalogs: new CatalogStore(database, seal),
    events: new EventStore(database, seal),
    users: new UserStore(database, words),
    members: new MemberStore(database),
    sessions: new SessionStore(database),
    adminTokens: new AdminTokenStore(database),
    signIns: new SignInStore(database),
    codes: new CodeStore(database, seal),
    payments: new PaymentStore(database, seal),
    log: new LogStore(database, seal),
    files,
    books,
    jobs: new JobStore(database, seal),
    idempotency: new IdempotencyStore(database),
    refusals: new RefusalStore(database),
    responses: new ResponseStore(database),
    notices: new NoticeStore(database, keyWrap),
    audit: new AuditStore(database, seal),
    /** null = only one process uses the store. */
    nodes: kind === 'postgres' ? new NodeStore(database) : null,
    words,
    close: async () => {
      await words.stop()
      await database.close()
    },
  }
}
