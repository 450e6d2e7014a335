import { text, type Database, type Sql } from '../database.ts'

/** Kinds of records to which a client may give an id of its own. */
export type NamedKind = 'account' | 'key' | 'notice_channel' | 'account_group' | 'admin_token' | 'redeem_code' | 'user'

/** Thrown if another record of the kind has the external id. */
export class ExternalIdTakenError extends Error {
  override readonly name = 'ExternalIdTakenError'
}

/** A column for queries: the external id of a record of the kind's table; some tables have a letter in the query. */
export const EXTERNAL_IDS: Readonly<Record<NamedKind, string>> = {
  account: `(SELECT name FROM external_id WHERE kind = 'account' AND object_id = account.id)`,
  key: `(SELECT name FROM external_id WHERE kind = 'key' AND object_id = k.id)`,
  notice_channel: `(SELECT name FROM external_id WHERE kind = 'notice_channel' AND object_id = c.id)`,
  admin_token: `(SELECT name FROM external_id WHERE kind = 'admin_token' AND object_id = admin_token.id)`,
  redeem_code: `(SELECT name FROM external_id WHERE kind = 'redeem_code' AND object_id = redeem_code.id)`,
  user: `(SELECT name FROM external_id WHERE kind = 'user' AND object_id = u.id)`,
  account_group: `(SELECT name FROM external_id WHERE kind = 'account_group' AND object_id = g.id)`,
}

/** Runs in the transaction that makes or changes a record; null removes the id. Throws ExternalIdTakenError. */
export async function nameRecord(sql: Sql, kind: NamedKind, id: string, externalId: string | null): Promise<void> {
  await sql.run('DELETE FROM external_id WHERE kind = ? AND object_id = ?', [kind, id])
  if (externalId === null) return
  const named = await sql.run('INSERT INTO external_id (kind, name, object_id) VALUES (?,?,?) ON CONFLICT DO NOTHING', [
    kind,
    externalId,
    id,
  ])
  if (named === 0) throw new ExternalIdTakenError(`Another ${kind} has the external id ${externalId}.`)
}

/** Ids that clients have given to records. */
export class ExternalIdStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The id of the record; null = none has this external id. */
  async find(kind: NamedKind, externalId: string): Promise<string | null> {
    const [row] = await this.#database.all(
      'SELECT object_id FROM external_id WHERE kind = ? AND name = ?',
      [kind, externalId],
      { withoutAmounts: true },
    )
    return row === undefined ? null : text(row, 'object_id')
  }
}
