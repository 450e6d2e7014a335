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
import { crc32 } from 'node:zlib'
import { asUnavailable } from './disk-fault.ts'

/**
 * When a half is filled to this share and the other one is free, the journal changes to the other, so that there is
 * room for a large batch.
 */
const LEAVE_PART = 1 / 4
/** When a half is filled to this share, its rows should go to their tables. */
const FULL_PART = 5 / 8

/**
 * The file of a journal, in two halves that are used in turn: one is written while the rows of the other reach the disk
 * in their tables. No record is in both halves.
 */
export interface JournalBytes {
  readonly halfBytes: number
  /** All bytes, those from before this process included. */
  read(): Buffer
  /** Makes room on the disk; does nothing if it is there. */
  allocate(): void
  write(bytes: Buffer, at: number): void
  /** Resolves when everything written so far is on the disk. */
  sync(): Promise<void>
  close(): void
}

/** Up to which record the rows of a journal are in their tables, as the database has it. */
export interface JournalPosition {
  /** Number of the last record whose rows are there. */
  readonly position: bigint
  /** Seed of the checksums, so that records of another store, or of this store at another time, do not match. */
  readonly mark: number
}

export interface LeftRecords {
  /** In the order in which they were written. */
  readonly payloads: readonly Buffer[]
  /** The number of whole records after a missing one, which is damaged or was not on the disk when the power failed. */
  readonly cut: number
}

/** The records of a journal that are not in the tables yet, in halves of any size. */
export function leftRecords(bytes: Buffer, { position, mark }: JournalPosition): LeftRecords {
  const found = new Map<bigint, Buffer>()
  for (let at = 0; at < bytes.length;) {
    const one = recordAt(bytes, at, null, mark)
    at += one === null ? ALIGN_BYTES : recordBytes(one.payload.length)
    if (one !== null && one.epoch > position) found.set(one.epoch, one.payload)
  }
  const payloads: Buffer[] = []
  for (let next = position + 1n; ; next += 1n) {
    const payload = found.get(next)
    if (payload === undefined) return { payloads, cut: found.size - payloads.length }
    payloads.push(payload)
  }
}

/**
 * The rows of commits that are not in their tables yet, on the disk as numbered records. A record counts only if all
 * records before it are there, and until the database's position reaches its number.
 */
export class RowJournal {
  readonly #bytes: JournalBytes
  #mark: number
  /** Number of the last record, whether it was written or given up. */
  #last: bigint
  #half: 0 | 1 = 0
  #offset = 0
  /** Whether the rows of the half that is not being written are on the disk in their tables. */
  #isOtherFree = true
  /** How often a half was left. */
  #turns = 0

  constructor(bytes: JournalBytes, { position, mark }: JournalPosition) {
    this.#bytes = bytes
    this.#mark = mark
    this.#last = position
  }

