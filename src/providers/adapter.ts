import type { Endpoint } from '../catalog/catalog.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd } from '../kinds/chat-answer.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'

/** The shapes of an answer belong to the kind, which renders them; adapters and the relay take them from here. */

/** Why an attempt failed, already stripped of anything of the operator's; the relay decides on fallback and status. */
export interface AttemptFailure {
  readonly reason: 'connect' | 'timeout' | 'stall' | 'status' | 'cut' | 'garbage' | 'error_event' | 'too_large' | 'cancelled'
  /** Upstream HTTP status; an error inside a 200 carries the code it names, else 502. null when there was none. */
  readonly status: number | null
  /** For 4xx classes only: the upstream's own message, redacted, ≤ 500 characters; else null. */
  readonly publicMessage: string | null
  /** What the upstream refused, beyond its status. */
  readonly refusal: 'context_length' | 'moderation' | 'credentials' | null
  readonly retryAfterSeconds: number | null
  /** For the log alone. */
  readonly detail: string
}

/**
 * Where an adapter puts a streamed answer. Calls come in order; after `end` or `fail` nothing follows.
 * Returning false from `chunk` asks the adapter to pause its socket until `resume` is called.
 */
export interface StreamSink {
  /** The upstream answered 200 with headers: from here a cancel may be billed. */
  headers(): void
  /**
   * Ready SSE bytes of one or more whole client chunks (`data: {…}\n\n` each), with our identity and without usage, finish or [DONE];
   * `events` how many of them; `text` the answer text in them for counting (content, reasoning and tool arguments joined).
   * A network read gives one call. The first chunk of a stream carries delta {"role":"assistant","content":""}: the adapter makes it.
   */
  chunk(bytes: Buffer, events: number, text: string): boolean
  /** The answer ended with its terminal marker. */
  end(result: StreamEnd): void
  fail(failure: AttemptFailure): void
}

export interface ChatCall {
  readonly endpoint: Endpoint
  /** Chosen from the provider's pool; null when it has none. */
  readonly apiKey: string | null
  readonly request: ChatRequest
  readonly sendMaxTokens: number | null
  readonly identity: ChunkIdentity
}

/** A running attempt. */
export interface RunningCall {
  /** Destroys the upstream connection; the sink gets no more calls. */
  cancel(): void
  /** Continues after `chunk` returned false. */
  resume(): void
}

/** A wire protocol. Knows no money, no store and no client. `createX(transport, clock)` makes one. */
export interface Adapter {
  readonly name: string
  /** Parameter names this protocol can carry. */
  readonly supportedParameters: readonly string[]
  streamChat(call: ChatCall, sink: StreamSink): RunningCall
  /** `onHeaders` as StreamSink.headers. Exactly one of `done`, `fail` is called, never after `cancel`. */
  completeChat(call: ChatCall, sink: { headers(): void; done(answer: ChatAnswer): void; fail(failure: AttemptFailure): void }): RunningCall
}

/** Adapter name of the catalogue file → adapter. */
export type AdapterTable = ReadonlyMap<string, Adapter>
