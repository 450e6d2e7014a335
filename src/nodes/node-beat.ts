import type { Clock } from '../lib/clock.ts'
import type { NodeStore, NodeView } from '../store/nodes/node-store.ts'

const BEAT_MS = 2_000

export interface NodeBeatPorts {
  readonly id: string
  /** null = there are no other nodes. */
  readonly store: NodeStore | null
  readonly clock: Clock
  /** Takes over changes from elsewhere. The view was read between the two monotonic times. */
  readonly heard: (view: NodeView, askedMs: number, answeredMs: number) => Promise<void> | void
}

/**
 * Every two seconds this node records that it is alive and reads changes. It polls rather than LISTENs: polling works
 * through every pooler and on every database with PostgreSQL's protocol, bounds staleness, and would be needed anyway
 * for lost notifications.
 */
export class NodeBeat {
  readonly #ports: NodeBeatPorts
  #view: Pick<NodeView, 'nodes' | 'leads'>
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null
  #stopped = false

  constructor(ports: NodeBeatPorts) {
    this.#ports = ports
    this.#view = { nodes: 1, leads: ports.store === null }
  }

  /** Live nodes, this one included, as of the last beat that the database answered. */
  get nodes(): number {
    return this.#view.nodes
  }

  /** Whether this node does the work that one node does for all. */
  get leads(): boolean {
    return this.#view.leads
  }

  /** Resolves after the first beat. Rejects when the database does not answer. */
  async start(): Promise<void> {
    if (this.#ports.store === null) return
    await this.#beat(this.#ports.store)
    this.#next(this.#ports.store)
  }

  /** From now on the others do not count this node. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
    await this.#ports.store?.leave(this.#ports.id).catch(() => undefined)
  }

  #next(store: NodeStore): void {
    this.#cancel = this.#ports.clock.after(BEAT_MS, () => {
      // If the database is down, it is asked again at the next beat; meanwhile nothing is sold.
      this.#running = this.#beat(store)
        .catch(() => undefined)
        .then(() => {
          if (!this.#stopped) this.#next(store)
        })
    })
  }

  async #beat(store: NodeStore): Promise<void> {
    const askedMs = this.#ports.clock.monotonic()
    const view = await store.beat(this.#ports.id)
    this.#view = view
    await this.#ports.heard(view, askedMs, this.#ports.clock.monotonic())
  }
}
