import type { BookSeal } from '../audit/book-seal.ts'
import { integer, text, type Database, type Row, type SqlValue } from '../database.ts'
import { changeRow } from '../sealed-row.ts'

/** Accounts that pay by one rule. */
export interface AccountGroup {
  readonly id: string
  /** No other group has it. */
  readonly name: string
  /** What the prices of its accounts are multiplied with, a decimal above 0. */
  readonly markup: string
  readonly accounts: number
  readonly createdAtMs: number
}

const SELECT =
  'SELECT g.id, g.name, g.markup, g.created_at, (SELECT COUNT(*) FROM account a WHERE a.group_id = g.id) AS accounts FROM account_group g'

function readGroup(row: Row): AccountGroup {
  return {
    id: text(row, 'id'),
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

  /** false = another group has the name. */
  async create({ id, name, markup, createdAtMs }: Omit<AccountGroup, 'accounts'>): Promise<boolean> {
    const added = await this.#database.run(
      'INSERT INTO account_group (id, name, markup, created_at, seal) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING',
      [id, name, markup, BigInt(createdAtMs), this.#seal.of('account_group', [id, markup, BigInt(createdAtMs)])],
    )
    return added === 1
  }

  async get(id: string): Promise<AccountGroup | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE g.id = ?`, [id])
    return row === undefined ? null : readGroup(row)
  }

  /** By name. An operator has a few of them. */
  async list(): Promise<readonly AccountGroup[]> {
    return (await this.#database.all(`${SELECT} ORDER BY g.name`)).map(readGroup)
  }

  /** `taken` = another group has the name; null = there is no such group. */
  async update(
    id: string,
    patch: { readonly name?: string; readonly markup?: string },
  ): Promise<AccountGroup | 'taken' | null> {
    const given = Object.entries({ name: patch.name, markup: patch.markup }).filter(([, value]) => value !== undefined)
    const values: SqlValue[] = given.map(([, value]) => value ?? null)
    const done = await this.#database.transaction(async (sql) => {
      if (patch.name !== undefined) {
        const [other] = await sql.all('SELECT id FROM account_group WHERE name = ? AND id <> ?', [patch.name, id])
        if (other !== undefined) return 'taken'
      }
      const sets = given.map(([column]) => `${column} = ?`)
      if (sets.length > 0)
        await changeRow(sql, { dialect: this.#database.dialect, seal: this.#seal }, 'account_group', id, {
          sets,
          values,
        })
      return null
    })
    return done ?? this.get(id)
  }

  /** false = accounts are in it, or there is no such group. */
  async delete(id: string): Promise<boolean> {
    return (
      (await this.#database.run(
        'DELETE FROM account_group WHERE id = ? AND NOT EXISTS (SELECT 1 FROM account WHERE group_id = ?)',
        [id, id],
      )) === 1
    )
  }
}
