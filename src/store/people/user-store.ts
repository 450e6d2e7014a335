import { bit, bytes, CHANGE, integer, text, type Database, type Row, type Sql, type SqlValue } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import type { OperatorRole } from '../../tables/scopes.ts'
import { reasonError } from '../../base/refusals.ts'
import { EXTERNAL_IDS, nameRecord } from '../accounts/external-id-store.ts'
import { bigintOrNull, column, insertRow, Rows, updateRow, type RecordOf } from '../rows.ts'
import type { WordStore } from '../search/word-store.ts'
import { readPage, type Order, type Page, type PageRange } from '../page.ts'
import { createHash } from 'node:crypto'

/** `admin` = an operator of the console. */
export type UserRole = 'user' | 'admin'

export interface LinkedIdentity extends IdentityName {
  /**
   * The e-mail address that the issuer gave when the identity was linked; null = it gave none, or the identity was
   * linked before this was stored.
   */
  readonly email: string | null
  readonly linkedAtMs: number | null
}

const USERS = new Rows(
  'console_user',
  {
    id: column.text('id'),
    /** The id that a client gave this person. */
    externalId: column.textOrNull('external_id', EXTERNAL_IDS.user),
    /** In lower case. */
    email: column.text('email'),
    name: column.text('name'),
    role: column.text<UserRole>('role'),
    /** The role of an operator; null = a user. */
    operatorRole: column.textOrNull<OperatorRole>('operator_role'),
    /** null only for an invited administrator who has not set a password yet. */
    accountId: column.textOrNull('account_id'),
    passwordHash: column.textOrNull('password_hash'),
    disabled: column.flag('disabled'),
    timezone: column.textOrNull('timezone'),
    language: column.textOrNull<'en' | 'ru'>('language'),
    theme: column.text<'light' | 'dark' | 'auto'>('theme'),
    /** Encrypted; used only once TOTP is enabled. */
    totpSeed: column.bytesOrNull('totp_seed'),
    totpEnabled: column.flag('totp_enabled'),
    lastSignInAtMs: column.integerOrNull('last_sign_in_at'),
    createdAtMs: column.integer('created_at'),
  },
  // The prefix is for joins with tables that have columns of the same names.
  { of: 'u', prefix: 'user_' },
)
const IDENTITIES = new Rows(
  'console_user',
  {
    issuer: column.textOrNull('oidc_issuer'),
    subject: column.textOrNull('oidc_subject'),
    email: column.textOrNull('oidc_email'),
    linkedAtMs: column.integerOrNull('oidc_linked_at'),
  },
  { of: 'u', prefix: 'user_' },
)

/** A person who signs in to the console. */
export type UserRecord = RecordOf<typeof USERS> & { readonly oidc: LinkedIdentity | null }

/** `oidc`: an identity linked when the user is created. */
export type NewUser = Pick<
  UserRecord,
  'id' | 'email' | 'name' | 'role' | 'accountId' | 'passwordHash' | 'language' | 'createdAtMs'
> &
  Partial<Pick<UserRecord, 'operatorRole'>> & { readonly oidc: Omit<LinkedIdentity, 'linkedAtMs'> | null }

export interface UserFilter {
  readonly accountId: string | null
  readonly role: UserRole | null
  readonly query: string | null
  readonly order?: Order<'created_at' | 'email'> | null
}

export type UserPatch = Partial<
  Pick<
    UserRecord,
    | 'externalId'
    | 'name'
    | 'role'
    | 'operatorRole'
    | 'accountId'
    | 'passwordHash'
    | 'disabled'
    | 'timezone'
    | 'language'
    | 'theme'
    | 'lastSignInAtMs'
  >
>

const SETUP_TOKENS = new Rows('setup_token', {
  hash: column.text('hash'),
  /** null = the link is for the first administrator. */
  userId: column.textOrNull('user_id'),
  clearTotp: column.flag('clear_totp'),
  expiresAtMs: column.integer('expires_at'),
})
type SetupToken = RecordOf<typeof SETUP_TOKENS>
export type SetupTokenClaim = Pick<SetupToken, 'userId' | 'clearTotp'>

export const USER_COLUMNS = `${USERS.list}, ${IDENTITIES.list}`
const OWNS = `role = 'admin' AND COALESCE(operator_role, 'owner') = 'owner'`

export function readUser(row: Row): UserRecord {
  const user = USERS.read(row)
  const { issuer, subject, ...linked } = IDENTITIES.read(row)
  return {
    ...user,
    // Administrators without a role were made by a program that had no roles; they are owners.
    operatorRole: user.role === 'admin' ? (user.operatorRole ?? 'owner') : null,
    oidc: issuer === null || subject === null ? null : { issuer, subject, ...linked },
  }
}

