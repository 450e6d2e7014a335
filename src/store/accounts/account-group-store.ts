import type { BookSeal } from '../audit/book-seal.ts'
import { CHANGE, integer, text, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { changeRow } from '../sealed-row.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'

/** Accounts that pay by one rule. */
export interface AccountGroup {
  readonly id: string
  /** The id that a client gave it. */
  readonly externalId: string | null
  /** No other group has it. */
  readonly name: string
  /** What the prices of its accounts are multiplied with, a decimal above 0. */
  readonly markup: string
  readonly accounts: number
  readonly createdAtMs: number
}

export interface AccountGroupPatch {
  readonly name?: string
  readonly markup?: string
  readonly externalId?: string | null
}

const EXTERNAL_ID = EXTERNAL_IDS.account_group
const SELECT = `SELECT g.id, g.name, g.markup, g.created_at, (SELECT COUNT(*) FROM account a WHERE a.group_id = g.id) AS accounts, ${EXTERNAL_ID} AS external_id FROM account_group g`

function readGroup(row: Row): AccountGroup {
  return {
    id: text(row, 'id'),
    externalId: textOrNull(row, 'external_id'),
    name: text(row, 'name'),
    markup: text(row, 'markup'),
    accounts: integer(row, 'accounts'),
    createdAtMs: integer(row, 'created_at'),
  }
}

export class AccountGroupStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** false = another group has the name. Throws ExternalIdTakenError. */
  create({ id, externalId, name, markup, createdAtMs }: Omit<AccountGroup, 'accounts'>): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      if (externalId !== null) await nameRecord(sql, 'account_group', id, externalId)
      const added = await sql.run(
        'INSERT INTO account_group (id, name, markup, created_at, seal) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING',
        [id, name, markup, BigInt(createdAtMs), this.#seal.of('account_group', [id, markup, BigInt(createdAtMs)])],
      )
      // The name was given in vain.
      if (added === 0 && externalId !== null) await nameRecord(sql, 'account_group', id, null)
      return added === 1
    })
  }

  async get(id: string): Promise<AccountGroup | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE g.id = ?`, [id])
    return row === undefined ? null : readGroup(row)
  }

  /** Nobody else changes it before the end of the transaction. */
  async #locked(sql: Sql, id: string, lock: string = ROW_LOCK): Promise<AccountGroup | null> {
    const [row] = await sql.all(`${SELECT} WHERE g.id = ?${lock}`, [id])
    return row === undefined ? null : readGroup(row)
  }

  /** By name. An operator has a few of them. */
  async list(): Promise<readonly AccountGroup[]> {
    return (await this.#database.all(`${SELECT} ORDER BY g.name`)).map(readGroup)
  }

  /**
   * `decide` says the changes by the group as it is; what it throws keeps all as it was. `taken` = another group has
   * the name; null = there is no such group. Throws ExternalIdTakenError.
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
      await changeRow(sql, this.#seal, 'account_group', id, {
        name: patch.name,
        markup: patch.markup,
      })
      if (patch.externalId !== undefined) await nameRecord(sql, 'account_group', id, patch.externalId)
      return null
    }, CHANGE)
    return done ?? this.get(id)
  }

  /** `check` may refuse by what it throws. */
  delete(id: string, check?: (current: AccountGroup) => void): Promise<'deleted' | 'in_use' | 'unknown'> {
    return this.#database.transaction(async (sql) => {
      // An account that joins it at this moment is waited for.
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
