import type { Dispatcher } from 'undici'
import { request } from '../base/http-request.ts'
import { DeliveryError, SILENT_REST_MS } from './notifier.ts'

const TIMEOUT_MS = 10_000
const TOO_MANY = 429
const UNAVAILABLE = 503
/** The longest pause that a receiver may ask for. */
const REST_MS_MAX = 3_600_000
/** The most bytes of an answer that are read before its connection is closed. */
const ANSWER_BYTES_MAX = 16_384

/** Posts JSON; throws a DeliveryError if it is not accepted. No redirect is followed. */
export async function post(
  url: string,
  {
    dispatcher,
    headers = {},
    body,
    stop,
    restSeconds = () => null,
  }: {
    readonly dispatcher: Dispatcher
    readonly headers?: Readonly<Record<string, string>>
    readonly body: string
    readonly stop: AbortSignal
    /** The pause that the body of an answer asks for; null = it asks for none. */
    readonly restSeconds?: (body: string) => number | null
  },
): Promise<void> {
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher,
      signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: { 'content-type': 'application/json', 'user-agent': 'tollgate', ...headers },
      body,
    })
    // A discarded body without an error listener could end the process.
    answer.body.on('error', () => undefined)
    const { statusCode: status } = answer
    if (status !== TOO_MANY && status !== UNAVAILABLE) await answer.body.dump({ limit: ANSWER_BYTES_MAX })
    if (status >= 200 && status <= 299) return
    const asked = status === TOO_MANY || status === UNAVAILABLE ? await restOf(answer, restSeconds) : 0
    throw new DeliveryError(`it answered ${status}`, { restMs: Math.min(Math.max(asked, 0) * 1_000, REST_MS_MAX) })
  } catch (thrown) {
    if (thrown instanceof DeliveryError) throw thrown
    throw new DeliveryError(reasonOf(thrown), { cause: thrown, restMs: SILENT_REST_MS })
  }
}

/** The seconds of pause that the answer asks for, in its body or else in `Retry-After`; a date there is not read. */
async function restOf(
  { body, headers }: Awaited<ReturnType<typeof request>>,
  restSeconds: (text: string) => number | null,
): Promise<number> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) break
    parts.push(part)
  }
  const header = String(headers['retry-after'] ?? '')
  return restSeconds(Buffer.concat(parts).toString()) ?? (/^\d{1,9}$/.test(header) ? Number(header) : 0)
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it could not be reached'
  if (thrown.name === 'AddressRefusedError') return 'its address is not public'
  if (thrown.name === 'TimeoutError') return `it did not answer within ${TIMEOUT_MS / 1_000} seconds`
  return 'it could not be reached'
}
