import type { Clock } from '../lib/clock.ts'
import { mergeReadings, type MetricReading } from '../lib/prometheus.ts'
import type { ToWorker } from './worker-messages.ts'

/** A worker that is busy for longer is reported with its last numbers. */
const COLLECT_MS = 1_000

/** A worker, as far as metrics need it. */
export interface MeasuredWorker {
  readonly process: { readonly pid?: number | undefined }
  send(message: ToWorker): void
}

interface Collection {
  readonly waiting: Set<MeasuredWorker>
  readonly finish: () => void
}

/** Collects the metrics of all workers. */
export class WorkerMetrics {
  readonly #clock: Clock
  /** The last metrics of each worker. */
  readonly #said = new Map<MeasuredWorker, readonly MetricReading[]>()
  readonly #collections = new Map<number, Collection>()
  /** The counts of workers that have ended: a sum that fell would look like a restart of all. */
  #departed: readonly MetricReading[] = []
  #lastId = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Asks all `workers` and answers `asker`, whose question has this `id`. */
  collect(workers: Iterable<MeasuredWorker>, asker: MeasuredWorker, id: number): void {
    this.#lastId += 1
    const own = this.#lastId
    const waiting = new Set(workers)
    const finish = (): void => {
      stop()
      this.#collections.delete(own)
      const all = [...this.#said].map(([worker, metrics]) => ({ worker: String(worker.process.pid), metrics }))
      asker.send({ all: [{ worker: 'ended', metrics: this.#departed }, ...all], id })
    }
    const stop = this.#clock.after(COLLECT_MS, finish)
    this.#collections.set(own, { waiting, finish })
    for (const worker of waiting) worker.send({ askMetrics: own })
  }

  told(worker: MeasuredWorker, id: number, metrics: readonly MetricReading[]): void {
    this.#said.set(worker, metrics)
    this.#answered(id, worker)
  }

  left(worker: MeasuredWorker): void {
    const last = this.#said.get(worker)
    this.#said.delete(worker)
    if (last !== undefined)
      this.#departed = mergeReadings([this.#departed, last.filter(({ type }) => type !== 'gauge')])
    for (const id of this.#collections.keys()) this.#answered(id, worker)
  }

  #answered(id: number, worker: MeasuredWorker): void {
    const collection = this.#collections.get(id)
    if (collection?.waiting.delete(worker) === true && collection.waiting.size === 0) collection.finish()
  }
}
