import type { EncryptAgain } from '../rewrap.ts'
import type { NewNotice } from '../../ledger/ledger-store.ts'
import { lowBalance, lowBalanceSubject, type BalanceChange } from '../../ledger/notice.ts'
import { openFor, purposeOf, type Cipher } from '../../base/cipher.ts'
import type { Micro } from '../../base/money.ts'
import {
  big,
  bigOrNull,
  integer,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
} from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { nameRecord } from '../accounts/external-id-store.ts'
import { readPage, type Page, type PageRange } from '../page.ts'
import { insertRow, updateRow } from '../rows.ts'
import {
  type Channel,
  type ChannelCode,
  type ChannelPatch,
  DELIVERIES,
  DUE_CHANNELS,
  type Delivery,
  type DeliveryState,
  type Lane,
  NOTICE,
  type Notice,
  SELECT_CHANNEL,
  SELECT_DELIVERY,
  addressTo,
  audience,
  channelCells,
  openedChannel,
  readChannel,
  readDelivery,
  readNotice,
  sealedTarget,
  secretPurpose,
} from './notice-rows.ts'
import { DAY_MS } from '../../base/time.ts'

/** The result of an attempt; `dueAtMs`: when to try again. */
export type AttemptEnd =
  | 'sent'
  | {
      readonly error: string
      readonly dueAtMs: number | null
      /** Until then no other message of this channel is sent; absent = others need not wait. */
      readonly restUntilMs?: number
    }

/** A message to send, and the lane whose slots it takes. */
export interface Taken {
  readonly delivery: Delivery
  readonly lane: Lane
}

/** The most notices that one step addresses. */
const STEP = 100n
const KEPT_MS = 90 * DAY_MS
/** The most tries of a six-digit code. */
const CODE_TRIES = 5n
const REMOVED_AT_ONCE = 1_000n

/** The same text in both dialects. A notice with the same id or subject stays as it is. */
export const INSERT_NOTICE =
  'INSERT INTO notice (id, kind, account_id, subject, clear_at, at, detail, channel_id) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING'

/** Another notice with this subject may be raised. */
export const CLEAR_SUBJECT = 'UPDATE notice SET subject = NULL WHERE subject = ?'

export function noticeValues(notice: NewNotice, channelId: string | null = null): readonly (string | bigint | null)[] {
  const { id, kind, accountId, subject, clearAtMicro, atMs, detail } = notice
  return [id, kind, accountId, subject, clearAtMicro, BigInt(atMs), JSON.stringify(detail), channelId]
}

/**
 * Within the transaction that changes a balance: raises a notice of a low balance, or lets the next low balance raise
 * one again.
 */
export async function tellBalance(sql: Sql, change: BalanceChange, cause: string, atMs: number): Promise<void> {
  if (change.afterMicro > change.beforeMicro)
    await sql.run('UPDATE notice SET subject = NULL WHERE subject = ? AND clear_at <= ?', [
      lowBalanceSubject(change.accountId),
      change.afterMicro,
    ])
  const notice = lowBalance(change, cause, atMs)
  if (notice !== null) await sql.run(INSERT_NOTICE, noticeValues(notice))
}

/** The outbox: notices, their receivers, and the messages to them. */
export class NoticeStore {
  readonly #database: Database
  readonly #cipher: Cipher

  constructor(database: Database, cipher: Cipher) {
    this.#database = database
    this.#cipher = cipher
  }

