import { CAUTIOUS_BYTES_PER_SECOND } from './aac-config.ts'
import { opusPacketSeconds, vorbisPacketSeconds } from './ogg.ts'

const MARK = Buffer.from('OggS')
const PAGE_HEADER_BYTES = 27
/** More pages than any honest file of an upload has. */
const PAGES_MAX = 100_000

interface Streams {
  opus: boolean
  /** The most of a packet, of all Vorbis streams so far: pages of several may stand in any order. */
  vorbis: number
}

/**
 * The most seconds that all packets of an Ogg file of Opus or Vorbis decode to: a page may lie of its position. null
 * where it holds another codec.
 */
export function oggSecondsMax(bytes: Buffer): number | null {
  const streams: Streams = { opus: false, vorbis: 0 }
  let seconds = 0
  let isOpen = false
  let pages = 0
  for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at)) {
    pages += 1
    if (pages > PAGES_MAX) return seconds + (bytes.length - at) / CAUTIOUS_BYTES_PER_SECOND
    const segments = bytes[at + 26] ?? 0
    let packet = at + PAGE_HEADER_BYTES + segments
    // Every stream begins with its head; one of another codec is not told by its packets.
    const begins = pages === 1 || ((bytes[at + 5] ?? 0) & 2) !== 0
    if (!begin(bytes, packet, streams) && begins) return null
    for (let index = 0; index < segments; index += 1) {
      const size = bytes[at + PAGE_HEADER_BYTES + index] ?? 0
      // What goes on from before has no sound of its own.
      if (!isOpen && size > 0) seconds += packetSeconds(bytes, packet, streams)
      isOpen = size === 255
      packet += size
    }
    at = Math.max(packet, at + PAGE_HEADER_BYTES)
  }
  return seconds
}

/** Whether a stream of Opus or Vorbis begins here. */
function begin(bytes: Buffer, at: number, streams: Streams): boolean {
  if (bytes[at] === 0x4f && bytes.toString('latin1', at, at + 8) === 'OpusHead') return (streams.opus = true)
  const vorbis = bytes[at] === 1 ? vorbisPacketSeconds(bytes, at) : null
  if (vorbis === null) return false
  streams.vorbis = Math.max(streams.vorbis, vorbis)
  return true
}

function packetSeconds(bytes: Buffer, at: number, { opus, vorbis }: Streams): number {
  const first = bytes[at] ?? 0
  // The heads: of Vorbis the first bit tells them, of Opus their name.
  const asVorbis = (first & 1) === 0 ? vorbis : 0
  const isOpusHead = first === 0x4f && ['OpusHead', 'OpusTags'].includes(bytes.toString('latin1', at, at + 8))
  return opus && !isOpusHead ? Math.max(asVorbis, opusPacketSeconds(bytes, at)) : asVorbis
}
