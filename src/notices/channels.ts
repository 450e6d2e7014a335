import { randomBytes } from 'node:crypto'
import { purposeOf, type Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import type { ApiError } from '../base/errors.ts'
import { reasonError } from '../base/refusals.ts'
import { secretPurpose, type Channel, type ChannelType, type Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import { checkedTarget, notSetUp } from './notices.ts'
import { NoticeChannel, type NoticeChannelBody, NoticeDelivery } from './contract.ts'
import { isoTime } from '../base/time.ts'
import { wire } from '../base/wire-route.ts'

const SECRET_BYTES = 32

export interface ChannelPorts {
  readonly ids: IdSource
  readonly clock: Clock
  readonly cipher: Cipher
  /** The types that are set up on this service. */
  readonly channelTypes: ReadonlySet<ChannelType>
}

/**
 * A new channel of the operator's (`accountId` null) or of an account. `secret` signs webhooks, and is null for other
 * types.
 */
export function newChannel(
  { ids, clock, cipher, channelTypes }: ChannelPorts,
  { type = 'webhook', target, kinds, language = 'en' }: NoticeChannelBody,
  {
    accountId,
    allowPrivate,
    externalId = null,
    vouched = accountId === null,
  }: {
    readonly accountId: string | null
    readonly allowPrivate: boolean
    readonly externalId?: string | null
    /** An operator named the receiver, so it needs no confirmation. */
    readonly vouched?: boolean
  },
): { readonly channel: Channel; readonly secret: string | null } {
  if (!channelTypes.has(type)) throw notSetUp(type)
  const id = `chn_${ids.letters(16)}`
  const secret = type === 'webhook' ? `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}` : null
  return {
    secret,
    channel: {
      id,
      accountId,
      externalId,
      type,
      target: checkedTarget(type, target, allowPrivate),
      secret: secret === null ? null : cipher.encrypt(Buffer.from(secret), purposeOf(secretPurpose(id), accountId)),
      kinds: [...new Set(kinds)],
      language,
      enabled: true,
      createdAtMs: clock.now(),
      // A customer could name the mailbox of somebody else, so it must be confirmed.
      confirmed: vouched || type === 'webhook',
    },
  }
}

/** The most channels of an account. */
export const ACCOUNT_CHANNELS_MAX = 5

export function tooManyChannels(most: number): ApiError {
  return reasonError('channels_most', { most })
}

/** Raises a notice that only this channel gets. Returns its id. */
export async function raiseTest(
  { ids, clock, store }: Pick<ChannelPorts, 'ids' | 'clock'> & { readonly store: { readonly notices: NoticeStore } },
  { id: channelId, accountId }: Channel,
): Promise<string> {
  const id = `ntc_${ids.letters(24)}`
  const atMs = clock.now()
  await store.notices.raise(
    { id, kind: 'test', accountId, subject: null, clearAtMicro: null, atMs, detail: {} },
    channelId,
  )
  return id
}

export function wireChannel(channel: Channel): NoticeChannel {
  return wire(NoticeChannel, channel, { kinds: channel.kinds.filter(isChosen) })
}

/**
 * A record in the form in which events store it: of a webhook's address only the host, since the path and query are
 * secrets.
 */
export function eventText(action: string, record: unknown): string | null {
  if (record === null) return null
  if (!action.startsWith('notice_channel.')) return JSON.stringify(record)
  return JSON.stringify(record, (name, value: unknown) =>
    name === 'target' && typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value)
      ? new URL(value).host
      : value,
  )
}

function isChosen(kind: NoticeKind): kind is NoticeChannel['kinds'][number] {
  return kind !== 'test'
}

/** A message as the APIs show it. */
export function wireDelivery(delivery: Delivery): NoticeDelivery {
  const { channel, notice, state, dueAtMs } = delivery
  return wire(NoticeDelivery, delivery, {
    channel: channel.id,
    notice: {
      id: notice.id,
      // A newer program may have written an unknown kind, which is shown unchanged.
      type: notice.kind as NoticeKind,
      account: notice.accountId,
      created_at: isoTime(notice.atMs),
      data: notice.detail,
    },
    due_at: state === 'pending' ? isoTime(dueAtMs) : null,
  })
}
