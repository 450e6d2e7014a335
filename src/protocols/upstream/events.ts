import type { Endpoint } from '../../catalog/catalog.ts'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { Progress } from '../../kinds/answer/progress.ts'
import type { JsonBytes } from '../../base/json-text.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { Adapter } from '../ports/adapter.ts'
import type { AnswerSink, ChatCall, CompletionsCall, RunningCall, JsonRequest, UpstreamRequest } from '../ports/call.ts'
import { parseWithLogprobs, type LogprobsPlace } from '../wire/lifted-logprobs.ts'
import { parseJson } from '../wire/raw-json.ts'
import { SseDecoder } from '../wire/stream-decoders.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { eventFailure } from '../wire/upstream-error.ts'
import { ask, whenSendable } from './ask.ts'
import { inTurns, type AnswerState, type ReadsError, type ResponseReader, type StreamProgress } from './response.ts'

/** Reads one answer into events. It has state: each call has its own reader. */
export interface EventReader {
  /** Reads the head of a successful answer before its body. */
  answered?(headers: UpstreamHeaders): void
  /** One message of a stream. */
  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure
  /** Reads at once complete server-sent events from `start` that are known by their bytes; null = none. */
  known?(bytes: Buffer, start: number): KnownEvents | null
  readonly state: AnswerState
  /** The message about an answer that is not JSON; absent = a general one. */
  readonly notJson?: string
  /** Called when the body of a stream has ended; null = the answer is complete. */
  ended(): AttemptFailure | null
  /**
   * Reads the parsed body of a plain answer, and the probabilities lifted out of it. For a service that always streams,
   * it reads only JSON that came in place of a stream, such as an error with a good status.
   */
  whole(body: unknown, logprobs?: readonly JsonBytes[]): readonly AnswerEvent[] | AttemptFailure
  /** Reads the failure of an error status whose words are in none of the usual fields (wire/error-body.ts). */
  error?: ReadsError
}

export interface KnownEvents {
  readonly read: readonly AnswerEvent[] | AttemptFailure
  /** The index at which the next event begins. */
  readonly end: number
}

/** Splits the body of a stream into messages. */
export interface MessageDecoder {
  /** false = the bytes have another framing, or a message is longer than any real one. */
  push(bytes: Buffer): boolean
  end(): void
}

/** Makes the decoder of one answer. */
export type MessageDecoding = (events: {
  readonly message: (data: Buffer) => void
  readonly error: (data: Buffer) => void
  /**
   * Takes complete server-sent events that it knows by their bytes, and returns the index at which the next one begins:
   * `start` if it knows none.
   */
  readonly known: (bytes: Buffer, start: number) => number
}) => MessageDecoder

/** Each server-sent event is a message. */
export const sseMessages: MessageDecoding = ({ message, error, known }) =>
  new SseDecoder({ event: message, errorLine: error, known })

/** How to send one call, and how to read its answer as events. */
export interface EventRequest {
  /** Throws an `UnsendableError` if this provider cannot express the request. */
  request(): UpstreamRequest
  reader(): EventReader
  readonly decoder: MessageDecoding
  /** The place of the probabilities in a plain answer; absent = OpenAI's. */
  readonly logprobs?: LogprobsPlace
}

/** The parts that are the same for every chat of a protocol. */
export interface ChatProtocol<Request = JsonRequest> extends Pick<EventRequest, 'decoder' | 'logprobs'> {
  request(call: ChatCall): Request
  reader(call: ChatCall): EventReader
  /** Whether the provider is asked for a stream; absent = it is if the client asks for one. */
  streams?(call: ChatCall): boolean
}

/**
 * The chat calls of a protocol that answers streamed or plain as requested, and whose messages are all parsed into
 * events. A service that always streams is asked by `askEvents` with `streaming: true`: a plain answer is made of its
 * events.
 */
export function askChat(
  protocol: ChatProtocol<UpstreamRequest>,
  transport: Transport,
): (call: ChatCall, sink: AnswerSink) => RunningCall {
  return (call, sink) => {
    const { endpoint, request } = call
    const streaming = protocol.streams?.(call) ?? request.stream
    return askEvents(
      transport,
      { endpoint, streaming, takesWhole: !request.stream },
      { ...protocol, request: () => protocol.request(call), reader: () => protocol.reader(call) },
      sink,
    )
  }
}

