import type { Endpoint } from '../../catalog/catalog.ts'
import { failure, garbage, type AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import type { TranscriptionResult } from '../../providers/ports/audio-protocol.ts'
import type { AnswerSink, ResultSink, RunningCall } from '../ports/call.ts'
import type { RerankCall, RerankProtocol } from './rerank.ts'
import type { RerankAnswer } from '../../kinds/rerank/answer.ts'
import { UnsendableError, type UpstreamRequest } from '../ports/upstream-request.ts'
import { LiftedBody, type LiftedJson } from '../wire/lifted-json.ts'
import { LISTING_LIMITS, parseJson } from '../wire/raw-json.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { UpstreamResponse, type PieceReader, type ResponseReader } from './response.ts'

/**
 * The words of a sound of 10 MB with their times are less than 10 MB, whatever its codec. A client gets each of them up
 * to twice, and 30 MB of text took 0.2 s to write.
 */
export const TRANSCRIPT_BYTES_MAX = 12 * 1_048_576

/** The upstream, and how its answer comes. */
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

/** Starts a call, if the provider's protocol can express the request; else the call fails once its caller has it. */
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
  /** Throws an `UnsendableError` for a request that this provider cannot express. */
  request(): UpstreamRequest
  /** The failure of an error status; `body` is parsed JSON, or undefined. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
  /** The largest accepted answer; absent = 32 MiB. */
  readonly bytesMax?: number
}

/** The same with the reader of its answer: of all bytes, or of JSON whose vectors and files are left as bytes. */
export type WholeRequest<Result extends object> = WholeAsk &
  (
    | { answer(body: Buffer, headers: UpstreamHeaders): Result | AttemptFailure }
    | { lifted(answer: LiftedJson, headers: UpstreamHeaders): Result | AttemptFailure }
  )

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
  const reader: ResponseReader = {
    stream: null,
    whole: 'lifted' in asked ? liftedReader(asked.lifted, take) : (body, headers) => take(asked.answer(body, headers)),
    error: asked.error,
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
  }
}

/** Asks a provider what was said. */
export function askTranscript(
  transport: Transport,
  call: Pick<Asked, 'endpoint'>,
  request: WholeRequest<TranscriptionResult>,
  sink: ResultSink<TranscriptionResult>,
): RunningCall {
  return askWhole(transport, call, { ...request, bytesMax: TRANSCRIPT_BYTES_MAX }, sink)
}

/** Asks a provider for rankings. */
export function askRerank(
  protocol: RerankProtocol,
  transport: Transport,
): (call: RerankCall, sink: ResultSink<RerankAnswer>) => RunningCall {
  return (call, sink) =>
    askWhole<RerankAnswer>(
      transport,
      call,
      {
        request: () => protocol.request(call),
        answer: (bytes) => {
          const body = parseJson(bytes, LISTING_LIMITS)
          return body === undefined ? garbage('not JSON', bytes) : protocol.answer(body, call)
        },
        error: (status, body, headers) => protocol.error(status, body, headers),
      },
      sink,
    )
}