export class UserStore {
  readonly #database: Database

  readonly #words: WordStore

  constructor(database: Database, words: WordStore) {
    this.#database = database
    this.#words = words
  }

  /** The number of owners who can sign in. */
  owners(): Promise<number> {
    return ownersOf(this.#database)
  }

  /** null = the e-mail address is taken. */
  async create(user: NewUser): Promise<UserRecord | null> {
    return (await insertUser(this.#database, user)) ? this.get(user.id) : null
  }

  get(id: string): Promise<UserRecord | null> {
    return this.#one('u.id = ?', [id])
  }

  findByEmail(email: string): Promise<UserRecord | null> {
    return this.#one('u.email = ?', [email])
  }

  findByOidc(issuer: string, subject: string): Promise<UserRecord | null> {
    return this.#one('u.oidc_issuer = ? AND u.oidc_subject = ?', [issuer, subject])
  }

  /** E-mail addresses by user id; unknown ids are left out. */
  async emails(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map()
    const marks = ids.map(() => '?').join(',')
    const rows = await this.#database.all(`SELECT id, email FROM console_user WHERE id IN (${marks})`, ids)
    return new Map(rows.map((row) => [text(row, 'id'), text(row, 'email')]))
  }

  /** The newest first if no order is given. */
  async list(filter: UserFilter & PageRange): Promise<Page<UserRecord>> {
    const { accountId, role, query, order } = filter
    const conditions: string[] = []
    const values: SqlValue[] = []
    const add = (condition: string, ...given: readonly SqlValue[]): void => {
      conditions.push(condition)
      values.push(...given)
    }
    if (accountId !== null)
      add(
        '(u.account_id = ? OR u.id IN (SELECT user_id FROM account_member WHERE account_id = ?))',
        accountId,
        accountId,
      )
    if (role !== null) add('u.role = ?', role)
    const found = await this.#words.finding('console_user', 'u.id', query)
    return readPage(
      this.#database,
      {
        rows: { list: USER_COLUMNS, from: USERS.from, read: readUser },
        conditions: [...conditions, ...found.conditions],
        values: [...values, ...found.values],
        common: found.common,
        order: order ?? '-created_at',
        columns: { created_at: { sql: 'u.created_at', is: 'number' }, email: { sql: 'u.email', is: 'text' } },
        id: { sql: 'u.id', is: 'text' },
      },
      filter,
    )
  }

  /** null = there is no such user. */
  async update(
    id: string,
    patch: Omit<UserPatch, 'role' | 'operatorRole' | 'disabled' | 'externalId'>,
  ): Promise<UserRecord | null> {
    if (patch.passwordHash === undefined) await patchUser(this.#database, id, patch)
    else await this.#database.transaction((sql) => patchUser(sql, id, patch), CHANGE)
    return this.get(id)
  }

  /**
   * `decide` calculates the changes from the current user, while no owner can change; if it throws, nothing changes.
   * Refuses a change that leaves no owner who can sign in. A session has the rights of the role with which it was
   * opened, so it ends when the role changes. null = there is no such user. Throws ExternalIdTakenError.
   */
  change(
    id: string,
    decide: (current: UserRecord) => UserPatch,
  ): Promise<{ readonly before: UserRecord; readonly after: UserRecord } | null> {
    return this.#database.transaction(async (sql) => {
      // If two owners remove each other's role at once, one waits here for the other.
      await sql.all(`SELECT id FROM console_user WHERE id = ? OR ${OWNS} ORDER BY id${ROW_LOCK}`, [id])
      const before = await oneOf(sql, 'u.id = ?', [id])
      if (before === null) return null
      await patchUser(sql, id, decide(before))
      const after = (await oneOf(sql, 'u.id = ?', [id])) ?? before
      const owned = before.operatorRole === 'owner' && !before.disabled && hasWayIn(before)
      if (owned && (await ownersOf(sql)) === 0) throw reasonError('last_owner')
      if (after.disabled || after.role !== before.role)
        await sql.run('DELETE FROM console_session WHERE user_id = ?', [id])
      return { before, after }
    }, CHANGE)
  }

  /** `taken`: the identity belongs to another user; `full`: this user has one already. */
  async linkIdentity(
    id: string,
    { issuer, subject, email, linkedAtMs }: LinkedIdentity,
  ): Promise<'linked' | 'taken' | 'full'> {
    const linked = await this.#database.run(
      `UPDATE console_user SET oidc_issuer = ?, oidc_subject = ?, oidc_email = ?, oidc_linked_at = ?
        WHERE id = ? AND oidc_subject IS NULL AND NOT EXISTS (SELECT 1 FROM console_user u WHERE u.oidc_issuer = ? AND u.oidc_subject = ?)`,
      [issuer, subject, email, bigintOrNull(linkedAtMs), id, issuer, subject],
    )
    if (linked === 1) return 'linked'
    const holder = await this.findByOidc(issuer, subject)
    return holder === null || holder.id === id ? 'full' : 'taken'
  }

  /** false = the user no longer has the identity, or has no password and so no other way to sign in. */
  async unlinkIdentity(id: string, { issuer, subject }: IdentityName): Promise<boolean> {
    const unlinked = await this.#database.run(
      `UPDATE console_user SET oidc_issuer = NULL, oidc_subject = NULL, oidc_email = NULL, oidc_linked_at = NULL
        WHERE id = ? AND oidc_issuer = ? AND oidc_subject = ? AND password_hash IS NOT NULL`,
      [id, issuer, subject],
    )
    return unlinked === 1
  }

