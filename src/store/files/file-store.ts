import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { Database } from '../database.ts'
import { fileOf, FileRows, type FileRow, type StoredFile } from './file-rows.ts'

/** Where the bytes are: on the disk beside the embedded store, in the database for PostgreSQL. */
export interface FileBytes {
  /** Durable when it resolves; answers how many there are. */
  write(name: string, content: AsyncIterable<Buffer>): Promise<number>
  /** From `start` to `end` inclusive, of which `start` is not beyond `end`. */
  read(row: FileRow, start: number, end: number): AsyncIterable<Buffer>
  /** Does nothing where there are none. */
  remove(name: string): Promise<void>
  /** Removes what broken writes have left. Bytes are kept while a row names them, or while they are written here. */
  removeLeftovers(nowMs: number, isKept: (name: string) => Promise<boolean>): Promise<void>
}

/** Bytes that are kept for clients for a limited time: pictures, videos. The database has their rows. */
export class FileStore {
  readonly #rows: FileRows
  readonly #bytes: FileBytes
  readonly #clock: Clock
  /** Names being written, which a sweep must not take for leftovers. */
  readonly #writing = new Set<string>()

  constructor(database: Database, bytes: FileBytes, clock: Clock) {
    this.#rows = new FileRows(database)
    this.#bytes = bytes
    this.#clock = clock
  }

  /**
   * Durable when it resolves; a repeated id replaces. `content` is read once; what throws inside it leaves nothing
   * behind.
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
      // The first error is more useful than one of the removal; a sweep removes the leftovers.
      await this.#removeUnused(name).catch(() => undefined)
      throw thrown
    } finally {
      this.#writing.delete(name)
    }
  }

  /** An expired file is found until it is swept: who serves it looks at `expiresAtMs`. */
  async find(id: string): Promise<StoredFile | null> {
    const row = await this.#rows.find(id)
    return row === null ? null : fileOf(row)
  }

  /** Bytes from `start` to `end` inclusive. Throws FileGoneError where the file is not, or is no longer. */
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

  /** Removes expired files and leftovers of broken writes; answers how many files had expired. */
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

/** A file was asked for that is not stored. */
export class FileGoneError extends Error {
  override readonly name = 'FileGoneError'
}
