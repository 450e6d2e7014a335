import { crc32 } from 'node:zlib'

export const HEADER_BYTES = 64
export const RECORD_HEAD_BYTES = 24
const RECORD_MARK = 0x5447_4a31
const HEADER_MARK = Buffer.from('TGJOURN1')
/** Records begin at multiples of this, so that those after a broken one are found. */
export const ALIGN_BYTES = 8

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