/** Text completions of a protocol; `takesList`: whether all prompts of a request are sent in one call. */
export function askCompletions(
  transport: Transport,
  takesList: boolean,
  {
    request,
    reader,
    decoder,
  }: Pick<EventRequest, 'decoder'> & {
    readonly request: (call: CompletionsCall) => UpstreamRequest
    readonly reader: (call: CompletionsCall) => EventReader
  },
): NonNullable<Adapter['completions']> {
  return {
    takesList,
    ask: (call, sink) =>
      askEvents(
        transport,
        { endpoint: call.endpoint, streaming: call.request.chat.stream },
        { decoder, request: () => request(call), reader: () => reader(call) },
        sink,
      ),
  }
}

interface AskedEvents {
  readonly endpoint: Endpoint
  readonly streaming: boolean
  /** Whether JSON in place of a stream is also an answer, since only the provider wants the stream; absent = no. */
  readonly takesWhole?: boolean
}

/** Sends a request whose answer becomes events, streamed or not. */
export function askEvents(
  transport: Transport,
  asked: AskedEvents,
  asking: EventRequest,
  sink: AnswerSink,
): RunningCall {
  return whenSendable(() => ask(transport, asked, asking.request(), eventsReader(asked, asking, sink), sink), sink)
}

function eventsReader(
  { endpoint, streaming, takesWhole = false }: AskedEvents,
  { reader: newReader, decoder, logprobs: place }: EventRequest,
  sink: AnswerSink,
): ResponseReader {
  const reader = newReader()
  return {
    answered: (headers) => {
      reader.answered?.(headers)
      return null
    },
    stream: streaming ? new EventStream(decoder, reader, sink) : null,
    whole: (bytes) =>
      inTurns(parseWithLogprobs(bytes, place), ({ json, logprobs }) => {
        if (json === undefined) return garbage(reader.notJson ?? 'not JSON', bytes)
        const read = reader.whole(json, logprobs)
        if (isFailure(read)) return read
        if (streaming && !takesWhole) return failure('garbage', null, `a JSON answer to a stream of ${endpoint.id}`)
        if (read.length > 0) sink.push(read)
        return null
      }),
    error: (status, body, read) => reader.error?.(status, body, read) ?? read(body),
  }
}

/** Turns the messages of one network read into one batch of events. */
export class EventStream {
  readonly #reader: EventReader
  readonly #sink: AnswerSink
  readonly #decoder: MessageDecoder
  #events: AnswerEvent[] = []
  #failure: AttemptFailure | null = null
  readonly #progress = new Progress()

  constructor(decoder: MessageDecoding, reader: EventReader, sink: AnswerSink) {
    this.#reader = reader
    this.#sink = sink
    this.#decoder = decoder({
      message: (data) => this.#message(data),
      error: (data) => {
        if (reader.state !== 'done') this.#failure ??= eventFailure(parseJson(data) ?? data.toString('utf8'))
      },
      known: (bytes, start) => this.#known(bytes, start),
    })
  }

  push(bytes: Buffer): StreamProgress {
    if (!this.#decoder.push(bytes))
      this.#failure ??= failure(
        'too_large',
        null,
        'the stream is not of its framing, or a message of it is longer than any honest one',
      )
    const progressed = this.#progress.isMade(this.#events)
    // Content before an error in the same read still goes to the client.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed, state: this.#reader.state }
  }

  end(): AttemptFailure | null {
    const isComplete = this.#reader.state !== 'open'
    this.#decoder.end()
    this.#flush()
    // After the finish there may be half an event.
    return isComplete ? null : (this.#failure ?? this.#reader.ended())
  }

  #known(bytes: Buffer, start: number): number {
    if (this.#reader.state === 'done' || this.#failure !== null) return start
    const known = this.#reader.known?.(bytes, start) ?? null
    if (known === null) return start
    this.#take(known.read)
    return known.end
  }

  #message(data: Buffer): void {
    if (this.#reader.state === 'done' || this.#failure !== null) return
    this.#take(this.#reader.message(data))
  }

  #take(read: readonly AnswerEvent[] | AttemptFailure): void {
    if (isFailure(read)) this.#failure = read
    else for (const event of read) this.#events.push(event)
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
