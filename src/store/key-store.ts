import { limitPeriod } from '../ledger/ledger-core.ts'
import type { LimitReset, PeriodStarts } from '../ledger/ledger-store.ts'
import { jsonText, readAccount } from './account-store.ts'
import { sealedSelect, type BookSeal } from './book-seal.ts'
import {
  big,
  bigOrNull,
  bit,
  integer,
  integerOrNull,
  json,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
} from './database.ts'
import type { KeyOwner, KeyPatch, KeyRecord, KeySpend, KeyStore, NewKey } from './store.ts'

const COLUMNS =
  'id, account_id, name, label, disabled, spend_limit, limit_reset, expires_at, allowed_models, held, created_at, last_used_at'

interface KeyWithSpend {
  readonly key: KeyRecord
  readonly spend: KeySpend
}

function readKey(row: Row): KeyRecord {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    name: text(row, 'name'),
    label: text(row, 'label'),
    disabled: big(row, 'disabled') !== 0n,
    limitMicro: bigOrNull(row, 'spend_limit'),
    // A CHECK of the schema bounds it.
    limitReset: textOrNull(row, 'limit_reset') as LimitReset | null,
    expiresAtMs: integerOrNull(row, 'expires_at'),
    allowedModels: json<readonly string[]>(row, 'allowed_models'),
    createdAtMs: integer(row, 'created_at'),
    lastUsedAtMs: integerOrNull(row, 'last_used_at'),
  }
}

