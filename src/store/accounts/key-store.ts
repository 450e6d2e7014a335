import { ownValue } from '../../base/own-value.ts'
import { limitPeriod } from '../../ledger/hold-rules.ts'
import type { LimitReset, PeriodStarts } from '../../ledger/ledger-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import {
  CHANGE,
  type Database,
  LOOK_UP,
  type Sql,
  type SqlValue,
  big,
  bigOrNull,
  bytes,
  integer,
  json,
  text,
  textOrNull,
} from '../database.ts'
import { ROW_LOCK, lockedIds } from '../dialect.ts'
import { countRows } from '../page.ts'
import { isOwner, refuseBeyondMember } from '../people/member-store.ts'
import type { WordStore } from '../search/word-store.ts'
import { type Cells, type RecordOf, Rows, changeRow, column, insertRow, insertSealed, jsonText } from '../rows.ts'
import { type AccountRules, GROUP_OF_RULES, RULES, findAccountRules, readAccountRules } from './account-store.ts'
import { nameRecord } from './external-id-store.ts'
import { KeyLists, type ListedKey, PERSON } from './key-lists.ts'

/** The terms of a key that authentication needs. */
const TERMS = {
  id: column.text('id'),
  name: column.text('name'),
  label: column.text('label'),
  disabled: column.flag('disabled'),
  limitMicro: column.bigOrNull('spend_limit'),
  limitReset: column.textOrNull<LimitReset>('limit_reset'),
  expiresAtMs: column.integerOrNull('expires_at'),
  allowedModels: column.jsonOrNull<readonly string[]>('allowed_models'),
  /** null = the key has no limits. */
  limits: column.jsonOrNull<KeyLimits>('limits'),
  /** The person who made it in the cabinet; null = a program or the operator, or the key is older than this column. */
  madeBy: column.textOrNull('made_by'),
  /** The member to whom the key's things belong; null = they belong to the account. */
  person: column.textOrNull('person', `(SELECT ${PERSON})`),
}
/** The terms, read together with the rules of the account. */
const OWNER_TERMS = new Rows('api_key', TERMS, { of: 'k', prefix: 'key_' })
const TERM_COLUMNS = OWNER_TERMS.list
const KEYS = new Rows(
  'api_key',
  {
    ...TERMS,
    accountId: column.text('account_id'),
    createdAtMs: column.integer('created_at'),
    lastUsedAtMs: column.integerOrNull('last_used_at'),
    /** When the last replaced secret ends, which may be over; null = none was replaced. */
    graceUntilMs: column.integerOrNull('grace_until', '(SELECT MAX(ends_at) FROM key_secret WHERE key_id = k.id)'),
  },
  { of: 'k' },
)
export type KeyRecord = RecordOf<typeof KEYS>

/** The fields that authentication needs, joined in one look-up. */
export interface KeyOwner {
  readonly key: Omit<KeyRecord, 'accountId' | 'createdAtMs' | 'lastUsedAtMs' | 'graceUntilMs'>
  readonly account: AccountRules
  readonly isManagement?: true
  /** When the looked-up secret ends, since another has replaced it; absent = it is the key's own. */
  readonly secretEndsAtMs?: number
}

/** The new secret of a key. */
export interface KeyRotation {
  /** SHA-256 of the secret, 32 bytes. */
  readonly digest: Buffer
  readonly label: string
  readonly atMs: number
  /** When the replaced secret ends; those before it end then at the latest. */
  readonly graceUntilMs: number
  /** The id of the replaced secret. */
  readonly secretId: string
}

export type KeyPatch = Partial<
  Pick<KeyRecord, 'name' | 'disabled' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels'> & {
    /** The limits that change. */
    readonly limits: Partial<KeyLimits>
    readonly externalId: string | null
  }
>

export type NewKey = Pick<
  KeyRecord,
  'id' | 'accountId' | 'name' | 'label' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'allowedModels' | 'createdAtMs'
> & {
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
  readonly limits?: KeyLimits | null
  readonly disabled?: boolean
  readonly externalId?: string | null
  /** The person who makes it, and the current month. */
  readonly madeBy?: { readonly userId: string; readonly month: string }
}

const LIVE = 'WHERE id = ? AND deleted = 0'
/** The most replaced secrets of a key that still work. */
const SECRETS_MAX = 10

export type KeyWithSpend = Pick<NamedKey, 'key' | 'spend'>
export type NamedKey = ListedKey<KeyRecord>

/** Thrown if an account may have no more keys. */
export class TooManyKeysError extends Error {
  override readonly name = 'TooManyKeysError'
}

const OWNER = `SELECT ${TERM_COLUMNS}, ${RULES} FROM api_key k JOIN account a ON a.id = k.account_id ${GROUP_OF_RULES} WHERE k.deleted = 0`

