import type { BookSeal } from '../audit/book-seal.ts'
import { CHANGE, type Database, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { changeRow, column, insertSealed, Rows, type RecordOf } from '../rows.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'

const GROUPS = new Rows(
  'account_group',
  {
    id: column.text('id'),
    /** The id that a client gave the group. */
    externalId: column.textOrNull('external_id', EXTERNAL_IDS.account_group),
    /** No other group has this name. */
    name: column.text('name'),
    /** The factor of the prices of its accounts, a decimal above 0. */
    markup: column.text('markup'),
    accounts: column.integer('accounts', '(SELECT COUNT(*) FROM account a WHERE a.group_id = g.id)'),
    createdAtMs: column.integer('created_at'),
  },
  { of: 'g' },
)
/** Accounts that pay by the same rule. */
export type AccountGroup = RecordOf<typeof GROUPS>

export type AccountGroupPatch = Partial<Pick<AccountGroup, 'name' | 'markup' | 'externalId'>>

export class AccountGroupStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** false = another group has the name. Throws ExternalIdTakenError. */
  create(group: Omit<AccountGroup, 'accounts'>): Promise<boolean> {
    const { id, externalId } = group
    return this.#database.transaction(async (sql) => {
      if (externalId !== null) await nameRecord(sql, 'account_group', id, externalId)
      const added = await insertSealed(sql, this.#seal, 'account_group', GROUPS.cells(group), ' ON CONFLICT DO NOTHING')
      // The group was not made, so the name is removed again.
      if (added === 0 && externalId !== null) await nameRecord(sql, 'account_group', id, null)
      return added === 1
    })
  }

  get(id: string): Promise<AccountGroup | null> {
    return GROUPS.one(this.#database, 'WHERE g.id = ?', [id])
  }

  /** Locks the group: nobody else changes it before the end of the transaction. */
  #locked(sql: Sql, id: string, lock: string = ROW_LOCK): Promise<AccountGroup | null> {
    return GROUPS.one(sql, `WHERE g.id = ?${lock}`, [id])
  }

  /** All groups by name; an operator has few. */
  list(): Promise<readonly AccountGroup[]> {
    return GROUPS.all(this.#database, 'ORDER BY g.name')
  }

  /**
   * `decide` returns the changes for the group's current state; if it throws, nothing changes. `taken` = another group
   * has the name; null = there is no such group. Throws ExternalIdTakenError.
   */
  async update(
    id: string,
    decide: (current: AccountGroup) => AccountGroupPatch,
  ): Promise<AccountGroup | 'taken' | null> {
    const done = await this.#database.transaction(async (sql) => {
      const current = await this.#locked(sql, id)
      if (current === null) return null
      const patch = decide(current)
      if (patch.name !== undefined) {
        const [other] = await sql.all('SELECT id FROM account_group WHERE name = ? AND id <> ?', [patch.name, id])
        if (other !== undefined) return 'taken'
      }
      await changeRow(sql, this.#seal, 'account_group', id, GROUPS.cells(patch))
      if (patch.externalId !== undefined) await nameRecord(sql, 'account_group', id, patch.externalId)
      return null
    }, CHANGE)
    return done ?? this.get(id)
  }

  /** `check` may throw to refuse the deletion. */
  delete(id: string, check?: (current: AccountGroup) => void): Promise<'deleted' | 'in_use' | 'unknown'> {
    return this.#database.transaction(async (sql) => {
      // Waits for an account that joins the group at this moment.
      const current = await this.#locked(sql, id, ' FOR UPDATE')
      if (current === null) return 'unknown'
      check?.(current)
      const deleted = await sql.run(
        'DELETE FROM account_group WHERE id = ? AND NOT EXISTS (SELECT 1 FROM account WHERE group_id = ?)',
        [id, id],
      )
      if (deleted === 0) return 'in_use'
      await nameRecord(sql, 'account_group', id, null)
      return 'deleted'
    }, CHANGE)
  }
}