export class SqlKeys implements KeyStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  async create(key: NewKey): Promise<KeyRecord> {
    await this.#database.run(
      'INSERT INTO api_key (id, account_id, name, digest, label, spend_limit, limit_reset, expires_at, allowed_models, created_at, seal) VALUES (?,?,?,?,?,?,?,?,?,?,?)',
      [
        key.id,
        key.accountId,
        key.name,
        key.digest,
        key.label,
        key.limitMicro,
        key.limitReset,
        millis(key.expiresAtMs),
        jsonText(key.allowedModels),
        BigInt(key.createdAtMs),
        this.#sealOf(key),
      ],
    )
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ?`, [key.id])
    if (row === undefined) throw new Error(`Key ${key.id} was not found after it was created.`)
    return readKey(row)
  }

  async findByDigest(digest: Buffer): Promise<KeyOwner | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM api_key WHERE digest = ? AND deleted = 0`, [digest])
    return row === undefined ? null : this.#withAccount(readKey(row))
  }

  async findOwner(id: string): Promise<KeyOwner | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ? AND deleted = 0`, [id])
    return row === undefined ? null : this.#withAccount(readKey(row))
  }

  async get(id: string, periods: PeriodStarts): Promise<KeyWithSpend | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ? AND deleted = 0`, [id])
    return row === undefined ? null : this.#withSpend(row, periods)
  }

  async list(accountId: string, periods: PeriodStarts): Promise<readonly KeyWithSpend[]> {
    const rows = await this.#database.all(
      `SELECT ${COLUMNS} FROM api_key WHERE account_id = ? AND deleted = 0 ORDER BY created_at DESC, id`,
      [accountId],
    )
    return Promise.all(rows.map((row) => this.#withSpend(row, periods)))
  }

  async update(id: string, patch: KeyPatch, periods: PeriodStarts): Promise<KeyRecord | null> {
    const sets: string[] = []
    const values: SqlValue[] = []
    const set = (column: string, value: SqlValue): void => {
      sets.push(`${column} = ?`)
      values.push(value)
    }
    if (patch.name !== undefined) set('name', patch.name)
    if (patch.disabled !== undefined) set('disabled', bit(patch.disabled))
    if (patch.limitMicro !== undefined) set('spend_limit', patch.limitMicro)
    if (patch.limitReset !== undefined) set('limit_reset', patch.limitReset)
    if (patch.expiresAtMs !== undefined) set('expires_at', millis(patch.expiresAtMs))
    if (patch.allowedModels !== undefined) set('allowed_models', jsonText(patch.allowedModels))
    return this.#database.transaction(async (sql) => {
      if (sets.length > 0) await this.#change(sql, id, sets, values)
      const [row] = await sql.all(`SELECT ${COLUMNS} FROM api_key WHERE id = ? AND deleted = 0`, [id])
      if (row === undefined) return null
      if (patch.limitMicro !== undefined || patch.limitReset !== undefined) await recordExcess(sql, row, periods)
      return readKey(row)
    })
  }

  async delete(id: string): Promise<boolean> {
    return this.#database.transaction((sql) => this.#change(sql, id, ['deleted = 1'], []))
  }

  async touch(ids: readonly string[], atMs: number): Promise<void> {
    await this.#database.transaction(async (sql) => {
      for (const id of ids) await sql.run('UPDATE api_key SET last_used_at = ? WHERE id = ?', [BigInt(atMs), id])
    })
  }

  /** Sealed anew with the change; false = no such key. */
  async #change(sql: Sql, id: string, sets: readonly string[], values: readonly SqlValue[]): Promise<boolean> {
    const select = `SELECT ${sealedSelect('api_key')} FROM api_key WHERE id = ?`
    const [before] = await sql.all(
      `${select} AND deleted = 0${this.#database.dialect === 'postgres' ? ' FOR UPDATE' : ''}`,
      [id],
    )
    if (before === undefined) return false
    await sql.run(`UPDATE api_key SET ${sets.join(', ')} WHERE id = ?`, [...values, id])
    const [after = {}] = await sql.all(select, [id])
    await sql.run('UPDATE api_key SET seal = ? WHERE id = ?', [this.#seal.again('api_key', before, after), id])
    return true
  }

  #sealOf(key: NewKey): string {
    return this.#seal.of('api_key', [
      key.id,
      key.accountId,
      key.digest,
      0n,
      0n,
      key.limitMicro,
      key.limitReset,
      key.expiresAtMs,
      jsonText(key.allowedModels),
      key.createdAtMs,
    ])
  }

  async #withAccount(key: KeyRecord): Promise<KeyOwner | null> {
    const [account] = await this.#database.all(
      'SELECT id, name, email, status, default_model, rate_limit, allowed_models, available, held, created_at FROM account WHERE id = ?',
      [key.accountId],
    )
    return account === undefined ? null : { key, account: readAccount(account) }
  }

  async #withSpend(row: Row, periods: PeriodStarts): Promise<KeyWithSpend> {
    const key = readKey(row)
    const rows = await this.#database.all(
      `SELECT period, spent FROM key_spend WHERE key_id = ? AND ((period = 'total' AND start = '') OR (period = 'day' AND start = ?) OR (period = 'week' AND start = ?) OR (period = 'month' AND start = ?))`,
      [key.id, periods.day, periods.week, periods.month],
    )
    const spent = new Map(rows.map((spend) => [text(spend, 'period'), big(spend, 'spent')]))
    return {
      key,
      spend: {
        totalMicro: spent.get('total') ?? 0n,
        dayMicro: spent.get('day') ?? 0n,
        weekMicro: spent.get('week') ?? 0n,
        monthMicro: spent.get('month') ?? 0n,
        heldMicro: big(row, 'held'),
      },
    }
  }
}

/** A limit lowered below what is spent and held leaves an overrun that invariant I6 must know of. */
async function recordExcess(sql: Sql, row: Row, periods: PeriodStarts): Promise<void> {
  const key = readKey(row)
  const period = limitPeriod(key, periods)
  if (period === null || key.limitMicro === null) return
  const [spend] = await sql.all('SELECT spent FROM key_spend WHERE key_id = ? AND period = ? AND start = ?', [
    key.id,
    period.period,
    period.start,
  ])
  const over = (spend === undefined ? 0n : big(spend, 'spent')) + big(row, 'held') - key.limitMicro
  const excess = over > 0n ? over : 0n
  await sql.run(
    `INSERT INTO key_spend (key_id, period, start, spent, excess) VALUES (?,?,?,0,?) ON CONFLICT (key_id, period, start)
     DO UPDATE SET excess = CASE WHEN key_spend.excess > excluded.excess THEN key_spend.excess ELSE excluded.excess END`,
    [key.id, period.period, period.start, excess],
  )
}

function millis(value: number | null): bigint | null {
  return value === null ? null : BigInt(value)
}
