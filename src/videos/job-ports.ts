import type { Catalog } from '../catalog/catalog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { AttemptQueuePorts } from '../relay/attempt-queue.ts'
import type { FileStore } from '../store/file-store.ts'
import type { JobStore } from '../store/job-store.ts'
import type { Seal } from './sealed-order.ts'

/** What the work on jobs is done with. */
export interface JobPorts extends AttemptQueuePorts {
  readonly jobs: JobStore
  readonly files: FileStore
  readonly ledger: Pick<Ledger, 'settle' | 'void'>
  readonly catalog: Catalog
  readonly adapters: AdapterTable
  readonly clock: Clock
  readonly seal: Seal
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}
