import type { SharedGuard, SharedKeyLimits, SharedWindows } from '../access/shared-access.ts'
import type { FarStreams } from '../pay/paid/resumed-streams.ts'
import type { ClientStream } from '../pay/relay/client-end.ts'
import type { CopyStream } from '../pay/relay/event-buffer.ts'

/** The fast state that nodes share beside the store. Without it each goes by what it knows alone. */
export interface Shared {
  readonly windows: SharedWindows
  readonly guard: SharedGuard
  readonly keyLimits: SharedKeyLimits
  readonly tokens: SharedTokens
  /** Copies this node's streams for the others. */
  readonly copyStream: CopyStream
  /** Reads streams that run on other nodes. */
  readonly streams: FarStreams
  /** Asks the nodes that run them. */
  readonly messages: OtherNodes
  /** Resolves after the first answer or failure. */
  start(duties: SharedDuties): Promise<void>
  stop(): Promise<void>
}

/** Services of this process to other nodes, once it takes requests. */
export interface SharedDuties {
  /** Called when the shared state can be reached again, which may have missed or lost accepted requests. */
  readonly tellWindows: () => Promise<void>
  /** Finds a stream of this node by its `reachName` and its generation id or X-Request-Id. */
  readonly findStream: (owner: string, id: string) => OwnStream | null
}

/** A running stream of this node, with the facts that other nodes need. */
export interface OwnStream {
  readonly finished: boolean
  readonly input: { readonly generationId: string }
  readonly done: Promise<unknown>
  /** Resolves when the stream is settled, or at once if it is only drained for its bill. */
  cancel(): Promise<unknown>
  attach(reader: ClientStream, after: number): void
  /** Reports that the client of `reader` has left. */
  detached(reader: ClientStream): void
  /** Its Response, now or at its end; null for a stream of another kind. */
  response(): Promise<ResponseBody | null>
}

export type ResponseBody = Readonly<Record<string, unknown>>

export interface Cancelled {
  readonly generationId: string
  readonly status: 'completed' | 'cancelled'
}

interface OtherNodes {
  /** Cancels a stream; null = no node that answers has it. */
  cancel(owner: string, id: string): Promise<Cancelled | null>
  /** The Response of a stream; null = no node that answers has it. */
  response(owner: string, id: string): Promise<ResponseBody | null>
}

export interface SharedToken {
  readonly value: string
  readonly gotAtMs: number
  readonly endsAtMs: number
}

/** Tokens of providers, under the print of how they are got. */
export interface SharedTokens {
  /** null = there is none, or Valkey does not answer. */
  read(print: string): Promise<SharedToken | null>
  write(print: string, token: SharedToken): Promise<void>
}
