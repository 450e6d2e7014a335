import { type Cipher, purposeOf } from '../../base/cipher.ts'
import { DAY_MS } from '../../base/time.ts'
import { noticeId } from '../../ledger/notice.ts'
import { NOTICES, type NoticeKind } from '../../tables/notice-table.ts'
import { EXTERNAL_IDS } from '../accounts/external-id-store.ts'
import { type Row, type Sql, type SqlValue, big } from '../database.ts'
import { type Cells, type RecordOf, Rows, column } from '../rows.ts'

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

/** The most messages that wait for one channel. A receiver that is unreachable for long gets no more. */
const PENDING_MAX = 1_000n
/**
 * The most messages that a channel of an account for people, not programs, gets in a day; below: the most e-mails of
 * all channels of an account.
 */
const DAILY_MAX = 200n
const DAILY_LETTERS_MAX = 100n

/** The channels that get a notice; `channelId`: only this one. */
export async function audience(sql: Sql, notice: Notice, channelId: string | null): Promise<readonly Channel[]> {
  const rows =
    channelId === null
      ? await sql.all(
          `${SELECT_CHANNEL} WHERE c.enabled = 1 AND c.code_hash IS NULL AND (c.account_id IS NULL OR c.account_id = ?)`,
          [notice.accountId],
        )
      : await sql.all(`${SELECT_CHANNEL} WHERE c.id = ?`, [channelId])
  if (channelId !== null) return rows.map(readChannel)
  const kind = Object.hasOwn(NOTICES, notice.kind) ? NOTICES[notice.kind as NoticeKind] : null
  return rows
    .map(readChannel)
    .filter(
      ({ accountId, kinds }) =>
        kinds.some((chosen) => chosen === notice.kind) && (accountId === null || kind?.audience === 'account'),
    )
}

/** Why a channel gets no more messages now; null = it gets them. */
async function fullness(sql: Sql, { id, accountId, type }: Channel, nowMs: number): Promise<string | null> {
  const count = async (where: string, values: readonly SqlValue[]): Promise<bigint> => {
    const [row] = await sql.all(`SELECT COUNT(*) AS total FROM notice_delivery WHERE ${where}`, values)
    return row === undefined ? 0n : big(row, 'total')
  }
  if ((await count(`channel_id = ? AND state = 'pending'`, [id])) >= PENDING_MAX)
    return `${PENDING_MAX} messages wait for this channel already`
  if (accountId === null || type === 'webhook') return null
  const since = BigInt(nowMs - DAY_MS)
  if ((await count('channel_id = ? AND created_at > ?', [id, since])) >= DAILY_MAX)
    return `${DAILY_MAX} messages a day are sent to this channel`
  const ofAccount = `channel_id IN (SELECT id FROM notice_channel WHERE account_id = ? AND type = 'email')`
  return type === 'email' && (await count(`${ofAccount} AND created_at > ?`, [accountId, since])) >= DAILY_LETTERS_MAX
    ? `${DAILY_LETTERS_MAX} letters a day are sent to this account`
    : null
}

/** Makes the message for a channel, or records why it gets none. */
export async function addressTo(sql: Sql, notice: Notice, channel: Channel, nowMs: number): Promise<void> {
  const full = await fullness(sql, channel, nowMs)
  const now = BigInt(nowMs)
  await sql.run(
    'INSERT INTO notice_delivery (id, notice_id, channel_id, state, due_at, error, created_at, ended_at) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING',
    [
      `dlv_${noticeId('test', `${notice.id} ${channel.id}`).slice('ntc_'.length)}`,
      notice.id,
      channel.id,
      full === null ? 'pending' : 'dead',
      now,
      full,
      now,
      full === null ? null : now,
    ],
  )
}
