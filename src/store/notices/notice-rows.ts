import { purposeOf, type Cipher } from '../../base/cipher.ts'
import type { NoticeKind } from '../../tables/notice-table.ts'
import { EXTERNAL_IDS } from '../accounts/external-id-store.ts'
import type { Row } from '../database.ts'
import { column, Rows, type Cells, type RecordOf } from '../rows.ts'

/**
 * Receivers that share sending slots: those of the operator, those of accounts, and those of accounts whose last
 * message failed.
 */
export type Lane = 'operator' | 'well' | 'troubled'

/** The most receivers of one account to which messages are sent at once. */
const ACCOUNT_MOST = 2

/**
 * Channels with a message that is due, and their lanes. `?`: now (four times), the most channels of each lane. A
 * message whose attempt failed stays pending, so its channel is `troubled` until the message is delivered or dead.
 */
export const DUE_CHANNELS = `
  WITH waiting AS (
    SELECT d.channel_id AS channel_id, MIN(d.due_at) AS due, MAX(d.lease_until) AS lease, MAX(d.attempts) AS attempts
    FROM notice_delivery d WHERE d.state = 'pending' GROUP BY d.channel_id),
  placed AS (
    SELECT w.channel_id AS channel_id, w.due AS due, CASE WHEN w.lease >= ? THEN 1 ELSE 0 END AS busy,
      CASE WHEN c.account_id IS NULL THEN 'operator' WHEN w.attempts > 0 THEN 'troubled' ELSE 'well' END AS lane,
      ROW_NUMBER() OVER (PARTITION BY COALESCE(c.account_id, c.id) ORDER BY CASE WHEN w.lease >= ? THEN 0 ELSE 1 END, w.due) AS of_account
    FROM waiting w JOIN notice_channel c ON c.id = w.channel_id WHERE w.due <= ? OR w.lease >= ?),
  ranked AS (
    SELECT channel_id, lane, due, ROW_NUMBER() OVER (PARTITION BY lane ORDER BY due) AS of_lane
    FROM placed WHERE busy = 0 AND of_account <= ${ACCOUNT_MOST})
  SELECT channel_id, lane FROM ranked WHERE of_lane <= ? ORDER BY due`

export type ChannelType = 'email' | 'telegram' | 'webhook'

const CHANNEL_ROWS = new Rows(
  'notice_channel',
  {
    id: column.text('id'),
    /** null = a channel of the operator. */
    accountId: column.textOrNull('account_id'),
    /** The id that a client gave it; null = none. */
    externalId: column.textOrNull('external_id', EXTERNAL_IDS.notice_channel),
    type: column.text<ChannelType>('type'),
    /** The e-mail address, the chat, or the URL. */
    target: column.text('target'),
    /** The key that signs a webhook, encrypted; null = the channel is no webhook. */
    secret: column.bytesOrNull('secret'),
    kinds: column.json<readonly NoticeKind[]>('kinds'),
    language: column.text<'en' | 'ru'>('language'),
    enabled: column.flag('enabled'),
    createdAtMs: column.integer('created_at'),
    /** Until its owner has confirmed the code, nothing but the code is sent. */
    confirmed: column.flag('confirmed', 'CASE WHEN c.code_hash IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END'),
  },
  { of: 'c', prefix: 'c_' },
)
/** A receiver of notices. */
export type Channel = RecordOf<typeof CHANNEL_ROWS>

export type ChannelPatch = Partial<Pick<Channel, 'externalId' | 'target' | 'kinds' | 'language' | 'enabled'>>

/** The code that proves that the receiver of a channel agrees to get messages. */
export interface ChannelCode {
  readonly hash: string
  readonly untilMs: number
}

const NOTICE_ROWS = new Rows(
  'notice',
  {
    id: column.text('id'),
    /** A kind that this program does not know may come from a newer one. */
    kind: column.text('kind'),
    accountId: column.textOrNull('account_id'),
    atMs: column.integer('at'),
    detail: column.json<Readonly<Record<string, unknown>>>('detail'),
  },
  { of: 'n', prefix: 'n_' },
)
export type Notice = RecordOf<typeof NOTICE_ROWS>

export type DeliveryState = 'pending' | 'sent' | 'dead'

const DELIVERY_ROWS = new Rows(
  'notice_delivery',
  {
    id: column.text('id'),
    state: column.text<DeliveryState>('state'),
    attempts: column.integer('attempts'),
    dueAtMs: column.integer('due_at'),
    /** The error of the last attempt; null = there was none, or it succeeded. */
    error: column.textOrNull('error'),
    createdAtMs: column.integer('created_at'),
    endedAtMs: column.integerOrNull('ended_at'),
  },
  { of: 'd' },
)
/** One message to one channel. */
export type Delivery = RecordOf<typeof DELIVERY_ROWS> & { readonly notice: Notice; readonly channel: Channel }

/** The purpose under which a webhook's secret is encrypted. */
export function secretPurpose(channelId: string): string {
  return `webhook ${channelId}`
}

/** The purpose under which a target is encrypted: the path and the query of a webhook's URL are secrets. */
function targetPurpose({ id, accountId }: Pick<Channel, 'id' | 'accountId'>): string {
  return purposeOf(`receiver ${id}`, accountId)
}

/** The prefix of encrypted targets; no address begins with it. A target without it is from an earlier version. */
const SEALED = 'sealed:'

export function sealedTarget(cipher: Cipher, channel: Pick<Channel, 'id' | 'accountId' | 'target'>): string {
  return SEALED + cipher.encrypt(Buffer.from(channel.target), targetPurpose(channel)).toString('base64')
}

/** The channel with its decrypted target; an empty target if the key that encrypted it is missing. */
export function openedChannel(cipher: Cipher, channel: Channel): Channel {
  const { target } = channel
  if (!target.startsWith(SEALED)) return channel
  const sealed = Buffer.from(target.slice(SEALED.length), 'base64')
  try {
    return { ...channel, target: cipher.decrypt(sealed, targetPurpose(channel)).toString() }
  } catch {
    return { ...channel, target: '' }
  }
}

const CHANNEL = CHANNEL_ROWS.list
export const NOTICE = NOTICE_ROWS.list
const DELIVERY = DELIVERY_ROWS.list
export const DELIVERIES = {
  list: `${DELIVERY}, ${NOTICE}, ${CHANNEL}`,
  from: 'notice_delivery d JOIN notice n ON n.id = d.notice_id JOIN notice_channel c ON c.id = d.channel_id',
}
export const SELECT_CHANNEL = `SELECT ${CHANNEL} FROM notice_channel c`
export const SELECT_DELIVERY = ['SELECT', DELIVERIES.list, 'FROM', DELIVERIES.from].join(' ')

/** The target is returned as it is stored. */
export function readChannel(row: Row): Channel {
  return CHANNEL_ROWS.read(row)
}

/** The columns of the given fields; the target is given as it is to be stored. */
export function channelCells(channel: Partial<Channel>): Cells {
  return CHANNEL_ROWS.cells(channel)
}

export function readNotice(row: Row): Notice {
  return NOTICE_ROWS.read(row)
}

export function readDelivery(row: Row): Delivery {
  return { ...DELIVERY_ROWS.read(row), notice: readNotice(row), channel: readChannel(row) }
}