export class KeyStore {
  readonly #database: Database
  readonly #seal: BookSeal
  readonly lists: KeyLists<KeyRecord>

  constructor(database: Database, seal: BookSeal, words: WordStore) {
    this.#database = database
    this.lists = new KeyLists(database, KEYS, words)
    this.#seal = seal
  }

  /** `most` = the number of keys that the account may have afterwards; throws TooManyKeysError. */
  async create(key: NewKey, most = Infinity): Promise<KeyRecord> {
    await this.#database.transaction(async (sql) => {
      if (typeof key.externalId === 'string') await nameRecord(sql, 'key', key.id, key.externalId)
      if (key.madeBy !== undefined) await refuseBeyondMember(sql, { ...key, ...key.madeBy, keyId: null })
      // This locks one row, so keys are made one after another, and the next statement counts all of them.
      await countRows(sql, this.#seal, 'api_key')
      const [there = {}] = await sql.all('SELECT COUNT(*) AS keys FROM api_key WHERE account_id = ? AND deleted = 0', [
        key.accountId,
      ])
      if (integer(there, 'keys') >= most) throw new TooManyKeysError(`Account ${key.accountId} has its ${most} keys.`)
      await insertSealed(sql, this.#seal, 'api_key', {
        ...KEYS.cells({ disabled: false, ...key, limits: key.limits ?? null, madeBy: key.madeBy?.userId ?? null }),
        digest: key.digest,
        deleted: 0n,
      })
    })
    const made = await KEYS.one(this.#database, 'WHERE id = ?', [key.id])
    if (made === null) throw new Error(`Key ${key.id} was not found after it was created.`)
    return made
  }

  async findByDigest(digest: Buffer): Promise<KeyOwner | null> {
    const owner = await this.#owner('digest', digest)
    if (owner !== null) return owner
    const [secret] = await this.#database.all(
      'SELECT key_id, ends_at FROM key_secret WHERE digest = ?',
      [digest],
      LOOK_UP,
    )
    if (secret === undefined) return null
    const replaced = await this.#owner('id', text(secret, 'key_id'))
    return replaced === null ? null : { ...replaced, secretEndsAtMs: integer(secret, 'ends_at') }
  }

  /** The key with its account, as authentication needs it; null = it is deleted. */
  async findOwner(id: string): Promise<KeyOwner | null> {
    return this.#owner('id', id)
  }

  /** Like `coldWrites` of the database: rows of keys and accounts read at the same number are still current. */
  get changes(): number | null {
    return this.#database.coldWrites
  }

  get(id: string, periods: PeriodStarts): Promise<NamedKey | null> {
    return this.lists.one(id, periods)
  }

  /**
   * Changes the given fields; null = there is no such key. A function decides them by the key's current state, while
   * nobody else changes it; if it throws, nothing changes. `periods` = the current ones, in which a lowered limit may
   * be exceeded already. Throws ExternalIdTakenError.
   */
  async update(
    id: string,
    change: KeyPatch | ((current: KeyRecord) => KeyPatch),
    periods: PeriodStarts,
  ): Promise<KeyRecord | null> {
    return this.#database.transaction(async (sql) => {
      const current = typeof change === 'function' ? await this.#locked(sql, id) : null
      if (typeof change === 'function' && current === null) return null
      const patch = typeof change !== 'function' ? change : current === null ? {} : change(current)
      const { limits, externalId, ...terms } = patch
      await this.#change(sql, id, {
        ...KEYS.cells(terms),
        limits: limits === undefined ? undefined : await this.#limitsAfter(sql, id, limits),
      })
      const key = await KEYS.one(sql, LIVE, [id])
      if (key === null) return null
      if (externalId !== undefined) await nameRecord(sql, 'key', id, externalId)
      if (patch.limitMicro === undefined && patch.limitReset === undefined) return key
      await this.#recordOver(sql, key, periods)
      if (key.madeBy !== null) {
        const made = { ...key, userId: key.madeBy, month: periods.month, keyId: id }
        await refuseBeyondMember(sql, made)
      }
      return key
    }, CHANGE)
  }

  #locked(sql: Sql, id: string): Promise<KeyRecord | null> {
    return KEYS.one(sql, `${LIVE}${ROW_LOCK}`, [id])
  }

  /**
   * Gives a key a new secret. The previous secret works until its end, and earlier ones to theirs, but no longer. Money
   * and limits stay with the key. 'missing' = there is no such key, 'full' = too many secrets still work.
   */
  async rotate(id: string, rotation: KeyRotation): Promise<'rotated' | 'missing' | 'full'> {
    const { digest, label, atMs, graceUntilMs, secretId } = rotation
    return this.#database.transaction(async (sql) => {
      // The digest is a key of its table, so its change needs the stronger lock: taken later, the lock would break the
      // common order.
      const [before] = await sql.all('SELECT digest FROM api_key WHERE id = ? AND deleted = 0 FOR UPDATE', [id])
      if (before === undefined) return 'missing'
      // Without a grace period all earlier secrets end now.
      const isLast = graceUntilMs <= atMs
      const endedBeforeMs = isLast ? Number.MAX_SAFE_INTEGER : atMs
      await sql.run('DELETE FROM key_secret WHERE key_id = ? AND ends_at <= ?', [id, BigInt(endedBeforeMs)])
      const others = await sql.all('SELECT id, ends_at FROM key_secret WHERE key_id = ? ORDER BY id', [id])
      if (!isLast && others.length >= SECRETS_MAX) return 'full'
      for (const other of others.filter((row) => integer(row, 'ends_at') > graceUntilMs))
        await changeRow(sql, this.#seal, 'key_secret', text(other, 'id'), { ends_at: BigInt(graceUntilMs) })
      if (!isLast) {
        const old = bytes(before, 'digest')
        await insertSealed(sql, this.#seal, 'key_secret', {
          id: secretId,
          key_id: id,
          digest: old,
          ends_at: BigInt(graceUntilMs),
        })
      }
      await this.#change(sql, id, { digest, label })
      return 'rotated'
    }, CHANGE)
  }

  /**
   * The limits are read in the transaction of the change, so that two changes of different limits at once both take
   * effect.
   */
  async #limitsAfter(sql: Sql, id: string, patch: Partial<KeyLimits>): Promise<string | null> {
    const [row = {}] = await sql.all(`SELECT limits FROM api_key WHERE id = ?${ROW_LOCK}`, [id])
    return jsonText(limitsOrNull({ ...NO_LIMITS, ...json<KeyLimits>(row, 'limits'), ...patch }))
  }

  /** false = there is no such key. Its past requests stay in the log. `check` may throw to refuse the deletion. */
  async delete(id: string, check?: (current: KeyRecord) => void): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const current = check === undefined ? null : await this.#locked(sql, id)
      if (current !== null) check?.(current)
      if (!(await this.#change(sql, id, { deleted: 1n }))) return false
      await nameRecord(sql, 'key', id, null)
      return true
    }, CHANGE)
  }

  async touch(ids: readonly string[], atMs: number): Promise<void> {
    const where = lockedIds(this.#database.dialect, 'api_key')
    const text = `UPDATE api_key SET last_used_at = ? WHERE ${where}`
    await this.#database.transaction((sql) => sql.run(text, [BigInt(atMs), JSON.stringify(ids)]), { purpose: 'note' })
  }

  /** Changes a key and renews its seal; false = there is no such key. */
  async #change(sql: Sql, id: string, change: Cells): Promise<boolean> {
    return (await changeRow(sql, this.#seal, 'api_key', id, change, { where: 'deleted = 0' })) === 1
  }

  /**
   * Records that a limit was lowered below the spent and held amounts: the highest excess of the period, for invariant
   * I6.
   */
  async #recordOver(sql: Sql, key: KeyRecord, periods: PeriodStarts): Promise<void> {
    const period = limitPeriod(key, periods)
    if (period === null || key.limitMicro === null) return
    const [spend] = await sql.all('SELECT spent, excess FROM key_spend WHERE key_id = ? AND period = ? AND start = ?', [
      key.id,
      period.period,
      period.start,
    ])
    const [spent, excess] = spend === undefined ? [0n, 0n] : [big(spend, 'spent'), big(spend, 'excess')]
    const place = `${period.period} ${period.start}`
    const [known = {}] = await sql.all('SELECT held, limit_over, limit_over_start FROM api_key WHERE id = ?', [key.id])
    const before = textOrNull(known, 'limit_over_start') === place ? (bigOrNull(known, 'limit_over') ?? 0n) : 0n
    const over = spent + big(known, 'held') - key.limitMicro - excess
    // The period gets a row, so that I6 does not use an earlier one.
    await sql.run(
      'INSERT INTO key_spend (key_id, period, start) VALUES (?,?,?) ON CONFLICT (key_id, period, start) DO NOTHING',
      [key.id, period.period, period.start],
    )
    await this.#change(sql, key.id, { limit_over: over > before ? over : before, limit_over_start: place })
  }

  async #owner(column: 'digest' | 'id', value: SqlValue): Promise<KeyOwner | null> {
    const [row] = await this.#database.all(`${OWNER} AND k.${column} = ?`, [value], LOOK_UP)
    return row === undefined ? null : { key: OWNER_TERMS.read(row), account: readAccountRules(row) }
  }
}

