import type { Micro } from '../../base/money.ts'
import { limitPeriod } from '../../ledger/hold-rules.ts'
import type { LimitReset, PeriodStarts } from '../../ledger/ledger-store.ts'
import { refuseBeyondMember } from '../people/member-store.ts'
import { GROUP_OF_RULES, jsonText, readAccountRules, RULES, type AccountRules } from './account-store.ts'
import { nameRecord } from './external-id-store.ts'
import { PERSON, KeyLists, type ListedKey } from './key-lists.ts'
import { limitsOrNull, NO_LIMITS, type KeyLimits } from './key-limits.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import {
  big,
  bigOrNull,
  bit,
  bytes,
  CHANGE,
  integer,
  integerOrNull,
  json,
  LOOK_UP,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
} from '../database.ts'
import { ROW_LOCK, lockedIds } from '../dialect.ts'
import { countRows } from '../page.ts'
import { changeRow, type RowChange } from '../sealed-row.ts'

export interface KeyRecord {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  readonly expiresAtMs: number | null
  readonly allowedModels: readonly string[] | null
  /** null = none. */
  readonly limits: KeyLimits | null
  readonly createdAtMs: number
  readonly lastUsedAtMs: number | null
  /** Until when a replaced secret works; null = none was replaced. It may be over. */
  readonly graceUntilMs: number | null
  /** The person who made it in the cabinet; null = a program, the operator, or from before this was stored. */
  readonly madeBy: string | null
  /** The member whose things those of the key are; null = they are the account's own. */
  readonly person: string | null
}

/** The fields that authentication needs, joined in one look-up. */
export interface KeyOwner {
  readonly key: Omit<KeyRecord, 'accountId' | 'createdAtMs' | 'lastUsedAtMs' | 'graceUntilMs'>
  readonly account: AccountRules
  readonly isManagement?: true
  /** The end of the secret that was looked for, which another has replaced; absent = it is the key's own. */
  readonly secretEndsAtMs?: number
}

/** The new secret of a key. */
export interface KeyRotation {
  /** SHA-256 of the secret, 32 bytes. */
  readonly digest: Buffer
  readonly label: string
  readonly atMs: number
  /** When the replaced secret ends, and those before it at the latest. */
  readonly graceUntilMs: number
  /** Names the replaced secret. */
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
  /** The person, and the month in which it is made. */
  readonly madeBy?: { readonly userId: string; readonly month: string }
}

const COLUMNS = `id, account_id, name, label, disabled, spend_limit, limit_reset, expires_at, allowed_models, limits, held, created_at, last_used_at, made_by, (SELECT ${PERSON} FROM api_key k WHERE k.id = api_key.id) AS person, (SELECT MAX(ends_at) FROM key_secret WHERE key_id = api_key.id) AS grace_until`

/** Replaced secrets of a key that still work. */
const SECRETS_MAX = 10

export type KeyWithSpend = Pick<NamedKey, 'key' | 'spend'>
export type NamedKey = ListedKey<KeyRecord>

/** An account may have no more keys. */
export class TooManyKeysError extends Error {
  override readonly name = 'TooManyKeysError'
}

const OWNER = `SELECT k.id AS key_id, k.name AS name, k.label AS label, k.disabled AS disabled, k.spend_limit AS spend_limit,
  k.limit_reset AS limit_reset, k.expires_at AS expires_at, k.allowed_models AS key_models, k.limits AS limits, k.made_by AS made_by, ${PERSON} AS person, ${RULES}
  FROM api_key k JOIN account a ON a.id = k.account_id ${GROUP_OF_RULES} WHERE k.deleted = 0`

function readTerms(row: Row, column: { readonly id: string; readonly models: string }): KeyOwner['key'] {
  return {
    id: text(row, column.id),
    name: text(row, 'name'),
    label: text(row, 'label'),
    disabled: big(row, 'disabled') !== 0n,
    limitMicro: bigOrNull(row, 'spend_limit'),
    // A CHECK of the schema bounds it.
    limitReset: textOrNull(row, 'limit_reset') as LimitReset | null,
    expiresAtMs: integerOrNull(row, 'expires_at'),
    allowedModels: json<readonly string[]>(row, column.models),
    limits: json<KeyLimits>(row, 'limits'),
    madeBy: textOrNull(row, 'made_by'),
    person: textOrNull(row, 'person'),
  }
}

function readKey(row: Row): KeyRecord {
  return {
    ...readTerms(row, { id: 'id', models: 'allowed_models' }),
    accountId: text(row, 'account_id'),
    createdAtMs: integer(row, 'created_at'),
    lastUsedAtMs: integerOrNull(row, 'last_used_at'),
    graceUntilMs: integerOrNull(row, 'grace_until'),
  }
}

