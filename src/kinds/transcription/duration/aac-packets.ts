import { randomInt } from 'node:crypto'
import { AacFrames, adtsRate, FRAME_BYTES_MIN } from './aac-frames.ts'
import { AacPacket } from './aac-packet.ts'
import { AAC_RATES } from './aac-rates.ts'

const FRAME_SAMPLES = 1_024
/** Packets of up to this size together are all read; of larger files a random sample is, of this size at most. */
const READ_BYTES = 4_500_000
/** The codewords that are read at most: an honest packet has about one in a byte, a hostile one up to eight. */
const WORDS_MAX = 8_000_000
/** Packets that are not shown to be one frame are searched for others, up to this size together. */
const SEARCHED_BYTES = 250_000
const PACKETS_MIN = 100
const PACKETS_MAX = 6_000
/**
 * −ln 0.01: the sample misses the frames that an attacker hides beyond the bound once in a hundred files. The more he
 * hides, the less often it misses them.
 */
const LOG_ODDS = 4.6
/** More places inside packets that look like a header, or like the first byte of one, than any honest file has. */
const HEADERS_MAX = 5_000
const MARKS_MAX = 250_000
/** Codewords that are read at most to tell a hidden header from sound that looks like one. */
const HEADER_WORDS_MAX = 1_500_000

/** Where packets lie in a file, each from its first byte to behind its last. */
export interface Packets {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/** AAC packets as their container describes them. */
export interface AacForm {
  readonly codec: 'aac'
  readonly rate: number
  /** Where the rate stands in the table of rates; null = each packet has a header, or frames are not of 1,024 samples. */
  readonly rateIndex: number | null
}

/** The most seconds that AAC packets decode to, at the lowest rate that any header in them names. */
export function aacSeconds(bytes: Buffer, packets: Packets, form: AacForm): number {
  const told = packets.starts.reduce((rate, start) => Math.min(rate, adtsRate(bytes, start) || rate), form.rate)
  const inner = innerRate(bytes, packets, form)
  // A header changes what the packets behind it mean, so that where they end is no longer known.
  const isChanged = form.rateIndex !== null && (inner !== null || packets.starts.some((at) => adtsRate(bytes, at) > 0))
  const frames = framesMax(bytes, packets, isChanged ? null : form.rateIndex)
  return (frames * FRAME_SAMPLES) / Math.min(told, inner ?? told)
}

/**
 * The lowest rate of a header behind the first frame of a packet; null = there is none. Decoders follow such a header.
 * Sound may look like one by chance: a packet that is one frame has none.
 */
function innerRate(bytes: Buffer, { starts, ends }: Packets, { rateIndex }: AacForm): number | null {
  if (starts.length === 0) return null
  const lowest = AAC_RATES.at(-1) ?? 0
  const isSorted = starts.every((start, index) => index === 0 || start >= (ends[index - 1] ?? 0))
  const packet = new AacPacket(bytes, HEADER_WORDS_MAX)
  const last = ends.reduce((end, at) => Math.max(end, at), 0)
  let found: number | null = null
  let [marks, places, index, whole] = [0, 0, 0, -1]
  for (let at = bytes.indexOf(0xff, starts[0]); at !== -1 && at < last; at = bytes.indexOf(0xff, at + 1)) {
    marks += 1
    if (marks > MARKS_MAX) return lowest
    while (isSorted && (starts[index + 1] ?? Infinity) <= at) index += 1
    const [start = 0, end = 0] = [starts[index], ends[index]]
    // Bytes between packets are skipped.
    if (isSorted && at >= end) at = (starts[index + 1] ?? last) - 1
    if (isSorted && (at <= start || at >= end || index === whole)) continue
    const rate = adtsRate(bytes, at)
    if (rate === 0 || (found !== null && rate >= found)) continue
    places += 1
    if (places > HEADERS_MAX) return lowest
    if (isSorted && packet.isOneFrame(start, end, rateIndex)) whole = index
    else found = rate
  }
  return found
}

/** The most frames in these packets; of a large file an estimate that is too low once in a hundred hostile files. */
function framesMax(bytes: Buffer, { starts, ends }: Packets, rateIndex: number | null): number {
  const packet = new AacPacket(bytes, WORDS_MAX)
  const frames = new AacFrames(bytes)
  let searched = 0
  const framesOf = (start: number, end: number): number => {
    // Two frames need more.
    if (end - start < 2 * FRAME_BYTES_MIN) return end > start ? 1 : 0
    if (packet.isOneFrame(start, end, rateIndex)) return 1
    searched += end - start
    return searched > SEARCHED_BYTES ? Math.max(1, (end - start) / FRAME_BYTES_MIN) : frames.count(start, end)
  }
  const sums: number[] = []
  let size = 0
  for (const [index, start] of starts.entries()) sums.push((size += Math.max(0, (ends[index] ?? 0) - start)))
  if (size <= READ_BYTES) return starts.reduce((sum, start, index) => sum + framesOf(start, ends[index] ?? 0), 0)
  // By bytes: a packet of twice the size is drawn twice as often.
  const excess: number[] = []
  for (let left = READ_BYTES; (left > 0 && excess.length < PACKETS_MAX) || excess.length < PACKETS_MIN;) {
    const index = indexBefore(sums, randomInt(size)) + 1
    const [start = 0, end = 0] = [starts[index], ends[index]]
    left -= end - start
    excess.push((framesOf(start, end) - 1) / (end - start))
  }
  return starts.length + size * Math.min(excessMax(excess), 1 / FRAME_BYTES_MIN)
}

/**
 * The upper bound of a mean by a random sample of it (Maurer and Pontil 2009): of frames a byte beyond a packet's
 * first.
 */
function excessMax(sample: readonly number[]): number {
  const count = sample.length
  const mean = sample.reduce((sum, excess) => sum + excess, 0) / count
  if (mean === 0) return LOG_ODDS / (count * FRAME_BYTES_MIN)
  const variance = sample.reduce((sum, excess) => sum + (excess - mean) ** 2, 0) / (count - 1)
  const odds = LOG_ODDS + Math.LN2
  return mean + Math.sqrt((2 * variance * odds) / count) + (7 * odds) / (3 * (count - 1) * FRAME_BYTES_MIN)
}

/** The index of the last number that is not above `value`; −1 = all are above it. */
function indexBefore(sorted: readonly number[], value: number): number {
  let low = -1
  let high = sorted.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((sorted[middle] ?? 0) <= value) low = middle
    else high = middle - 1
  }
  return low
}
