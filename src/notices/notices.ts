import type { Dispatcher } from 'undici'
import type { Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import { uniform } from '../base/uniform.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import { Letters, type LetterPorts } from './letters.ts'
import { Mailer, type MailConfig } from './mailer.ts'
import { Notifier } from './notifier.ts'
import { sendDelivery, type SenderPorts } from './senders.ts'
import type { Telegram } from './telegram.ts'

export interface NoticesPorts {
  readonly store: NoticeStore
  readonly cipher: Cipher
  readonly clock: Clock
  readonly ids: IdSource
  readonly leads: () => boolean
  /** null = no mail server is set. */
  readonly mail: MailConfig | null
  /** null = no bot is set. */
  readonly telegram: Omit<Telegram, 'dispatcher'> | null
  readonly timezone: () => string
  readonly publicUrl: string | null
  /** Connects to public addresses only. */
  readonly guarded: Dispatcher
  /** Connects to what the operator chose: to private addresses too, to those of clouds' credentials never. */
  readonly own: Dispatcher
  /** Receivers that the operator chose may have private addresses. */
  readonly allowPrivate: boolean
  readonly has: LetterPorts['has']
  readonly log: (message: string) => void
}

/** The ways to tell people. */
export interface Notices {
  readonly notifier: Notifier
  readonly letters: Letters
  start(): void
  stop(): Promise<void>
}

export function openNotices(ports: NoticesPorts): Notices {
  const { store, cipher, clock, ids, leads, telegram, timezone, publicUrl, guarded, own, log, has } = ports
  const mailer = ports.mail === null ? null : new Mailer(ports.mail)
  const senders: SenderPorts = {
    store,
    webhooks: { cipher, guarded, own: ports.allowPrivate ? own : null },
    mailer,
    telegram: telegram === null ? null : { ...telegram, dispatcher: own },
    timezone,
    publicUrl,
  }
  const send = (delivery: Parameters<typeof sendDelivery>[1], stop: AbortSignal): Promise<void> =>
    sendDelivery(senders, delivery, clock.now(), stop)
  const notifier = new Notifier({ store, clock, leads, send, random: uniform, log })
  const newId = (): string => `ltr_${ids.letters(24)}`
  const letters = new Letters({ mailer, telegram: senders.telegram, clock, log, newId, has })
  return {
    notifier,
    letters,
    start: () => notifier.start(),
    stop: async () => {
      await Promise.all([letters.stop(), notifier.stop()])
    },
  }
}
