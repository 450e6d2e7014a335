import type { StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

/** The number of pages in the log at which the thread moves them: 16 MB. */
const PAGES = 4_000n
/** The number at which SQLite moves them itself while its writer waits, because the thread did not keep up. */
export const PAGES_MAX = 16_000

/** Returns the length of the log, and how much of it is in the database's file. */
export const WAL_LENGTH = 'PRAGMA wal_checkpoint(NOOP)'

/**
 * Moves pages of SQLite's write-ahead log into the database's file in another thread. Within a commit this would block
 * the event loop for two syncs of the disk.
 */
export class WalCheckpoints {
  readonly #path: string
  /** Started when it is first needed; null = not yet, or it has failed. */
  #worker: Worker | null = null
  #isMoving = false
  #hasFailed = false

  constructor(path: string) {
    this.#path = path
  }

  /** Call it when everything committed is on the disk and no transaction is open. */
  synced(length: StatementSync): void {
    if (this.#isMoving || this.#hasFailed) return
    const { log, checkpointed } = length.get() ?? {}
    // -1 = there is no log.
    if (typeof log !== 'bigint' || typeof checkpointed !== 'bigint' || log - checkpointed < PAGES) return
    this.#isMoving = true
    this.#worker ??= this.#started()
    this.#worker.postMessage('move')
  }

  /** Resolves when the thread has closed the database. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === null) return
    this.#hasFailed = true
    const over = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage(null)
    await over
  }

  #started(): Worker {
    const worker = new Worker(new URL('./wal-thread.ts', import.meta.url), { workerData: this.#path })
    // The process may end without `close`.
    worker.unref()
    worker.on('message', () => (this.#isMoving = false))
    // Without the thread SQLite moves the pages itself.
    worker.on('error', () => (this.#hasFailed = true))
    worker.on('exit', () => (this.#worker = null))
    return worker
  }
}
