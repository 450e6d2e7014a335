import type { AttemptFailure, ResultSink, RunningCall } from './adapter.ts'
import { UnsendableError } from './native.ts'
import { objectOf, parseJson } from './raw-json.ts'
import { failure, type ExchangeRequest, type Transport, type UpstreamHeaders } from './transport.ts'
import { UpstreamCall } from './upstream-call.ts'
import { eventFailure } from './upstream-error.ts'

/** A step that failed as providers fail. */
export class CallFailedError extends Error {
  override readonly name = 'CallFailedError'
  readonly failure: AttemptFailure

  constructor(found: AttemptFailure) {
    super(found.detail)
    this.failure = found
  }
}

export interface CallContext {
  /** Aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal
  /** A provider has answered 200. */
  readonly headers: () => void
}

/** Runs a call that takes several exchanges; whatever it throws is its failure. */
export function inSteps<Result>(
  work: (context: CallContext) => Promise<Result>,
  sink: ResultSink<Result>,
): RunningCall {
  const stop = new AbortController()
  let answered = false
  const headers = (): void => {
    if (!answered && !stop.signal.aborted) sink.headers()
    answered = true
  }
  const run = async (): Promise<void> => {
    // The sink hears nothing before its call has returned.
    await Promise.resolve()
    try {
      const result = await work({ signal: stop.signal, headers })
      if (!stop.signal.aborted) sink.result(result)
    } catch (thrown) {
      if (!stop.signal.aborted) sink.fail(failureOf(thrown))
    }
  }
  // It ends in the sink, or nobody waits for it.
  void run()
  return { cancel: () => stop.abort(), resume: () => undefined }
}

function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof CallFailedError) return thrown.failure
  if (thrown instanceof UnsendableError)
    return { ...failure('unsendable', 400, thrown.message), publicMessage: thrown.message }
  return failure('garbage', null, thrown instanceof Error ? thrown.message : String(thrown))
}

export interface UpstreamExchange extends CallContext {
  readonly transport: Transport
  readonly request: ExchangeRequest
  readonly bytesMax: number
  /** Reads the body of an error status, parsed or undefined. */
  readonly error: (status: number, body: unknown, headers: UpstreamHeaders) => AttemptFailure
}

/** One exchange of JSON. Rejects with a CallFailedError, also for an error inside a 200. */
export async function exchangeJson(exchange: UpstreamExchange): Promise<unknown> {
  const bytes = await exchangeBytes(exchange)
  const body = parseJson(bytes)
  if (body === undefined)
    throw new CallFailedError(failure('garbage', null, `not JSON: ${bytes.subarray(0, 200).toString('utf8')}`))
  const said = objectOf(body)?.['error'] ?? null
  if (said !== null) throw new CallFailedError(eventFailure(said))
  return body
}

/** The body of a good answer, whatever it is. Rejects with a CallFailedError. */
export function exchangeBytes({
  transport,
  request,
  bytesMax,
  error,
  signal,
  headers,
}: UpstreamExchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.alloc(0)
    const reader = {
      stream: null,
      bytesMax,
      whole: (bytes: Buffer): AttemptFailure | null => {
        body = bytes
        return null
      },
      error,
    }
    const fail = (found: AttemptFailure): void => reject(new CallFailedError(found))
    const call = new UpstreamCall(transport, request, reader, {
      headers,
      push: () => true,
      end: () => resolve(body),
      fail,
    })
    const abort = (): void => {
      call.cancel()
      fail(failure('cancelled', null, 'cancelled'))
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
