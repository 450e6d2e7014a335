import { bytes, integer, text, textOrNull, type Database, type Row, type Sql } from './database.ts'
import type { CatalogStore, CatalogVersion } from './store.ts'

const NONE = Buffer.alloc(0)

export class SqlCatalogs implements CatalogStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  append(version: Parameters<CatalogStore['append']>[0]): Promise<number | null> {
    return this.#database.transaction(async (sql) => {
      if (this.#database.dialect === 'postgres') await sql.run('LOCK TABLE catalog_version IN EXCLUSIVE MODE')
      if ((await newest(sql)) !== version.after) return null
      const next = version.after + 1
      await sql.run(
        'INSERT INTO catalog_version (version, document, credentials, file_digest, created_at) VALUES (?,?,?,?,?)',
        [BigInt(next), version.document, version.credentials, version.fileDigest, BigInt(version.atMs)],
      )
      // Only the newest are used; kept on, those of a removed provider, or under a key that was rotated away, could still be opened.
      await sql.run('UPDATE catalog_version SET credentials = ? WHERE version < ?', [NONE, BigInt(next)])
      return next
    })
  }

  newest(): Promise<number> {
    return newest(this.#database)
  }

  async latest(): ReturnType<CatalogStore['latest']> {
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
