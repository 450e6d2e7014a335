import { createReadStream } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../base/folder.ts'
import type { FileRow, FileBytes } from '../files/file-store.ts'

/** Bytes of the embedded store's files, in a directory beside its database. One process uses both. */
export class DiskBytes implements FileBytes {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Written under a temporary name until every byte is on the disk. */
  async write(name: string, content: AsyncIterable<Buffer>): Promise<number> {
    makeFolder(this.#directory)
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

  async *read(row: FileRow, start: number, end: number): AsyncIterable<Buffer> {
    // The file is open before the first byte is read, so it can be read to its end even if it is removed meanwhile.
    for await (const chunk of createReadStream(this.#path(row.content), { start, end })) yield Buffer.from(chunk)
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true })
    await rm(partOf(this.#path(name)), { force: true })
  }

  /**
   * Removes files without a row, which remain if the process died after the bytes were written and before the row, or
   * after the row was removed and before the bytes.
   */
  async removeLeftovers(_nowMs: number, isKept: (name: string) => Promise<boolean>): Promise<void> {
    const names = await readdir(this.#directory).catch((): string[] => [])
    for (const entry of names) {
      const name = entry.replace(/\.part$/, '')
      if (!(await isKept(name))) await this.remove(name)
    }
  }

  #path(name: string): string {
    return join(this.#directory, name)
  }
}

function partOf(path: string): string {
  return `${path}.part`
}

/** A rename survives a power failure only once its directory is on the disk. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
