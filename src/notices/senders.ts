import type { Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import { DeliveryError } from './delivery-error.ts'
import type { Mailer } from './mailer.ts'
import { noticeText, type NoticeText } from './notice-text.ts'
import { sendTelegram, type Telegram } from './telegram.ts'
import { sendWebhook, type WebhookPorts } from './webhook.ts'

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