export class KeyStore {
  readonly #database: Database
  readonly #seal: BookSeal
  readonly lists: KeyLists<KeyRecord>

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.lists = new KeyLists(database, COLUMNS, readKey)
    this.#seal = seal
  }

  /** `most` = keys that the account may then have; throws TooManyKeysError. */
  async create(key: NewKey, most = Infinity): Promise<KeyRecord> {
    await this.#database.transaction(async (sql) => {
      if (typeof key.externalId === 'string') await nameRecord(sql, 'key', key.id, key.externalId)
      if (key.madeBy !== undefined) await refuseBeyondMember(sql, { ...key, ...key.madeBy, keyId: null })
      // It is one row: keys are made one after another, so what follows counts all of them.
      await countRows(sql, this.#seal, 'api_key')
      const [there = {}] = await sql.all('SELECT COUNT(*) AS keys FROM api_key WHERE account_id = ? AND deleted = 0', [
        key.accountId,
      ])
      if (integer(there, 'keys') >= most) throw new TooManyKeysError(`Account ${key.accountId} has its ${most} keys.`)
      await sql.run(
        'INSERT INTO api_key (id, account_id, name, digest, label, disabled, spend_limit, limit_reset, expires_at, allowed_models, limits, created_at, made_by, seal) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)',
        [
          key.id,
          key.accountId,
          key.name,
          key.digest,
          key.label,
          bit(key.disabled ?? false),
          key.limitMicro,
          key.limitReset,
          millis(key.expiresAtMs),
          jsonText(key.allowedModels),
          jsonText(key.limits ?? null),
          BigInt(key.createdAtMs),
          key.madeBy?.userId ?? null,
          this.#sealOf(key),
        ],
      )
    })
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ?`, [key.id])
    if (row === undefined) throw new Error(`Key ${key.id} was not found after it was created.`)
    return readKey(row)
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

  /** With its account, as authentication needs it; null when it is deleted. */
  async findOwner(id: string): Promise<KeyOwner | null> {
    return this.#owner('id', id)
  }

  /** Like `coldWrites` of the database: rows of keys and accounts read at the same number are still right. */
  get changes(): number | null {
    return this.#database.coldWrites
  }

  get(id: string, periods: PeriodStarts): Promise<NamedKey | null> {
    return this.lists.one(id, periods)
  }

  /**
   * Changes the given fields; null = no such key. A function decides them by the key as it is, while nobody else
   * changes it, and what it throws keeps all as it was. `periods` = the current ones, in which a lowered limit may be
   * exceeded already. Throws ExternalIdTakenError.
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
      await this.#change(sql, id, {
        name: patch.name,
        disabled: patch.disabled === undefined ? undefined : bit(patch.disabled),
        spend_limit: patch.limitMicro,
        limit_reset: patch.limitReset,
        expires_at: patch.expiresAtMs === undefined ? undefined : millis(patch.expiresAtMs),
        allowed_models: patch.allowedModels === undefined ? undefined : jsonText(patch.allowedModels),
        limits: patch.limits === undefined ? undefined : await this.#limitsAfter(sql, id, patch.limits),
      })
      const [row] = await sql.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ? AND deleted = 0`, [id])
      if (row === undefined) return null
      if (patch.externalId !== undefined) await nameRecord(sql, 'key', id, patch.externalId)
      const key = readKey(row)
      if (patch.limitMicro === undefined && patch.limitReset === undefined) return key
      await this.#recordOver(sql, row, periods)
      if (key.madeBy !== null) {
        const made = { ...key, userId: key.madeBy, month: periods.month, keyId: id }
        await refuseBeyondMember(sql, made)
      }
      return key
    }, CHANGE)
  }

  async #locked(sql: Sql, id: string): Promise<KeyRecord | null> {
    const [row] = await sql.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ? AND deleted = 0${ROW_LOCK}`, [id])
    return row === undefined ? null : readKey(row)
  }

  /**
   * Gives a key a new secret; the one that it had works until its end, and each before it as long as it did, but no
   * longer. Money and limits stay the key's. 'missing' = no such key, 'full' = too many secrets still work.
   */
  async rotate(id: string, rotation: KeyRotation): Promise<'rotated' | 'missing' | 'full'> {
    const { digest, label, atMs, graceUntilMs, secretId } = rotation
    return this.#database.transaction(async (sql) => {
      // The digest is a key of its table, so its change needs the stronger lock: taken later, it would be out of order.
      const [before] = await sql.all('SELECT digest FROM api_key WHERE id = ? AND deleted = 0 FOR UPDATE', [id])
      if (before === undefined) return 'missing'
      // Without a grace they all end now.
      const isLast = graceUntilMs <= atMs
      const endedBeforeMs = isLast ? Number.MAX_SAFE_INTEGER : atMs
      await sql.run('DELETE FROM key_secret WHERE key_id = ? AND ends_at <= ?', [id, BigInt(endedBeforeMs)])
      const others = await sql.all('SELECT id, ends_at FROM key_secret WHERE key_id = ? ORDER BY id', [id])
      if (!isLast && others.length >= SECRETS_MAX) return 'full'
      for (const other of others.filter((row) => integer(row, 'ends_at') > graceUntilMs))
        await changeRow(sql, this.#seal, 'key_secret', text(other, 'id'), { ends_at: BigInt(graceUntilMs) })
      if (!isLast) {
        const old = bytes(before, 'digest')
        const seal = this.#seal.of('key_secret', [secretId, id, old, graceUntilMs])
        await sql.run('INSERT INTO key_secret (id, key_id, digest, ends_at, seal) VALUES (?,?,?,?,?)', [
          secretId,
          id,
          old,
          BigInt(graceUntilMs),
          seal,
        ])
      }
      await this.#change(sql, id, { digest, label })
      return 'rotated'
    }, CHANGE)
  }

  /** Read in the transaction of the change, so that changes of two limits at once both stay. */
  async #limitsAfter(sql: Sql, id: string, patch: Partial<KeyLimits>): Promise<string | null> {
    const [row = {}] = await sql.all(`SELECT limits FROM api_key WHERE id = ?${ROW_LOCK}`, [id])
    return jsonText(limitsOrNull({ ...NO_LIMITS, ...json<KeyLimits>(row, 'limits'), ...patch }))
  }

  /** false = no such key. Its past requests stay in the log. `check` may refuse by what it throws. */
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

  /** Changes a key and renews its seal; false = no such key. */
  async #change(sql: Sql, id: string, change: RowChange): Promise<boolean> {
    return (await changeRow(sql, this.#seal, 'api_key', id, change, { where: 'deleted = 0' })) === 1
  }

  /**
   * A limit that is lowered below the spent and held amounts is exceeded: the highest excess of its period is recorded
   * for invariant I6.
   */
  async #recordOver(sql: Sql, row: Row, periods: PeriodStarts): Promise<void> {
    const key = readKey(row)
    const period = limitPeriod(key, periods)
    if (period === null || key.limitMicro === null) return
    const [spend] = await sql.all('SELECT spent, excess FROM key_spend WHERE key_id = ? AND period = ? AND start = ?', [
      key.id,
      period.period,
      period.start,
    ])
    const [spent, excess] = spend === undefined ? [0n, 0n] : [big(spend, 'spent'), big(spend, 'excess')]
    const place = `${period.period} ${period.start}`
    const [known = {}] = await sql.all('SELECT limit_over, limit_over_start FROM api_key WHERE id = ?', [key.id])
    const before = textOrNull(known, 'limit_over_start') === place ? (bigOrNull(known, 'limit_over') ?? 0n) : 0n
    const over = spent + big(row, 'held') - key.limitMicro - excess
    // The period gets a row, so that I6 does not look at an earlier one.
    await sql.run(
      'INSERT INTO key_spend (key_id, period, start) VALUES (?,?,?) ON CONFLICT (key_id, period, start) DO NOTHING',
      [key.id, period.period, period.start],
    )
    await this.#change(sql, key.id, { limit_over: over > before ? over : before, limit_over_start: place })
  }

  #sealOf(key: NewKey): string {
    return this.#seal.of('api_key', [
      key.id,
      key.accountId,
      key.digest,
      bit(key.disabled ?? false),
      0n,
      key.limitMicro,
      key.limitReset,
      key.expiresAtMs,
      jsonText(key.allowedModels),
      key.createdAtMs,
      null,
      null,
      jsonText(key.limits ?? null),
    ])
  }

  async #owner(column: 'digest' | 'id', value: SqlValue): Promise<KeyOwner | null> {
    const [row] = await this.#database.all(`${OWNER} AND k.${column} = ?`, [value], LOOK_UP)
    return row === undefined
      ? null
      : { key: readTerms(row, { id: 'key_id', models: 'key_models' }), account: readAccountRules(row) }
  }
}

function millis(value: number | null): bigint | null {
  return value === null ? null : BigInt(value)
}
