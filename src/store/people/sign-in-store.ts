import { integer, type Database, type Sql, type SqlValue } from '../database.ts'
import { column, Rows, type RecordOf } from '../rows.ts'

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
