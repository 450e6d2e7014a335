import type { AdminScope } from '../../admin-scopes.ts'
import { integer, integerOrNull, json, text, type Database, type Row } from '../database.ts'
import type { Page } from '../page.ts'

/** A named token for the admin API. It stays after its end, so that the audit log can be read. */
export interface AdminToken {
  readonly id: string
  /** One token in force has it. */
  readonly name: string
  readonly label: string
  readonly scopes: readonly AdminScope[]
  readonly createdBy: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  readonly lastUsedAtMs: number | null
}

export type NewAdminToken = Omit<AdminToken, 'revokedAtMs' | 'lastUsedAtMs'> & {
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Buffer
}

const SELECT =
  'SELECT id, name, label, scopes, created_by, created_at, expires_at, revoked_at, last_used_at FROM admin_token'

function readToken(row: Row): AdminToken {
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    label: text(row, 'label'),
    scopes: json<readonly AdminScope[]>(row, 'scopes') ?? [],
    createdBy: text(row, 'created_by'),
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

  /** false = a token in force has the name. */
  async create(token: NewAdminToken): Promise<boolean> {
    const added = await this.#database.run(
      'INSERT INTO admin_token (id, name, digest, label, scopes, created_by, created_at, expires_at) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING',
      [
        token.id,
        token.name,
        token.digest,
        token.label,
        JSON.stringify(token.scopes),
        token.createdBy,
        BigInt(token.createdAtMs),
        token.expiresAtMs === null ? null : BigInt(token.expiresAtMs),
      ],
    )
    return added === 1
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
  async list(limit: number, offset: number): Promise<Page<AdminToken>> {
    const [count] = await this.#database.all('SELECT COUNT(*) AS total FROM admin_token')
    const rows = await this.#database.all(`${SELECT} ORDER BY created_at DESC, id LIMIT ? OFFSET ?`, [
      BigInt(limit),
      BigInt(offset),
    ])
    return { data: rows.map(readToken), total: count === undefined ? 0 : integer(count, 'total') }
  }

  /** false = there is none in force with this id. */
  async revoke(id: string, atMs: number): Promise<boolean> {
    return (
      (await this.#database.run('UPDATE admin_token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', [
        BigInt(atMs),
        id,
      ])) === 1
    )
  }

  async touch(id: string, atMs: number): Promise<void> {
    await this.#database.run('UPDATE admin_token SET last_used_at = ? WHERE id = ?', [BigInt(atMs), id])
  }
}
