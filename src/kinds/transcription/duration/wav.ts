/** PCM, float, A-law and µ-law: the sample form gives the bytes of a second. The figure in the file is not used. */
const PLAIN_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7])
/** One byte a value, whatever the form says. */
const COMPANDED_FORMATS: ReadonlySet<number> = new Set([6, 7])
/** The most samples that a byte decodes to: ADPCM of Microsoft and IMA, GSM. */
const SAMPLES_A_BYTE: ReadonlyMap<number, number> = new Map([
  [2, 2.1],
  [0x11, 2.1],
  [0x31, 5],
])
/** The format follows the form. */
const EXTENSIBLE = 0xfffe

/** No honest file has more chunks before its sound. */
const CHUNKS_MAX = 10_000

/** Seconds of a RIFF/WAVE file; null where it cannot be read. */
export function wavSeconds(bytes: Buffer): number | null {
  let byteRate = 0
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < CHUNKS_MAX; chunks += 1) {
    const name = bytes.toString('latin1', at, at + 4)
    const declared = bytes.readUInt32LE(at + 4)
    const left = bytes.length - at - 8
    if (name === 'fmt ' && left >= 16) byteRate = byteRateOf(bytes, at + 8)
    // A writer that could not go back to its header leaves 0 or the largest number there.
    if (name === 'data') return byteRate === 0 ? null : (declared === 0 || declared > left ? left : declared) / byteRate
    at += 8 + declared + (declared % 2)
  }
  return null
}

/**
 * Everything behind the head of the sound, at the lowest rate of the forms in the file; null where the form does not
 * fix the bytes of a second.
 */
export function wavSecondsMax(bytes: Buffer): number | null {
  let poorest = Infinity
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < CHUNKS_MAX; chunks += 1) {
    const name = bytes.toString('latin1', at, at + 4)
    const declared = bytes.readUInt32LE(at + 4)
    if (name === 'fmt ' && bytes.length - at - 8 >= 16) {
      poorest = Math.min(poorest, poorestOf(bytes, at + 8))
    }
    if (name === 'data') return poorest === 0 || poorest === Infinity ? null : (bytes.length - at - 8) / poorest
    at += 8 + declared + (declared % 2)
  }
  return null
}

/** The fewest bytes of a second; 0 where the format does not tell. */
function poorestOf(bytes: Buffer, at: number): number {
  const format = formatOf(bytes, at)
  if (PLAIN_FORMATS.has(format)) return byteRateOf(bytes, at)
  return (bytes.readUInt16LE(at + 2) * bytes.readUInt32LE(at + 4)) / (SAMPLES_A_BYTE.get(format) ?? Infinity)
}

function byteRateOf(bytes: Buffer, at: number): number {
  const format = formatOf(bytes, at)
  if (!PLAIN_FORMATS.has(format)) return bytes.readUInt32LE(at + 8)
  const bits = COMPANDED_FORMATS.has(format) ? 8 : bytes.readUInt16LE(at + 14)
  return (bytes.readUInt16LE(at + 2) * bytes.readUInt32LE(at + 4) * bits) / 8
}

function formatOf(bytes: Buffer, at: number): number {
  const format = bytes.readUInt16LE(at)
  return format === EXTENSIBLE && at + 26 <= bytes.length ? bytes.readUInt16LE(at + 24) : format
}
