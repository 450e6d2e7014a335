import { createHmac } from 'node:crypto'
import { openFor } from '../base/cipher.ts'
import { isPrivateAddress } from '../base/public-address.ts'
import { fieldError } from '../base/refusals.ts'
import { isoTime } from '../base/time.ts'
import { forbiddenUpstream } from '../catalog/upstream-address.ts'
import { secretPurpose, type Notice } from '../store/notices/notice-rows.ts'
import { DeliveryError } from './notifier.ts'
import { post } from './post.ts'
import type { Message, Way, WayPorts } from './way.ts'

/** One signed message for each notice. */
export const WEBHOOK: Way = {
  open: (ports) => async (message, stop) => {
    if (message.delivery !== null) await sendWebhook(ports, message.delivery, stop)
  },
  target: webhookAddress,
}

/** Checks the address. The addresses to which its name resolves are checked again at each connection. */
function webhookAddress(given: string, allowPrivate: boolean): string {
  const url = URL.canParse(given) ? new URL(given) : null
  const isHttp = url !== null && (url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:'))
  const isReachable = isHttp && !forbiddenUpstream(url.href) && (allowPrivate || !isPrivateAddress(url.hostname))
  if (!isReachable || url.username !== '' || url.password !== '')
    throw fieldError('target', 'webhook_address', { given })
  return url.href
}

/** The body of a webhook; docs/notifications.md lists `data` by kind. */
function webhookBody({ id, kind, accountId, atMs, detail }: Notice): string {
  return JSON.stringify({ id, type: kind, created_at: isoTime(atMs), account: accountId, data: detail })
}

/** HMAC-SHA256 over `timestamp.body`, with the whole secret as its key. */
export function signature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

async function sendWebhook(
  { cipher, clock, guarded, own, allowPrivate }: WayPorts,
  { channel, notice }: NonNullable<Message['delivery']>,
  stop: AbortSignal,
): Promise<void> {
  if (channel.secret === null) throw new DeliveryError('the channel has no secret')
  const secret = openFor(cipher, channel.secret, secretPurpose(channel.id), channel.accountId).plain.toString()
  const body = webhookBody(notice)
  const timestamp = String(Math.floor(clock.now() / 1_000))
  await post(channel.target, {
    dispatcher: channel.accountId === null && allowPrivate ? own : guarded,
    headers: {
      'x-tollgate-event-id': notice.id,
      'x-tollgate-timestamp': timestamp,
      'x-tollgate-signature': signature(secret, timestamp, body),
    },
    body,
    stop,
  })
}
