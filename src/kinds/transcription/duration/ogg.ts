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

/**
 * Seconds of an Ogg file of Opus, Vorbis, FLAC or Speex: the last position of each stream, one after another. null
 * where it holds none.
 */
export function oggSeconds(bytes: Buffer): number | null {
  const streams = new Map<number, Stream>()
  for (
    let at = 0;
    at + PAGE_HEADER_BYTES <= bytes.length && bytes.readUInt32BE(at) === CAPTURE && streams.size <= STREAMS_MAX;
  ) {
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
  return [...streams.values()].reduce(
    (seconds, { rate, skip, position }) => seconds + Math.max(0, position - skip) / rate,
    0,
  )
}

function streamOf(bytes: Buffer, at: number): Stream | null {
  const head = bytes.toString('latin1', at, at + 8)
  if (bytes.length < at + 40) return head === 'OpusHead' && bytes.length >= at + 12 ? opus(bytes, at) : null
  if (head === 'OpusHead') return opus(bytes, at)
  const rate = head.startsWith('\u0001vorbis')
    ? bytes.readUInt32LE(at + 12)
    : head === 'Speex   '
      ? bytes.readUInt32LE(at + 36)
      : head.startsWith('\u007fFLAC')
        ? flacRate(bytes, at + 9)
        : 0
  return rate === 0 ? null : { rate, skip: 0, position: 0 }
}

function opus(bytes: Buffer, at: number): Stream {
  return { rate: OPUS_RATE, skip: bytes.readUInt16LE(at + 10), position: 0 }
}

/** Frames of an Opus packet by the five bits of its first byte, in 48,000ths of a second (RFC 6716, 3.1). */
const OPUS_FRAMES = [
  480, 960, 1_920, 2_880, 480, 960, 1_920, 2_880, 480, 960, 1_920, 2_880, 480, 960, 480, 960, 120, 240, 480, 960, 120,
  240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960,
] as const
/** The most that one Opus packet decodes to. */
export const OPUS_PACKET_SECONDS_MAX = 0.12

/** Seconds of the Opus packet that begins here, by its first bytes. */
export function opusPacketSeconds(bytes: Buffer, at: number): number {
  return Math.min(OPUS_PACKET_SECONDS_MAX, packetSamples(bytes, at) / OPUS_RATE)
}

/**
 * The most that a packet of a Vorbis stream decodes to, by the identification header that begins here: a quarter of
 * the longer block on either side (Vorbis I, 4.3.8). null where there is no such header.
 */
export function vorbisPacketSeconds(bytes: Buffer, at: number): number | null {
  if (bytes.toString('latin1', at, at + 7) !== '\u0001vorbis' || at + 29 > bytes.length) return null
  const rate = bytes.readUInt32LE(at + 12)
  return rate === 0 ? null : 2 ** ((bytes[at + 28] ?? 0) >> 4) / 2 / rate
}

function packetSamples(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  const code = first & 3
  const frames = code === 0 ? 1 : code === 3 ? (bytes[at + 1] ?? 0) & 63 : 2
  return (OPUS_FRAMES[first >> 3] ?? 0) * frames
}
