import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import type { Database } from './database.ts'
import { fileOf, FileRows } from './file-rows.ts'
import { FileGoneError, type FileStore, type StoredFile } from './file-store.ts'

/** The embedded store's files: bytes in a directory of their own, everything else in the database. One process has both. */
export class DiskFiles implements FileStore {
  readonly #rows: FileRows
  readonly #directory: string
  readonly #clock: Clock
  /** Names being written, which a sweep must not take for leftovers. */
  readonly #writing = new Set<string>()

  constructor(database: Database, directory: string, clock: Clock) {
    this.#rows = new FileRows(database)
    this.#directory = directory
    this.#clock = clock
  }

  async put(file: Omit<StoredFile, 'bytes' | 'createdAtMs'>, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    const name = randomUUID()
    this.#writing.add(name)
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
      if (replaced !== null) await this.#unlink(replaced)
      return fileOf(row)
    } catch (thrown) {
      if (!(await this.#rows.isUsed(name))) await this.#unlink(name)
      throw thrown
    } finally {
      this.#writing.delete(name)
    }
  }

  async find(id: string): Promise<StoredFile | null> {
    const row = await this.#rows.find(id)
    return row === null ? null : fileOf(row)
  }

  async *read(id: string, range: { readonly start: number; readonly end: number }): AsyncIterable<Buffer> {
    const row = await this.#rows.find(id)
    if (row === null) throw new FileGoneError(`There is no file ${id}.`)
    if (range.end < range.start) return
    // Opened before the first byte is given, and so readable to the end even when it is removed meanwhile.
    for await (const chunk of createReadStream(join(this.#directory, row.content), {
      start: range.start,
      end: range.end,
    }))
      yield Buffer.from(chunk)
  }

  async remove(id: string): Promise<void> {
    const row = await this.#rows.find(id)
    if (row !== null && (await this.#rows.remove(row))) await this.#unlink(row.content)
  }

  async removeExpired(nowMs: number): Promise<number> {
    let removed = 0
    for (let rows = await this.#rows.expired(nowMs); rows.length > 0; rows = await this.#rows.expired(nowMs)) {
      for (const row of rows) {
        if (await this.#rows.remove(row)) removed += 1
        await this.#unlink(row.content)
      }
    }
    await this.#removeLeftovers()
    return removed
  }

  /** Under a temporary name until every byte is on the disk; answers how many there are. */
  async #write(name: string, content: AsyncIterable<Buffer>): Promise<number> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const handle = await open(partOf(this.#path(name)), 'wx', 0o600)
    let bytes = 0
    try {
      for await (const chunk of content) {
        await handle.writeFile(chunk)
        bytes += chunk.length
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(partOf(this.#path(name)), this.#path(name))
    await syncDirectory(this.#directory)
    return bytes
  }

  /** What no row names: the process died between the bytes and the row, or between the row's end and the bytes'. */
  async #removeLeftovers(): Promise<void> {
    const names = await readdir(this.#directory).catch((): string[] => [])
    for (const entry of names) {
      const name = entry.replace(/\.part$/, '')
      if (!this.#writing.has(name) && !(await this.#rows.isUsed(name))) await this.#unlink(name)
    }
  }

  #path(name: string): string {
    return join(this.#directory, name)
  }

  async #unlink(name: string): Promise<void> {
    await rm(this.#path(name), { force: true })
    await rm(partOf(this.#path(name)), { force: true })
  }
}

function partOf(path: string): string {
  return `${path}.part`
}

/** A rename lasts only when the directory that it changed is on the disk. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
