import { integer, text, textOrNull, type Database, type Row } from '../database.ts'
import { MEMBER_COLUMNS, membershipsOf, readMembership, type Membership } from './member-store.ts'
import type { UserRecord } from './user-store.ts'
import { readUser, USER_COLUMNS } from './user-store.ts'

export interface SessionRecord {
  /** SHA-256 hex of the cookie. */
  readonly hash: string
  readonly id: string
  readonly userId: string
  /** The account that its person has chosen; null = their first. */
  readonly accountId: string | null
  readonly ip: string
  readonly userAgent: string
  readonly createdAtMs: number
  readonly lastSeenAtMs: number
  readonly idleMs: number
  readonly endsAtMs: number
}

const COLUMNS =
  's.hash AS hash, s.id AS id, s.user_id AS owner, s.account_id AS chosen, s.ip AS ip, s.user_agent AS user_agent, s.created_at AS created_at, s.last_seen_at AS last_seen_at, s.idle_ms AS idle_ms, s.ends_at AS ends_at'
const LIVE = 's.ends_at > ? AND s.last_seen_at + s.idle_ms > ?'

function readSession(row: Row): SessionRecord {
  return {
    hash: text(row, 'hash'),
    id: text(row, 'id'),
    userId: text(row, 'owner'),
    accountId: textOrNull(row, 'chosen'),
    ip: text(row, 'ip'),
    userAgent: text(row, 'user_agent'),
    createdAtMs: integer(row, 'created_at'),
    lastSeenAtMs: integer(row, 'last_seen_at'),
    idleMs: integer(row, 'idle_ms'),
    endsAtMs: integer(row, 'ends_at'),
  }
}

export class SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(session: SessionRecord): Promise<void> {
    await this.#database.run(
      'INSERT INTO console_session (hash, id, user_id, account_id, ip, user_agent, created_at, last_seen_at, idle_ms, ends_at) VALUES (?,?,?,?,?,?,?,?,?,?)',
      [
        session.hash,
        session.id,
        session.userId,
        session.accountId,
        session.ip,
        session.userAgent,
        BigInt(session.createdAtMs),
        BigInt(session.lastSeenAtMs),
        BigInt(session.idleMs),
        BigInt(session.endsAtMs),
      ],
    )
  }

  /** With every account of its person. null = unknown, idle for too long, expired, or of a disabled user. */
  async find(
    hash: string,
    nowMs: number,
  ): Promise<{
    readonly session: SessionRecord
    readonly user: UserRecord
    readonly memberships: readonly Membership[]
  } | null> {
    const now = BigInt(nowMs)
    const rows = await this.#database.all(
      `SELECT ${COLUMNS}, ${USER_COLUMNS}, ${MEMBER_COLUMNS} FROM console_session s JOIN console_user u ON u.id = s.user_id LEFT JOIN account_member m ON m.user_id = u.id
        WHERE s.hash = ? AND u.disabled = 0 AND ${LIVE} ORDER BY m.added_at, m.account_id`,
      [hash, now, now],
    )
    const [row] = rows
    if (row === undefined) return null
    const user = readUser(row)
    const others = rows.flatMap((one) => readMembership(one) ?? [])
    return { session: readSession(row), user, memberships: membershipsOf(user, others) }
  }

  async touch(hash: string, atMs: number): Promise<void> {
    await this.#database.run('UPDATE console_session SET last_seen_at = ? WHERE hash = ? AND last_seen_at < ?', [
      BigInt(atMs),
      hash,
      BigInt(atMs),
    ])
  }

  async choose(hash: string, accountId: string): Promise<void> {
    await this.#database.run('UPDATE console_session SET account_id = ? WHERE hash = ?', [accountId, hash])
  }

  async list(userId: string, nowMs: number): Promise<readonly SessionRecord[]> {
    const now = BigInt(nowMs)
    return (
      await this.#database.all(
        `SELECT ${COLUMNS} FROM console_session s WHERE s.user_id = ? AND ${LIVE} ORDER BY s.last_seen_at DESC, s.id LIMIT 200`,
        [userId, now, now],
      )
    ).map(readSession)
  }

  async delete(hash: string): Promise<boolean> {
    return (await this.#database.run('DELETE FROM console_session WHERE hash = ?', [hash])) === 1
  }

  async deleteById(userId: string, id: string): Promise<boolean> {
    return (await this.#database.run('DELETE FROM console_session WHERE user_id = ? AND id = ?', [userId, id])) === 1
  }

  /** Ends the user's sessions except one; null = all. */
  deleteOthers(userId: string, exceptHash: string | null): Promise<number> {
    return this.#database.run('DELETE FROM console_session WHERE user_id = ? AND hash <> ?', [userId, exceptHash ?? ''])
  }

  /** Removes ended sessions. */
  async prune(nowMs: number): Promise<void> {
    const now = BigInt(nowMs)
    await this.#database.run('DELETE FROM console_session WHERE ends_at <= ? OR last_seen_at + idle_ms <= ?', [
      now,
      now,
    ])
  }
}
