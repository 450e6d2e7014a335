import type { Catalog } from '../catalog/catalog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { AttemptQueuePorts } from '../pay/relay/attempt-queue.ts'
import type { FileStore } from '../store/files/file-store.ts'
import type { JobStore } from '../store/jobs/job-store.ts'
import type { Cipher } from '../lib/cipher.ts'

/** The parts that the work on jobs needs. */
export interface JobPorts extends AttemptQueuePorts {
  readonly jobs: JobStore
  readonly files: FileStore
  readonly ledger: Pick<Ledger, 'settle' | 'void'>
  readonly catalog: Catalog
  readonly adapters: AdapterTable
  readonly clock: Clock
  readonly cipher: Cipher
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}
