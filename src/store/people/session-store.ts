import type { Database } from '../database.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import { MEMBER_COLUMNS, membershipsOf, readMembership, type Membership } from './member-store.ts'
import type { UserRecord } from './user-store.ts'
import { readUser, USER_COLUMNS } from './user-store.ts'

const SESSIONS = new Rows(
  'console_session',
  {
    /** SHA-256 hex of the cookie. */
    hash: column.text('hash'),
    id: column.text('id'),
    userId: column.text('user_id'),
    /** The account that the person has chosen; null = the person's first. */
    accountId: column.textOrNull('account_id'),
    ip: column.text('ip'),
    userAgent: column.text('user_agent'),
    createdAtMs: column.integer('created_at'),
    lastSeenAtMs: column.integer('last_seen_at'),
    idleMs: column.integer('idle_ms'),
    endsAtMs: column.integer('ends_at'),
  },
  { of: 's', prefix: 'session_' },
)
export type SessionRecord = RecordOf<typeof SESSIONS>
const COLUMNS = SESSIONS.list

const LIVE = 's.ends_at > ? AND s.last_seen_at + s.idle_ms > ?'

export class SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(session: SessionRecord): Promise<void> {
    await insertRow(this.#database, 'console_session', SESSIONS.cells(session))
  }

  /**
   * The session and all accounts of its person. null = the session is unknown, idle for too long or expired, or its
   * user is disabled.
   */
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
    return { session: SESSIONS.read(row), user, memberships: membershipsOf(user, others) }
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

  list(userId: string, nowMs: number): Promise<readonly SessionRecord[]> {
    const now = BigInt(nowMs)
    return SESSIONS.all(
      this.#database,
      `WHERE s.user_id = ? AND ${LIVE} ORDER BY s.last_seen_at DESC, s.id LIMIT 200`,
      [userId, now, now],
    )
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
