import type { IncomingHttpHeaders } from 'node:http'
import type { ClientProtocol } from '../../base/client-protocol.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiError, ErrorName } from '../../base/errors.ts'
import type { JsonMember } from '../../base/json-scan.ts'
import { ownValue } from '../../base/own-value.ts'
import type { Fields, JsonSchema, ObjectSchema } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
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
  /** The parsed body with the outward form of names, always an object; undefined = it is multipart. */
  readonly json: unknown
  /** The same with the client's own names, which an answer repeats. */
  readonly given: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  /** A member of a JSON body as its original bytes; null unless it occurs exactly once. */
  jsonMember(name: string): JsonMember | null
  readonly contentType: string
  /** Parameters of the route's path, and the query, which is parsed on demand. */
  readonly params: Readonly<Record<string, string>>
  readonly query: () => URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The parsed multipart body; null for JSON. */
  readonly form: UploadedForm | null
  /** From the `X-Session-Id` header; the body's own takes precedence. */
  readonly sessionId: string | null
  /** The id that `X-Request-Id` returns. */
  readonly requestId: string
  /** The service's address for the client, used in links; without a trailing slash. */
  readonly publicUrl: string
  /**
   * The same, read again from the body's bytes; null = what is read of it stays, since it is short or takes long to
   * read.
   */
  readonly again: (() => ClientInput) | null
}

/** A protocol of clients other than OpenAI's. */
export interface ClientSide {
  readonly calls: readonly ClientCall[]
  /** What one of its bodies that was posted to OpenAI's chat means there; null = it is none. */
  readonly mixed?: (json: unknown) => ClientChat | null
  /** Our count of a request's input, free of charge. */
  readonly count?: ClientCount
  readonly models?: ModelForms
  /** What its clients read at other paths: a function of the listed models for each. */
  readonly reads?: Readonly<Record<string, (models: readonly Model[]) => Record<string, unknown>>>
}

export interface ClientCount {
  readonly paths: readonly string[]
  /** The protocol in whose form errors are written; absent = the path decides. */
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
  /** Paths of its own with the list of models; followed by an id, the model. */
  readonly paths: readonly string[]
}

/** A paid call, which becomes a request of an existing type. */
export type ClientCall = {
  readonly paths: readonly string[]
  /** The protocol in whose form errors are written; absent = the path decides. */
  readonly protocol?: ClientProtocol
} & (
  | { readonly kind: 'chat'; read(input: ClientInput): ClientChat }
  | { readonly kind: 'embeddings'; read(input: ClientInput): EmbeddingsRequest; readonly write: typeof embeddingsBody }
  | { readonly kind: 'rerank'; read(input: ClientInput): RerankRequest; readonly write: typeof rerankBody }
)

/** A protocol's names of parameters, by chat's names; a parameter that is absent has the same name in both. */
export type ClientWords = Readonly<Record<string, string>>

/** The name of a parameter, or of a word within one, in the client's protocol. */
export function clientName(name: string, words: ClientWords): string {
  const [whole = '', ...within] = name.split('.')
  return [ownValue(words, whole) ?? whole, ...within].join('.')
}

/** A request of chat models in a client's protocol: the chat that it means, and how its answer is written. */
export interface ClientChat {
  /** Its type in the usage log. */
  readonly type: AnsweredType
  /** The equivalent chat. */
  readonly chat: ChatRequest
  readonly words: ClientWords
  /** The session that its headers name, for a body that names none; null or absent = none. */
  readonly session?: string | null
  /** Media type of its stream; absent = numbered server-sent events. */
  readonly contentType?: string
  /** Bytes sent during the silence of a stream; absent = a comment of an event stream. */
  readonly keepAlive?: Buffer
  /** Parts of the request that the chat leaves out at an endpoint with these terms. */
  dropped(terms: ChatTerms): readonly string[]
  /** The writer of an answer to the chat. */
  writer(start: ClientStart): AnswerWriter
  /** The bytes around a text in its stream; absent = no event may be `spliced`. */
  readonly splice?: (identity: ChunkIdentity) => ChatCall['splice']
  /** The adapter whose providers accept its names of functions unchanged. */
  readonly sameNames?: string
  /** How providers that speak its protocol are asked; absent = like all others. */
  readonly own?: OwnProtocol
}

