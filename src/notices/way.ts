import type { Dispatcher } from 'undici'
import type { Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeText } from './notice-text.ts'

/** The server that takes our mail. */
export interface MailConfig {
  readonly host: string
  readonly port: number
  /** `starttls`: refused without it; `implicit`: from the first byte; `none`: in the clear. */
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** null = without signing in. */
  readonly login: { readonly user: string; readonly password: string } | null
  /** The address that mail comes from. */
  readonly from: string
  /** The name beside it. */
  readonly fromName: string
}

/** The operator's bot. */
export interface TelegramConfig {
  readonly botToken: string
  readonly apiUrl: string
}

export interface WayPorts {
  readonly cipher: Cipher
  readonly clock: Pick<Clock, 'now'>
  /** null = no mail server is set. */
  readonly mail: MailConfig | null
  /** null = no bot is set. */
  readonly telegram: TelegramConfig | null
  /** Connects to public addresses only. */
  readonly guarded: Dispatcher
  /** Connects to what the operator chose: to private addresses too, to those of clouds' credentials never. */
  readonly own: Dispatcher
  /** Receivers that the operator chose may have private addresses. */
  readonly allowPrivate: boolean
}

export interface Message {
  readonly to: string
  /** The same in each attempt, so that a receiver may know a repeated message. */
  readonly id: string
  readonly text: () => NoticeText | Promise<NoticeText>
  /** null = a letter that somebody has just asked for. */
  readonly delivery: Pick<Delivery, 'channel' | 'notice'> | null
}

/** Sends one message; throws a DeliveryError when it is not taken. */
export type Send = (message: Message, stop: AbortSignal) => Promise<void>

/** A way to tell people. */
export interface Way {
  /** null = it is not set up on this service. */
  open(ports: WayPorts): Send | null
  /** The receiver as it is kept; throws for one that cannot be reached in this way. */
  target(given: string, allowPrivate: boolean): string
}
