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
