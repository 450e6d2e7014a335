import { flacRate } from './flac.ts'

/** `OggS`, the first bytes of each page. */
const CAPTURE = 0x4f676753
const PAGE_HEADER_BYTES = 27
const STREAMS_MAX = 100
/** Opus counts its positions at this rate whatever it was made of (RFC 7845). */
const OPUS_RATE = 48_000

interface Stream {
  readonly rate: number
  /** Samples that the decoder throws away first. */
  readonly skip: number
  position: number
}

/** Seconds of an Ogg file of Opus, Vorbis, FLAC or Speex: the last position of each stream, one after another. null where it holds none. */
export function oggSeconds(bytes: Buffer): number | null {
  const streams = new Map<number, Stream>()
  for (let at = 0; at + PAGE_HEADER_BYTES <= bytes.length && bytes.readUInt32BE(at) === CAPTURE && streams.size <= STREAMS_MAX; ) {
    const segments = bytes[at + 26] ?? 0
    const body = at + PAGE_HEADER_BYTES + segments
    const serial = bytes.readUInt32LE(at + 14)
    const stream = streams.get(serial) ?? streamOf(bytes, body)
    if (stream !== null) {
      const position = Number(bytes.readBigInt64LE(at + 6))
      // −1 marks a page on which no packet ends.
      if (position > stream.position) stream.position = position
      streams.set(serial, stream)
    }
    at = body
    for (let index = 0; index < segments; index += 1) at += bytes[body - segments + index] ?? 0
  }
  if (streams.size === 0) return null
  return [...streams.values()].reduce((seconds, { rate, skip, position }) => seconds + Math.max(0, position - skip) / rate, 0)
}

function streamOf(bytes: Buffer, at: number): Stream | null {
  const head = bytes.toString('latin1', at, at + 8)
  if (bytes.length < at + 40) return head === 'OpusHead' && bytes.length >= at + 12 ? opus(bytes, at) : null
  if (head === 'OpusHead') return opus(bytes, at)
  const rate = head.startsWith('\u0001vorbis') ? bytes.readUInt32LE(at + 12) : head === 'Speex   ' ? bytes.readUInt32LE(at + 36) : head.startsWith('\u007fFLAC') ? flacRate(bytes, at + 9) : 0
  return rate === 0 ? null : { rate, skip: 0, position: 0 }
}

function opus(bytes: Buffer, at: number): Stream {
  return { rate: OPUS_RATE, skip: bytes.readUInt16LE(at + 10), position: 0 }
}

/** Frames of an Opus packet by the five bits of its first byte, in 48,000ths of a second (RFC 6716, 3.1). */
const OPUS_FRAMES = [
  480, 960, 1_920, 2_880, 480, 960, 1_920, 2_880, 480, 960, 1_920, 2_880, 480, 960, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960,
] as const
/** More pages than any honest file of an upload has. */
const PAGES_MAX = 100_000
const OPUS_BYTES_PER_SECOND_MIN = 750

/** Seconds of all packets of an Ogg file of Opus, each told by itself: a page may lie of its position. null where it holds another codec. */
export function opusSeconds(bytes: Buffer): number | null {
  const mark = Buffer.from('OggS')
  let samples = 0
  let packets = 0
  let isOpen = false
  let pages = 0
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
    pages += 1
    if (pages > PAGES_MAX) return samples / OPUS_RATE + (bytes.length - at) / OPUS_BYTES_PER_SECOND_MIN
    const segments = bytes[at + 26] ?? 0
    let packet = at + PAGE_HEADER_BYTES + segments
    // Every stream begins with its head; one of another codec is not told by its packets.
    const begins = pages === 1 || ((bytes[at + 5] ?? 0) & 2) !== 0
    if (begins && bytes.toString('latin1', packet, packet + 8) !== 'OpusHead') return null
    for (let index = 0; index < segments; index += 1) {
      const size = bytes[at + PAGE_HEADER_BYTES + index] ?? 0
      // The head and the tags have no sound, and neither has what goes on from before.
      if (!isOpen) {
        packets += 1
        if (packets > 2 && size > 0) samples += packetSamples(bytes, packet)
      }
      isOpen = size === 255
      packet += size
    }
    at = Math.max(packet, at + PAGE_HEADER_BYTES)
  }
  return samples / OPUS_RATE
}

function packetSamples(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  const code = first & 3
  const frames = code === 0 ? 1 : code === 3 ? (bytes[at + 1] ?? 0) & 63 : 2
  return (OPUS_FRAMES[first >> 3] ?? 0) * frames
}
