import type { AccessOptions } from '../access/access.ts'
import type { IdSource } from '../lib/ids.ts'
import type { SyncedClock } from '../lib/synced-clock.ts'
import type { SharedStreams } from '../relay/shared-streams.ts'
import type { NodeStore, NodeView } from '../store/store.ts'
import { NodeBeat } from './node-beat.ts'
import { NodeSeal } from './node-seal.ts'
import { RemoteStreams } from './remote-streams.ts'
import { StreamCopies } from './stream-copies.ts'
import { StreamMessages, type OwnStream } from './stream-messages.ts'
import { ValkeyGuard } from './valkey-guard.ts'
import { ValkeyWindows } from './valkey-windows.ts'
import { Valkey } from './valkey.ts'

export interface NodePorts {
  /** null = the store has one process. */
  readonly store: NodeStore | null
  readonly valkeyUrl: string | null
  /** The same on every node; the first seals what is shared through Valkey, all of them open it. */
  readonly sealKeys: readonly Buffer[]
  readonly clock: SyncedClock
  readonly ids: IdSource
  readonly notice: (message: string) => void
  /** Adopts what another node made of the catalogue. */
  readonly refreshCatalog: () => Promise<unknown>
}

/** What this process says of itself and gives to the other nodes, once it has begun to take requests. */
export interface NodeDuties {
  readonly block: (ip: string, leftMs: number, blocks: number) => void
  /** Valkey answers again, and may have missed or lost what was accepted. */
  readonly tellWindows: () => Promise<void>
  /** A stream of this node by its account and its generation id or X-Request-Id. */
  readonly findStream: (accountId: string, id: string) => OwnStream | null
}

/** This process among the others that share its store. */
export class Nodes {
  /** Names it on holds and everywhere else. */
  readonly id: string
  readonly #ports: NodePorts
  readonly #valkey: Valkey | null
  readonly #seal: NodeSeal
  readonly #beat: NodeBeat
  #duties: NodeDuties | null = null
  #messages: StreamMessages | null = null
  /** null until `start`, and without Valkey. */
  remoteStreams: RemoteStreams | null = null

  constructor(ports: NodePorts) {
    this.#ports = ports
    this.id = ports.ids.letters(12)
    const { valkeyUrl, clock, notice, store } = ports
    this.#seal = new NodeSeal(ports.sealKeys)
    this.#valkey = valkeyUrl === null ? null : new Valkey({ url: valkeyUrl, clock, notice })
    this.#beat = new NodeBeat({
      id: this.id,
      store,
      clock,
      heard: (view, askedMs, answeredMs) => this.#heard(view, askedMs, answeredMs),
    })
  }

  /** What is enough to be done once is this node's to do. */
  get leads(): boolean {
    return this.#beat.leads
  }

  get sharedStreams(): SharedStreams | null {
    return this.#valkey === null
      ? null
      : new StreamCopies({ valkey: this.#valkey, seal: this.#seal, clock: this.#ports.clock })
  }

  /** For the rate limits and the guard of addresses. */
  get access(): NonNullable<AccessOptions['shared']> {
    const { store } = this.#ports
    return {
      nodes: () => this.#beat.nodes,
      windows: this.#valkey === null ? null : new ValkeyWindows(this.#valkey, this.id),
      guard: this.#valkey === null ? null : new ValkeyGuard(this.#valkey, this.#seal, this.#ports.clock),
      // The others hear of it at their next beat; one that cannot be written stays this node's alone.
      blocked: (ip, leftMs, blocks) => void store?.block({ ip, leftMs, blocks }).catch(() => undefined),
      unblocked: async (ip) => await store?.unblock(ip),
    }
  }

  /** Joins the others; from then on they count this node. */
  async start(duties: NodeDuties): Promise<void> {
    const { clock, ids } = this.#ports
    this.#duties = duties
    await Promise.all([this.#beat.start(), this.#valkey?.start()])
    if (this.#valkey === null) return
    this.#valkey.onReturn = () => duties.tellWindows()
    this.#messages = new StreamMessages({
      valkey: this.#valkey,
      seal: this.#seal,
      clock,
      ids,
      node: this.id,
      find: duties.findStream,
    })
    this.remoteStreams = new RemoteStreams({
      valkey: this.#valkey,
      seal: this.#seal,
      messages: this.#messages,
      clock,
      ids,
    })
  }

  cancelElsewhere(accountId: string, id: string): ReturnType<StreamMessages['cancel']> {
    return this.#messages === null ? Promise.resolve(null) : this.#messages.cancel(accountId, id)
  }

  responseElsewhere(accountId: string, id: string): ReturnType<StreamMessages['response']> {
    return this.#messages === null ? Promise.resolve(null) : this.#messages.response(accountId, id)
  }

  async stop(): Promise<void> {
    await this.#beat.stop()
    this.#messages?.close()
    await this.#valkey?.close()
  }

  async #heard({ nowMs, blocks }: NodeView, askedMs: number, answeredMs: number): Promise<void> {
    this.#ports.clock.sync(nowMs, askedMs, answeredMs)
    for (const { ip, leftMs, blocks: count } of blocks) this.#duties?.block(ip, leftMs, count)
    await this.#ports.refreshCatalog()
  }
}
