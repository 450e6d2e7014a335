import type { AdminScope } from '../../tables/admin-scopes.ts'
import {
  CHANGE,
  integer,
  integerOrNull,
  json,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
} from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { EXTERNAL_IDS, nameRecord } from '../accounts/external-id-store.ts'
import { CREATED_AT, readPage, ROW_ID, type Page, type PageRange } from '../page.ts'

/** A named token for the admin API. It stays after its end, so that the audit log can be read. */
export interface AdminToken {
  readonly id: string
  /** The id that a client gave it; null once it is revoked. */
  readonly externalId: string | null
  /** One token in force has it. */
  readonly name: string
  readonly label: string
  readonly scopes: readonly AdminScope[]
  readonly createdBy: string
  /** The token that made it, which it never outlives; null = somebody else. */
  readonly madeBy: string | null
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  readonly lastUsedAtMs: number | null
}

export type NewAdminToken = Omit<AdminToken, 'revokedAtMs' | 'lastUsedAtMs'> & {
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Buffer
}

export type AdminTokenPatch = Partial<Pick<AdminToken, 'externalId' | 'scopes' | 'expiresAtMs'>>

const EXTERNAL_ID = EXTERNAL_IDS.admin_token
const SELECT = `SELECT id, name, label, scopes, created_by, made_by, created_at, expires_at, revoked_at, last_used_at, ${EXTERNAL_ID} AS external_id FROM admin_token`

function readToken(row: Row): AdminToken {
  return {
    id: text(row, 'id'),
    externalId: textOrNull(row, 'external_id'),
    name: text(row, 'name'),
    label: text(row, 'label'),
    scopes: (json<readonly AdminScope[]>(row, 'scopes') ?? []).toSorted(),
    createdBy: text(row, 'created_by'),
    madeBy: textOrNull(row, 'made_by'),
    createdAtMs: integer(row, 'created_at'),
    expiresAtMs: integerOrNull(row, 'expires_at'),
    revokedAtMs: integerOrNull(row, 'revoked_at'),
    lastUsedAtMs: integerOrNull(row, 'last_used_at'),
  }
}

/** Nothing is cached: a revoked token opens nothing on any node. */
export class AdminTokenStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * false = a token in force has the name. `check` sees the token that makes it, null where that is not in force, and
   * may refuse by what it throws. Throws ExternalIdTakenError.
   */
  create(token: NewAdminToken, check?: (maker: AdminToken | null) => void): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      check?.(token.madeBy === null ? null : await this.#inForce(sql, token.madeBy))
      if (token.externalId !== null) await nameRecord(sql, 'admin_token', token.id, token.externalId)
      const added = await sql.run(
        'INSERT INTO admin_token (id, name, digest, label, scopes, created_by, made_by, created_at, expires_at) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING',
        [
          token.id,
          token.name,
          token.digest,
          token.label,
          JSON.stringify(token.scopes),
          token.createdBy,
          token.madeBy,
          BigInt(token.createdAtMs),
          token.expiresAtMs === null ? null : BigInt(token.expiresAtMs),
        ],
      )
      // The external id was given in vain.
      if (added === 0 && token.externalId !== null) await nameRecord(sql, 'admin_token', token.id, null)
      return added === 1
    })
  }

  /** Nobody else changes it before the end of the transaction. null = it is revoked, or there is none. */
  async #inForce(sql: Sql, id: string): Promise<AdminToken | null> {
    const [row] = await sql.all(`${SELECT} WHERE id = ? AND revoked_at IS NULL${ROW_LOCK}`, [id])
    return row === undefined ? null : readToken(row)
  }

  /**
   * `decide` says the changes by the token as it is; what it throws keeps all as it was. null = it is revoked, or there
   * is none. Throws ExternalIdTakenError.
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

  async findByDigest(digest: Buffer): Promise<AdminToken | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE digest = ?`, [digest])
    return row === undefined ? null : readToken(row)
  }

  async get(id: string): Promise<AdminToken | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE id = ?`, [id])
    return row === undefined ? null : readToken(row)
  }

  /** Newest first. */
  list(range: PageRange): Promise<Page<AdminToken>> {
    return readPage(
      this.#database,
      {
        select: SELECT,
        from: 'admin_token',
        order: '-created_at',
        columns: { created_at: CREATED_AT },
        id: ROW_ID,
        read: readToken,
      },
      range,
    )
  }

  /**
   * Answers what it revoked: the token and those that came from it; none = there is none in force with this id. `check`
   * may refuse by what it throws.
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

  /** Visits the tokens in force that came from one, makers first. A maker is locked while it makes another. */
  async #descend(
    sql: Sql,
    from: AdminToken,
    visit: (child: AdminToken, maker: AdminToken) => Promise<AdminToken>,
  ): Promise<void> {
    const makers = [from]
    for (const maker of makers) {
      const rows = await sql.all(`${SELECT} WHERE made_by = ? AND revoked_at IS NULL ORDER BY id${ROW_LOCK}`, [
        maker.id,
      ])
      for (const child of rows.map(readToken)) makers.push(await visit(child, maker))
    }
  }

  async touch(id: string, atMs: number): Promise<void> {
    await this.#database.run('UPDATE admin_token SET last_used_at = ? WHERE id = ?', [BigInt(atMs), id])
  }
}

async function writeTerms(sql: Sql, { id, scopes, expiresAtMs }: AdminToken): Promise<void> {
  await sql.run('UPDATE admin_token SET scopes = ?, expires_at = ? WHERE id = ?', [
    JSON.stringify(scopes),
    expiresAtMs === null ? null : BigInt(expiresAtMs),
    id,
  ])
}
