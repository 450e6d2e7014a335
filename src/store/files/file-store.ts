import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Database, text, type Row } from '../database.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import { ROW_LOCK } from '../dialect.ts'

/** The storage of the bytes: the disk next to the embedded store, or the database for PostgreSQL. */
export interface FileBytes {
  /** Durable when it resolves; returns the number of bytes. */
  write(name: string, content: AsyncIterable<Buffer>): Promise<number>
  /** The bytes from `start` to `end` inclusive; `start` is not beyond `end`. */
  read(row: FileRow, start: number, end: number): AsyncIterable<Buffer>
  /** Does nothing if there are no such bytes. */
  remove(name: string): Promise<void>
  /** Removes what broken writes left. Bytes stay while a row names them, or while they are being written here. */
  removeLeftovers(nowMs: number, isKept: (name: string) => Promise<boolean>): Promise<void>
}

/** Files stored for clients for a limited time: pictures, videos. The database has their rows. */
export class FileStore {
  readonly #rows: FileRows
  readonly #bytes: FileBytes
  readonly #clock: Clock
  /** Names that are being written, which a sweep must not take for leftovers. */
  readonly #writing = new Set<string>()

  constructor(database: Database, bytes: FileBytes, clock: Clock) {
    this.#rows = new FileRows(database)
    this.#bytes = bytes
    this.#clock = clock
  }

  /**
   * Durable when it resolves; a repeated id replaces the file. `content` is read once; if it throws, nothing is left.
   */
  async put(file: Omit<StoredFile, 'bytes' | 'createdAtMs'>, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    const name = randomUUID()
    this.#writing.add(name)
    try {
      const bytes = await this.#bytes.write(name, content)
      const { id, accountId, mediaType, tokenDigest, expiresAtMs } = file
      const row = {
        id,
        accountId,
        mediaType,
        bytes,
        tokenDigest,
        createdAtMs: this.#clock.now(),
        expiresAtMs,
        content: name,
      }
      const replaced = await this.#rows.replace(row)
      if (replaced !== null) await this.#bytes.remove(replaced)
      return fileOf(row)
    } catch (thrown) {
      // The first error is more useful than one of the removal; a sweep removes leftovers.
      await this.#removeUnused(name).catch(() => undefined)
      throw thrown
    } finally {
      this.#writing.delete(name)
    }
  }

  /** Also finds an expired file until it is swept: callers must check `expiresAtMs`. */
  async find(id: string): Promise<StoredFile | null> {
    const row = await this.#rows.find(id)
    return row === null ? null : fileOf(row)
  }

  /** The bytes from `start` to `end` inclusive. Throws FileGoneError if there is no such file any more. */
  async *read(id: string, range: { readonly start: number; readonly end: number }): AsyncIterable<Buffer> {
    const row = await this.#rows.find(id)
    if (row === null) throw new FileGoneError(`There is no file ${id}.`)
    const end = Math.min(range.end, row.bytes - 1)
    if (range.start <= end) yield* this.#bytes.read(row, range.start, end)
  }

  async remove(id: string): Promise<void> {
    const row = await this.#rows.find(id)
    if (row !== null && (await this.#rows.remove(row))) await this.#bytes.remove(row.content)
  }

  /** Removes expired files and leftovers of broken writes; returns how many files had expired. */
  async removeExpired(nowMs: number): Promise<number> {
    let removed = 0
    for (let rows = await this.#rows.expired(nowMs); rows.length > 0; rows = await this.#rows.expired(nowMs)) {
      for (const row of rows) {
        if (await this.#rows.remove(row)) removed += 1
        await this.#bytes.remove(row.content)
      }
    }
    await this.#bytes.removeLeftovers(nowMs, (name) => this.#isKept(name))
    return removed
  }

  async #isKept(name: string): Promise<boolean> {
    return this.#writing.has(name) || this.#rows.isUsed(name)
  }

  async #removeUnused(name: string): Promise<void> {
    if (!(await this.#rows.isUsed(name))) await this.#bytes.remove(name)
  }
}

/** Thrown if the requested file is not stored. */
export class FileGoneError extends Error {
  override readonly name = 'FileGoneError'
}

const FILES = new Rows('stored_file', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  mediaType: column.text('media_type'),
  bytes: column.integer('bytes'),
  content: column.text('content'),
  /** SHA-256 of the token that opens the file without a key, 32 bytes; null = only its owner's key opens it. */
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

  /** Returns the name of the row's previous bytes, which are no longer needed. */
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
