import { isOwner } from '../people/member-store.ts'
import { findAccountRules } from './account-store.ts'
import type { Database } from '../database.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import type { KeyOwner } from './key-store.ts'

const KEYS = new Rows('management_key', {
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
export type ManagementKey = RecordOf<typeof KEYS>

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
    await insertRow(this.#database, 'management_key', { ...KEYS.cells(key), digest: key.digest })
  }

  /** The key with its account, as authentication needs it. */
  async findByDigest(digest: Buffer): Promise<KeyOwner | null> {
    const found = await KEYS.one(this.#database, 'WHERE digest = ?', [digest])
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
    return KEYS.one(this.#database, 'WHERE id = ?', [id])
  }

  list(accountId: string): Promise<readonly ManagementKey[]> {
    return KEYS.all(this.#database, 'WHERE account_id = ? ORDER BY created_at DESC, id', [accountId])
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
