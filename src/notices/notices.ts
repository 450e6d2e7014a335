import { fieldError } from '../base/refusals.ts'
import type { ApiError } from '../base/errors.ts'
import type { IdSource } from '../base/ids.ts'
import type { Clock } from '../base/clock.ts'
import { uniform } from '../base/rendezvous.ts'
import type { ChannelType, Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import { Letters, type LetterPorts } from './letters.ts'
import { MAIL } from './mail.ts'
import { noticeText } from './notice-text.ts'
import { DeliveryError, Notifier } from './notifier.ts'
import { TELEGRAM } from './telegram.ts'
import type { Send, Way, WayPorts } from './way.ts'
import { WEBHOOK } from './webhook.ts'

/** The ways of sending notices. */
const WAYS: ReadonlyMap<ChannelType, Way> = new Map([
  ['webhook', WEBHOOK],
  ['email', MAIL],
  ['telegram', TELEGRAM],
])
/** What is missing if a way is not set up. */
const MISSING: Readonly<Record<ChannelType, string>> = {
  webhook: 'no webhooks are sent',
  email: 'no mail server is set',
  telegram: 'no Telegram bot is set',
}

export interface NoticesPorts extends WayPorts {
  readonly store: NoticeStore
  readonly clock: Clock
  readonly ids: IdSource
  readonly leads: () => boolean
  /** The service's time zone, for times in messages. */
  readonly timezone: () => string
  readonly publicUrl: string | null
  readonly has: LetterPorts['has']
  readonly log: (message: string) => void
}

export interface Notices {
  readonly notifier: Notifier
  readonly letters: Letters
  /** The ways of sending that are set up. */
  readonly channelTypes: ReadonlySet<ChannelType>
  start(): void
  stop(): Promise<void>
}

export function openNotices(ports: NoticesPorts): Notices {
  const { store, clock, ids, leads, log, has } = ports
  const ways = new Map<ChannelType, Send>()
  for (const [type, way] of WAYS) {
    const send = way.open(ports)
    if (send !== null) ways.set(type, send)
  }
  const send = (delivery: Delivery, stop: AbortSignal): Promise<void> => deliver(ports, ways, delivery, stop)
  const notifier = new Notifier({ store, clock, leads, send, random: uniform, log })
  const letters = new Letters({ ways, clock, log, newId: () => `ltr_${ids.letters(24)}`, has })
  return {
    notifier,
    letters,
    channelTypes: new Set(ways.keys()),
    start: () => notifier.start(),
    stop: async () => {
      await Promise.all([letters.stop(), notifier.stop()])
    },
  }
}

async function deliver(
  { store, timezone, publicUrl }: NoticesPorts,
  ways: ReadonlyMap<ChannelType, Send>,
  delivery: Delivery,
  stop: AbortSignal,
): Promise<void> {
  const { notice, channel } = delivery
  const { type, target: to, language } = channel
  if (to === '')
    throw new DeliveryError('the address cannot be read: TOLLGATE_KEK no longer holds the key that it was sealed with')
  const send = ways.get(type)
  if (send === undefined) throw new DeliveryError(MISSING[type])
  const text = async () => noticeText(notice, await store.names(notice), { language, timezone: timezone(), publicUrl })
  await send({ to, id: notice.id, text, delivery }, stop)
}

/** The receiver in the form in which it is stored; throws if it cannot be reached. */
export function checkedTarget(type: ChannelType, given: string, allowPrivate: boolean): string {
  const way = WAYS.get(type)
  if (way === undefined) throw notSetUp(type)
  return way.target(given, allowPrivate)
}

export function notSetUp(type: ChannelType): ApiError {
  return fieldError('type', 'not_set_up', { given: type })
}
