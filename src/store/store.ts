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

/** Everything durable. Nothing outside this folder contains SQL. */
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
