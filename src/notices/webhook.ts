import { createHmac } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { request } from '../lib/http-request.ts'
import type { Cipher } from '../lib/cipher.ts'
import { secretPurpose, type Channel, type Notice } from '../store/notices/notice-store.ts'

const TIMEOUT_MS = 10_000
/** Read of an answer before its connection is closed. */
const ANSWER_BYTES_MAX = 16_384

/** A message was not taken. `message` is for its owner; it holds nothing of the answer but its status. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
}

export interface WebhookPorts {
  readonly cipher: Cipher
  /** Connects to public addresses only. */
  readonly guarded: Dispatcher
  /** For the operator's own receivers, where private addresses are allowed; null = they are not. */
  readonly own: Dispatcher | null
}

/** The body of a webhook, and `data` by kind as docs/notifications.md lists them. */
export function webhookBody({ id, kind, accountId, atMs, detail }: Notice): string {
  return JSON.stringify({ id, type: kind, created_at: new Date(atMs).toISOString(), account: accountId, data: detail })
}

/** HMAC-SHA256 over `timestamp.body`, with the whole secret as its key. */
export function signature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** Sends one signed message; throws a DeliveryError when it is not taken. No redirect is followed. */
export async function sendWebhook(
  { cipher, guarded, own }: WebhookPorts,
  channel: Channel,
  notice: Notice,
  nowMs: number,
  stop: AbortSignal,
): Promise<void> {
  if (channel.secret === null) throw new DeliveryError('the channel has no secret')
  const secret = cipher.decrypt(channel.secret, secretPurpose(channel.id)).toString()
  const body = webhookBody(notice)
  const timestamp = String(Math.floor(nowMs / 1_000))
  try {
    const answer = await request(channel.target, {
      method: 'POST',
      dispatcher: channel.accountId === null && own !== null ? own : guarded,
      signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tollgate',
        'x-tollgate-event-id': notice.id,
        'x-tollgate-timestamp': timestamp,
        'x-tollgate-signature': signature(secret, timestamp, body),
      },
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
