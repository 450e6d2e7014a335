import type { IncomingHttpHeaders } from 'node:http'
import type { ClientProtocol } from '../../base/client-protocol.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiError, ErrorName } from '../../base/errors.ts'
import type { JsonMember } from '../../base/json-scan.ts'
import { ownValue } from '../../base/own-value.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { AnswerWriter } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { EmbeddingsRequest } from '../../kinds/embeddings.ts'
import type { UploadedForm } from '../../kinds/fields/uploaded-form.ts'
import type { RerankRequest } from '../../kinds/rerank.ts'
import type { AnsweredType, ModelType, RequestType } from '../../tables/model-types.ts'
import type { embeddingsBody } from '../openai/client/embeddings.ts'
import type { rerankBody } from '../openai/client/rerank.ts'
import type { Adapter } from './adapter.ts'
import type { AnswerSink, ChatCall, RunningCall } from './call.ts'

/** The input from which a request is read. */
export interface ClientInput {
  /** The parsed body with the outward form of names, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The same with the client's own names, which an answer repeats. */
  readonly given: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  /** A member of a JSON body as the bytes that came; null unless it occurs exactly once. */
  jsonMember(name: string): JsonMember | null
  readonly contentType: string
  /** Parameters of the route's path, and the query, parsed when asked for. */
  readonly params: Readonly<Record<string, string>>
  readonly query: () => URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The parsed multipart body; null for JSON. */
  readonly form: UploadedForm | null
  /** From the `X-Session-Id` header; the body's own takes precedence. */
  readonly sessionId: string | null
  /** As in `X-Request-Id`. */
  readonly requestId: string
  /** The service's address for the client, used in links; without a trailing slash. */
  readonly publicUrl: string
}

/** A protocol of clients beside OpenAI's. */
export interface ClientSide {
  readonly calls: readonly ClientCall[]
  /** What one of its bodies that was posted to OpenAI's chat means there; null = it is none. */
  readonly mixed?: (json: unknown) => ClientChat | null
  /** Our count of a request's input, free of charge. */
  readonly count?: ClientCount
  readonly models?: ModelForms
  /** What its clients read at other paths, of the models that are listed. */
  readonly reads?: Readonly<Record<string, (models: readonly Model[]) => Record<string, unknown>>>
}

export interface ClientCount {
  readonly paths: readonly string[]
  /** The format of its errors; absent = decided by the path. */
  readonly protocol?: ClientProtocol
  /** The type of requests whose input is counted. */
  readonly type: RequestType
  readonly read: (input: Pick<ClientInput, 'json' | 'params'>) => ChatRequest
  readonly write: (tokens: number) => unknown
}

/** The models in the form of a protocol. */
export interface ModelForms {
  /** The types of models that its clients can call at all. */
  readonly types: readonly ModelType[]
  /** A page of the list, and a model, for clients on the paths that all protocols share. */
  readonly list: (models: readonly Model[], query: URLSearchParams) => Record<string, unknown>
  readonly one: (model: Model) => Record<string, unknown>
  /** Paths of its own, where the list is, and with an id behind them a model. */
  readonly paths: readonly string[]
}

/** A paid call, as a request of an existing type. */
export type ClientCall = {
  readonly paths: readonly string[]
  /** The format of its errors; absent = decided by the path. */
  readonly protocol?: ClientProtocol
} & (
  | { readonly kind: 'chat'; read(input: ClientInput): ClientChat }
  | { readonly kind: 'embeddings'; read(input: ClientInput): EmbeddingsRequest; readonly write: typeof embeddingsBody }
  | { readonly kind: 'rerank'; read(input: ClientInput): RerankRequest; readonly write: typeof rerankBody }
)

/** A protocol's names of parameters, by chat's; a parameter without one has the same name there. */
export type ClientWords = Readonly<Record<string, string>>

/** A name, or that of a word within one, as the client's protocol has it. */
export function clientName(name: string, words: ClientWords): string {
  const [whole = '', ...within] = name.split('.')
  return [ownValue(words, whole) ?? whole, ...within].join('.')
}

