import { type Database, type Sql, type SqlValue, integer } from '../database.ts'
import { type RecordOf, Rows, column, insertRow } from '../rows.ts'
import { MEMBER_COLUMNS, type Membership, membershipsOf, readMembership } from './member-store.ts'
import { USER_COLUMNS, type UserRecord, readUser } from './user-store.ts'

export type SignInMethod = 'password' | 'totp' | 'recovery_code' | 'oidc' | 'setup' | 'sign_up'

const SIGN_INS = new Rows('sign_in', {
  id: column.integer('id'),
  atMs: column.integer('at'),
  email: column.text('email'),
  userId: column.textOrNull('user_id'),
  ip: column.text('ip'),
  userAgent: column.text('user_agent'),
  method: column.text<SignInMethod>('method'),
  outcome: column.text<'succeeded' | 'failed'>('outcome'),
})
export type SignInRecord = RecordOf<typeof SIGN_INS>

/**
 * At most `failures` within `windowMs`. `email_codes`: wrong second factors, which require the right first one.
 * `device`: failures in a browser in which the user has signed in before.
 */
export interface SignInRule {
  readonly of: 'email_and_ip' | 'ip' | 'email' | 'email_codes' | 'device'
  readonly failures: number
  readonly windowMs: number
  /** The rule does not apply to an IP address from which this e-mail address has signed in within this time. */
  readonly knownAddressMs?: number
}

export type SignInStart =
  | { readonly status: 'begun'; readonly id: number }
  | { readonly status: 'limited'; readonly rule: SignInRule['of']; readonly retryAtMs: number }

const CONDITIONS: Readonly<Record<SignInRule['of'], string>> = {
  email_and_ip: 'email = ? AND ip_key = ?',
  email: 'email = ?',
  email_codes: `email = ? AND method = 'totp'`,
  ip: 'ip_key = ?',
  device: 'device = ?',
}

/** Every attempt to sign in, for the limits and for the user's own list. */
export class SignInStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Counts a failure in advance, in the same step that checks the rules, so that simultaneous attempts cannot exceed
   * them.
   */
  begin(
    attempt: Omit<SignInRecord, 'id' | 'outcome'> & { readonly ipKey: string; readonly device: string | null },
    rules: readonly SignInRule[],
  ): Promise<SignInStart> {
    return this.#database.transaction(async (sql): Promise<SignInStart> => {
      // Attempts of one person or one IP address wait for each other, always in this order.
      if (this.#database.dialect === 'postgres') {
        for (const name of [`email ${attempt.email}`, `ip ${attempt.ipKey}`].toSorted())
          await sql.run('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [name])
      }
      for (const rule of rules) {
        const retryAtMs = await limitedUntil(sql, attempt, rule)
        if (retryAtMs !== null) return { status: 'limited', rule: rule.of, retryAtMs }
      }
      const [row] = await sql.all(
        `INSERT INTO sign_in (at, email, user_id, ip, ip_key, user_agent, method, device, outcome) VALUES (?,?,?,?,?,?,?,?,'failed') RETURNING id`,
        [
          BigInt(attempt.atMs),
          attempt.email,
          attempt.userId,
          attempt.ip,
          attempt.ipKey,
          attempt.userAgent,
          attempt.method,
          attempt.device,
        ],
      )
      if (row === undefined) throw new Error('An insert that returns its row returned none.')
      return { status: 'begun', id: integer(row, 'id') }
    })
  }

  async succeed(id: number, userId: string, method: SignInMethod): Promise<void> {
    await this.#database.run(`UPDATE sign_in SET outcome = 'succeeded', user_id = ?, method = ? WHERE id = ?`, [
      userId,
      method,
      BigInt(id),
    ])
  }

  /** The first factor was right and the second was wrong. */
  async failCode(id: number): Promise<void> {
    await this.#database.run(`UPDATE sign_in SET method = 'totp' WHERE id = ? AND outcome = 'failed'`, [BigInt(id)])
  }

  /** An attempt without a result (the server was busy) does not count. */
  async forget(id: number): Promise<void> {
    await this.#database.run('DELETE FROM sign_in WHERE id = ?', [BigInt(id)])
  }

  list(userId: string, beforeId: number | null, limit: number): Promise<readonly SignInRecord[]> {
    const before = beforeId === null ? '' : ' AND id < ?'
    const values: SqlValue[] = beforeId === null ? [userId] : [userId, BigInt(beforeId)]
    return SIGN_INS.all(this.#database, `WHERE user_id = ?${before} ORDER BY id DESC LIMIT ?`, [
      ...values,
      BigInt(limit),
    ])
  }

  async prune(beforeMs: number): Promise<void> {
    await this.#database.run('DELETE FROM sign_in WHERE at < ?', [BigInt(beforeMs)])
  }
}

type Attempt = Parameters<SignInStore['begin']>[0]

/**
 * When the oldest failure that counts leaves the rule's window; null = more attempts are allowed. A success clears no
 * count: a thief with one account could otherwise reset an address.
 */
async function limitedUntil(sql: Sql, attempt: Attempt, rule: SignInRule): Promise<number | null> {
  const values = {
    email_and_ip: [attempt.email, attempt.ipKey],
    email: [attempt.email],
    email_codes: [attempt.email],
    ip: [attempt.ipKey],
    device: [attempt.device],
  }[rule.of]
  const [row] = await sql.all(
    `SELECT at FROM sign_in WHERE ${CONDITIONS[rule.of]} AND outcome = 'failed' AND at > ? ORDER BY at DESC LIMIT 1 OFFSET ?`,
    [...values, BigInt(attempt.atMs - rule.windowMs), BigInt(rule.failures - 1)],
  )
  if (
    row === undefined ||
    (rule.knownAddressMs !== undefined && (await isKnownAddress(sql, attempt, rule.knownAddressMs)))
  )
    return null
  return integer(row, 'at') + rule.windowMs
}

async function isKnownAddress(sql: Sql, { email, ipKey, atMs }: Attempt, withinMs: number): Promise<boolean> {
  return (
    (
      await sql.all(
        `SELECT 1 AS one FROM sign_in WHERE email = ? AND ip_key = ? AND outcome = 'succeeded' AND at > ? LIMIT 1`,
        [email, ipKey, BigInt(atMs - withinMs)],
      )
    ).length > 0
  )
}

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
