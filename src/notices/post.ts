import type { Dispatcher } from 'undici'
import { request } from '../lib/http-request.ts'
import { DeliveryError } from './delivery-error.ts'

const TIMEOUT_MS = 10_000
/** Read of an answer before its connection is closed. */
const ANSWER_BYTES_MAX = 16_384

/** Posts JSON; throws a DeliveryError where it is not taken. No redirect is followed. */
export async function post(
  url: string,
  {
    dispatcher,
    headers = {},
    body,
    stop,
  }: {
    readonly dispatcher: Dispatcher
    readonly headers?: Readonly<Record<string, string>>
    readonly body: string
    readonly stop: AbortSignal
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
    await answer.body.dump({ limit: ANSWER_BYTES_MAX })
    if (answer.statusCode < 200 || answer.statusCode > 299) throw new DeliveryError(`it answered ${answer.statusCode}`)
  } catch (thrown) {
    if (thrown instanceof DeliveryError) throw thrown
    throw new DeliveryError(reasonOf(thrown), { cause: thrown })
  }
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it could not be reached'
  if (thrown.name === 'AddressRefusedError') return 'its address is not public'
  if (thrown.name === 'TimeoutError') return `it did not answer within ${TIMEOUT_MS / 1_000} seconds`
  return 'it could not be reached'
}
