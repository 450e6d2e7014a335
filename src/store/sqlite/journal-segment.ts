import { open, type FileHandle } from 'node:fs/promises'
import {
  HEADER_BYTES,
  header,
  mayHoldRecords,
  readRecords,
  record,
  RECORD_HEAD_BYTES,
  recordBytes,
} from './journal-records.ts'

/** Allocated in full at the start, so that it can be written even when the disk is full. */
export const SEGMENT_BYTES = 8 * 1_048_576
const ZEROS = Buffer.alloc(1_048_576)

/**
 * One file of the journal: a header with an epoch, then records with the same epoch and a checksum. A new epoch empties
 * it: nothing is allocated or freed while the disk may be full.
 */
export class JournalSegment {
  readonly #file: FileHandle
  #epoch: bigint
  #offset: number
  /** Records that the store does not have yet. */
  open: number

  private constructor(file: FileHandle, epoch: bigint, offset: number, open: number) {
    this.#file = file
    this.#epoch = epoch
    this.#offset = offset
    this.open = open
  }

  /** Opens or creates the file; `left` are the payloads that an earlier process wrote. */
  static async open(path: string): Promise<{ readonly segment: JournalSegment; readonly left: readonly Buffer[] }> {
    const file = await open(path, 'a').then(async (made) => {
      await made.close()
      return open(path, 'r+')
    })
    try {
      const { size } = await file.stat()
      if (size < SEGMENT_BYTES) await allocate(file, size)
      const { epoch, end, payloads } = (await isUsed(file))
        ? readRecords(await readBytes(file, SEGMENT_BYTES))
        : readRecords(await readBytes(file, HEADER_BYTES))
      return { segment: new JournalSegment(file, epoch, end, payloads.length), left: payloads }
    } catch (thrown) {
      await file.close()
      throw thrown
    }
  }

  /** Whether a record of this many bytes has room. */
  fits(payloadBytes: number, after = 0): boolean {
    return this.#offset + after + recordBytes(payloadBytes) <= SEGMENT_BYTES
  }

  /** Durable when it resolves. */
  async append(payloads: readonly Buffer[]): Promise<void> {
    const records = Buffer.concat(payloads.map((payload) => record(payload, this.#epoch)))
    await writeAt(this.#file, records, this.#offset)
    await this.#file.datasync()
    this.#offset += records.length
    this.open += payloads.length
  }

  /** Removes all records, durably. */
  async reset(): Promise<void> {
    this.#epoch += 1n
    await writeAt(this.#file, header(this.#epoch), 0)
    await this.#file.datasync()
    this.#offset = HEADER_BYTES
    this.open = 0
  }

  get empty(): boolean {
    return this.#offset === HEADER_BYTES
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function allocate(file: FileHandle, from: number): Promise<void> {
  for (let at = from; at < SEGMENT_BYTES; at += ZEROS.length)
    await writeAt(file, ZEROS.subarray(0, Math.min(ZEROS.length, SEGMENT_BYTES - at)), at)
  if (from === 0) await writeAt(file, header(1n), 0)
  await file.sync()
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/** Whether a file, which may not exist, has records. */
export async function isUsedSegment(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null)
  try {
    return file !== null && (await isUsed(file))
  } finally {
    await file?.close()
  }
}

async function isUsed(file: FileHandle): Promise<boolean> {
  return mayHoldRecords(await readBytes(file, HEADER_BYTES + RECORD_HEAD_BYTES))
}

async function readBytes(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(bytes, at, length - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes
}
