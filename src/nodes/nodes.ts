import type { AccessOptions } from '../access/access.ts'
import type { LimitShare } from '../access/key-limiter.ts'
import type { SyncedClock, Clock } from '../base/clock.ts'
import type { NodeStore, NodeView } from '../store/nodes/node-store.ts'
import type { Shared, SharedDuties } from './shared.ts'

const BEAT_MS = 2_000

export interface NodePorts {
  /** Names this process on holds and everywhere else. */
  readonly id: string
  /** null = the store has one process. */
  readonly store: NodeStore | null
  /** Absent or null = nodes share nothing but the store. */
  readonly shared?: Shared | null
  readonly clock: SyncedClock
  /** Takes over another node's changes of the catalogue. */
  readonly refreshCatalog: () => Promise<unknown>
}

/** What this process does for other nodes once it takes requests. */
export interface NodeDuties extends SharedDuties {
  readonly block: (ip: string, leftMs: number, blocks: number) => void
}

/** This process among the others that share its store. */
export class Nodes {
  readonly id: string
  readonly shared: Shared | null
  readonly #ports: NodePorts
  readonly #beat: NodeBeat
  #duties: NodeDuties | null = null

  constructor(ports: NodePorts) {
    this.#ports = ports
    this.id = ports.id
    this.shared = ports.shared ?? null
    this.#beat = new NodeBeat({
      ...ports,
      heard: (view, askedMs, answeredMs) => this.#heard(view, askedMs, answeredMs),
    })
  }

  /** Whether this node is the leader. */
  get leads(): boolean {
    return this.#beat.leads
  }

  /** Processes that share the store, this one included. */
  get live(): number {
    return this.#beat.nodes
  }

  /** The state that the rate limits and the guard of addresses share. */
  get access(): NonNullable<AccessOptions['shared']> {
    const { store } = this.#ports
    return {
      nodes: () => this.#beat.nodes,
      windows: this.shared?.windows ?? null,
      guard: this.shared?.guard ?? null,
      // The other nodes read the block at their next beat; a block that cannot be written applies only on this node.
      blocked: (ip, leftMs, blocks) => void store?.block({ ip, leftMs, blocks }).catch(() => undefined),
      unblocked: async (ip) => await store?.unblock(ip),
    }
  }

  /** The state that the limits of keys share. */
  get keyLimits(): LimitShare {
    return { nodes: () => this.#beat.nodes, shared: this.shared?.keyLimits ?? null }
  }

  /** Joins the other nodes, which count this one from then on. */
  async start(duties: NodeDuties): Promise<void> {
    this.#duties = duties
    await Promise.all([this.#beat.start(), this.shared?.start(duties)])
  }

  async stop(): Promise<void> {
    await this.#beat.stop()
    await this.shared?.stop()
  }

  async #heard({ nowMs, blocks }: NodeView, askedMs: number, answeredMs: number): Promise<void> {
    this.#ports.clock.sync(nowMs, askedMs, answeredMs)
    for (const { ip, leftMs, blocks: count } of blocks) this.#duties?.block(ip, leftMs, count)
    await this.#ports.refreshCatalog()
  }
}

interface NodeBeatPorts {
  readonly id: string
  /** null = there are no other nodes. */
  readonly store: NodeStore | null
  readonly clock: Clock
  /** Takes over changes that other nodes have made. The view was read between the two monotonic times. */
  readonly heard: (view: NodeView, askedMs: number, answeredMs: number) => Promise<void> | void
}

/**
 * Every two seconds this node records that it is alive and reads changes. It polls instead of using LISTEN: polling
 * works through every pooler and on every database with PostgreSQL's protocol, bounds staleness, and would be needed
 * anyway for lost notifications.
 */
class NodeBeat {
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

  /** Whether this node is the leader. */
  get leads(): boolean {
    return this.#view.leads
  }

  /** Resolves after the first beat. Rejects if the database does not answer. */
  async start(): Promise<void> {
    if (this.#ports.store === null) return
    await this.#beat(this.#ports.store)
    this.#next(this.#ports.store)
  }

  /** Other nodes no longer count this node from now on. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
    await this.#ports.store?.leave(this.#ports.id).catch(() => undefined)
  }

  #next(store: NodeStore): void {
    this.#cancel = this.#ports.clock.after(BEAT_MS, () => {
      // If the database is down, the next beat asks it again; meanwhile nothing is sold.
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
