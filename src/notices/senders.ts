import { type Delivery, secretPurpose, type Channel, type Notice } from '../store/notices/notice-rows.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import { DeliveryError } from './notifier.ts'
import type { Mailer } from './mailer.ts'
import { noticeText, type NoticeText } from './notice-text.ts'
import { sendTelegram, type Telegram } from './telegram.ts'
import { createHmac } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { openFor, type Cipher } from '../base/cipher.ts'
import { post } from './post.ts'
import { isoTime } from '../base/time.ts'

export interface SenderPorts {
  readonly store: Pick<NoticeStore, 'names'>
  readonly webhooks: WebhookPorts
  /** null = no mail server is set. */
  readonly mailer: Mailer | null
  /** null = no bot is set. */
  readonly telegram: Telegram | null
  /** Of the service, for the times in messages. */
  readonly timezone: () => string
  readonly publicUrl: string | null
}

/** Sends a message through the kind of its channel; throws a DeliveryError when it is not taken. */
export async function sendDelivery(
  ports: SenderPorts,
  delivery: Delivery,
  nowMs: number,
  stop: AbortSignal,
): Promise<void> {
  const { channel, notice } = delivery
  const { webhooks, mailer, telegram } = ports
  if (channel.target === '')
    throw new DeliveryError('the address cannot be read: TOLLGATE_KEK no longer holds the key that it was sealed with')
  switch (channel.type) {
    case 'webhook':
      return sendWebhook(webhooks, channel, notice, nowMs, stop)
    case 'email':
      if (mailer === null) throw new DeliveryError('no mail server is set')
      return mailer.send({ to: channel.target, id: notice.id, ...(await textOf(ports, delivery)) }, stop)
    case 'telegram':
      if (telegram === null) throw new DeliveryError('no Telegram bot is set')
      return sendTelegram(telegram, channel.target, (await textOf(ports, delivery)).text, stop)
  }
}

async function textOf(
  { store, timezone, publicUrl }: SenderPorts,
  { notice, channel: { language } }: Delivery,
): Promise<NoticeText> {
  return noticeText(notice, await store.names(notice), { language, timezone: timezone(), publicUrl })
}

interface WebhookPorts {
  readonly cipher: Cipher
  /** Connects to public addresses only. */
  readonly guarded: Dispatcher
  /** For the operator's own receivers, where private addresses are allowed; null = they are not. */
  readonly own: Dispatcher | null
}

/** The body of a webhook, and `data` by kind as docs/notifications.md lists them. */
function webhookBody({ id, kind, accountId, atMs, detail }: Notice): string {
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
  const secret = openFor(cipher, channel.secret, secretPurpose(channel.id), channel.accountId).plain.toString()
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