  /**
   * Replaces the seed and the recovery codes (SHA-256 hex); `step`: the last time step that counts as used. `before`:
   * values that the user must still have; false = they have changed, since another request was first.
   */
  setTotp(id: string, totp: Totp, before: Pick<UserRecord, 'totpSeed' | 'totpEnabled'>): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const condition = before.totpSeed === null ? 'totp_seed IS NULL' : 'totp_seed = ?'
      const set = await sql.run(
        `UPDATE console_user SET totp_seed = ?, totp_enabled = ?, totp_step = ? WHERE id = ? AND totp_enabled = ? AND ${condition}`,
        [
          totp.seed,
          bit(totp.enabled),
          BigInt(totp.step),
          id,
          bit(before.totpEnabled),
          ...(before.totpSeed === null ? [] : [before.totpSeed]),
        ],
      )
      if (set === 1) await replaceCodes(sql, id, totp.recoveryHashes)
      return set === 1
    })
  }

  setRecoveryCodes(id: string, hashes: readonly string[]): Promise<void> {
    return this.#database.transaction((sql) => replaceCodes(sql, id, hashes))
  }

  /** false = this step, or a later one, was used before. */
  async useTotpStep(id: string, step: number): Promise<boolean> {
    return (
      (await this.#database.run('UPDATE console_user SET totp_step = ? WHERE id = ? AND totp_step < ?', [
        BigInt(step),
        id,
        BigInt(step),
      ])) === 1
    )
  }

  async useRecoveryCode(id: string, hash: string): Promise<boolean> {
    return (await this.#database.run('DELETE FROM recovery_code WHERE user_id = ? AND hash = ?', [id, hash])) === 1
  }

  async recoveryCodesLeft(id: string): Promise<number> {
    const [row] = await this.#database.all('SELECT COUNT(*) AS total FROM recovery_code WHERE user_id = ?', [id])
    return row === undefined ? 0 : integer(row, 'total')
  }

  /** Every encrypted seed, for a change of the wrapping key. */
  async encryptedSeeds(): Promise<readonly { readonly id: string; readonly seed: Buffer }[]> {
    const rows = await this.#database.all('SELECT id, totp_seed FROM console_user WHERE totp_seed IS NOT NULL')
    return rows.map((row) => ({ id: text(row, 'id'), seed: bytes(row, 'totp_seed') }))
  }

  /** Replaces the seed only if it is still the old one. */
  async replaceSeed(id: string, before: Buffer, after: Buffer): Promise<void> {
    await this.#database.run('UPDATE console_user SET totp_seed = ? WHERE id = ? AND totp_seed = ?', [
      after,
      id,
      before,
    ])
  }

  /** Token hashes are SHA-256 hex. */
  async putSetupToken(token: SetupToken): Promise<void> {
    await insertRow(this.#database, 'setup_token', SETUP_TOKENS.cells(token))
  }

  findSetupToken(hash: string, nowMs: number): Promise<SetupTokenClaim | null> {
    return findToken(this.#database, hash, nowMs)
  }

  /**
   * Uses up a link and sets the password, or creates the first owner, in one step. This also ends the person's sessions
   * and other links, which may have been sent to a mailbox that is no longer theirs. null = the link is unknown, used
   * or expired.
   */
  useSetupToken(hash: string, nowMs: number, passwordHash: string, first: NewUser): Promise<UserRecord | null> {
    return this.#database.transaction(async (sql) => {
      const found = await findToken(sql, hash, nowMs)
      if (found === null) return null
      const { userId } = found
      if (userId !== null) {
        const select = `SELECT id FROM console_user WHERE id = ? AND disabled = 0${ROW_LOCK}`
        if ((await sql.all(select, [userId])).length === 0) return null
      }
      const where = userId === null ? 'user_id IS NULL' : 'user_id = ?'
      const values = userId === null ? [] : [userId]
      const links = await sql.all(`SELECT hash FROM setup_token WHERE ${where} ORDER BY hash${ROW_LOCK}`, values)
      if (!links.some((row) => text(row, 'hash') === hash)) return null
      await sql.run(`DELETE FROM setup_token WHERE ${where}`, values)
      if (userId === null) {
        if ((await ownersOf(sql)) > 0) throw reasonError('has_administrator')
        if (!(await insertUser(sql, first))) throw emailTaken(first.email)
        return oneOf(sql, 'u.id = ?', [first.id])
      }
      await patchUser(sql, userId, { passwordHash })
      if (found.clearTotp) {
        await sql.run('UPDATE console_user SET totp_seed = NULL, totp_enabled = 0, totp_step = 0 WHERE id = ?', [
          userId,
        ])
        await replaceCodes(sql, userId, [])
      }
      await sql.run('DELETE FROM console_session WHERE user_id = ?', [userId])
      return oneOf(sql, 'u.id = ?', [userId])
    }, CHANGE)
  }

  #one(condition: string, values: readonly SqlValue[]): Promise<UserRecord | null> {
    return oneOf(this.#database, condition, values)
  }
}

