import { purposeOf, type Cipher } from '../../base/cipher.ts'
import type { NoticeKind } from '../../tables/notice-table.ts'
import { EXTERNAL_IDS } from '../accounts/external-id-store.ts'
import {
  big,
  bit,
  bytes,
  integer,
  integerOrNull,
  json,
  text,
  textOrNull,
  type Row,
  type SqlValue,
} from '../database.ts'

export type ChannelType = 'email' | 'telegram' | 'webhook'

/** Whom people are told through. */
export interface Channel {
  readonly id: string
  /** null = the operator's. */
  readonly accountId: string | null
  /** The name that a client gave it; null = none. */
  readonly externalId: string | null
  readonly type: ChannelType
  /** The e-mail address, the chat, or the URL. */
  readonly target: string
  /** The key that signs a webhook, encrypted; null = the channel is of another type. */
  readonly secret: Buffer | null
  readonly kinds: readonly NoticeKind[]
  readonly language: 'en' | 'ru'
  readonly enabled: boolean
  readonly createdAtMs: number
  /** Nothing but the code is sent to it before its owner has given the code back. */
  readonly confirmed: boolean
}

export type ChannelPatch = Partial<Pick<Channel, 'externalId' | 'target' | 'kinds' | 'language' | 'enabled'>>

/** The code that proves that the receiver of a channel wants its messages. */
export interface ChannelCode {
  readonly hash: string
  readonly untilMs: number
}

export interface Notice {
  readonly id: string
  /** A newer program may have written one that this one does not know. */
  readonly kind: string
  readonly accountId: string | null
  readonly atMs: number
  readonly detail: Readonly<Record<string, unknown>>
}

export type DeliveryState = 'pending' | 'sent' | 'dead'

/** One message to one channel. */
export interface Delivery {
  readonly id: string
  readonly notice: Notice
  readonly channel: Channel
  readonly state: DeliveryState
  readonly attempts: number
  readonly dueAtMs: number
  /** Of the last attempt; null = there was none, or it succeeded. */
  readonly error: string | null
  readonly createdAtMs: number
  readonly endedAtMs: number | null
}

/** The purpose under which a webhook's secret is encrypted. */
export function secretPurpose(channelId: string): string {
  return `webhook ${channelId}`
}

/** The purpose under which the target of a receiver is encrypted: the path and the query of a webhook are secrets. */
function targetPurpose({ id, accountId }: Pick<Channel, 'id' | 'accountId'>): string {
  return purposeOf(`receiver ${id}`, accountId)
}

/** No address begins so: one that does not was written by an earlier version. */
const SEALED = 'sealed:'

export function sealedTarget(cipher: Cipher, channel: Pick<Channel, 'id' | 'accountId' | 'target'>): string {
  return SEALED + cipher.encrypt(Buffer.from(channel.target), targetPurpose(channel)).toString('base64')
}

/** The channel with its target; an empty one where the key that encrypted it is no longer there. */
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

export const CHANNEL_COLUMNS = [
  'id',
  'account_id',
  'type',
  'target',
  'secret',
  'kinds',
  'language',
  'enabled',
  'created_at',
  'code_hash',
  'code_until',
]
export const CHANNEL_PLACES = CHANNEL_COLUMNS.map(() => '?').join(',')
const CHANNEL = [
  ...CHANNEL_COLUMNS.map((name) => `c.${name} AS c_${name}`),
  `${EXTERNAL_IDS.notice_channel} AS c_external_id`,
].join(', ')
export const NOTICE = ['id', 'kind', 'account_id', 'at', 'detail'].map((name) => `n.${name} AS n_${name}`).join(', ')
const DELIVERY = ['id', 'state', 'attempts', 'due_at', 'error', 'created_at', 'ended_at']
  .map((name) => `d.${name} AS ${name}`)
  .join(', ')
export const SELECT_CHANNEL = `SELECT ${CHANNEL} FROM notice_channel c`
export const SELECT_DELIVERY = `SELECT ${DELIVERY}, ${NOTICE}, ${CHANNEL} FROM notice_delivery d JOIN notice n ON n.id = d.notice_id JOIN notice_channel c ON c.id = d.channel_id`

/** With its target as it is stored. */
export function readChannel(row: Row): Channel {
  return {
    id: text(row, 'c_id'),
    accountId: textOrNull(row, 'c_account_id'),
    externalId: textOrNull(row, 'c_external_id'),
    // CHECKs of the schema bound these two.
    type: text(row, 'c_type') as ChannelType,
    language: text(row, 'c_language') as Channel['language'],
    target: text(row, 'c_target'),
    secret: row['c_secret'] === null ? null : bytes(row, 'c_secret'),
    kinds: json<readonly NoticeKind[]>(row, 'c_kinds') ?? [],
    enabled: big(row, 'c_enabled') !== 0n,
    createdAtMs: integer(row, 'c_created_at'),
    confirmed: row['c_code_hash'] === null,
  }
}

/** The columns that a change sets, such as `enabled = ?`, and their values. */
export function channelAssignments({ target, kinds, language, enabled }: ChannelPatch): {
  readonly sets: readonly string[]
  readonly values: readonly SqlValue[]
} {
  const given = Object.entries({
    target,
    kinds: kinds === undefined ? undefined : JSON.stringify(kinds),
    language,
    enabled: enabled === undefined ? undefined : bit(enabled),
  }).flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]))
  return { sets: given.map(({ column }) => `${column} = ?`), values: given.map(({ value }) => value) }
}

export function readNotice(row: Row): Notice {
  return {
    id: text(row, 'n_id'),
    kind: text(row, 'n_kind'),
    accountId: textOrNull(row, 'n_account_id'),
    atMs: integer(row, 'n_at'),
    detail: json<Notice['detail']>(row, 'n_detail') ?? {},
  }
}

export function readDelivery(row: Row): Delivery {
  return {
    id: text(row, 'id'),
    notice: readNotice(row),
    channel: readChannel(row),
    // A CHECK of the schema bounds it.
    state: text(row, 'state') as DeliveryState,
    attempts: integer(row, 'attempts'),
    dueAtMs: integer(row, 'due_at'),
    error: textOrNull(row, 'error'),
    createdAtMs: integer(row, 'created_at'),
    endedAtMs: integerOrNull(row, 'ended_at'),
  }
}
