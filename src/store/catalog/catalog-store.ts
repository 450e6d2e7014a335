import { bytes, integer, text, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { lockTable } from '../dialect.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { countRows } from '../page.ts'

export interface CatalogVersion {
  readonly version: number
  /** JSON of the effective document, without credentials. */
  readonly document: string
  readonly createdAtMs: number
}

const NONE = Buffer.alloc(0)

export class CatalogStore {
  readonly #database: Database

  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /**
   * Appends the version after `after` and, in the same commit, the encrypted credentials and the source file's digest.
   * null = another node was first: the change must be repeated on top of its version.
   */
  append(version: {
    readonly after: number
    readonly document: string
    readonly credentials: Buffer
    readonly fileDigest: string | null
    readonly atMs: number
  }): Promise<number | null> {
    return this.#database.transaction(async (sql) => {
      await lockTable(this.#database, sql, 'catalog_version')
      if ((await newest(sql)) !== version.after) return null
      const next = version.after + 1
      await countRows(sql, this.#seal, 'catalog_version')
      await sql.run(
        'INSERT INTO catalog_version (version, document, credentials, file_digest, created_at, seal) VALUES (?,?,?,?,?,?)',
        [
          BigInt(next),
          version.document,
          version.credentials,
          version.fileDigest,
          BigInt(version.atMs),
          this.#seal.of('catalog_version', [next, version.document, version.fileDigest, version.atMs]),
        ],
      )
      // Only the newest credentials are used. If older ones stayed, credentials of a removed provider, or under a
      // retired key, could still be decrypted.
      await sql.run('UPDATE catalog_version SET credentials = ? WHERE version < ?', [NONE, BigInt(next)])
      return next
    })
  }

  /** 0 = there is no version yet. */
  newest(): Promise<number> {
    return newest(this.#database)
  }

  async latest(): Promise<
    (CatalogVersion & { readonly credentials: Buffer; readonly fileDigest: string | null }) | null
  > {
    const [row] = await this.#database.all(
      'SELECT version, document, credentials, file_digest, created_at FROM catalog_version ORDER BY version DESC LIMIT 1',
    )
    if (row === undefined) return null
    return {
      version: integer(row, 'version'),
      document: text(row, 'document'),
      createdAtMs: integer(row, 'created_at'),
      credentials: bytes(row, 'credentials'),
      fileDigest: textOrNull(row, 'file_digest'),
    }
  }

  async byVersion(version: number): Promise<CatalogVersion | null> {
    const [row] = await this.#database.all(
      'SELECT version, document, created_at FROM catalog_version WHERE version = ?',
      [BigInt(version)],
    )
    return row === undefined ? null : readVersion(row)
  }

  /** The version in force at that time, Unix ms; before the first version, the first. */
  async at(atMs: number): Promise<CatalogVersion | null> {
    const [row] = await this.#database.all(
      `SELECT version, document, created_at FROM catalog_version WHERE version = (SELECT COALESCE(
        (SELECT MAX(version) FROM catalog_version WHERE created_at <= ?), (SELECT MIN(version) FROM catalog_version)))`,
      [BigInt(atMs)],
    )
    return row === undefined ? null : readVersion(row)
  }
}

function readVersion(row: Row): CatalogVersion {
  return { version: integer(row, 'version'), document: text(row, 'document'), createdAtMs: integer(row, 'created_at') }
}

async function newest(sql: Sql): Promise<number> {
  const [row] = await sql.all('SELECT COALESCE(MAX(version), 0) AS version FROM catalog_version')
  return row === undefined ? 0 : integer(row, 'version')
}
