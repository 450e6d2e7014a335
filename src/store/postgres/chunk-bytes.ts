import type { Clock } from '../../base/clock.ts'
import { bytes as blob, integer, type Database } from '../database.ts'
import { type FileRow, FileGoneError, type FileBytes } from '../files/file-store.ts'
import { HOUR_MS } from '../../base/time.ts'

const CHUNK_BYTES = 1_048_576
/** No write lasts this long: chunks without a file that are older come from a node that died. */
const LEFTOVER_MS = 6 * HOUR_MS
/** The most chunks that one statement deletes, for it may take two seconds. */
const DELETE_CHUNKS = 64

/** Bytes of files in the database, where every node can read them: rows of 1 MiB. */
export class ChunkBytes implements FileBytes {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  async write(name: string, content: AsyncIterable<Buffer>): Promise<number> {
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

  async remove(name: string): Promise<void> {
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

  async *read(row: FileRow, start: number, end: number): AsyncIterable<Buffer> {
    for (let at = start; at <= end;) {
      const index = Math.floor(at / CHUNK_BYTES)
      const [chunk] = await this.#database.all('SELECT data FROM stored_chunk WHERE content = ? AND seq = ?', [
        row.content,
        BigInt(index),
      ])
      if (chunk === undefined) throw new FileGoneError(`The file ${row.id} was removed while it was read.`)
      const from = at - index * CHUNK_BYTES
      const part = blob(chunk, 'data').subarray(from, from + end - at + 1)
      yield part
      at += part.length
    }
  }

  async removeLeftovers(nowMs: number, isKept: (name: string) => Promise<boolean>): Promise<void> {
    const rows = await this.#database.all(
      'SELECT DISTINCT content FROM stored_chunk WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM stored_file WHERE stored_file.content = stored_chunk.content)',
      [BigInt(nowMs - LEFTOVER_MS)],
    )
    for (const row of rows) {
      const name = String(row['content'])
      if (!(await isKept(name))) await this.remove(name)
    }
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
