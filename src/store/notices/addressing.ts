import { noticeId } from '../../ledger/notice.ts'
import { DAY_MS } from '../../base/time.ts'
import { NOTICES, type NoticeKind } from '../../tables/notice-table.ts'
import { big, type Sql, type SqlValue } from '../database.ts'
import { readChannel, SELECT_CHANNEL, type Channel, type Notice } from './notice-rows.ts'

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
