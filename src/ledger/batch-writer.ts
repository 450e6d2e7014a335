import { ApiError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { StoreUnavailableError } from '../store/store-unavailable-error.ts'
import { LedgerBatch } from './ledger-core.ts'
import type { LedgerOperation, LedgerOutcome, LedgerStore } from './ledger-store.ts'

const BATCH_MAX = 1_024
const QUEUE_MAX = 8_192
/** How long the end of an answer waits for its settle (reliability.md 5), and how often it is tried meanwhile. */
const OUTLAST_MS = 2_000
const OUTLAST_PAUSE_MS = 100

export interface BatchWriterPorts {
  readonly store: Pick<LedgerStore, 'commit'>
  readonly clock: Clock
  /** Waits until what arrives in this turn of the event loop has arrived, so that it shares a commit; absent = writes at once. */
  readonly gather?: (() => Promise<void>) | undefined
  /** Least time between the starts of two batches, ms: under load many requests share a commit, alone nobody waits. */
  readonly spacingMs: number
}

interface Queued {
  readonly operation: LedgerOperation
  /** Set when the store was first found down. */
  giveUpAtMs: number | null
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (error: Error) => void
}

/**
 * Group commit: all operations that arrive while a write is under way share the next one, decided in arrival order.
 * One write at a time.
 */
export class BatchWriter {
  readonly #ports: BatchWriterPorts
  #queue: Queued[] = []
  #writing: Promise<void> | null = null
  #down = false
  #startedMs = Number.NEGATIVE_INFINITY

  constructor(ports: BatchWriterPorts) {
    this.#ports = ports
  }

  /** Something is queued or being written. */
  get busy(): boolean {
    return this.#writing !== null
  }

  /** The last write found the store down. */
  get down(): boolean {
    return this.#down
  }

  /** No more should be taken on: too much waits, or the store is down and one write is finding out whether it is back. */
  get blocked(): boolean {
    return this.#queue.length >= QUEUE_MAX || (this.#down && this.#writing !== null)
  }

  /** Rejects with `service_unavailable` when the operation could not be written. */
  submit(operation: LedgerOperation): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation, giveUpAtMs: null, resolve, reject })
      this.#writing ??= this.#drain()
    })
  }

  /** Resolves when nothing is queued any more. */
  async idle(): Promise<void> {
    while (this.#writing !== null) await this.#writing
  }

  async #drain(): Promise<void> {
    await this.#ports.gather?.()
    while (this.#queue.length > 0) {
      await this.#space()
      const batch = this.#queue.splice(0, BATCH_MAX)
      await this.#write(batch)
    }
    this.#writing = null
  }

  async #space(): Promise<void> {
    const { clock, spacingMs } = this.#ports
    const waitMs = this.#startedMs + spacingMs - clock.monotonic()
    if (waitMs > 0) await this.#pause(waitMs)
    this.#startedMs = clock.monotonic()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ports.clock.after(ms, resolve)
    })
  }

  async #write(batch: readonly Queued[]): Promise<void> {
    let outcomes: readonly LedgerOutcome[] = []
    try {
      // After an outage even a hold finds out whether the store can write again.
      const durable = this.#down || batch.some(({ operation }) => operation.op !== 'hold' || operation.job !== undefined)
      await this.#ports.store.commit(
        batch.map(({ operation }) => operation),
        (rows) => {
          const ledger = new LedgerBatch(rows)
          outcomes = batch.map(({ operation }) => ledger.apply(operation))
          return ledger.changes()
        },
        durable,
      )
    } catch (thrown) {
      await this.#splitOrFail(batch, thrown)
      return
    }
    this.#down = false
    for (const [index, queued] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome !== undefined) queued.resolve(outcome)
    }
  }

  /** One poisoned operation must not fail its neighbours: halves are tried until it stands alone. */
  async #splitOrFail(batch: readonly Queued[], thrown: unknown): Promise<void> {
    if (thrown instanceof StoreUnavailableError) {
      await this.#outlast(batch, thrown)
      return
    }
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await this.#write(batch.slice(0, middle))
      await this.#write(batch.slice(middle))
      return
    }
    for (const queued of batch) queued.reject(storeUnavailable(thrown))
  }

  /**
   * The store does not answer. A hold is refused at once, its request has cost nothing yet; a settle or void is sent
   * again until its time is over, since by then the answer exists and its id makes the repeat harmless.
   */
  async #outlast(batch: readonly Queued[], thrown: StoreUnavailableError): Promise<void> {
    this.#down = true
    const nowMs = this.#ports.clock.monotonic()
    const waiting: Queued[] = []
    for (const queued of batch) {
      if (queued.operation.op === 'settle' || queued.operation.op === 'void') queued.giveUpAtMs ??= nowMs + OUTLAST_MS
      if (queued.giveUpAtMs !== null && nowMs < queued.giveUpAtMs) waiting.push(queued)
      else queued.reject(storeUnavailable(thrown))
    }
    if (waiting.length === 0) return
    await this.#pause(OUTLAST_PAUSE_MS)
    this.#queue.unshift(...waiting)
  }
}

export function storeUnavailable(cause: unknown): ApiError {
  return new ApiError('service_unavailable', 'Service is overloaded or its store is not available. Retry after 1 seconds', { retryAfterSeconds: 1, cause })
}
