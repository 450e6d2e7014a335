import cluster, { type Worker } from 'node:cluster'
import type { Clock } from '../lib/clock.ts'

/** A worker that dies sooner than this after its start is started again only after a while. */
const HASTE_MS = 10_000
const PAUSE_MS = 1_000
/** Longer than a worker lets answers run while it stops. */
const KILL_MS = 140_000

export interface WorkerGroupPorts {
  readonly count: number
  readonly clock: Clock
  /** One line for the operator. */
  readonly say: (line: string) => void
}

/** Says which worker a process is: the first one does what is done once, such as applying the catalogue file. */
export const WORKER_ROLE = 'TOLLGATE_WORKER'
export type WorkerRole = 'first' | 'other'

/** What a worker sends when it takes requests. */
export interface WorkerReady {
  readonly ready: string
}

/**
 * Several processes behind one port. The parent accepts connections and deals them out in turn, so that a worker which stops or
 * dies takes none with it that it has not been given; with SO_REUSEPORT the kernel would have queued some for it.
 */
export class WorkerGroup {
  readonly #ports: WorkerGroupPorts
  readonly #workers = new Set<Worker>()
  #ready = 0
  #url: string | null = null
  /** The workers have been told to end. */
  stopping = false
  #failed = false
  #finish: (code: number) => void = () => undefined

  constructor(ports: WorkerGroupPorts) {
    this.#ports = ports
  }

  /** Resolves with an exit code when all have ended. */
  run(): Promise<number> {
    return new Promise((resolve) => {
      this.#finish = resolve
      this.#fork('first')
    })
  }

  /** Lets every worker end its answers. */
  stop(): void {
    if (this.stopping) return
    this.stopping = true
    this.signal('SIGTERM')
    this.#ports.clock.after(KILL_MS, () => this.signal('SIGKILL'))
    if (this.#workers.size === 0) this.#finish(0)
  }

  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    for (const worker of this.#workers) worker.process.kill(name)
  }

  /** One of them reads the catalogue file anew; the others see what it makes of it. */
  reload(): void {
    const [worker] = this.#workers
    worker?.process.kill('SIGHUP')
  }

  #fork(role: WorkerRole): void {
    // All ask for the same port, also for 0: the parent gives each the one that it has.
    const worker = cluster.fork({ [WORKER_ROLE]: role })
    const startedMs = this.#ports.clock.monotonic()
    this.#workers.add(worker)
    worker.on('message', (message: WorkerReady) => this.#isReady(message.ready))
    worker.on('exit', (code) => this.#ended(worker, code, startedMs))
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
    if (this.stopping) {
// One that was still starting ends by the signal itself.
      if (code !== 0 && worker.process.signalCode !== 'SIGTERM') this.#failed = true
      if (this.#workers.size === 0) this.#finish(this.#failed ? 1 : 0)
      return
    }
    // Nothing works before all have been ready once: it is the settings, and it has said what is wrong.
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
