import type { Endpoint, ModelType } from '../catalog/catalog.ts'
import type { AnswerEvent } from '../kinds/answer-event.ts'
import type { TextAround } from '../kinds/chat-chunk.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import type { CompletionsRequest } from '../kinds/completions-request.ts'
import type { EmbeddingsAnswer } from '../kinds/embeddings-answer.ts'
import type { EmbeddingsRequest } from '../kinds/embeddings-request.ts'
import type { UsageReport } from '../kinds/chat-answer.ts'
import type { RerankAnswer } from '../kinds/rerank-answer.ts'
import type { RerankRequest } from '../kinds/rerank-request.ts'
import type { ImageResult } from '../kinds/image-answer.ts'
import type { ImageRequest } from '../kinds/image-request.ts'
import type { ResponsesRequest } from '../kinds/responses/responses-request.ts'
import type { SpeechProtocol, TranscriptionProtocol } from './audio-protocol.ts'
import type { VideoUpstream } from './videos.ts'

/** Why an attempt failed; the relay decides on fallback and status. */
export interface AttemptFailure {
  /**
   * `unsendable` = this provider's protocol has no words for a part of the request, `saturated` = as much runs there as
   * may; nothing was sent.
   */
  readonly reason:
    | 'connect'
    | 'saturated'
    | 'unsendable'
    | 'timeout'
    | 'stall'
    | 'status'
    | 'cut'
    | 'garbage'
    | 'error_event'
    | 'too_large'
    | 'cancelled'
  /** Upstream HTTP status; an error inside a 200 carries the code it names, else 502. null when there was none. */
  readonly status: number | null
  /** For 4xx classes only: what the client is told, which may be the upstream's own message. Else null. */
  readonly publicMessage: string | null
  /** What the upstream refused, beyond its status. */
  readonly refusal: 'context_length' | 'moderation' | 'credentials' | null
  readonly retryAfterSeconds: number | null
  /** What the provider said, whatever the status; null = nothing. It may repeat the prompt: see relay/provider-words.ts. */
  readonly said: string | null
  /** Both are the upstream's own words, in which secrets may be. */
  readonly quotes?: true
  /** For tests and debuggers; it may hold what the provider said, and so is never logged. */
  readonly detail: string
}

/** A failure of which may be told, to the client and in the log; only `withoutSecretsOf` makes one. */
export interface RedactedFailure extends AttemptFailure {
  readonly redacted: true
}

/**
 * Where an adapter puts an answer, streamed or not. Calls come in order and never before the call has returned; after
 * `end` or `fail` nothing follows.
 */
export interface AnswerSink {
  /** The upstream answered 200 with headers: from here a cancel may be billed. */
  headers(): void
  /**
   * What one network read brought, at least one event. false asks the adapter to pause its socket until `resume` is
   * called.
   */
  push(events: readonly AnswerEvent[]): boolean
  /** The answer ended with its terminal marker. */
  end(): void
  fail(failure: AttemptFailure): void
}

export interface ChatCall {
  readonly endpoint: Endpoint
  /** Chosen from the provider's pool; null when it has none. */
  readonly apiKey: string | null
  readonly request: ChatRequest
  readonly sendMaxTokens: number | null
  /** Ours; adapters make missing tool call ids of it. */
  readonly generationId: string
  /**
   * The bytes around the text of a client's chunk, where the client reads a chat stream; null = no event may be
   * `spliced`.
   */
  readonly splice: ((field: 'content' | 'reasoning') => TextAround) | null
}

/** Legacy completions of a provider that has them. */
export interface CompletionsCall {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly request: CompletionsRequest
  /** Those of the request, or one of them. */
  readonly prompts: readonly string[]
  readonly sendMaxTokens: number | null
}

/** A Responses request for a provider that speaks that protocol. */
export interface ResponsesCall {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly request: ResponsesRequest
  readonly sendMaxTokens: number | null
  readonly generationId: string
}

/** One call of a kind that answers at once: embeddings, rerank, images, transcriptions. */
export interface UnitCall<Request> {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly request: Request
  readonly generationId: string
}

/** One call for pictures. */
export interface ImageCall extends UnitCall<ImageRequest> {
  /** Sizes the model makes; null = not known. */
  readonly sizes: readonly string[] | null
  /** Source images that a provider takes only as bytes may be fetched by us. */
  readonly fetchesUrls: boolean
}

/**
 * Where an adapter puts the answer to a `UnitCall`; as of an `AnswerSink`, nothing comes before the call has returned,
 * and nothing after `result` or `fail`.
 */
export interface ResultSink<Result> {
  /** The upstream answered 200 with headers: from here a cancel may be billed. */
  headers(): void
  result(result: Result): void
  /** `billed`: what the provider has said it bills for all the same; absent = nothing that is known. */
  fail(failure: AttemptFailure, billed?: UsageReport | null): void
}

/** A running attempt. */
export interface RunningCall {
  /** Destroys the upstream connection; the sink gets no more calls. */
  cancel(): void
  /** Continues after `push` returned false. */
  resume(): void
}

/** A wire protocol: the calls it knows, one for each kind. Knows no money, no store and no client format. */
export interface Adapter {
  readonly name: string
  /** Parameter names this protocol can carry. */
  readonly supportedParameters: readonly string[]
  /** The same of its calls of other kinds, by the type of the model. */
  readonly unitParameters?: Readonly<Partial<Record<ModelType, readonly string[]>>>
  readonly chat?: (call: ChatCall, sink: AnswerSink) => RunningCall
  /** Legacy completions, where an endpoint says `native_completions`. */
  readonly completions?: {
    /** Takes all prompts of a request in one call, else one in each. */
    readonly takesList: boolean
    ask(call: CompletionsCall, sink: AnswerSink): RunningCall
  }
  /** Responses, where an endpoint says `native_responses`. */
  readonly responses?: (call: ResponsesCall, sink: AnswerSink) => RunningCall
  readonly embeddings?: (call: UnitCall<EmbeddingsRequest>, sink: ResultSink<EmbeddingsAnswer>) => RunningCall
  readonly rerank?: (call: UnitCall<RerankRequest>, sink: ResultSink<RerankAnswer>) => RunningCall
  readonly images?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  /** The same of models that answer chats with pictures. */
  readonly chatImages?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  readonly speech?: SpeechProtocol
  /** Translations into English too, where the endpoint can. */
  readonly transcription?: TranscriptionProtocol
  /** Jobs, which outlive their request. */
  readonly videos?: VideoUpstream
}

/** Adapter name of the catalogue file → adapter. */
export type AdapterTable = ReadonlyMap<string, Adapter>

/** Parameter names that an adapter carries to models of a type; an endpoint may list fewer. */
export function parametersOf(adapters: AdapterTable, name: string, type: ModelType): readonly string[] {
  const adapter = adapters.get(name)
  return (type === 'chat' ? adapter?.supportedParameters : adapter?.unitParameters?.[type]) ?? []
}
