/** kbit/s by the upper five bits of the frame size code. */
const KBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const
const RATES = [48_000, 44_100, 32_000] as const
const BLOCK_SAMPLES = 256
const BLOCKS = [1, 2, 3, 6] as const
const MARK = Buffer.from([0x0b, 0x77])
const HEADER_BYTES = 6
/** The stream versions: up to here AC-3, of which the last two have half and a quarter of the rate; above, E-AC-3. */
const VERSION = { full: 8, last: 10, enhancedLast: 16 } as const
/** So many frames in a row are no accident. */
const CHAIN = 3
/** More frames, and more places that look like one, than any honest file has. */
const FRAMES_MAX = 300_000
/** Of the shortest frame there can be, at the lowest rate. */
const BYTES_PER_SECOND_MIN = 16

interface Frame {
  readonly bytes: number
  readonly seconds: number
}

/** Whether AC-3 or E-AC-3 begins here: frames in a row, or fewer that are all there is. */
export function isAc3(bytes: Buffer, start: number): boolean {
  let at = start
  let frames = 0
  for (let frame = frameAt(bytes, at); frame !== null && frames < CHAIN; frame = frameAt(bytes, at)) {
    at += frame.bytes
    frames += 1
  }
  return frames === CHAIN || (frames > 0 && at === bytes.length)
}

/** Seconds of AC-3 and E-AC-3, frame by frame, also behind a break, where decoders look for the next frame. */
export function ac3Seconds(bytes: Buffer, start: number): number {
  let seconds = 0
  let at = start
  for (let places = 0; at !== -1; places += 1) {
    if (places > FRAMES_MAX) return seconds + (bytes.length - at) / BYTES_PER_SECOND_MIN
    const frame = frameAt(bytes, at)
    seconds += frame?.seconds ?? 0
    at = frame === null ? bytes.indexOf(MARK, at + 1) : at + frame.bytes
  }
  return seconds
}

function frameAt(bytes: Buffer, at: number): Frame | null {
  if (at + HEADER_BYTES > bytes.length || bytes.readUInt16BE(at) !== 0x0b77) return null
  const version = (bytes[at + 5] ?? 0) >> 3
  const form = bytes[at + 4] ?? 0
  const rateCode = form >> 6
  if (version > VERSION.last) return version > VERSION.enhancedLast ? null : enhancedFrame(bytes, at, form)
  const rate = RATES[rateCode]
  const kbits = KBITS[(form & 63) >> 1]
  if (rate === undefined || kbits === undefined) return null
  const words = rate === 44_100 ? Math.floor((kbits * 96_000) / rate) + (form & 1) : (kbits * 96_000) / rate
  return { bytes: words * 2, seconds: (6 * BLOCK_SAMPLES * 2 ** Math.max(0, version - VERSION.full)) / rate }
}

function enhancedFrame(bytes: Buffer, at: number, form: number): Frame | null {
  const rate = RATES[form >> 6] ?? (RATES[(form >> 4) & 3] ?? 0) / 2
  const blocks = form >> 6 === 3 ? 6 : (BLOCKS[(form >> 4) & 3] ?? 6)
  const size = ((bytes.readUInt16BE(at + 2) & 0x7ff) + 1) * 2
  return rate === 0 || size < HEADER_BYTES ? null : { bytes: size, seconds: (blocks * BLOCK_SAMPLES) / rate }
}
