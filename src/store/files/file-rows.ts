import { text, type Database, type Row } from '../database.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import { ROW_LOCK } from '../dialect.ts'

const FILES = new Rows('stored_file', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  mediaType: column.text('media_type'),
  bytes: column.integer('bytes'),
  content: column.text('content'),
  /** SHA-256 of the token that opens it without a key, 32 bytes; null = only its owner's key opens it. */
  tokenDigest: column.bytesOrNull('token_digest'),
  createdAtMs: column.integer('created_at'),
  expiresAtMs: column.integer('expires_at'),
})
/**
 * A file's row with the name of its bytes, `content`. Every write has a new name, so that a row never points at bytes
 * that are half written.
 */
export type FileRow = RecordOf<typeof FILES>
/** The row of a stored file; its bytes are stored separately. */
export type StoredFile = Omit<FileRow, 'content'>
const REPLACE = ` ON CONFLICT (id) DO UPDATE SET ${FILES.names.map((name) => `${name} = excluded.${name}`).join(', ')}`

const EXPIRED_PAGE = 100

/** The table `stored_file`, the same on both stores. */
export class FileRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  find(id: string): Promise<FileRow | null> {
    return FILES.one(this.#database, 'WHERE id = ?', [id])
  }

  /** Answers the name of the row's previous bytes, which are no longer needed. */
  replace(file: FileRow): Promise<string | null> {
    return this.#database.transaction(async (sql) => {
      const [before] = await sql.all(`SELECT content FROM stored_file WHERE id = ?${ROW_LOCK}`, [file.id])
      await insertRow(sql, 'stored_file', FILES.cells(file), REPLACE)
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
  expired(nowMs: number): Promise<readonly FileRow[]> {
    return FILES.all(this.#database, 'WHERE expires_at <= ? ORDER BY expires_at LIMIT ?', [
      BigInt(nowMs),
      BigInt(EXPIRED_PAGE),
    ])
  }

  async isUsed(content: string): Promise<boolean> {
    return (await this.#database.all('SELECT id FROM stored_file WHERE content = ?', [content])).length > 0
  }
}

/** The fields of a row that callers may see. */
export function fileOf({ content: _content, ...file }: FileRow): StoredFile {
  return file
}

export function readFileRow(row: Row): FileRow {
  return FILES.read(row)
}
