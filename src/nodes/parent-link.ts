import type { Clock } from '../base/clock.ts'
import type { MetricReading, WorkerReadings } from '../base/prometheus.ts'

/** How long a worker waits for its parent's answer: longer than the parent waits for the other workers. */
const ANSWER_MS = 2_000

export interface ParentLinkPorts {
  readonly clock: Clock
  /** The name of this worker in the metrics. */
  readonly worker: string
  readonly send: (message: FromWorker) => void
}

/** A worker's end of the channel to its parent. */
export class ParentLink {
  readonly #ports: ParentLinkPorts
  readonly #asked = new Map<number, (all: readonly WorkerReadings[]) => void>()
  #own: () => readonly MetricReading[] = () => []
  #lastId = 0

  constructor(ports: ParentLinkPorts) {
    this.#ports = ports
    this.#beat()
  }

  /** Reports that the worker takes requests. */
  ready(url: string): void {
    this.#ports.send({ ready: url })
  }

  heard(message: ToWorker): void {
    if ('askMetrics' in message) this.#ports.send({ metrics: this.#own(), id: message.askMetrics })
    else this.#asked.get(message.id)?.(message.all)
  }

  /** Sets the function that gives this worker's metrics to the worker that serves `/metrics`. */
  provide(own: () => readonly MetricReading[]): void {
    this.#own = own
  }

  /** The metrics of each worker; only its own if the parent does not answer. */
  all(): Promise<readonly WorkerReadings[]> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve) => {
      const finish = (all: readonly WorkerReadings[]): void => {
        stop()
        this.#asked.delete(id)
        resolve(all)
      }
      const stop = this.#ports.clock.after(ANSWER_MS, () =>
        finish([{ worker: this.#ports.worker, metrics: this.#own() }]),
      )
      this.#asked.set(id, finish)
      this.#ports.send({ askAll: id })
    })
  }

  #beat(): void {
    this.#ports.send({ beat: true })
    this.#ports.clock.after(BEAT_MS, () => this.#beat())
  }
}

/**
 * A worker's messages to its parent: its address when it takes requests, that its loop turns, its metrics, and a
 * request for everybody's metrics.
 */
export type FromWorker =
  | { readonly ready: string }
  | { readonly beat: true }
  | { readonly metrics: readonly MetricReading[]; readonly id: number }
  | { readonly askAll: number }

/** The parent's messages to a worker: a request for its metrics, and everybody's metrics that it requested. */
export type ToWorker =
  | { readonly askMetrics: number }
  | { readonly all: readonly WorkerReadings[]; readonly id: number }

/** How often a worker reports that its loop turns. */
export const BEAT_MS = 1_000
