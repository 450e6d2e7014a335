import { fieldError } from '../../base/refusals.ts'
import type { AccountRole, MemberRole } from '../../tables/scopes.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import { rubles, type Micro } from '../../base/money.ts'
import { big, bigOrNull, CHANGE, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { emailTaken, insertUser, type NewUser, type UserRecord } from './user-store.ts'

const MEMBERSHIPS = new Rows(
  'account_member',
  {
    accountId: column.text('account_id'),
    role: column.text<MemberRole>('role'),
    /** The most that the keys made by this person may spend in a month; null = the person has no limit. */
    monthlyLimitMicro: column.bigOrNull('monthly_limit'),
  },
  { of: 'm', prefix: 'member_' },
)
/** A person's membership of an account. */
export type Membership = RecordOf<typeof MEMBERSHIPS>
export const MEMBER_COLUMNS = MEMBERSHIPS.list

const MEMBERS = new Rows('people', {
  userId: column.text('user_id'),
  email: column.text('email'),
  name: column.text('name'),
  role: column.text<MemberRole>('role'),
  monthlyLimitMicro: column.bigOrNull('monthly_limit'),
  addedAtMs: column.integer('added_at'),
  lastSignInAtMs: column.integerOrNull('last_sign_in_at'),
  language: column.textOrNull<'en' | 'ru'>('language'),
})
export type Member = RecordOf<typeof MEMBERS>

const INVITATIONS = new Rows('account_invitation', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  role: column.text<MemberRole>('role'),
  monthlyLimitMicro: column.bigOrNull('monthly_limit'),
  /** Only the person with this address may use the invitation; null = anyone with the link may. */
  email: column.textOrNull('email'),
  createdBy: column.text('created_by'),
  createdAtMs: column.integer('created_at'),
  expiresAtMs: column.integer('expires_at'),
})
export type Invitation = RecordOf<typeof INVITATIONS>
/** `hash`: SHA-256 hex of the link's token. */
export type NewInvitation = Invitation & { readonly hash: string }

/** The most people of an account, invited ones included. */
const PEOPLE_MAX = 50

/** The accounts of a person. The one that the person created is theirs without a row. */
export function membershipsOf(user: UserRecord, rows: readonly Membership[]): readonly Membership[] {
  const own = user.accountId
  return [
    ...(own === null ? [] : [{ accountId: own, role: 'owner', monthlyLimitMicro: null } as const]),
    ...rows.filter(({ accountId }) => accountId !== own),
  ]
}

/** What a person may do in the account of their session. */
export interface Place extends Omit<Membership, 'role'> {
  readonly role: AccountRole
}

/**
 * The account that a session acts for: the chosen one while the person is a member of it or may view it, or else the
 * first.
 */
export function currentPlace(
  memberships: readonly Membership[],
  chosen: string | null,
  mayView: boolean,
): Place | null {
  const own = memberships.find(({ accountId }) => accountId === chosen)
  if (own === undefined && chosen !== null && mayView)
    return { accountId: chosen, role: 'viewer', monthlyLimitMicro: null }
  return own ?? memberships[0] ?? null
}

/** null = a joined row without a membership. */
export function readMembership(row: Row): Membership | null {
  return row['member_account_id'] === null ? null : MEMBERSHIPS.read(row)
}

/** Owners by `console_user.account_id`, and people with a row. */
const PEOPLE = `SELECT u.id AS user_id, u.email AS email, u.name AS name, 'owner' AS role, NULL AS monthly_limit, u.created_at AS added_at, u.last_sign_in_at AS last_sign_in_at, u.language AS language
    FROM console_user u WHERE u.account_id = ?
  UNION ALL
  SELECT u.id, u.email, u.name, m.role, m.monthly_limit, m.added_at, u.last_sign_in_at, u.language
    FROM account_member m JOIN console_user u ON u.id = m.user_id WHERE m.account_id = ? AND (u.account_id IS NULL OR u.account_id <> m.account_id)`

