const STREAM_INFO_BYTES = 34

/** Seconds of the FLAC file whose mark is at `start`; null where its encoder did not know. */
export function flacSeconds(bytes: Buffer, start: number): number | null {
  const info = start + 8
  if (bytes.length < info + STREAM_INFO_BYTES) return null
  const rate = bytes.readUIntBE(info + 10, 3) >> 4
  const samples = ((bytes[info + 13] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(info + 14)
  return rate === 0 || samples === 0 ? null : samples / rate
}

/** Samples a second of the FLAC stream at `start`; 0 where it cannot be read. */
export function flacRate(bytes: Buffer, start: number): number {
  return bytes.length < start + 8 + STREAM_INFO_BYTES ? 0 : bytes.readUIntBE(start + 18, 3) >> 4
}

const FRAME_MARKS = [Buffer.from([0xff, 0xf8]), Buffer.from([0xff, 0xf9])] as const
const RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000] as const
const FRAME_HEADER_BYTES_MAX = 16
/** More places that look like a frame than any honest upload has. */
const MARKS_MAX = 200_000
/** The longest frame of silence has only this many bytes for a second. */
const SILENCE_BYTES_PER_SECOND = 1
const RATE_DEFAULT = 8_000

/**
 * Seconds of all its frames, each found by its header and the checksum of the header; the head of the file is not
 * used.
 */
export function flacFrameSeconds(bytes: Buffer, start: number, rate = flacRate(bytes, start)): number {
  const told = rate || RATE_DEFAULT
  const samplesByRate = new Map<number, number>()
  const seconds = (): number => [...samplesByRate].reduce((sum, [rate, samples]) => sum + samples / rate, 0)
  let marks = 0
  for (const mark of FRAME_MARKS) {
    for (let at = bytes.indexOf(mark, start); at !== -1; at = bytes.indexOf(mark, at + 1)) {
      marks += 1
      if (marks > MARKS_MAX) return seconds() + (bytes.length - start) / SILENCE_BYTES_PER_SECOND
      const frame = frameAt(bytes, at)
      if (frame === null) continue
      const slowest = Math.min(frame.rate || told, told)
      samplesByRate.set(slowest, (samplesByRate.get(slowest) ?? 0) + frame.samples)
    }
  }
  return seconds()
}

function frameAt(bytes: Buffer, at: number): { readonly samples: number; readonly rate: number } | null {
  const form = bytes[at + 2] ?? 0
  const size = form >> 4
  const rateCode = form & 15
  if (size === 0 || rateCode === 15 || ((bytes[at + 3] ?? 1) & 1) !== 0) return null
  // The number of the frame: its first byte has as many leading ones as there are bytes.
  const ones = Math.clz32(~((bytes[at + 4] ?? 0) << 24))
  let next = at + 5 + Math.max(0, ones - 1)
  let samples = size === 1 ? 192 : size < 6 ? 576 << (size - 2) : 256 << (size - 8)
  if (size === 6) samples = (bytes[next] ?? 0) + 1
  if (size === 7) samples = next + 2 <= bytes.length ? bytes.readUInt16BE(next) + 1 : 0
  next += size === 6 ? 1 : size === 7 ? 2 : 0
  let rate: number = RATES[rateCode] ?? 0
  if (rateCode === 12) rate = (bytes[next] ?? 0) * 1_000
  if (rateCode > 12) rate = next + 2 <= bytes.length ? bytes.readUInt16BE(next) * (rateCode === 14 ? 10 : 1) : 0
  next += rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0
  return next - at < FRAME_HEADER_BYTES_MAX && next < bytes.length && crc8(bytes, at, next) === bytes[next]
    ? { samples, rate }
    : null
}

function crc8(bytes: Buffer, from: number, to: number): number {
  let sum = 0
  for (let at = from; at < to; at += 1) {
    sum ^= bytes[at] ?? 0
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x80) === 0 ? sum << 1 : ((sum << 1) ^ 0x07) & 0xff
  }
  return sum
}
