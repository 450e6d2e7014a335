import type { Endpoint } from '../catalog/catalog.ts'
import type { AnswerEvent } from '../kinds/answer-event.ts'
import type { Adapter, AnswerSink, AttemptFailure, ChatCall, RunningCall } from './adapter.ts'
import type { JsonBytes } from '../lib/json-bytes.ts'
import type { JsonLimits } from '../lib/json-scan.ts'
import { parseWithLogprobs } from './lifted-logprobs.ts'
import { parseJson } from './raw-json.ts'
import { failure, type Transport, type UpstreamHeaders } from './transport.ts'
import { inTurns, UpstreamCall, type AnswerReader, type StreamProgress } from './upstream-call.ts'
import { eventFailure } from './upstream-error.ts'

/** What goes upstream. */
export interface NativeRequest {
  /** After the provider's base address. */
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /**
   * Credentials and versions, the content type and `accept` are there already; made from the body's bytes where they
   * sign it.
   */
  readonly headers: Readonly<Record<string, string>> | ((body: Buffer) => Readonly<Record<string, string>>)
}

/** Reads one answer of a protocol. Stateful: one for each call. */
export interface NativeReader {
  /** One message of a stream. */
  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure
  /** The terminal marker was among the messages: nothing after it matters. */
  readonly done: boolean
  /** The body of a stream is over: null when the answer is complete. */
  ended(): AttemptFailure | null
  /** The parsed body of a plain answer, and what was lifted out of it. */
  whole(body: unknown, logprobs?: readonly JsonBytes[]): readonly AnswerEvent[] | AttemptFailure
  /** An error status; `body` is parsed JSON, or undefined. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** Splits a body into messages. */
export interface MessageDecoder {
  /** false: the bytes are not of this framing, or a message is longer than any honest one. */
  push(bytes: Buffer): boolean
  end(): void
}

/** A protocol that is not OpenAI's. */
export interface NativeProtocol {
  readonly name: string
  /** Names of OpenRouter's parameters that the protocol can carry. */
  readonly supportedParameters: readonly string[]
  /** Throws an `UnsendableError` for what this provider cannot be asked. */
  request(call: ChatCall): NativeRequest
  reader(call: ChatCall): NativeReader
  /** What a whole answer may be, where it is more than that of other protocols. */
  readonly limits?: JsonLimits
  readonly decoder: (events: {
    readonly message: (data: Buffer) => void
    readonly error: (data: Buffer) => void
  }) => MessageDecoder
}

/** An adapter that has chat for sure. */
export type NativeAdapter = Adapter & Required<Pick<Adapter, 'chat'>>

/**
 * The request holds what the provider's protocol has no words for. Another provider may take it; else it is refused
 * with a 400, and costs nothing.
 */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError'
}

/** An adapter that translates: every message is parsed into events. */
export function createNative(protocol: NativeProtocol, transport: Transport): NativeAdapter {
  return {
    name: protocol.name,
    supportedParameters: protocol.supportedParameters,
    chat: (call, sink) =>
      callNative(
        transport,
        {
          endpoint: call.endpoint,
          streaming: call.request.stream,
          request: () => protocol.request(call),
          reader: () => protocol.reader(call),
          decoder: protocol.decoder,
          ...(protocol.limits === undefined ? {} : { limits: protocol.limits }),
        },
        sink,
      ),
  }
}

/** One call of a protocol that is not OpenAI's chat, whatever its kind. */
export interface NativeCall {
  readonly endpoint: Endpoint
  readonly streaming: boolean
  /** Throws an `UnsendableError` for what this provider cannot be asked. */
  request(): NativeRequest
  reader(): NativeReader
  readonly decoder: NativeProtocol['decoder']
  readonly limits?: JsonLimits
}

export function callNative(transport: Transport, call: NativeCall, sink: AnswerSink): RunningCall {
  let sent: NativeRequest
  try {
    sent = call.request()
  } catch (thrown) {
    if (thrown instanceof UnsendableError) return refused(thrown, sink)
    throw thrown
  }
  const { path, headers } = sent
  const body = Buffer.from(JSON.stringify(sent.body))
  const request = {
    provider: call.endpoint.provider,
    path,
    body,
    headers: typeof headers === 'function' ? headers(body) : headers,
    streaming: call.streaming,
  }
  return new UpstreamCall(transport, request, answerReader(call, sink), sink)
}

/** The call that was never sent: it fails as soon as its caller has it. */
export function refused({ message }: UnsendableError, sink: Pick<AnswerSink, 'fail'>): RunningCall {
  let over = false
  queueMicrotask(() => {
    if (!over) sink.fail({ ...failure('unsendable', 400, message), publicMessage: message })
  })
  return {
    cancel: () => {
      over = true
    },
    resume: () => undefined,
  }
}

function answerReader(call: NativeCall, sink: AnswerSink): AnswerReader {
  const reader = call.reader()
  return {
    stream: call.streaming ? new NativeStream(call.decoder, reader, sink) : null,
    whole: (bytes) =>
      inTurns(parseWithLogprobs(bytes, call.limits), ({ json, logprobs }) => {
        if (json === undefined) return failure('garbage', null, `not JSON: ${bytes.subarray(0, 200).toString('utf8')}`)
        const read = reader.whole(json, logprobs)
        if (isFailure(read)) return read
        if (call.streaming) return failure('garbage', null, `a JSON answer to a stream of ${call.endpoint.id}`)
        if (read.length > 0) sink.push(read)
        return null
      }),
    error: (status, body, headers) => reader.error(status, body, headers),
  }
}

/** Messages of one network read become one batch of events. */
class NativeStream {
  readonly #reader: NativeReader
  readonly #sink: AnswerSink
  readonly #decoder: MessageDecoder
  #events: AnswerEvent[] = []
  #failure: AttemptFailure | null = null
  #progressed = false

  constructor(decoder: NativeProtocol['decoder'], reader: NativeReader, sink: AnswerSink) {
    this.#reader = reader
    this.#sink = sink
    this.#decoder = decoder({
      message: (data) => this.#message(data),
      error: (data) => {
        if (!reader.done) this.#failure ??= eventFailure(parseJson(data) ?? data.toString('utf8'))
      },
    })
  }

  push(bytes: Buffer): StreamProgress {
    this.#progressed = false
    if (!this.#decoder.push(bytes))
      this.#failure ??= failure(
        'too_large',
        null,
        'the stream is not of its framing, or a message of it is longer than any honest one',
      )
    // What came before an error in the same read is still the client's.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed: this.#progressed, done: this.#reader.done }
  }

  end(): AttemptFailure | null {
    this.#decoder.end()
    this.#flush()
    return this.#failure ?? this.#reader.ended()
  }

  #message(data: Buffer): void {
    if (this.#reader.done || this.#failure !== null) return
    const read = this.#reader.message(data)
    if (isFailure(read)) this.#failure = read
    else if (read.length > 0 || this.#reader.done) {
      for (const event of read) this.#events.push(event)
      this.#progressed = true
    }
  }

  #flush(): boolean {
    if (this.#events.length === 0) return true
    const events = this.#events
    this.#events = []
    return this.#sink.push(events)
  }
}

function isFailure(read: readonly AnswerEvent[] | AttemptFailure): read is AttemptFailure {
  return 'reason' in read
}