/** Limits of one key in a minute; null = only the account's limit applies. */
export interface MinuteLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

/** The limits of a key besides its spending limit, stored with it as JSON. */
export interface KeyLimits extends MinuteLimits {
  /** The most paid requests that run at once. */
  readonly runningRequests: number | null
  /** Limits by the id of a model, or by a pattern such as `openai/*`. */
  readonly modelLimits: Readonly<Record<string, MinuteLimits>> | null
  /** Addresses and CIDR ranges from which the key works; null = from everywhere. */
  readonly allowedIps: readonly string[] | null
}

export const NO_LIMITS: KeyLimits = Object.freeze({
  requestsPerMinute: null,
  tokensPerMinute: null,
  runningRequests: null,
  modelLimits: null,
  allowedIps: null,
})

/** The limits as they are stored; null = nothing is limited, as for most keys. */
export function limitsOrNull(limits: KeyLimits): KeyLimits | null {
  return Object.values(limits).every((limit) => limit === null) ? null : limits
}

/** The limits that the relay counts; null = there are none. Addresses are checked earlier. */
export function countedLimits(limits: KeyLimits | null): KeyLimits | null {
  return limits === null || limitsOrNull({ ...limits, allowedIps: null }) === null ? null : limits
}

/** The limits of one model for a key: those of its own id, else those of the longest matching pattern. */
export function limitsOfModel({ modelLimits }: KeyLimits, model: string): MinuteLimits | null {
  if (modelLimits === null) return null
  const own = ownValue(modelLimits, model)
  if (own !== undefined) return own
  const [longest] = Object.keys(modelLimits)
    .filter((pattern) => pattern.includes('*') && fits(pattern, model))
    .toSorted((one, other) => other.length - one.length)
  return longest === undefined ? null : (ownValue(modelLimits, longest) ?? null)
}