export class MemberStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Every account of a person. */
  async of(user: UserRecord): Promise<readonly Membership[]> {
    const rest = 'WHERE m.user_id = ? ORDER BY m.added_at, m.account_id'
    return membershipsOf(user, await MEMBERSHIPS.all(this.#database, rest, [user.id]))
  }

  /** The people of an account, in the order in which they joined. */
  async list(accountId: string): Promise<readonly Member[]> {
    return membersOf(this.#database, accountId)
  }

  /** `full` = the account has too many people and invitations. */
  invite(invitation: NewInvitation, nowMs: number): Promise<'invited' | 'full'> {
    return this.#locked(invitation.accountId, async (sql) => {
      const open = await openInvitations(sql, invitation.accountId, nowMs)
      if ((await membersOf(sql, invitation.accountId)).length + open.length >= PEOPLE_MAX) return 'full'
      await sql.run('DELETE FROM account_invitation WHERE account_id = ? AND expires_at <= ?', [
        invitation.accountId,
        BigInt(nowMs),
      ])
      await insertRow(sql, 'account_invitation', { ...INVITATIONS.cells(invitation), hash: invitation.hash })
      return 'invited'
    })
  }

  /** Invitations that are still valid, the newest first. */
  invitations(accountId: string, nowMs: number): Promise<readonly Invitation[]> {
    return openInvitations(this.#database, accountId, nowMs)
  }

  findInvitation(hash: string, nowMs: number): Promise<Invitation | null> {
    return openInvitation(this.#database, hash, nowMs)
  }

  /** false = the account has no such invitation. */
  async revoke(accountId: string, id: string): Promise<boolean> {
    return (
      (await this.#database.run('DELETE FROM account_invitation WHERE account_id = ? AND id = ?', [accountId, id])) ===
      1
    )
  }

  /**
   * Uses up an invitation and creates a new user (`made`) in one step. null = the invitation is used, expired or
   * revoked. A person who is in the account already keeps their role.
   */
  join(
    hash: string,
    user: Pick<UserRecord, 'id' | 'accountId'>,
    made: NewUser | null,
    nowMs: number,
  ): Promise<Invitation | null> {
    return this.#database.transaction(async (sql) => {
      const invitation = await openInvitation(sql, hash, nowMs)
      // The delete decides: of two simultaneous uses only one removes the row.
      if (invitation === null || (await sql.run('DELETE FROM account_invitation WHERE hash = ?', [hash])) === 0)
        return null
      if (made !== null && !(await insertUser(sql, made))) throw emailTaken(made.email)
      if (user.accountId !== invitation.accountId)
        await sql.run(
          'INSERT INTO account_member (account_id, user_id, role, monthly_limit, added_at) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING',
          [invitation.accountId, user.id, invitation.role, invitation.monthlyLimitMicro, BigInt(nowMs)],
        )
      return invitation
    })
  }

  /**
   * `owner` = an owner can be changed only by themselves or the operator (`by` is null); `last_owner` = an account
   * needs an owner; `over` = the person's keys may already spend more in a month.
   */
  change(
    { accountId, role, monthlyLimitMicro }: Membership,
    userId: string,
    { by, month }: { readonly by: string | null; readonly month: string },
  ): Promise<'changed' | 'missing' | 'owner' | 'last_owner' | 'over'> {
    return this.#locked(accountId, async (sql) => {
      const people = await membersOf(sql, accountId)
      const before = people.find((member) => member.userId === userId)
      if (before === undefined) return 'missing'
      if (before.role === 'owner' && role === 'owner') return 'changed'
      if (before.role === 'owner' && by !== null && by !== userId) return 'owner'
      if (before.role === 'owner' && !(await hasOtherOwner(sql, accountId, userId))) return 'last_owner'
      if (monthlyLimitMicro !== null) {
        const promised = await promisedMicro(sql, { accountId, userId, month }, null)
        if (promised === null || promised > monthlyLimitMicro) return 'over'
      }
      await sql.run('UPDATE console_user SET account_id = NULL WHERE id = ? AND account_id = ?', [userId, accountId])
      await sql.run(
        `INSERT INTO account_member (account_id, user_id, role, monthly_limit, added_at) VALUES (?,?,?,?,?)
          ON CONFLICT (account_id, user_id) DO UPDATE SET role = excluded.role, monthly_limit = excluded.monthly_limit`,
        [accountId, userId, role, monthlyLimitMicro, BigInt(before.addedAtMs)],
      )
      return 'changed'
    })
  }

  /**
   * Takes a person out of an account and ends their sessions. An owner is taken out only by themselves or the operator
   * (`evenOwner`), and the last owner by nobody.
   */
  remove(
    accountId: string,
    userId: string,
    { evenOwner }: { readonly evenOwner: boolean },
  ): Promise<'removed' | 'missing' | 'owner' | 'last_owner'> {
    return this.#locked(accountId, async (sql) => {
      const people = await membersOf(sql, accountId)
      const member = people.find((one) => one.userId === userId)
      if (member === undefined) return 'missing'
      if (member.role === 'owner' && !evenOwner) return 'owner'
      if (member.role === 'owner' && !(await hasOtherOwner(sql, accountId, userId))) return 'last_owner'
      await sql.run('UPDATE console_user SET account_id = NULL WHERE id = ? AND account_id = ?', [userId, accountId])
      await sql.run('DELETE FROM account_member WHERE account_id = ? AND user_id = ?', [accountId, userId])
      await sql.run('DELETE FROM console_session WHERE user_id = ?', [userId])
      return 'removed'
    })
  }

  /** Changes of an account's people run one at a time. */
  #locked<T>(accountId: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (sql) => {
      await sql.all(`SELECT id FROM account WHERE id = ?${ROW_LOCK}`, [accountId])
      return work(sql)
    }, CHANGE)
  }
}

