import { bytes, integer, text, type Database, type Row } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'

/** The row of a stored file; its bytes are stored separately. */
export interface StoredFile {
  readonly id: string
  readonly accountId: string
  readonly mediaType: string
  readonly bytes: number
  /** SHA-256 of the token that opens it without a key, 32 bytes; null = only its owner's key opens it. */
  readonly tokenDigest: Buffer | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

const COLUMNS = 'id, account_id, media_type, bytes, content, token_digest, created_at, expires_at'
const EXPIRED_PAGE = 100

/**
 * A file's row with the name of its bytes. Every write has a new name, so that a row never points at bytes that are
 * half written.
 */
export interface FileRow extends StoredFile {
  readonly content: string
}

/** The table `stored_file`, the same on both stores. */
export class FileRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<FileRow | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM stored_file WHERE id = ?`, [id])
    return row === undefined ? null : readFileRow(row)
  }

  /** Answers the name of the row's previous bytes, which are no longer needed. */
  replace(file: FileRow): Promise<string | null> {
    return this.#database.transaction(async (sql) => {
      const [before] = await sql.all(`SELECT content FROM stored_file WHERE id = ?${ROW_LOCK}`, [file.id])
      await sql.run(
        `INSERT INTO stored_file (${COLUMNS}) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, media_type = excluded.media_type,
          bytes = excluded.bytes, content = excluded.content, token_digest = excluded.token_digest, created_at = excluded.created_at, expires_at = excluded.expires_at`,
        [
          file.id,
          file.accountId,
          file.mediaType,
          BigInt(file.bytes),
          file.content,
          file.tokenDigest,
          BigInt(file.createdAtMs),
          BigInt(file.expiresAtMs),
        ],
      )
      return before === undefined ? null : text(before, 'content')
    })
  }

  /** Removes the row if it still has these bytes; false = another process was faster. */
  async remove(file: Pick<FileRow, 'id' | 'content'>): Promise<boolean> {
    return (
      (await this.#database.run('DELETE FROM stored_file WHERE id = ? AND content = ?', [file.id, file.content])) === 1
    )
  }

  /** The next expired files, oldest first. */
  async expired(nowMs: number): Promise<readonly FileRow[]> {
    const rows = await this.#database.all(
      `SELECT ${COLUMNS} FROM stored_file WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`,
      [BigInt(nowMs), BigInt(EXPIRED_PAGE)],
    )
    return rows.map(readFileRow)
  }

  async isUsed(content: string): Promise<boolean> {
    return (await this.#database.all('SELECT id FROM stored_file WHERE content = ?', [content])).length > 0
  }
}

/** The fields of a row that callers may see. */
export function fileOf({
  id,
  accountId,
  mediaType,
  bytes: size,
  tokenDigest,
  createdAtMs,
  expiresAtMs,
}: FileRow): StoredFile {
  return { id, accountId, mediaType, bytes: size, tokenDigest, createdAtMs, expiresAtMs }
}

export function readFileRow(row: Row): FileRow {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    mediaType: text(row, 'media_type'),
    bytes: integer(row, 'bytes'),
    content: text(row, 'content'),
    tokenDigest: row['token_digest'] === null ? null : bytes(row, 'token_digest'),
    createdAtMs: integer(row, 'created_at'),
    expiresAtMs: integer(row, 'expires_at'),
  }
}
