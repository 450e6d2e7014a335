import { open, type FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/** Pre-allocated whole, so that a full disk still takes what is written into it. */
export const SEGMENT_BYTES = 8 * 1_048_576
const HEADER_BYTES = 64
const RECORD_HEAD_BYTES = 24
const RECORD_MARK = 0x5447_4a31
const HEADER_MARK = Buffer.from('TGJOURN1')
/** Records begin at multiples of it, so that those behind a broken one are found. */
const ALIGN_BYTES = 8
const ZEROS = Buffer.alloc(1_048_576)

/**
 * One file of the journal: a header with an epoch, then records that each carry it and a checksum. It is emptied by the next
 * epoch alone: nothing is allocated or freed while the disk may be full.
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

  /** Opens or makes the file; `left` are the payloads that an earlier process wrote. */
  static async open(path: string): Promise<{ readonly segment: JournalSegment; readonly left: readonly Buffer[] }> {
    const file = await open(path, 'a').then(async (made) => {
      await made.close()
      return open(path, 'r+')
    })
    try {
      const { size } = await file.stat()
      if (size < SEGMENT_BYTES) await allocate(file, size)
      const { epoch, end, payloads } = (await isUsed(file)) ? readRecords(await readBytes(file, SEGMENT_BYTES)) : readRecords(await readBytes(file, HEADER_BYTES))
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

  /** Forgets all records, durably. */
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

/** Bytes that a payload takes on the disk. */
export function recordBytes(payloadBytes: number): number {
  return Math.ceil((RECORD_HEAD_BYTES + payloadBytes) / ALIGN_BYTES) * ALIGN_BYTES
}

async function allocate(file: FileHandle, from: number): Promise<void> {
  for (let at = from; at < SEGMENT_BYTES; at += ZEROS.length) await writeAt(file, ZEROS.subarray(0, Math.min(ZEROS.length, SEGMENT_BYTES - at)), at)
  if (from === 0) await writeAt(file, header(1n), 0)
  await file.sync()
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/** Whether a file, that may be missing, holds records. */
export async function isUsedSegment(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null)
  try {
    return file !== null && (await isUsed(file))
  } finally {
    await file?.close()
  }
}

/** By its first record: an emptied file holds one of an earlier epoch there, or none. */
async function isUsed(file: FileHandle): Promise<boolean> {
  const bytes = await readBytes(file, HEADER_BYTES + RECORD_HEAD_BYTES)
  const whole = isHeader(bytes)
  return !whole || (bytes.readUInt32LE(HEADER_BYTES) === RECORD_MARK && bytes.readBigUInt64LE(HEADER_BYTES + 16) === bytes.readBigUInt64LE(8))
}

async function readBytes(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const { bytesRead } = await file.read(bytes, at, length - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes
}

function isHeader(bytes: Buffer): boolean {
  return bytes.subarray(0, HEADER_MARK.length).equals(HEADER_MARK) && bytes.readUInt32LE(16) === crc32(bytes.subarray(0, 16))
}

function header(epoch: bigint): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  HEADER_MARK.copy(bytes)
  bytes.writeBigUInt64LE(epoch, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 16)), 16)
  return bytes
}

/** Mark, length, checksum of all that follows, epoch, payload. */
function record(payload: Buffer, epoch: bigint): Buffer {
  const bytes = Buffer.alloc(recordBytes(payload.length))
  bytes.writeUInt32LE(RECORD_MARK, 0)
  bytes.writeUInt32LE(payload.length, 4)
  bytes.writeBigUInt64LE(epoch, 16)
  payload.copy(bytes, RECORD_HEAD_BYTES)
  bytes.writeUInt32LE(crc32(bytes.subarray(16, RECORD_HEAD_BYTES + payload.length)), 8)
  return bytes
}

/** Every whole record of the segment's epoch: a torn one is passed over, and what stands behind it is read all the same. */
function readRecords(bytes: Buffer): { readonly epoch: bigint; readonly end: number; readonly payloads: readonly Buffer[] } {
  const whole = isHeader(bytes)
  const epoch = whole ? bytes.readBigUInt64LE(8) : null
  const payloads: Buffer[] = []
  // Under a broken header records of any epoch count: one that was settled long ago is settled again to no effect.
  let newest = epoch ?? 1n
  let end = whole ? HEADER_BYTES : bytes.length
  for (let at = HEADER_BYTES; at + RECORD_HEAD_BYTES <= bytes.length; ) {
    const found = recordAt(bytes, at, epoch)
    at += found === null ? ALIGN_BYTES : recordBytes(found.payload.length)
    if (found === null) continue
    payloads.push(found.payload)
    if (found.epoch > newest) newest = found.epoch
    end = Math.max(end, at)
  }
  return { epoch: newest, end, payloads }
}

function recordAt(bytes: Buffer, at: number, epoch: bigint | null): { readonly epoch: bigint; readonly payload: Buffer } | null {
  if (bytes.readUInt32LE(at) !== RECORD_MARK) return null
  const end = at + RECORD_HEAD_BYTES + bytes.readUInt32LE(at + 4)
  const own = bytes.readBigUInt64LE(at + 16)
  if (end > bytes.length || (epoch !== null && own !== epoch) || crc32(bytes.subarray(at + 16, end)) !== bytes.readUInt32LE(at + 8)) return null
  return { epoch: own, payload: Buffer.from(bytes.subarray(at + RECORD_HEAD_BYTES, end)) }
}
