import { createHmac } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Cipher } from '../lib/cipher.ts'
import { secretPurpose, type Channel, type Notice } from '../store/notices/notice-rows.ts'
import { DeliveryError } from './delivery-error.ts'
import { post } from './post.ts'
import { isoTime } from '../base/time.ts'

export interface WebhookPorts {
  readonly cipher: Cipher
  /** Connects to public addresses only. */
  readonly guarded: Dispatcher
  /** For the operator's own receivers, where private addresses are allowed; null = they are not. */
  readonly own: Dispatcher | null
}

/** The body of a webhook, and `data` by kind as docs/notifications.md lists them. */
export function webhookBody({ id, kind, accountId, atMs, detail }: Notice): string {
  return JSON.stringify({ id, type: kind, created_at: isoTime(atMs), account: accountId, data: detail })
}

/** HMAC-SHA256 over `timestamp.body`, with the whole secret as its key. */
export function signature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** Sends one signed message; throws a DeliveryError when it is not taken. */
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
  await post(channel.target, {
    dispatcher: channel.accountId === null && own !== null ? own : guarded,
    headers: {
      'x-tollgate-event-id': notice.id,
      'x-tollgate-timestamp': timestamp,
      'x-tollgate-signature': signature(secret, timestamp, body),
    },
    body,
    stop,
  })
}
