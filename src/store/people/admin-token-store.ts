import type { AdminScope } from '../../tables/scopes.ts'
import { CHANGE, type Database, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { EXTERNAL_IDS, nameRecord } from '../accounts/external-id-store.ts'
import { CREATED_AT, readPage, type Page, type PageRange } from '../page.ts'
import { column, insertRow, Rows, updateRow, type RecordOf } from '../rows.ts'

const TOKENS = new Rows('admin_token', {
  id: column.text('id'),
  /** The id that a client gave it; null once it is revoked. */
  externalId: column.textOrNull('external_id', EXTERNAL_IDS.admin_token),
  /** Unique among tokens in force. */
  name: column.text('name'),
  label: column.text('label'),
  scopes: column.json<readonly AdminScope[]>('scopes'),
  createdBy: column.text('created_by'),
  /** The token that made this one, and after whose end this one is not valid either; null = it was made by no token. */
  madeBy: column.textOrNull('made_by'),
  createdAtMs: column.integer('created_at'),
  expiresAtMs: column.integerOrNull('expires_at'),
  revokedAtMs: column.integerOrNull('revoked_at'),
  lastUsedAtMs: column.integerOrNull('last_used_at'),
})
/** A named token for the admin API. Its row stays after its end, since the audit log names it. */
export type AdminToken = RecordOf<typeof TOKENS>

export type NewAdminToken = Omit<AdminToken, 'revokedAtMs' | 'lastUsedAtMs'> & {
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Buffer
}

export type AdminTokenPatch = Partial<Pick<AdminToken, 'externalId' | 'scopes' | 'expiresAtMs'>>

/** Tokens are not cached, so a revoked one is refused by every node at once. */
export class AdminTokenStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * false = a token in force has the name. `check` gets the token that makes the new one, null if that is not in force,
   * and refuses by throwing. Throws ExternalIdTakenError.
   */
  create(token: NewAdminToken, check?: (maker: AdminToken | null) => void): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      check?.(token.madeBy === null ? null : await this.#inForce(sql, token.madeBy))
      if (token.externalId !== null) await nameRecord(sql, 'admin_token', token.id, token.externalId)
      const added = await insertRow(
        sql,
        'admin_token',
        { ...TOKENS.cells(token), digest: token.digest },
        ' ON CONFLICT DO NOTHING',
      )
      // The external id was claimed above for a token that is not made.
      if (added === 0 && token.externalId !== null) await nameRecord(sql, 'admin_token', token.id, null)
      return added === 1
    })
  }

  /** The token, locked until the end of the transaction; null = it is revoked, or does not exist. */
  #inForce(sql: Sql, id: string): Promise<AdminToken | null> {
    return TOKENS.one(sql, `WHERE id = ? AND revoked_at IS NULL${ROW_LOCK}`, [id])
  }

  /**
   * `decide` calculates the changes from the current token; if it throws, nothing changes. null = the token is revoked,
   * or does not exist. Throws ExternalIdTakenError.
   */
  update(id: string, decide: (current: AdminToken) => AdminTokenPatch): Promise<AdminToken | null> {
    return this.#database.transaction(async (sql) => {
      const current = await this.#inForce(sql, id)
      if (current === null) return null
      const patch = decide(current)
      if (Object.keys(patch).length === 0) return current
      const after = { ...current, ...patch }
      await writeTerms(sql, after)
      await this.#descend(sql, after, async (child, maker) => {
        const scopes = child.scopes.filter((scope) => maker.scopes.includes(scope))
        const ends = [child.expiresAtMs, maker.expiresAtMs].filter((ms) => ms !== null)
        const capped = { ...child, scopes, expiresAtMs: ends.length === 0 ? null : Math.min(...ends) }
        await writeTerms(sql, capped)
        return capped
      })
      if (patch.externalId !== undefined) await nameRecord(sql, 'admin_token', id, patch.externalId)
      return after
    }, CHANGE)
  }

  findByDigest(digest: Buffer): Promise<AdminToken | null> {
    return TOKENS.one(this.#database, 'WHERE digest = ?', [digest])
  }

  get(id: string): Promise<AdminToken | null> {
    return TOKENS.one(this.#database, 'WHERE id = ?', [id])
  }

  /** Newest first. */
  list(range: PageRange): Promise<Page<AdminToken>> {
    return readPage(this.#database, { rows: TOKENS, order: '-created_at', columns: { created_at: CREATED_AT } }, range)
  }

  /**
   * Returns what was revoked: the token and all that were made with it; empty = no token in force has this id. `check`
   * refuses by throwing.
   */
  revoke(id: string, atMs: number, check?: (current: AdminToken) => void): Promise<readonly AdminToken[]> {
    return this.#database.transaction(async (sql) => {
      const current = await this.#inForce(sql, id)
      if (current === null) return []
      check?.(current)
      const revoked: AdminToken[] = []
      const end = async (token: AdminToken): Promise<AdminToken> => {
        revoked.push(token)
        await sql.run('UPDATE admin_token SET revoked_at = ? WHERE id = ?', [BigInt(atMs), token.id])
        await nameRecord(sql, 'admin_token', token.id, null)
        return token
      }
      await this.#descend(sql, await end(current), end)
      return revoked
    }, CHANGE)
  }

  /**
   * Visits the tokens in force that were made with one, directly or not, each after its maker. A token is locked while
   * it makes another.
   */
  async #descend(
    sql: Sql,
    from: AdminToken,
    visit: (child: AdminToken, maker: AdminToken) => Promise<AdminToken>,
  ): Promise<void> {
    const makers = [from]
    for (const maker of makers) {
      const children = await TOKENS.all(sql, `WHERE made_by = ? AND revoked_at IS NULL ORDER BY id${ROW_LOCK}`, [
        maker.id,
      ])
      for (const child of children) makers.push(await visit(child, maker))
    }
  }

  async touch(id: string, atMs: number): Promise<void> {
    await this.#database.run('UPDATE admin_token SET last_used_at = ? WHERE id = ?', [BigInt(atMs), id])
  }
}

async function writeTerms(sql: Sql, { id, scopes, expiresAtMs }: AdminToken): Promise<void> {
  await updateRow(sql, 'admin_token', id, TOKENS.cells({ scopes, expiresAtMs }))
}
