import { flacFrameSeconds, flacRate } from './flac.ts'
import { opusPacketSeconds, vorbisPacketSeconds } from './ogg.ts'
import { CAUTIOUS_BYTES_PER_SECOND } from './packet-form.ts'

const HEAD = 'Speex   '
const HEAD_BYTES = 80
/** Samples of a frame of the narrow band; each further band doubles them. */
const SAMPLES = 160
const MODE_MAX = 2
/** Bits of a frame by its mode, the four bits after its first. */
const FRAME_BITS = [5, 43, 119, 160, 220, 300, 364, 492, 79] as const
const FRAME_BITS_MIN = 5
/** Bits of a layer for a higher band, by the three bits after its first. */
const LAYER_BITS = [4, 36, 112, 192, 352] as const
const TERMINATOR = 15
/** 10 MB at 8 kbit/s have half a million. */
const FRAMES_MAX = 600_000

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

/** The form of a Speex stream, by its head. */
interface SpeexForm {
  readonly frameSeconds: number
  /** Frames of each packet, as the head says; a decoder may find more. */
  readonly packetFrames: number
}

/** null where no such stream begins here. */
function speexForm(bytes: Buffer, at: number): SpeexForm | null {
  if (at + HEAD_BYTES > bytes.length || bytes.toString('latin1', at, at + HEAD.length) !== HEAD) return null
  const rate = bytes.readInt32LE(at + 36)
  const mode = bytes.readInt32LE(at + 40)
  if (rate <= 0 || mode < 0 || mode > MODE_MAX) return null
  // Decoders differ in whether they believe the head.
  const samples = Math.max(SAMPLES * 2 ** mode, bytes.readInt32LE(at + 56))
  return { frameSeconds: samples / rate, packetFrames: Math.max(1, bytes.readInt32LE(at + 64)) }
}

/** Counts the frames of packets, up to so many that it takes no time. */
class SpeexFrames {
  #left = FRAMES_MAX

  /**
   * The most seconds that the packet decodes to: as many frames as the head says, or as its bits make. `isPart`: a part
   * of one, whose frames begin anywhere.
   */
  seconds(
    bytes: Buffer,
    start: number,
    size: number,
    { frameSeconds, packetFrames }: SpeexForm,
    isPart = false,
  ): number {
    if (size === 0) return 0
    const frames =
      isPart || this.#left <= 0
        ? Math.ceil((size * 8) / FRAME_BITS_MIN)
        : this.#frames(bytes, start * 8, (start + size) * 8)
    return Math.max(packetFrames, frames) * frameSeconds
  }

  #frames(bytes: Buffer, from: number, end: number): number {
    let found = 0
    let at = from
    for (; end - at >= FRAME_BITS_MIN; this.#left -= 1) {
      const head = ((((bytes[at >> 3] ?? 0) << 8) | (bytes[(at >> 3) + 1] ?? 0)) >> (11 - (at & 7))) & 31
      const isLayer = head > 15
      if (head === TERMINATOR) return found
      const bits = isLayer ? LAYER_BITS[(head >> 1) & 7] : FRAME_BITS[head]
      // A message between frames has any length.
      if (bits === undefined) return found + Math.ceil((end - at) / FRAME_BITS_MIN)
      if (!isLayer) found += 1
      at += bits
    }
    return found
  }
}
