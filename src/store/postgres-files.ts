import { randomUUID } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { bytes as blob, integer, type Database } from './database.ts'
import { fileOf, FileRows } from './file-rows.ts'
import { FileGoneError, type FileStore, type StoredFile } from './file-store.ts'

const CHUNK_BYTES = 1_048_576
/** No write lasts this long: chunks without a file that are older belong to a node that died. */
const LEFTOVER_MS = 6 * 3_600_000
/** Chunks deleted in one statement, which has two seconds. */
const DELETE_CHUNKS = 64

/** Files in the database, where every node finds them: rows of 1 MiB. */
export class PostgresFiles implements FileStore {
  readonly #database: Database
  readonly #rows: FileRows
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#rows = new FileRows(database)
    this.#clock = clock
  }

  async put(file: Omit<StoredFile, 'bytes' | 'createdAtMs'>, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    const name = randomUUID()
    try {
      const bytes = await this.#write(name, content)
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
      if (replaced !== null) await this.#removeChunks(replaced)
      return fileOf(row)
    } catch (thrown) {
      // Where the database is gone, the sweep finds the chunks later; the first error tells more.
      await this.#removeUnused(name).catch(() => undefined)
      throw thrown
    }
  }

  async find(id: string): Promise<StoredFile | null> {
    const row = await this.#rows.find(id)
    return row === null ? null : fileOf(row)
  }

  async *read(id: string, range: { readonly start: number; readonly end: number }): AsyncIterable<Buffer> {
    const row = await this.#rows.find(id)
    if (row === null) throw new FileGoneError(`There is no file ${id}.`)
    const end = Math.min(range.end, row.bytes - 1)
    for (let at = range.start; at <= end;) {
      const index = Math.floor(at / CHUNK_BYTES)
      const [chunk] = await this.#database.all('SELECT data FROM stored_chunk WHERE content = ? AND seq = ?', [
        row.content,
        BigInt(index),
      ])
      if (chunk === undefined) throw new FileGoneError(`The file ${id} was removed while it was read.`)
      const from = at - index * CHUNK_BYTES
      const part = blob(chunk, 'data').subarray(from, from + end - at + 1)
      yield part
      at += part.length
    }
  }

  async remove(id: string): Promise<void> {
    const row = await this.#rows.find(id)
    if (row !== null && (await this.#rows.remove(row))) await this.#removeChunks(row.content)
  }

  async removeExpired(nowMs: number): Promise<number> {
    let removed = 0
    for (let rows = await this.#rows.expired(nowMs); rows.length > 0; rows = await this.#rows.expired(nowMs)) {
      for (const row of rows) {
        if (await this.#rows.remove(row)) removed += 1
        await this.#removeChunks(row.content)
      }
    }
    await this.#removeLeftovers(nowMs)
    return removed
  }

  async #write(name: string, content: AsyncIterable<Buffer>): Promise<number> {
    let bytes = 0
    let index = 0
    for await (const data of inChunks(content)) {
      await this.#database.run('INSERT INTO stored_chunk (content, seq, data, created_at) VALUES (?,?,?,?)', [
        name,
        BigInt(index),
        data,
        BigInt(this.#clock.now()),
      ])
      bytes += data.length
      index += 1
    }
    return bytes
  }

  async #removeChunks(name: string): Promise<void> {
    const [row] = await this.#database.all(
      'SELECT COALESCE(MAX(seq), -1) AS last FROM stored_chunk WHERE content = ?',
      [name],
    )
    const last = row === undefined ? -1 : integer(row, 'last')
    for (let from = 0; from <= last; from += DELETE_CHUNKS) {
      await this.#database.run('DELETE FROM stored_chunk WHERE content = ? AND seq >= ? AND seq < ?', [
        name,
        BigInt(from),
        BigInt(from + DELETE_CHUNKS),
      ])
    }
  }

  async #removeUnused(name: string): Promise<void> {
    if (!(await this.#rows.isUsed(name))) await this.#removeChunks(name)
  }

  async #removeLeftovers(nowMs: number): Promise<void> {
    const rows = await this.#database.all(
      'SELECT DISTINCT content FROM stored_chunk WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM stored_file WHERE stored_file.content = stored_chunk.content)',
      [BigInt(nowMs - LEFTOVER_MS)],
    )
    for (const row of rows) await this.#removeUnused(String(row['content']))
  }
}

/** The same bytes in pieces of CHUNK_BYTES, the last one shorter. */
async function* inChunks(content: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (let part of content) {
    while (bytes + part.length >= CHUNK_BYTES) {
      const rest = CHUNK_BYTES - bytes
      yield Buffer.concat([...parts, part.subarray(0, rest)])
      part = part.subarray(rest)
      parts = []
      bytes = 0
    }
    parts.push(part)
    bytes += part.length
  }
  if (bytes > 0) yield Buffer.concat(parts)
}
