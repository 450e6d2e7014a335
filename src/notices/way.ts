import type { Dispatcher } from 'undici'
import type { Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeText } from './notice-text.ts'

/** The server that takes our mail. */
export interface MailConfig {
  readonly host: string
  readonly port: number
  /** `starttls`: a server without it is refused; `implicit`: TLS from the first byte; `none`: unencrypted. */
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** null = the service does not sign in. */
  readonly login: { readonly user: string; readonly password: string } | null
  /** The address from which mail is sent. */
  readonly from: string
  /** The name next to that address. */
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
  /** null = no mail server is configured. */
  readonly mail: MailConfig | null
  /** null = no bot is configured. */
  readonly telegram: TelegramConfig | null
  /** Connects only to public addresses. */
  readonly guarded: Dispatcher
  /**
   * Connects to receivers that the operator chose: also to private addresses, but never to those that serve credentials
   * of clouds.
   */
  readonly own: Dispatcher
  /** Whether receivers that the operator chose may have private addresses. */
  readonly allowPrivate: boolean
}

export interface Message {
  readonly to: string
  /** The same in each attempt, so that a receiver can recognise a repeated message. */
  readonly id: string
  readonly text: () => NoticeText | Promise<NoticeText>
  /** null = a letter that a person has just asked for. */
  readonly delivery: Pick<Delivery, 'channel' | 'notice'> | null
}

/** Sends one message; throws a DeliveryError if it is not accepted. */
export type Send = (message: Message, stop: AbortSignal) => Promise<void>

/** A way of sending notices. */
export interface Way {
  /** null = it is not set up on this service. */
  open(ports: WayPorts): Send | null
  /** The receiver in the form in which it is stored; throws if it cannot be reached in this way. */
  target(given: string, allowPrivate: boolean): string
}