/** People who own an account and may sign in. */
const OWNERS = `SELECT u.id FROM console_user u WHERE u.disabled = 0 AND (u.account_id = ?
  OR EXISTS (SELECT 1 FROM account_member m WHERE m.account_id = ? AND m.user_id = u.id AND m.role = 'owner'))`

/** A person who may not sign in does not count as an owner. */
async function hasOtherOwner(sql: Pick<Sql, 'all'>, accountId: string, userId: string): Promise<boolean> {
  return (await sql.all(`${OWNERS} AND u.id <> ? LIMIT 1`, [accountId, accountId, userId])).length > 0
}

/** Whether the person owns the account, and may sign in. */
export async function isOwner(sql: Pick<Sql, 'all'>, accountId: string, userId: string): Promise<boolean> {
  return (await sql.all(`${OWNERS} AND u.id = ?`, [accountId, accountId, userId])).length > 0
}

async function membersOf(sql: Pick<Sql, 'all'>, accountId: string): Promise<readonly Member[]> {
  const rows = await sql.all(`${PEOPLE} ORDER BY 6, 1`, [accountId, accountId])
  return rows.map((row) => MEMBERS.read(row))
}

function openInvitation(sql: Pick<Sql, 'all'>, hash: string, nowMs: number): Promise<Invitation | null> {
  return INVITATIONS.one(sql, 'WHERE hash = ? AND expires_at > ?', [hash, BigInt(nowMs)])
}

function openInvitations(sql: Pick<Sql, 'all'>, accountId: string, nowMs: number): Promise<readonly Invitation[]> {
  return INVITATIONS.all(sql, 'WHERE account_id = ? AND expires_at > ? ORDER BY created_at DESC, id', [
    accountId,
    BigInt(nowMs),
  ])
}

/** A person's keys in an account, and the month in which their limit counts. */
interface MonthOfMember {
  readonly accountId: string
  readonly userId: string
  readonly month: string
}

/**
 * The most that the keys made by a person can have spent by the end of the month. For a key it is the monthly limit, or
 * what it has spent and holds if that is more; for a deleted key, what it has spent and holds. null = one of the keys
 * has no monthly limit. `except`: a key that is left out.
 */
async function promisedMicro(
  sql: Pick<Sql, 'all'>,
  { accountId, userId, month }: MonthOfMember,
  except: string | null,
): Promise<Micro | null> {
  const rows = await sql.all(
    `SELECT k.deleted AS deleted, k.spend_limit AS spend_limit, k.limit_reset AS limit_reset, k.held AS held, COALESCE(s.spent, 0) AS spent
      FROM api_key k LEFT JOIN key_spend s ON s.key_id = k.id AND s.period = 'month' AND s.start = ?
      WHERE k.account_id = ? AND k.made_by = ? AND k.id <> ? AND (k.deleted = 0 OR s.spent IS NOT NULL OR k.held > 0)`,
    [month, accountId, userId, except ?? ''],
  )
  let sum = 0n
  for (const row of rows) {
    const used = big(row, 'spent') + big(row, 'held')
    if (big(row, 'deleted') !== 0n) {
      sum += used
      continue
    }
    const limit = bigOrNull(row, 'spend_limit')
    if (limit === null || textOrNull(row, 'limit_reset') !== 'monthly') return null
    sum += limit > used ? limit : used
  }
  return sum
}

/** The limit of a key that a person has made, or is about to make. */
export interface KeyOfMember extends MonthOfMember {
  /** null = a new key. */
  readonly keyId: string | null
  readonly limitMicro: Micro | null
  readonly limitReset: string | null
}

/**
 * Refuses a key with which the person's keys could spend more in a month than the account allows them. Runs in the
 * transaction of the change; the lock makes changes of a person's keys wait for each other.
 */
export async function refuseBeyondMember(sql: Sql, key: KeyOfMember): Promise<void> {
  const [row] = await sql.all(
    `SELECT monthly_limit FROM account_member WHERE account_id = ? AND user_id = ?${ROW_LOCK}`,
    [key.accountId, key.userId],
  )
  const most = row === undefined ? null : bigOrNull(row, 'monthly_limit')
  if (most === null) return
  const others = (await promisedMicro(sql, key, key.keyId)) ?? most
  const left = others < most ? most - others : 0n
  if (key.limitMicro !== null && key.limitReset === 'monthly' && key.limitMicro <= left) return
  throw fieldError('limit', 'member_limit', { most: rubles(left) })
}