/** How providers that speak the client's protocol are asked. */
export interface OwnProtocol {
  speaks(endpoint: Endpoint, adapter: Adapter | undefined): boolean
  /** The form of the request that any endpoint may serve. */
  readonly plain: ChatOffer
  /** The form with parts that only some endpoints serve; null = there are no such parts. */
  readonly special: SpecialOffer | null
}

/** A form of the request for providers of its own protocol. */
export interface ChatOffer {
  /** Tools that the provider runs, which the hold covers; null = none. */
  readonly hosted: { readonly callsMax: number } | null
  native(start: ClientStart): NativeAnswer
}

export interface SpecialOffer extends ChatOffer {
  /** Whether an endpoint serves these parts. */
  serves(endpoint: Endpoint, isSpoken: boolean, terms: ChatTerms): boolean
  /** Refusals of a plan that only mean that no endpoint serves the parts. */
  readonly absent: readonly ErrorName[]
  /**
   * The refusal if no endpoint serves the parts; `first`: the first endpoint that serves the plain form. null = the
   * plain form is served.
   */
  refusal(first: { readonly model: Model; readonly endpoint: Endpoint }, isSpoken: boolean): ApiError | null
}

/** The answer of a provider that speaks the client's protocol. */
export interface NativeAnswer {
  readonly writer: AnswerWriter
  /** Parts of the request that its provider is not sent. */
  readonly dropped: readonly string[]
  /** The most web searches that the request allows; absent = those of `web_search_options`. */
  readonly searchesMax?: number
  ask(sink: AnswerSink): RunningCall
}

/** What the prices of an endpoint allow of a request. */
export interface ChatTerms {
  /** Whether the answer may search the web. */
  readonly searches: boolean
  /** Modalities of the answer that are requested and have a price; null = none are requested. */
  readonly modalities: readonly string[] | null
  /** Whether cache marks have a price. */
  readonly cacheMarks: boolean
  /** The provider's word for the service tier that it is asked for; null = none is sent. */
  readonly serviceTier: string | null
  /** The chat with that service tier. */
  readonly inTier: ChatRequest
  /** Parts of the request without a price, by the client's names: cache marks, a service tier. */
  readonly unpriced: readonly string[]
}

/** One attempt at an endpoint. */
export interface ClientStart {
  readonly adapter: Adapter
  readonly candidate: {
    readonly endpoint: Endpoint
    /** The output tokens to ask for; null = none are sent. */
    readonly sendMaxTokens: number | null
  }
  /** null = its provider has none. */
  readonly apiKey: string | null
  readonly generationId: string
  readonly identity: ChunkIdentity
  readonly clock: Clock
  readonly terms: ChatTerms
  /** About the number of tokens of the request. It has the request, so nobody may keep it. */
  readonly estimateInput: () => number
}

/** The session in a header; null = it is absent or no usable name. */
export function sessionOf(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header) ? header : null
}

/** The routes and records of a client protocol, used only by the reference. */
export interface ClientDocs {
  readonly routes: Readonly<Record<string, WireRoute>>
  /** The module's exports, which contain its records by their names. */
  readonly records: Readonly<Record<string, unknown>>
  /** The form of models on the path that all protocols share. */
  readonly models?: {
    readonly query: ObjectSchema<Fields>
    readonly list: JsonSchema
    readonly one: JsonSchema
  }
}

/** Refusals of a request whose answer is text, and of a conversation. */
const TEXT_ERRORS: readonly ErrorName[] = [
  'missing_model',
  'invalid_input',
  'invalid_base64',
  'token_limit_exceeded',
  'empty_response',
]
export const CHAT_ERRORS: readonly ErrorName[] = [
  ...TEXT_ERRORS,
  'missing_messages',
  'invalid_message_format',
  'invalid_message_role',
  'invalid_response_format',
]
/** Refusals of embeddings and rankings. */
export const UNIT_ERRORS: readonly ErrorName[] = ['missing_model', 'invalid_input', 'empty_response']
