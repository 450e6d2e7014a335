import { flacFrameSeconds, flacRate } from './flac.ts'
import { opusPacketSeconds, vorbisPacketSeconds } from './ogg.ts'
import { CAUTIOUS_BYTES_PER_SECOND } from './packet-form.ts'
import { speexForm, SpeexFrames, type SpeexForm } from './speex.ts'

const MARK = Buffer.from('OggS')
const FLAC_HEAD = '\u007fFLAC'
/** The mark of a FLAC file follows these bytes of its head. */
const FLAC_HEAD_BYTES = 9
const PAGE_HEADER_BYTES = 27
/** A packet goes on after a segment of this size. */
const SEGMENT_BYTES_MAX = 255
/** More pages than any honest file of an upload has. */
const PAGES_MAX = 100_000

interface Streams {
  opus: boolean
  /** The longest packet of all Vorbis streams so far: pages of several streams may be in any order. */
  vorbis: number
  /** The lowest rate of a FLAC stream so far; 0 = there is none. */
  flac: number
  /** The longest frames and the most of them of all Speex streams so far. */
  speex: SpeexForm | null
}

/**
 * The most seconds that all packets of an Ogg file decode to, because a page's position may lie. A stream of another
 * codec counts by its bytes.
 */
export function oggSecondsMax(bytes: Buffer): number {
  const streams: Streams = { opus: false, vorbis: 0, flac: 0, speex: null }
  const speexFrames = new SpeexFrames()
  const pieces: Buffer[] = []
  let seconds = 0
  let isOpen = false
  let pages = 0
  for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at)) {
    pages += 1
    if (pages > PAGES_MAX) return seconds + bytes.length / CAUTIOUS_BYTES_PER_SECOND
    const segments = bytes[at + 26] ?? 0
    const first = at + PAGE_HEADER_BYTES + segments
    let packet = first
    // Every stream begins with its head; a stream of another codec cannot be measured by its packets.
    const begins = pages === 1 || ((bytes[at + 5] ?? 0) & 2) !== 0
    if (!begin(bytes, packet, streams) && begins) return bytes.length / CAUTIOUS_BYTES_PER_SECOND
    for (let index = 0; index < segments; index += 1) {
      const size = bytes[at + PAGE_HEADER_BYTES + index] ?? 0
      // A packet that continues an earlier one has no further sound.
      const other = !isOpen && size > 0 ? packetSeconds(bytes, packet, streams) : 0
      const isPart = isOpen || size === SEGMENT_BYTES_MAX
      seconds += Math.max(
        other,
        streams.speex === null ? 0 : speexFrames.seconds(bytes, packet, size, streams.speex, isPart),
      )
      isOpen = size === SEGMENT_BYTES_MAX
      packet += size
    }
    pieces.push(bytes.subarray(first, packet))
    at = Math.max(packet, at + PAGE_HEADER_BYTES)
  }
  // A frame may begin on one page and go on in the next.
  return seconds + (streams.flac === 0 ? 0 : flacFrameSeconds(Buffer.concat(pieces), 0, streams.flac))
}

/** Whether a stream of a known codec begins here. */
function begin(bytes: Buffer, at: number, streams: Streams): boolean {
  if (bytes[at] === 0x4f && bytes.toString('latin1', at, at + 8) === 'OpusHead') return (streams.opus = true)
  if (bytes[at] === 0x7f && bytes.toString('latin1', at, at + FLAC_HEAD.length) === FLAC_HEAD) {
    const rate = flacRate(bytes, at + FLAC_HEAD_BYTES)
    if (rate > 0) streams.flac = streams.flac === 0 ? rate : Math.min(streams.flac, rate)
    return rate > 0
  }
  const speex = speexForm(bytes, at)
  if (speex !== null) {
    streams.speex = {
      frameSeconds: Math.max(speex.frameSeconds, streams.speex?.frameSeconds ?? 0),
      packetFrames: Math.max(speex.packetFrames, streams.speex?.packetFrames ?? 0),
    }
    return true
  }
  const vorbis = bytes[at] === 1 ? vorbisPacketSeconds(bytes, at) : null
  if (vorbis === null) return false
  streams.vorbis = Math.max(streams.vorbis, vorbis)
  return true
}

function packetSeconds(bytes: Buffer, at: number, { opus, vorbis }: Streams): number {
  const first = bytes[at] ?? 0
  // The head packets: Vorbis marks them in the first bit, Opus by name.
  const asVorbis = (first & 1) === 0 ? vorbis : 0
  const isOpusHead = first === 0x4f && ['OpusHead', 'OpusTags'].includes(bytes.toString('latin1', at, at + 8))
  return opus && !isOpusHead ? Math.max(asVorbis, opusPacketSeconds(bytes, at)) : asVorbis
}
