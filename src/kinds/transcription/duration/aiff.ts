const FORMS: ReadonlySet<string> = new Set(['AIFF', 'AIFC'])
/** Bytes of a value of sound without compression, where the type fixes them; 0 = by the bits of the form. */
const PLAIN: ReadonlyMap<string, number> = new Map([
  ['NONE', 0],
  ['twos', 0],
  ['sowt', 0],
  ['raw ', 1],
  ['ulaw', 1],
  ['ULAW', 1],
  ['alaw', 1],
  ['ALAW', 1],
  ['in24', 3],
  ['in32', 4],
  ['fl32', 4],
  ['FL32', 4],
  ['fl64', 8],
  ['FL64', 8],
])
/** Of any other type at the lowest rate. */
const BYTES_PER_SECOND_MIN = 16
const COMMON_BYTES = 18
/** No honest file has more. */
const CHUNKS_MAX = 10_000

interface Common {
  /** Sample frames, as the head counts them. */
  readonly frames: number
  readonly rate: number
  readonly bytesPerSecond: number
}

export function isAiff(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 4) === 'FORM' && FORMS.has(bytes.toString('latin1', 8, 12))
}

/** Seconds of an AIFF file by its head; null where it has none. */
export function aiffSeconds(bytes: Buffer): number | null {
  const common = commonsOf(bytes)[0]
  return common === undefined || common.rate === 0 ? null : common.frames / common.rate
}

/** All bytes of the file at the poorest form that a head of it names. */
export function aiffSecondsMax(bytes: Buffer): number {
  const poorest = commonsOf(bytes).reduce((least, { bytesPerSecond }) => Math.min(least, bytesPerSecond), Infinity)
  return bytes.length / (poorest === Infinity ? BYTES_PER_SECOND_MIN : poorest)
}

function commonsOf(bytes: Buffer): readonly Common[] {
  const isCompressible = bytes.toString('latin1', 8, 12) === 'AIFC'
  const found: Common[] = []
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < CHUNKS_MAX; chunks += 1) {
    const size = bytes.readUInt32BE(at + 4)
    if (bytes.toString('latin1', at, at + 4) === 'COMM' && at + 8 + COMMON_BYTES <= bytes.length)
      found.push(commonOf(bytes, at + 8, isCompressible && size > COMMON_BYTES))
    at += 8 + size + (size % 2)
  }
  return found
}

function commonOf(bytes: Buffer, at: number, hasType: boolean): Common {
  const type = hasType ? bytes.toString('latin1', at + COMMON_BYTES, at + COMMON_BYTES + 4) : 'NONE'
  const rate = extendedAt(bytes, at + 8)
  const width = PLAIN.get(type)
  const bytesPerSecond = rate * bytes.readUInt16BE(at) * (width || Math.ceil(bytes.readUInt16BE(at + 6) / 8))
  return {
    frames: bytes.readUInt32BE(at + 2),
    rate,
    bytesPerSecond: width === undefined || !(bytesPerSecond > 0) ? BYTES_PER_SECOND_MIN : bytesPerSecond,
  }
}

/** A positive number of 80 bits: 15 of exponent, 64 of mantissa. */
function extendedAt(bytes: Buffer, at: number): number {
  const exponent = bytes.readUInt16BE(at) & 0x7fff
  const value = Number(bytes.readBigUInt64BE(at + 2)) * 2 ** (exponent - 16_383 - 63)
  // Decoders take whole numbers.
  return value >= 1 && Number.isFinite(value) ? value : 0
}
