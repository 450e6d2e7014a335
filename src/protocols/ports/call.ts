import type { Endpoint } from '../../catalog/catalog.ts'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { TextAround } from '../openai/client/chat/writer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { CompletionsRequest } from '../../kinds/completions.ts'
import type { ImageRequest } from '../../kinds/images/request.ts'
import type { ResponsesRequest } from '../responses/request.ts'
import type { AttemptFailure } from './attempt-failure.ts'

/**
 * Receives an answer, streamed or not: from the transport as bytes behind a head, from an adapter as events, from an
 * attempt as bytes for the client. Calls come in order and never before the function that takes the sink has returned;
 * nothing follows `end` or `fail`.
 */
export interface AnswerSink<Part = readonly AnswerEvent[], Head extends readonly unknown[] = []> {
  /** The upstream has answered; for adapters and attempts, with 200. From here on a cancelled call may be billed. */
  headers(...head: Head): void
  /** The content of one network read. false = the caller should pause until `resume` is called. */
  push(part: Part): boolean
  /** The answer has ended: its body as its framing announced and, for adapters and attempts, with its end marker. */
  end(): void
  fail(failure: AttemptFailure): void
}

/** The fields of every call. */
interface ProviderCall {
  readonly endpoint: Endpoint
  /** A key of the provider's pool; null = it has none. */
  readonly apiKey: string | null
  /** Our id; adapters derive missing tool call ids from it. */
  readonly generationId: string
}

/** Whether a model accepts the parameter with this name. */
export type TakesParameter = (name: string) => boolean

/**
 * Returns a function that says which parameters an endpoint accepts; without a list it accepts all that its protocol
 * can carry.
 */
export function takesOf({ supportedParameters }: Pick<Endpoint, 'supportedParameters'>): TakesParameter {
  return (name) => supportedParameters === null || supportedParameters.includes(name)
}

/** The same for one parameter. */
export function takes(endpoint: Pick<Endpoint, 'supportedParameters'>, name: string): boolean {
  return takesOf(endpoint)(name)
}

export interface ChatCall extends ProviderCall {
  readonly request: ChatRequest
  /** The most output tokens to send; null = the endpoint takes neither `max_tokens` nor `max_completion_tokens`. */
  readonly sendMaxTokens: number | null
  /**
   * The bytes around the text in a client's chunk, for a client that reads a chat stream; null = no event may be
   * `spliced`.
   */
  readonly splice: ((field: 'content' | 'reasoning') => TextAround) | null
}

/** Legacy completions of a provider that has them. */
export interface CompletionsCall extends Omit<ProviderCall, 'generationId'> {
  readonly request: CompletionsRequest
  /** All prompts of the request, or one of them. */
  readonly prompts: readonly string[]
  readonly sendMaxTokens: number | null
}

/** A Responses request for a provider that speaks that protocol. */
export interface ResponsesCall extends ProviderCall {
  readonly request: ResponsesRequest
  readonly sendMaxTokens: number | null
}

/** A Messages request for a provider that speaks that protocol. */
export interface MessagesCall extends ProviderCall {
  /** The client's body within our limits. */
  readonly body: Buffer
  /** The client's headers of the protocol. */
  readonly headers: Readonly<Record<string, string>>
  readonly streaming: boolean
  /** The first event of a stream in the form for the client. */
  readonly startOf: (event: Readonly<Record<string, unknown>>) => Buffer
}

/** A request of `generateContent` in the client's own words, for a provider that speaks the protocol. */
export interface GenerateContentCall extends ProviderCall {
  readonly body: Readonly<Record<string, unknown>>
  readonly streaming: boolean
  /** The provider's word for the service tier that it is asked for; null = none is sent. */
  readonly serviceTier: string | null
  /** How many candidates the body asks for. */
  readonly candidates: number
  /** Whether the body asks the provider to search the web. */
  readonly searches: boolean
  /** A chunk of the answer with the id and the model that the client may see. */
  readonly owned: (chunk: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

/** One call of a kind with a single result: embeddings, rerank, images, transcriptions. */
export interface UnitCall<Request> extends ProviderCall {
  readonly request: Request
}

/** One call for pictures. */
export interface ImageCall extends UnitCall<ImageRequest> {
  /** The sizes that the model makes; null = they are not known. */
  readonly sizes: readonly string[] | null
  /** Whether we may fetch source images for a provider that accepts only bytes. */
  readonly fetchesUrls: boolean
}

/**
 * Receives the answer to a `UnitCall`. As with an `AnswerSink`, nothing comes before the call has returned, and nothing
 * after `result` or `fail`.
 */
export interface ResultSink<Result> {
  /** The upstream answered 200 with headers: from here on a cancelled call may be billed. */
  headers(): void
  result(result: Result): void
  /** `billed`: the usage that the provider bills despite the failure; absent = none is known. */
  fail(failure: AttemptFailure, billed?: UsageReport | null): void
}

/** A running call. */
export interface RunningCall {
  /** Destroys the upstream connection; the sink gets no more calls. */
  cancel(): void
  /** Continues after `push` returned false. */
  resume(): void
}

/** How a provider is asked for an answer with a single result. */
export type AskUnit<Request, Result> = (call: UnitCall<Request>, sink: ResultSink<Result>) => RunningCall

/** The request that a protocol sends to a provider. */
export interface UpstreamRequest {
  /** The path after the provider's base address. */
  readonly path: string
  /** An object is sent as JSON. */
  readonly body: Buffer | Readonly<Record<string, unknown>>
  /**
   * Credentials and versions, besides `content-type` (JSON) and `accept`. If a provider's requests are signed, this is
   * a function of the body's bytes.
   */
  readonly headers: Readonly<Record<string, string>> | ((body: Buffer) => Readonly<Record<string, string>>)
}

/** A request whose body is JSON. */
export interface JsonRequest extends UpstreamRequest {
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Thrown if the provider's protocol cannot express a part of the request. Another provider may. If none can, the client
 * gets a 400 and pays nothing.
 */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError'
}

/** Throws if several answers are requested, for a protocol that has only one. */
export function refuseSeveral({ n }: { readonly n: number }): void {
  if (n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
}

/**
 * A name that a client or a provider gave, as one segment of a path. `.` and `..`, in any spelling, would lead to
 * another address, so they become a name that no provider knows.
 */
export function pathPart(name: string): string {
  return /^\.{1,2}$/.test(name) ? name.replaceAll('.', '%252E') : encodeURIComponent(name)
}