  /** The position of a database that has the rows of every record. */
  get position(): JournalPosition {
    return { position: this.#last, mark: this.#mark }
  }

  /** Makes room on the disk and begins anew: the position and all rows are on the disk in the database. */
  restart(): void {
    this.#bytes.allocate()
    this.#half = 0
    this.#offset = 0
    this.#isOtherFree = true
    this.#turns += 1
  }

  fits(payloadBytes: number): boolean {
    return this.#offset + recordBytes(payloadBytes) <= this.#bytes.halfBytes
  }

  /**
   * The record is on the disk after the next `sync`. If this throws, the record is given up and its number is not used
   * again.
   */
  append(payload: Buffer): void {
    this.#last += 1n
    const bytes = record(payload, this.#last, this.#mark)
    this.#bytes.write(bytes, this.#half * this.#bytes.halfBytes + this.#offset)
    this.#offset += bytes.length
  }

  sync(): Promise<void> {
    return this.#bytes.sync()
  }

  /** Whether this half is so full that its rows should go to their tables. */
  get isFilling(): boolean {
    return this.#offset > this.#bytes.halfBytes * FULL_PART
  }

  /** The rows of all records are on their way to their tables: later records go to the other half if it is free. */
  leave(): void {
    if (this.#offset < this.#bytes.halfBytes * LEAVE_PART || !this.#isOtherFree) return
    this.#half = this.#half === 0 ? 1 : 0
    this.#offset = 0
    this.#isOtherFree = false
    this.#turns += 1
  }

  /** The rows of the half that was left are in their tables; `durable` resolves when they are on the disk there. */
  async freed(durable: () => Promise<void>): Promise<void> {
    if (this.#isOtherFree) return
    const turn = this.#turns
    await durable()
    if (turn === this.#turns) this.#isOtherFree = true
  }

  close(): void {
    this.#bytes.close()
  }
}

export const HEADER_BYTES = 64
export const RECORD_HEAD_BYTES = 24
const RECORD_MARK = 0x5447_4a31
const HEADER_MARK = Buffer.from('TGJOURN1')
/** Records begin at multiples of this, so that those after a broken one are found. */
const ALIGN_BYTES = 8

/** The bytes that a payload takes on the disk. */
export function recordBytes(payloadBytes: number): number {
  return Math.ceil((RECORD_HEAD_BYTES + payloadBytes) / ALIGN_BYTES) * ALIGN_BYTES
}

/**
 * Whether the first record may be one of the segment's epoch: an emptied segment has a record of an earlier epoch
 * there, or none.
 */
export function mayHoldRecords(bytes: Buffer): boolean {
  return (
    !isHeader(bytes) ||
    (bytes.readUInt32LE(HEADER_BYTES) === RECORD_MARK &&
      bytes.readBigUInt64LE(HEADER_BYTES + 16) === bytes.readBigUInt64LE(8))
  )
}

function isHeader(bytes: Buffer): boolean {
  return (
    bytes.subarray(0, HEADER_MARK.length).equals(HEADER_MARK) && bytes.readUInt32LE(16) === crc32(bytes.subarray(0, 16))
  )
}

/** The first bytes of a segment. */
export function header(epoch: bigint): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  HEADER_MARK.copy(bytes)
  bytes.writeBigUInt64LE(epoch, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 16)), 16)
  return bytes
}

/**
 * Mark, length, checksum of all that follows, epoch, payload. With another `seed` than the one it was written with, the
 * checksum does not match.
 */
export function record(payload: Buffer, epoch: bigint, seed = 0): Buffer {
  const bytes = Buffer.alloc(recordBytes(payload.length))
  bytes.writeUInt32LE(RECORD_MARK, 0)
  bytes.writeUInt32LE(payload.length, 4)
  bytes.writeBigUInt64LE(epoch, 16)
  payload.copy(bytes, RECORD_HEAD_BYTES)
  bytes.writeUInt32LE(crc32(bytes.subarray(16, RECORD_HEAD_BYTES + payload.length), seed), 8)
  return bytes
}

/** Reads every whole record of the segment's epoch. A torn record is skipped, and the ones after it are read. */
export function readRecords(bytes: Buffer): {
  readonly epoch: bigint
  readonly end: number
  readonly payloads: readonly Buffer[]
} {
  const whole = isHeader(bytes)
  const epoch = whole ? bytes.readBigUInt64LE(8) : null
  const payloads: Buffer[] = []
  // If the header is broken, records of any epoch count: settling an old one again has no effect.
  let newest = epoch ?? 1n
  let end = whole ? HEADER_BYTES : bytes.length
  for (let at = HEADER_BYTES; at + RECORD_HEAD_BYTES <= bytes.length;) {
    const found = recordAt(bytes, at, epoch)
    at += found === null ? ALIGN_BYTES : recordBytes(found.payload.length)
    if (found === null) continue
    payloads.push(found.payload)
    if (found.epoch > newest) newest = found.epoch
    end = Math.max(end, at)
  }
  return { epoch: newest, end, payloads }
}

/** null = no whole record begins here, or it has another epoch or seed. */
export function recordAt(
  bytes: Buffer,
  at: number,
  epoch: bigint | null,
  seed = 0,
): { readonly epoch: bigint; readonly payload: Buffer } | null {
  if (at + RECORD_HEAD_BYTES > bytes.length || bytes.readUInt32LE(at) !== RECORD_MARK) return null
  const end = at + RECORD_HEAD_BYTES + bytes.readUInt32LE(at + 4)
  const own = bytes.readBigUInt64LE(at + 16)
  if (
    end > bytes.length ||
    (epoch !== null && own !== epoch) ||
    crc32(bytes.subarray(at + 16, end), seed) !== bytes.readUInt32LE(at + 8)
  )
    return null
  return { epoch: own, payload: Buffer.from(bytes.subarray(at + RECORD_HEAD_BYTES, end)) }
}

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
