import type { Endpoint } from '../../catalog/catalog.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import {
  type AnswerSink,
  type ResultSink,
  type RunningCall,
  UnsendableError,
  type UpstreamRequest,
} from '../ports/call.ts'
import { LiftedBody, type LiftedJson } from '../wire/lifted-json.ts'
import { SseDecoder } from '../wire/stream-decoders.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import {
  UpstreamResponse,
  type AnswerState,
  type PieceReader,
  type ReadsError,
  type ResponseReader,
  type StreamReader,
} from './response.ts'

/** The upstream, and the form of its answer. */
export interface Asked {
  readonly endpoint: Pick<Endpoint, 'provider'>
  readonly streaming: boolean
}

/** Sends a request. The reader turns the response into content for the sink. */
export function ask(
  transport: Transport,
  { endpoint: { provider }, streaming }: Asked,
  { path, body: given, headers }: UpstreamRequest,
  reader: ResponseReader,
  sink: AnswerSink,
): UpstreamResponse {
  const body = Buffer.isBuffer(given) ? given : Buffer.from(JSON.stringify(given))
  const signed = typeof headers === 'function' ? headers(body) : headers
  return new UpstreamResponse(transport, { provider, path, body, headers: signed, streaming }, reader, sink)
}

/** Starts a call if the provider's protocol can express the request; otherwise the call fails after it is returned. */
export function whenSendable(start: () => RunningCall, sink: Pick<AnswerSink, 'fail'>): RunningCall {
  try {
    return start()
  } catch (thrown) {
    if (!(thrown instanceof UnsendableError)) throw thrown
    let over = false
    queueMicrotask(() => {
      if (!over) sink.fail(unsendable(thrown))
    })
    return {
      cancel: () => {
        over = true
      },
      resume: () => undefined,
    }
  }
}

export function unsendable({ message }: UnsendableError): AttemptFailure {
  return { ...failure('unsendable', 400, message), publicMessage: message }
}

/** A request whose answer is read when all of it has come. */
export interface WholeAsk {
  /** Throws an `UnsendableError` if this provider cannot express the request. */
  request(): UpstreamRequest
  /** Reads the failure of an error status whose words are in none of the usual fields (wire/error-body.ts). */
  readonly error?: ReadsError
  /** The largest accepted answer; absent = 32 MiB. */
  readonly bytesMax?: number
}

/** Reads all bytes of an answer. */
export interface WholeReader<Result extends object> {
  answer(body: Buffer, headers: UpstreamHeaders): Result | AttemptFailure
  /** Reads an event of a service that always streams; null = it is not the last event, which has the whole result. */
  event?(data: Buffer, headers: UpstreamHeaders): Result | AttemptFailure | null
}

/** The same with a reader of the answer: of all its bytes, or of JSON whose vectors and files stay bytes. */
export type WholeRequest<Result extends object> = WholeAsk &
  (WholeReader<Result> | { lifted(answer: LiftedJson, headers: UpstreamHeaders): Result | AttemptFailure })

/** One request, one result. */
export function askWhole<Result extends object>(
  transport: Transport,
  { endpoint }: Pick<Asked, 'endpoint'>,
  asked: WholeRequest<Result>,
  sink: ResultSink<Result>,
): RunningCall {
  let result: Result | null = null
  const take = (read: Result | AttemptFailure): AttemptFailure | null => {
    if ('reason' in read) return read
    result = read
    return null
  }
  let head: UpstreamHeaders = {}
  const readEvent = 'event' in asked ? asked.event : undefined
  const reader: ResponseReader = {
    answered: (headers) => {
      head = headers
      return null
    },
    stream: readEvent === undefined ? null : lastEventReader((data) => readEvent(data, head), take),
    whole: 'lifted' in asked ? liftedReader(asked.lifted, take) : (body, headers) => take(asked.answer(body, headers)),
    ...(asked.error === undefined ? {} : { error: asked.error }),
    ...(asked.bytesMax === undefined ? {} : { bytesMax: asked.bytesMax }),
  }
  const answers: AnswerSink = {
    headers: () => sink.headers(),
    push: () => true,
    end: () => (result === null ? sink.fail(failure('garbage', null, 'the answer is empty')) : sink.result(result)),
    fail: (found) => sink.fail(found),
  }
  return whenSendable(() => ask(transport, { endpoint, streaming: false }, asked.request(), reader, answers), sink)
}

/** A reader that looks for the event with the result. */
function lastEventReader<Result>(
  read: (data: Buffer) => Result | AttemptFailure | null,
  take: (read: Result | AttemptFailure) => AttemptFailure | null,
): StreamReader {
  let found: AttemptFailure | null = null
  let state: AnswerState = 'open'
  const decoder = new SseDecoder({
    event: (data) => {
      const result = state === 'open' ? read(data) : null
      if (result === null) return
      state = 'done'
      found = take(result)
    },
    errorLine: () => undefined,
  })
  const tooLong = failure('too_large', null, 'an event is longer than 1 MiB')
  return {
    push: (bytes) => {
      if (!decoder.push(bytes)) found ??= tooLong
      return { failure: found, flowing: true, progressed: true, state }
    },
    end: () => {
      decoder.end()
      return state === 'open' ? failure('cut', null, 'the stream ended without its last event') : found
    },
  }
}

function liftedReader<Result>(
  read: (answer: LiftedJson, headers: UpstreamHeaders) => Result | AttemptFailure,
  take: (read: Result | AttemptFailure) => AttemptFailure | null,
): PieceReader {
  const body = new LiftedBody()
  return {
    push: (bytes) => body.push(bytes),
    end: (headers) => {
      const answer = body.end()
      return take(answer === undefined ? failure('garbage', null, 'not JSON') : read(answer, headers))
    },
    isWholeJson: () => body.isWholeJson(),
  }
}
