import type { AccountGroupStore } from './accounts/account-group-store.ts'
import type { AccountStore } from './accounts/account-store.ts'
import type { AdminTokenStore } from './people/admin-token-store.ts'
import type { AuditStore } from './audit/audit-store.ts'
import type { Books } from './audit/book-store.ts'
import type { CatalogStore } from './catalog/catalog-store.ts'
import type { CodeStore } from './accounts/code-store.ts'
import type { ChargeStore } from './ledger/charge-store.ts'
import type { EntryStore } from './ledger/entry-store.ts'
import type { ExternalIdStore } from './accounts/external-id-store.ts'
import type { EventStore } from './events/event-store.ts'
import type { FileStore } from './files/file-store.ts'
import type { GenerationStore } from './log/generation-store.ts'
import type { OverviewStore } from './log/overview-store.ts'
import type { IdempotencyStore } from './idempotency/idempotency-store.ts'
import type { JobStore } from './jobs/job-store.ts'
import type { KeyStore } from './accounts/key-store.ts'
import type { ManagementKeyStore } from './accounts/management-key-store.ts'
import type { LedgerStore } from '../ledger/ledger-store.ts'
import type { LogStore } from './log/log-store.ts'
import type { LogUpkeep } from './log/upkeep.ts'
import type { NoticeStore } from './notices/notice-store.ts'
import type { NodeStore } from './nodes/node-store.ts'
import type { PaymentStore } from './accounts/payment-store.ts'
import type { ResponseStore } from './responses/response-store.ts'
import type { MemberStore } from './people/member-store.ts'
import type { SessionStore } from './people/session-store.ts'
import type { SignInStore } from './people/sign-in-store.ts'
import type { StatementStore } from './ledger/statement-store.ts'
import type { UserStore } from './people/user-store.ts'

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
 * log and its reports. `audit` has the seals, the chain of entries and the checks of `tollgate audit`. The others
 * are an aggregate each: `accounts` (keys, groups, payments), `people`, `catalog`, `jobs`, `files`, `idempotency`,
 * `responses`, `notices`, `events`, `nodes`. `open.ts` constructs them; `backup.ts` and `copy-store.ts` are the ways of
 * the whole store to another place.
 *
 * **What it promises.** A write that has resolved is on the disk. What belongs together is one transaction. Rows that
 * decide money carry a seal and entries are a chain, so a change by another hand is found. Locks are taken in one order
 * everywhere: accounts, keys, holds, jobs, claims, each by id. Lists are read in pages with a bound, never whole.
 *
 * **What it never does.** It decides no charge: `ledger` decides on loaded rows. It calls nobody over the network but
 * its database, and knows no request. Amounts are bigints of micro-rubles, times are Unix ms.
 */
export interface Store {
  readonly kind: 'embedded' | 'postgres'
  readonly ledger: LedgerStore
  readonly accounts: AccountStore
  readonly accountGroups: AccountGroupStore
  readonly keys: KeyStore
  readonly managementKeys: ManagementKeyStore
  readonly externalIds: ExternalIdStore
  readonly entries: EntryStore
  readonly statements: StatementStore
  readonly charges: ChargeStore
  readonly generations: GenerationStore
  readonly overview: OverviewStore
  readonly logUpkeep: LogUpkeep
  readonly catalogs: CatalogStore
  readonly events: EventStore
  readonly users: UserStore
  readonly members: MemberStore
  readonly sessions: SessionStore
  readonly adminTokens: AdminTokenStore
  readonly signIns: SignInStore
  readonly codes: CodeStore
  readonly payments: PaymentStore
  readonly log: LogStore
  readonly files: FileStore
  readonly books: Books
  readonly jobs: JobStore
  readonly idempotency: IdempotencyStore
  readonly responses: ResponseStore
  readonly notices: NoticeStore
  readonly audit: AuditStore
  /** null = the store has one process. */
  readonly nodes: NodeStore | null
  close(): Promise<void>
}
