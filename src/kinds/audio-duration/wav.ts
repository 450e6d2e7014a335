/**
 * PCM, float, A-law and µ-law: the bytes of a second follow from the sample form. What the file says of them is not
 * asked.
 */
const PLAIN_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7, 0xfffe])

/** No honest file has more of them before its sound. */
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
 * All that follows the head of the sound, at the poorest form that the file names; null where the form does not say how
 * many bytes a second has.
 */
export function wavSecondsMax(bytes: Buffer): number | null {
  let poorest = Infinity
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < CHUNKS_MAX; chunks += 1) {
    const name = bytes.toString('latin1', at, at + 4)
    const declared = bytes.readUInt32LE(at + 4)
    if (name === 'fmt ' && bytes.length - at - 8 >= 16) {
      if (!PLAIN_FORMATS.has(bytes.readUInt16LE(at + 8))) return null
      poorest = Math.min(poorest, byteRateOf(bytes, at + 8))
    }
    if (name === 'data') return poorest === 0 || poorest === Infinity ? null : (bytes.length - at - 8) / poorest
    at += 8 + declared + (declared % 2)
  }
  return null
}

function byteRateOf(bytes: Buffer, at: number): number {
  const format = bytes.readUInt16LE(at)
  if (!PLAIN_FORMATS.has(format)) return bytes.readUInt32LE(at + 8)
  return (bytes.readUInt16LE(at + 2) * bytes.readUInt32LE(at + 4) * bytes.readUInt16LE(at + 14)) / 8
}
