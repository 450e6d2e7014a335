import { isOwner } from '../people/member-store.ts'
import { findAccountRules } from './account-store.ts'
import { integer, integerOrNull, text, textOrNull, type Database, type Row } from '../database.ts'
import type { KeyOwner } from './key-store.ts'

/** A key that manages the keys of its account and opens no model. */
export interface ManagementKey {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly label: string
  readonly expiresAtMs: number | null
  readonly createdAtMs: number
  readonly lastUsedAtMs: number | null
  /** The owner who made it; null = it is from before this was stored. */
  readonly madeBy: string | null
}

export type NewManagementKey = Omit<ManagementKey, 'lastUsedAtMs'> & {
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
}

const COLUMNS = 'id, account_id, name, label, expires_at, created_at, last_used_at, made_by'

function readKey(row: Row): ManagementKey {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    name: text(row, 'name'),
    label: text(row, 'label'),
    expiresAtMs: integerOrNull(row, 'expires_at'),
    createdAtMs: integer(row, 'created_at'),
    lastUsedAtMs: integerOrNull(row, 'last_used_at'),
    madeBy: textOrNull(row, 'made_by'),
  }
}

/** In a separate table: none of these is taken for an API key. */
export class ManagementKeyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** As of the API keys. */
  get changes(): number | null {
    return this.#database.coldWrites
  }

  async create(key: NewManagementKey): Promise<void> {
    await this.#database.run(
      'INSERT INTO management_key (id, account_id, name, digest, label, expires_at, created_at, made_by) VALUES (?,?,?,?,?,?,?,?)',
      [
        key.id,
        key.accountId,
        key.name,
        key.digest,
        key.label,
        key.expiresAtMs === null ? null : BigInt(key.expiresAtMs),
        BigInt(key.createdAtMs),
        key.madeBy,
      ],
    )
  }

  /** With its account, as authentication needs it. */
  async findByDigest(digest: Buffer): Promise<KeyOwner | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM management_key WHERE digest = ?`, [digest])
    if (row === undefined) return null
    const { id, accountId, name, label, expiresAtMs, createdAtMs, lastUsedAtMs, madeBy } = readKey(row)
    const account = await findAccountRules(this.#database, accountId)
    if (account === null) return null
    const disabled = madeBy !== null && !(await isOwner(this.#database, accountId, madeBy))
    const none = { disabled, limitMicro: null, limitReset: null, allowedModels: null, limits: null }
    const key = {
      id,
      accountId,
      name,
      label,
      expiresAtMs,
      createdAtMs,
      lastUsedAtMs,
      graceUntilMs: null,
      madeBy: null,
      person: null,
      ...none,
    }
    return { key, account, isManagement: true }
  }

  async get(id: string): Promise<ManagementKey | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM management_key WHERE id = ?`, [id])
    return row === undefined ? null : readKey(row)
  }

  async list(accountId: string): Promise<readonly ManagementKey[]> {
    const rows = await this.#database.all(
      `SELECT ${COLUMNS} FROM management_key WHERE account_id = ? ORDER BY created_at DESC, id`,
      [accountId],
    )
    return rows.map(readKey)
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
