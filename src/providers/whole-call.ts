import type { AttemptFailure, ResultSink, RunningCall, UnitCall } from './adapter.ts'
import { refused, UnsendableError, type NativeRequest } from './native.ts'
import { failure, type Transport, type UpstreamHeaders } from './transport.ts'
import { UpstreamCall } from './upstream-call.ts'

/** How a call that is answered at once is sent and read. */
export interface WholeCall<Result extends object> {
  /** Throws an `UnsendableError` for what this provider cannot be asked. */
  request(): NativeRequest
  answer(body: Buffer, headers: UpstreamHeaders): Result | AttemptFailure
  /** An error status; `body` is parsed JSON, or undefined. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
  /** The largest answer, where it is not 32 MiB. */
  readonly bytesMax?: number
}

/** One request, one JSON body back. */
export function askWhole<Result extends object>(
  transport: Transport,
  { endpoint: { provider } }: Pick<UnitCall<unknown>, 'endpoint'>,
  call: WholeCall<Result>,
  sink: ResultSink<Result>,
): RunningCall {
  let sent: NativeRequest
  try {
    sent = call.request()
  } catch (thrown) {
    if (thrown instanceof UnsendableError) return refused(thrown, sink)
    throw thrown
  }
  let result: Result | null = null
  const { path, headers } = sent
  const body = Buffer.from(JSON.stringify(sent.body))
  const request = {
    provider,
    path,
    body,
    headers: typeof headers === 'function' ? headers(body) : headers,
    streaming: false,
  }
  const reader = {
    stream: null,
    whole: (bytes: Buffer, upstreamHeaders: UpstreamHeaders): AttemptFailure | null => {
      const read = call.answer(bytes, upstreamHeaders)
      if ('reason' in read) return read
      result = read
      return null
    },
    error: (status: number, body: unknown, upstreamHeaders: UpstreamHeaders) =>
      call.error(status, body, upstreamHeaders),
    ...(call.bytesMax === undefined ? {} : { bytesMax: call.bytesMax }),
  }
  return new UpstreamCall(transport, request, reader, {
    headers: () => sink.headers(),
    push: () => true,
    end: () => (result === null ? sink.fail(failure('garbage', null, 'the answer is empty')) : sink.result(result)),
    fail: (found) => sink.fail(found),
  })
}
