import cluster, { type Worker } from 'node:cluster'
import type { Clock } from '../base/clock.ts'
import { type MetricReading, type WorkerReadings, mergeReadings } from '../base/prometheus.ts'

/** A worker that is busy for longer than this is reported with its last numbers. */
const COLLECT_MS = 1_000

/** A worker that dies sooner than this after its start is restarted only after a pause. */
const HASTE_MS = 10_000
const PAUSE_MS = 1_000
/** The time after which a stopping worker is killed: longer than it lets answers run. */
const KILL_MS = 140_000
/** The number of checks (one a second) without a message after which a worker is killed. */
const SILENT_LOOKS_MAX = 10
const STARTING_LOOKS_MAX = 120

export interface WorkerGroupPorts {
  readonly count: number
  readonly clock: Clock
  /** Writes one line for the operator. */
  readonly say: (line: string) => void
  /** How often it checks for messages from workers; absent = once a second. */
  readonly lookMs?: number
}

/** The worker's role: the first does work that is needed once, such as applying the catalogue file. */
export const WORKER_ROLE = 'TOLLGATE_WORKER'
export type WorkerRole = 'first' | 'other'

/** The parent's state of a worker. */
interface Known {
  /**
   * Checks since its last message. Time is not used: a parent that was stopped, or a machine that slept, must not kill
   * workers.
   */
  silentLooks: number
  spoke: boolean
  ready: boolean
}

/**
 * Several processes behind one port. The parent accepts connections and gives them to the workers in turn, so that a
 * worker that stops or dies loses only its own connections; with SO_REUSEPORT the kernel would have queued more for it.
 * A worker whose loop stands still is killed and replaced.
 */
export class WorkerGroup {
  readonly #ports: WorkerGroupPorts
  readonly #workers = new Map<Worker, Known>()
  readonly #metrics: WorkerMetrics
  #ready = 0
  #url: string | null = null
  /** Whether the workers have been asked to end. */
  stopping = false
  #failed = false
  #finish: (code: number) => void = () => undefined

  constructor(ports: WorkerGroupPorts) {
    this.#ports = ports
    this.#metrics = new WorkerMetrics(ports.clock)
  }

  /** Resolves with an exit code when all have ended. */
  run(): Promise<number> {
    return new Promise((resolve) => {
      this.#finish = resolve
      this.#fork('first')
      this.#look()
    })
  }

  /** Asks every worker to let its answers end. */
  stop(): void {
    if (this.stopping) return
    this.stopping = true
    this.signal('SIGTERM')
    this.#ports.clock.after(KILL_MS, () => this.signal('SIGKILL'))
    if (this.#workers.size === 0) this.#finish(0)
  }

  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    for (const worker of this.#workers.keys()) worker.process.kill(name)
  }

  /** Makes one worker read the catalogue file again; the others get the result from the store. */
  reload(): void {
    const [worker] = this.#workers.keys()
    worker?.process.kill('SIGHUP')
  }

  #fork(role: WorkerRole): void {
    // All ask for the same port, even if it is 0: the parent gives them the port that it already has.
    const worker = cluster.fork({ [WORKER_ROLE]: role })
    const startedMs = this.#ports.clock.monotonic()
    const known: Known = { silentLooks: 0, spoke: false, ready: false }
    this.#workers.set(worker, known)
    worker.on('message', (message: FromWorker) => this.#heard(worker, known, message))
    // A message to a worker that has just died is lost. Without this listener the error would end the parent, and leave
    // a worker that stands still behind.
    worker.on('error', () => undefined)
    worker.on('exit', (code) => this.#ended(worker, code, startedMs))
  }

  #heard(worker: Worker, known: Known, message: FromWorker): void {
    known.silentLooks = 0
    known.spoke = true
    if ('ready' in message) {
      known.ready = true
      this.#isReady(message.ready)
    } else if ('askAll' in message) {
      this.#metrics.collect(
        [...this.#workers].filter(([, { ready }]) => ready).map(([one]) => one),
        worker,
        message.askAll,
      )
    } else if ('metrics' in message) {
      this.#metrics.told(worker, message.id, message.metrics)
    }
  }

  /** This also runs while stopping: a worker that stands still does not react to SIGTERM. */
  #look(): void {
    const { clock, say, lookMs = BEAT_MS } = this.#ports
    clock.after(lookMs, () => {
      for (const [worker, known] of this.#workers) {
        known.silentLooks += 1
        const most = known.spoke ? SILENT_LOOKS_MAX : STARTING_LOOKS_MAX
        if (known.silentLooks !== most) continue
        say(`A worker (process ${worker.process.pid}) has not answered for ${(most * lookMs) / 1_000} s and is killed`)
        worker.process.kill('SIGKILL')
      }
      this.#look()
    })
  }

  #isReady(url: string): void {
    this.#ready += 1
    if (this.#url === null) {
      this.#url = url
      for (let started = 1; started < this.#ports.count; started += 1) this.#fork('other')
    }
    if (this.#ready === this.#ports.count) this.#ports.say(`Tollgate ready on ${url}`)
  }

  #ended(worker: Worker, code: number | null, startedMs: number): void {
    this.#workers.delete(worker)
    this.#metrics.left(worker)
    if (this.stopping) {
      // A worker that was still starting ends directly by the signal.
      if (code !== 0 && worker.process.signalCode !== 'SIGTERM') this.#failed = true
      if (this.#workers.size === 0) this.#finish(this.#failed ? 1 : 0)
      return
    }
    // Before all workers were ready, the cause is usually the settings, which the worker has reported.
    if (this.#ready < this.#ports.count) {
      this.stopping = true
      this.signal('SIGTERM')
      this.#finish(code === null || code === 0 ? 1 : code)
      return
    }
    this.#ports.say(`A worker has ended (${worker.process.signalCode ?? code}), another takes its place`)
    const pauseMs = this.#ports.clock.monotonic() - startedMs < HASTE_MS ? PAUSE_MS : 0
    this.#ports.clock.after(pauseMs, () => {
      if (!this.stopping) this.#fork('other')
    })
  }
}

/** A worker as far as metrics are concerned. */
interface MeasuredWorker {
  readonly process: { readonly pid?: number | undefined }
  send(message: ToWorker): void
}

interface Collection {
  readonly waiting: Set<MeasuredWorker>
  readonly finish: () => void
}

/** Collects the metrics of all workers. */
class WorkerMetrics {
  readonly #clock: Clock
  /** The last known metrics of each worker. */
  readonly #said = new Map<MeasuredWorker, readonly MetricReading[]>()
  readonly #collections = new Map<number, Collection>()
  /** The counts of workers that have ended. Without them a sum would fall, which looks like a restart of all. */
  #departed: readonly MetricReading[] = []
  #lastId = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Asks all `workers` for metrics and answers `asker`, whose question has this `id`. */
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
type FromWorker =
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