export interface Totp {
  readonly seed: Buffer | null
  readonly enabled: boolean
  readonly step: number
  readonly recoveryHashes: readonly string[]
}

export function emailTaken(email: string): Error {
  return reasonError('email_taken', { email })
}

function hasWayIn({ passwordHash, oidc }: UserRecord): boolean {
  return passwordHash !== null || oidc !== null
}

async function ownersOf(sql: Pick<Sql, 'all'>): Promise<number> {
  const [row] = await sql.all(
    `SELECT COUNT(*) AS total FROM console_user WHERE ${OWNS} AND disabled = 0 AND (password_hash IS NOT NULL OR oidc_subject IS NOT NULL)`,
  )
  return row === undefined ? 0 : integer(row, 'total')
}

async function oneOf(
  sql: Pick<Sql, 'all'>,
  condition: string,
  values: readonly SqlValue[],
): Promise<UserRecord | null> {
  const [row] = await sql.all(`SELECT ${USER_COLUMNS} FROM console_user u WHERE ${condition}`, values)
  return row === undefined ? null : readUser(row)
}

/** false = the e-mail address or the identity belongs to another user. */
export async function insertUser(sql: Pick<Sql, 'run'>, user: NewUser): Promise<boolean> {
  const { oidc, createdAtMs } = user
  const cells = {
    ...USERS.cells(user),
    ...(oidc === null ? {} : IDENTITIES.cells({ ...oidc, linkedAtMs: createdAtMs })),
  }
  const added = await insertRow(sql, 'console_user', cells, ' ON CONFLICT DO NOTHING')
  return added === 1
}

async function patchUser(sql: Pick<Sql, 'run' | 'all'>, id: string, patch: UserPatch): Promise<void> {
  await updateRow(sql, 'console_user', id, USERS.cells(patch))
  // An earlier link, which somebody else may have, can no longer set a password.
  if (patch.passwordHash !== undefined || patch.disabled === true)
    await sql.run('DELETE FROM setup_token WHERE user_id = ?', [id])
  if (patch.externalId !== undefined) await nameRecord(sql, 'user', id, patch.externalId)
}

function findToken(sql: Pick<Sql, 'all'>, hash: string, nowMs: number): Promise<SetupTokenClaim | null> {
  return SETUP_TOKENS.one(sql, 'WHERE hash = ? AND expires_at > ?', [hash, BigInt(nowMs)])
}

async function replaceCodes(sql: Sql, userId: string, hashes: readonly string[]): Promise<void> {
  await sql.run('DELETE FROM recovery_code WHERE user_id = ?', [userId])
  for (const hash of hashes) await sql.run('INSERT INTO recovery_code (user_id, hash) VALUES (?,?)', [userId, hash])
}

/** A person at a single sign-on issuer. */
export interface IdentityName {
  readonly issuer: string
  readonly subject: string
}

/** The identity's name in URLs, since a subject may contain any characters. */
export function identityId({ issuer, subject }: IdentityName): string {
  return `idn_${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, 24)}`
}