  /** false = this notice, or one with its subject, exists already. */
  async raise(notice: NewNotice, channelId: string | null = null): Promise<boolean> {
    return (await this.#note((sql) => sql.run(INSERT_NOTICE, noticeValues(notice, channelId)))) === 1
  }

  /** Another notice with this subject may be raised. */
  async clear(subject: string): Promise<void> {
    await this.#note((sql) => sql.run(CLEAR_SUBJECT, [subject]))
  }

  /** null = no such account. `lowMicro`: null = the default of the service. */
  async lowBalance(accountId: string): Promise<{ readonly lowMicro: Micro | null } | null> {
    const [row] = await this.#database.all('SELECT low_balance FROM account WHERE id = ?', [accountId], {
      withoutAmounts: true,
    })
    return row === undefined ? null : { lowMicro: bigOrNull(row, 'low_balance') }
  }

  /** Sets another threshold. If the balance is below it already, a notice is raised. */
  setLowBalance(
    accountId: string,
    {
      lowMicro,
      fallbackMicro,
      atMs,
    }: { readonly lowMicro: Micro | null; readonly fallbackMicro: Micro; readonly atMs: number },
  ): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await sql.run('UPDATE account SET low_balance = ? WHERE id = ?', [lowMicro, accountId])
      const [row] = await sql.all('SELECT available + held AS balance FROM account WHERE id = ?', [accountId])
      if (row === undefined) return
      const threshold = lowMicro ?? fallbackMicro
      await sql.run(CLEAR_SUBJECT, [lowBalanceSubject(accountId)])
      const change = { accountId, beforeMicro: threshold, afterMicro: big(row, 'balance'), lowMicro: threshold }
      await tellBalance(sql, change, `threshold ${atMs} ${accountId}`, atMs)
    })
  }

  /** Readable names of the records that a notice refers to by id. */
  async names({
    accountId,
    detail,
  }: Notice): Promise<{ readonly account: string | null; readonly key: string | null }> {
    const key = detail['key']
    const [row] = await this.#read(
      'SELECT (SELECT name FROM account WHERE id = ?) AS account, (SELECT name FROM api_key WHERE id = ?) AS key_name',
      [accountId, typeof key === 'string' ? key : null],
    )
    return row === undefined
      ? { account: null, key: null }
      : { account: textOrNull(row, 'account'), key: textOrNull(row, 'key_name') }
  }

  /** `code`: for a channel that is still to be confirmed. */
  async addChannel(channel: Channel, most: number, code: ChannelCode | null = null): Promise<'added' | 'full'> {
    const condition = ownedBy(channel.accountId)
    return this.#note(async (sql) => {
      const [row] = await sql.all(`SELECT COUNT(*) AS total FROM notice_channel WHERE ${condition}`, [
        ...ownerValues(channel.accountId),
      ])
      if (row !== undefined && integer(row, 'total') >= most) return 'full'
      await insertRow(sql, 'notice_channel', {
        ...channelCells({ ...channel, target: sealedTarget(this.#cipher, channel) }),
        code_hash: code?.hash,
        code_until: BigInt(code?.untilMs ?? 0),
      })
      if (channel.externalId !== null) await nameRecord(sql, 'notice_channel', channel.id, channel.externalId)
      return 'added'
    })
  }

  /** Oldest first; null = channels of the operator. */
  async channels(accountId: string | null): Promise<readonly Channel[]> {
    const condition = ownedBy(accountId)
    const rows = await this.#read(
      `${SELECT_CHANNEL} WHERE ${condition} ORDER BY c.created_at, c.id`,
      ownerValues(accountId),
    )
    return rows.map((row) => this.#channelOf(row))
  }

  /** With `sql` the channel is locked until the end of that transaction. */
  async channel(accountId: string | null, id: string, sql: Sql | null = null): Promise<Channel | null> {
    const condition = ownedBy(accountId)
    const lock = sql === null ? '' : ROW_LOCK
    const read = `${SELECT_CHANNEL} WHERE ${condition} AND c.id = ?${lock}`
    const values = [...ownerValues(accountId), id]
    const [row] = sql === null ? await this.#read(read, values) : await sql.all(read, values)
    return row === undefined ? null : this.#channelOf(row)
  }

  /** A function calculates the changes from the current channel; if it throws, nothing changes. */
  async changeChannel(
    accountId: string | null,
    id: string,
    change: ChannelPatch | ((current: Channel) => ChannelPatch),
  ): Promise<Channel | null> {
    await this.#note(async (sql) => {
      const current = await this.channel(accountId, id, sql)
      if (current === null) return
      const patch = typeof change === 'function' ? change(current) : change
      const { target } = patch
      const sealed =
        target === undefined ? patch : { ...patch, target: sealedTarget(this.#cipher, { ...current, target }) }
      await updateRow(sql, 'notice_channel', id, channelCells(sealed))
      if (patch.externalId !== undefined) await nameRecord(sql, 'notice_channel', id, patch.externalId)
    })
    return this.channel(accountId, id)
  }

  /** Replaces the code of an account's channel that is not confirmed; false = there is no such channel. */
  async renewCode(accountId: string, id: string, { hash, untilMs }: ChannelCode): Promise<boolean> {
    const renewed = await this.#note((sql) =>
      sql.run(
        'UPDATE notice_channel SET code_hash = ?, code_until = ?, code_tries = 0 WHERE id = ? AND account_id = ? AND code_hash IS NOT NULL',
        [hash, BigInt(untilMs), id, accountId],
      ),
    )
    return renewed === 1
  }

  /** Tries a code. `ended`: there is no code, or no time or tries are left for it. */
  async confirm(
    accountId: string,
    id: string,
    { hash, nowMs }: { readonly hash: string; readonly nowMs: number },
  ): Promise<'confirmed' | 'wrong' | 'ended'> {
    return this.#note(async (sql) => {
      const tried = await sql.run(
        'UPDATE notice_channel SET code_tries = code_tries + 1 WHERE id = ? AND account_id = ? AND code_hash IS NOT NULL AND code_tries < ? AND code_until > ?',
        [id, accountId, CODE_TRIES, BigInt(nowMs)],
      )
      if (tried === 0) return 'ended'
      const right = await sql.run('UPDATE notice_channel SET code_hash = NULL WHERE id = ? AND code_hash = ?', [
        id,
        hash,
      ])
      return right === 1 ? 'confirmed' : 'wrong'
    })
  }

  /** Removes the channel and its messages. `check` refuses by throwing. */
  async removeChannel(accountId: string | null, id: string, check?: (current: Channel) => void): Promise<boolean> {
    return this.#note(async (sql) => {
      const current = await this.channel(accountId, id, sql)
      if (current === null) return false
      check?.(current)
      await nameRecord(sql, 'notice_channel', id, null)
      return (await sql.run('DELETE FROM notice_channel WHERE id = ?', [id])) === 1
    })
  }

  /** Makes the messages of new notices and returns the number of notices. Of two nodes at once, only one makes them. */
  async address(nowMs: number): Promise<number> {
    const waiting = await this.#read('SELECT id FROM notice WHERE addressed_at IS NULL LIMIT 1')
    if (waiting.length === 0) return 0
    return this.#note(async (sql) => {
      const rows = await sql.all(
        `SELECT ${NOTICE}, n.channel_id AS channel_id FROM notice n WHERE addressed_at IS NULL ORDER BY at LIMIT ?`,
        [STEP],
      )
      for (const row of rows) {
        const notice = readNotice(row)
        const mine = await sql.run('UPDATE notice SET addressed_at = ? WHERE id = ? AND addressed_at IS NULL', [
          BigInt(nowMs),
          notice.id,
        ])
        if (mine === 0) continue
        for (const channel of await audience(sql, notice, textOrNull(row, 'channel_id')))
          await addressTo(sql, notice, channel, nowMs)
      }
      return rows.length
    })
  }

  /**
   * Takes messages that are due, one of each channel and up to `room` of each lane, for a lease: no other node sends
   * them until it ends.
   */
  async take(room: Readonly<Record<Lane, number>>, nowMs: number, leaseUntilMs: number): Promise<readonly Taken[]> {
    const now = BigInt(nowMs)
    const left = { ...room }
    const due = await this.#read(DUE_CHANNELS, [now, now, now, now, BigInt(Math.max(...Object.values(room)))])
    // The statement returns no other lanes.
    const channels = due
      .map((row) => ({ id: text(row, 'channel_id'), lane: text(row, 'lane') as Lane }))
      .filter(({ lane }) => (left[lane] -= 1) >= 0)
    if (channels.length === 0) return []
    return this.#note(async (sql) => {
      const taken: Taken[] = []
      for (const { id, lane } of channels) {
        const [mine] = await sql.all(
          `UPDATE notice_delivery SET lease_until = ?, attempts = attempts + 1
            WHERE id = (SELECT id FROM notice_delivery WHERE channel_id = ? AND state = 'pending' ORDER BY due_at, id LIMIT 1)
              AND state = 'pending' AND due_at <= ? AND lease_until < ? RETURNING id`,
          [BigInt(leaseUntilMs), id, now, now],
        )
        if (mine === undefined) continue
        const [found] = await sql.all(`${SELECT_DELIVERY} WHERE d.id = ?`, [text(mine, 'id')])
        if (found !== undefined) taken.push({ delivery: this.#deliveryOf(found), lane })
      }
      return taken
    })
  }

  /** For the embedded store at its start: releases the messages that a process which died had taken. */
  async releaseLost(): Promise<void> {
    await this.#note((sql) =>
      sql.run(`UPDATE notice_delivery SET lease_until = 0 WHERE state = 'pending' AND lease_until > 0`, []),
    )
  }

  /**
   * Records the end of an attempt. A failure after the end of its lease is ignored if another node has taken the
   * message since; a message whose attempt succeeded is never sent again.
   */
  async ended({ id, attempts }: Pick<Delivery, 'id' | 'attempts'>, end: AttemptEnd, nowMs: number): Promise<void> {
    const now = BigInt(nowMs)
    const state = end === 'sent' ? 'sent' : end.dueAtMs === null ? 'dead' : 'pending'
    await this.#note(async (sql) => {
      const mine = await sql.run(
        `UPDATE notice_delivery SET state = ?, error = ?, due_at = ?, lease_until = 0, ended_at = ? WHERE id = ? AND state = 'pending' AND attempts = COALESCE(?, attempts)`,
        [
          state,
          end === 'sent' ? null : end.error,
          end === 'sent' || end.dueAtMs === null ? now : BigInt(end.dueAtMs),
          state === 'pending' ? null : now,
          id,
          end === 'sent' ? null : BigInt(attempts),
        ],
      )
      if (mine === 1 && end !== 'sent' && end.restUntilMs !== undefined)
        await sql.run(
          `UPDATE notice_delivery SET due_at = ? WHERE state = 'pending' AND due_at < ? AND channel_id = (SELECT channel_id FROM notice_delivery WHERE id = ?)`,
          [BigInt(end.restUntilMs), BigInt(end.restUntilMs), id],
        )
    })
  }

  /** Newest first. `accountId`: null = of all channels, those of accounts included. */
  deliveries(
    filter: { readonly accountId: string | null; readonly state: DeliveryState | null } & PageRange,
  ): Promise<Page<Delivery>> {
    const { accountId, state } = filter
    return readPage(
      { all: (text, values) => this.#read(text, values) },
      {
        rows: { ...DELIVERIES, read: (row) => this.#deliveryOf(row) },
        counted: 'notice_delivery d JOIN notice_channel c ON c.id = d.channel_id',
        conditions: [...(accountId === null ? [] : ['c.account_id = ?']), ...(state === null ? [] : ['d.state = ?'])],
        values: [accountId, state].filter((value) => value !== null),
        order: '-created_at',
        columns: { created_at: { sql: 'd.created_at', is: 'number' } },
        id: { sql: 'd.id', is: 'text' },
      },
      filter,
    )
  }

  /**
   * Sends a message once more, whatever its state; null = there is no such message. `accountId` as for `deliveries`;
   * `check` refuses by throwing.
   */
  async replay(
    accountId: string | null,
    id: string,
    nowMs: number,
    check?: (channel: Channel) => Promise<void>,
  ): Promise<Delivery | null> {
    const condition =
      accountId === null ? '' : ' AND channel_id IN (SELECT id FROM notice_channel WHERE account_id = ?)'
    const [known] = await this.#read(`${SELECT_DELIVERY} WHERE d.id = ?`, [id])
    const found = known === undefined ? null : this.#deliveryOf(known)
    if (found === null || (accountId !== null && found.channel.accountId !== accountId)) return null
    await check?.(found.channel)
    const replayed = await this.#note((sql) =>
      sql.run(
        `UPDATE notice_delivery SET state = 'pending', attempts = 0, due_at = ?, error = NULL, ended_at = NULL WHERE id = ? AND lease_until < ?${condition}`,
        [BigInt(nowMs), id, BigInt(nowMs), ...(accountId === null ? [] : [accountId])],
      ),
    )
    if (replayed === 0) return null
    const [row] = await this.#read(`${SELECT_DELIVERY} WHERE d.id = ?`, [id])
    return row === undefined ? null : this.#deliveryOf(row)
  }

  /** Messages by state, for the metrics. */
  async counts(): Promise<Readonly<Record<DeliveryState, number>>> {
    const rows = await this.#read('SELECT state, COUNT(*) AS total FROM notice_delivery GROUP BY state')
    const counts = { pending: 0, sent: 0, dead: 0 }
    // A CHECK of the schema bounds it.
    for (const row of rows) counts[text(row, 'state') as DeliveryState] = integer(row, 'total')
    return counts
  }

  /** Removes notices and messages older than 90 days, except a low balance whose subject has not been cleared. */
  async removeExpired(nowMs: number): Promise<void> {
    const before = BigInt(nowMs - KEPT_MS)
    for (const [table, where] of [
      ['notice_delivery', `created_at < ? AND state <> 'pending'`],
      [
        'notice',
        'at < ? AND (subject IS NULL OR clear_at IS NULL) AND NOT EXISTS (SELECT 1 FROM notice_delivery d WHERE d.notice_id = notice.id)',
      ],
    ] as const)
      for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE;)
        removed = BigInt(
          await this.#note((sql) =>
            sql.run(`DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${where} LIMIT ?)`, [
              before,
              REMOVED_AT_ONCE,
            ]),
          ),
        )
  }

  /** Encrypts the addresses of receivers again, and the secrets of webhooks. */
  async encryptAgain(encrypt: EncryptAgain): Promise<void> {
    for (const stored of (await this.#read(SELECT_CHANNEL)).map(readChannel)) {
      const { id, accountId, secret } = stored
      const channel = openedChannel(this.#cipher, stored)
      const target = channel.target === '' ? stored.target : sealedTarget(this.#cipher, channel)
      const again = secret === null ? null : encrypt(secretPurpose(id), secret, accountId)
      await this.#replace(stored, target, again)
    }
  }

  /** Encrypts what an earlier version stored: plain addresses, and secrets encrypted without their account. */
  async sealPlain(): Promise<void> {
    const rows = await this.#read(`${SELECT_CHANNEL} WHERE c.target NOT LIKE 'sealed:%'`)
    for (const channel of rows.map(readChannel)) {
      const { id, accountId, secret } = channel
      await this.#replace(
        channel,
        sealedTarget(this.#cipher, channel),
        secret === null ? null : this.#bound(secret, id, accountId),
      )
    }
  }

  /** The secret encrypted for its account; unchanged if no key decrypts it. */
  #bound(secret: Buffer, id: string, accountId: string | null): Buffer {
    try {
      const { plain } = openFor(this.#cipher, secret, secretPurpose(id), accountId)
      return this.#cipher.encrypt(plain, purposeOf(secretPurpose(id), accountId))
    } catch {
      return secret
    }
  }

  /** Changes the channel unless its target has changed meanwhile. */
  async #replace({ id, target: before }: Channel, target: string, secret: Buffer | null): Promise<void> {
    await this.#note((sql) =>
      sql.run('UPDATE notice_channel SET target = ?, secret = ? WHERE id = ? AND target = ?', [
        target,
        secret,
        id,
        before,
      ]),
    )
  }

  #channelOf(row: Row): Channel {
    return openedChannel(this.#cipher, readChannel(row))
  }

  #deliveryOf(row: Row): Delivery {
    const delivery = readDelivery(row)
    return { ...delivery, channel: openedChannel(this.#cipher, delivery.channel) }
  }

  /** These rows decide no amount, so the rows that the ledger has in memory stay valid. */
  #note<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { purpose: 'note' })
  }

  #read(statement: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return this.#database.all(statement, values, { withoutAmounts: true })
  }
}

function ownedBy(accountId: string | null): string {
  return accountId === null ? 'account_id IS NULL' : 'account_id = ?'
}

function ownerValues(accountId: string | null): readonly string[] {
  return accountId === null ? [] : [accountId]
}