/**
 * Whether a model matches a pattern, in which `*` matches any text. Each part is searched for once, after the part
 * before, so the work is linear.
 */
function fits(pattern: string, model: string): boolean {
  const parts = pattern.split('*')
  const [first = '', ...rest] = parts
  const last = rest.pop() ?? ''
  if (!model.startsWith(first) || model.length < first.length + last.length || !model.endsWith(last)) return false
  let place = first.length
  for (const part of rest) {
    const found = model.indexOf(part, place)
    if (found === -1) return false
    place = found + part.length
  }
  return place <= model.length - last.length
}

const MANAGEMENT_KEYS = new Rows('management_key', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  name: column.text('name'),
  label: column.text('label'),
  expiresAtMs: column.integerOrNull('expires_at'),
  createdAtMs: column.integer('created_at'),
  lastUsedAtMs: column.integerOrNull('last_used_at'),
  /** The owner who made it; null = it is older than this column. */
  madeBy: column.textOrNull('made_by'),
})
/** A key that manages the keys of its account and opens no model. */
export type ManagementKey = RecordOf<typeof MANAGEMENT_KEYS>

export type NewManagementKey = Omit<ManagementKey, 'lastUsedAtMs'> & {
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
}

/** Management keys are in a separate table, so none can be taken for an API key. */
export class ManagementKeyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The same as for API keys. */
  get changes(): number | null {
    return this.#database.coldWrites
  }

  async create(key: NewManagementKey): Promise<void> {
    await insertRow(this.#database, 'management_key', { ...MANAGEMENT_KEYS.cells(key), digest: key.digest })
  }

  /** The key with its account, as authentication needs it. */
  async findByDigest(digest: Buffer): Promise<KeyOwner | null> {
    const found = await MANAGEMENT_KEYS.one(this.#database, 'WHERE digest = ?', [digest])
    if (found === null) return null
    const { accountId, madeBy } = found
    const account = await findAccountRules(this.#database, accountId)
    if (account === null) return null
    const disabled = madeBy !== null && !(await isOwner(this.#database, accountId, madeBy))
    const key = {
      ...found,
      disabled,
      limitMicro: null,
      limitReset: null,
      allowedModels: null,
      limits: null,
      madeBy: null,
      person: null,
    }
    return { key, account, isManagement: true }
  }

  get(id: string): Promise<ManagementKey | null> {
    return MANAGEMENT_KEYS.one(this.#database, 'WHERE id = ?', [id])
  }

  list(accountId: string): Promise<readonly ManagementKey[]> {
    return MANAGEMENT_KEYS.all(this.#database, 'WHERE account_id = ? ORDER BY created_at DESC, id', [accountId])
  }

  /** false = the account has no such key. */
  async delete(id: string, accountId: string): Promise<boolean> {
    return (
      (await this.#database.run('DELETE FROM management_key WHERE id = ? AND account_id = ?', [id, accountId])) === 1
    )
  }

  async touch(ids: readonly string[], atMs: number): Promise<void> {
    await this.#database.transaction(
      async (sql) => {
        for (const id of ids)
          await sql.run('UPDATE management_key SET last_used_at = ? WHERE id = ?', [BigInt(atMs), id])
      },
      { purpose: 'note' },
    )
  }
}