/** A request of chat models in a client's protocol: what it means as a chat, and how its answer is written. */
export interface ClientChat {
  /** Its type in the usage log. */
  readonly type: AnsweredType
  /** The equivalent chat. */
  readonly chat: ChatRequest
  readonly words: ClientWords
  /** The session that its headers name, where its body names none; null or absent = none. */
  readonly session?: string | null
  /** Media type of its stream; absent = numbered server-sent events. */
  readonly contentType?: string
  /** Sent by a silent stream; absent = a comment of an event stream. */
  readonly keepAlive?: Buffer
  /** Parts that the chat does without at an endpoint with these terms. */
  dropped(terms: ChatTerms): readonly string[]
  /** The writer of an answer to the chat. */
  writer(start: ClientStart): AnswerWriter
  /** The bytes around a text in its stream; absent = no event may be `spliced`. */
  readonly splice?: (identity: ChunkIdentity) => ChatCall['splice']
  /** The adapter whose providers take its names of functions as they are. */
  readonly sameNames?: string
  /** How providers that speak its protocol are asked; absent = as all others. */
  readonly own?: OwnProtocol
}

/** How providers that speak the client's protocol are asked. */
export interface OwnProtocol {
  speaks(endpoint: Endpoint, adapter: Adapter | undefined): boolean
  /** The request as any endpoint may serve it. */
  readonly plain: ChatOffer
  /** The request with parts that only some endpoints serve; null = there are none. */
  readonly special: SpecialOffer | null
}

/** A request as it is offered to providers of its own protocol. */
export interface ChatOffer {
  /** Tools that the provider runs, which the hold covers; null = none. */
  readonly hosted: { readonly callsMax: number } | null
  native(start: ClientStart): NativeAnswer
}

export interface SpecialOffer extends ChatOffer {
  /** Whether an endpoint serves its parts. */
  serves(endpoint: Endpoint, isSpoken: boolean, terms: ChatTerms): boolean
  /** The refusals of a plan that say only that no endpoint serves it. */
  readonly absent: readonly ErrorName[]
  /** Where none serves it; `first`: of those that serve it plain. null = it is served plain. */
  refusal(first: { readonly model: Model; readonly endpoint: Endpoint }, isSpoken: boolean): ApiError | null
}

/** An answer of a provider of the client's protocol. */
export interface NativeAnswer {
  readonly writer: AnswerWriter
  /** Parts of the request that its provider is not sent. */
  readonly dropped: readonly string[]
  /** The most web searches that it allows; absent = those of `web_search_options`. */
  readonly searchesMax?: number
  ask(sink: AnswerSink): RunningCall
}

/** What an endpoint's prices leave of a request. */
export interface ChatTerms {
  /** Whether it may search the web. */
  readonly searches: boolean
  /** Modalities of the answer that are asked for and have a price; null = none is asked for. */
  readonly modalities: readonly string[] | null
  /** Whether cache marks have a price. */
  readonly cacheMarks: boolean
  /** The provider's word for the service tier that it is asked for; null = it is sent none. */
  readonly serviceTier: string | null
  /** The chat with that service tier. */
  readonly inTier: ChatRequest
  /** Parts of the request without a price, in the client's words: cache marks, a service tier. */
  readonly unpriced: readonly string[]
}

/** One attempt at an endpoint. */
export interface ClientStart {
  readonly adapter: Adapter
  readonly candidate: {
    readonly endpoint: Endpoint
    /** Output tokens to ask for; null = send none. */
    readonly sendMaxTokens: number | null
  }
  /** null when its provider has none. */
  readonly apiKey: string | null
  readonly generationId: string
  readonly identity: ChunkIdentity
  readonly clock: Clock
  readonly terms: ChatTerms
  /** The request's tokens by the model's tokenizer, counted when asked for. */
  readonly countInput: () => number
}

/** The session in a header; null if it is absent or no honest name. */
export function sessionOf(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header) ? header : null
}
