import { AAC_RATES } from './aac-rates.ts'

const HEADER_BYTES = 7
const BLOCK_SAMPLES = 1_024
/** More frames than any honest upload has. */
const FRAMES_MAX = 150_000
const STRAYS_MAX = 100_000
/** So many frames in a row are no accident. */
const CHAIN = 3
/** More single frames than chance puts into any honest file. */
const SINGLES_MAX = 10_000

/** Whether an AAC frame with its own header begins here. */
export function isAdtsFrame(bytes: Buffer, at: number): boolean {
  return (
    at + HEADER_BYTES <= bytes.length &&
    bytes[at] === 0xff &&
    ((bytes[at + 1] ?? 0) & 0xf6) === 0xf0 &&
    lengthAt(bytes, at) >= HEADER_BYTES &&
    rateAt(bytes, at) !== undefined
  )
}

/**
 * Whether a stream begins in these bytes: frames in a row, each where the last one ends, or a single one that is all
 * there is.
 */
export function hasAdtsFrames(bytes: Buffer, from: number, to: number): boolean {
  const last = Math.min(to, bytes.length)
  let strays = 0
  for (let at = from; at < last; at += 1) {
    if (bytes[at] !== 0xff || !isAdtsFrame(bytes, at)) continue
    let frames = 0
    let next = at
    for (; frames < CHAIN && isAdtsFrame(bytes, next); frames += 1) next += lengthAt(bytes, next)
    if (frames === CHAIN || (at === from && next === bytes.length)) return true
    strays += 1
    // Whoever writes that many single frames hides others among them.
    if (strays > SINGLES_MAX) return true
  }
  return false
}

/** Seconds of an AAC stream, frame by frame; null where it breaks off before its first frame. */
export function adtsSeconds(bytes: Buffer, start: number): number | null {
  // Each frame counts at its own rate: a high rate in only the first would make an hour look like a few minutes.
  const blocks = new Float64Array(AAC_RATES.length)
  for (let at = start; isAdtsFrame(bytes, at); at += lengthAt(bytes, at)) {
    const index = rateIndexAt(bytes, at)
    blocks[index] = (blocks[index] ?? 0) + ((bytes[at + 6] ?? 0) & 3) + 1
  }
  const seconds = AAC_RATES.reduce((sum, rate, index) => sum + ((blocks[index] ?? 0) * BLOCK_SAMPLES) / rate, 0)
  return seconds === 0 ? null : seconds
}

/**
 * All frames that a decoder may find, with the lowest rate that one of them names, and the bytes behind the last that
 * was looked for.
 */
export function adtsFrames(
  bytes: Buffer,
  start: number,
): {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly rate: number
  readonly rest: number
} {
  const starts: number[] = []
  const ends: number[] = []
  let rate: number = AAC_RATES[0]
  let strays = 0
  let at = start
  while (at !== -1 && starts.length < FRAMES_MAX && strays < STRAYS_MAX) {
    if (isAdtsFrame(bytes, at)) {
      starts.push(at)
      rate = Math.min(rate, rateAt(bytes, at) ?? rate)
      ends.push(Math.min(bytes.length, (at += lengthAt(bytes, at))))
    } else {
      // Where a frame breaks off, decoders look for the next.
      strays += 1
      at = bytes.indexOf(0xff, at + 1)
    }
  }
  return { starts, ends, rate, rest: at === -1 ? 0 : Math.max(0, bytes.length - at) }
}

function rateAt(bytes: Buffer, at: number): number | undefined {
  return AAC_RATES[rateIndexAt(bytes, at)]
}

function rateIndexAt(bytes: Buffer, at: number): number {
  return ((bytes[at + 2] ?? 0xff) >> 2) & 15
}

function lengthAt(bytes: Buffer, at: number): number {
  return (((bytes[at + 3] ?? 0) & 3) << 11) | ((bytes[at + 4] ?? 0) << 3) | ((bytes[at + 5] ?? 0) >> 5)
}
