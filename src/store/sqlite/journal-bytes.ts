import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { asUnavailable } from './disk-fault.ts'
import type { JournalBytes } from './row-journal.ts'

/** About 2,000 charges. */
export const ROW_HALF_BYTES = 4 * 1_048_576

/** The path of the file with rows that are not in their tables yet, beside the database. */
export function rowJournalPath(directory: string): string {
  return join(directory, 'tollgate.rows')
}

/** The bytes of a journal, none if there is no file. */
export function readRowJournal(directory: string): Buffer {
  const path = rowJournalPath(directory)
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
}

/**
 * The journal's file. It is created and filled with zeros before its first record, so that an `fdatasync` writes only
 * the records.
 */
export class JournalFileBytes implements JournalBytes {
  readonly halfBytes: number
  readonly #directory: string
  #file: number | null = null

  constructor(directory: string, halfBytes = ROW_HALF_BYTES) {
    this.#directory = directory
    this.halfBytes = halfBytes
  }

  read(): Buffer {
    return readRowJournal(this.#directory)
  }

  allocate(): void {
    this.#file ??= openSync(
      rowJournalPath(this.#directory),
      existsSync(rowJournalPath(this.#directory)) ? 'r+' : 'wx+',
      0o600,
    )
    const { size } = fstatSync(this.#file)
    const bytes = 2 * this.halfBytes
    if (size >= bytes) return
    writeAll(this.#file, Buffer.alloc(bytes - size), size)
    fdatasyncSync(this.#file)
    // The file's name must be on the disk too.
    const directory = openSync(this.#directory, 'r')
    fsyncSync(directory)
    closeSync(directory)
  }

  write(bytes: Buffer, at: number): void {
    writeAll(this.#opened(), bytes, at)
  }

  sync(): Promise<void> {
    const file = this.#opened()
    return new Promise((resolve, reject) => {
      fdatasync(file, (error) => (error === null ? resolve() : reject(asUnavailable(error))))
    })
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }

  #opened(): number {
    if (this.#file === null) throw new TypeError('The journal of rows is written before it is made.')
    return this.#file
  }
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;)
    written += writeSync(file, bytes, written, bytes.length - written, position + written)
}
