import { CAUTIOUS_BYTES_PER_SECOND, packetsSeconds, unreadSeconds, type PacketForm } from './packet-form.ts'
import { framesOf } from './webm-lacing.ts'
import { floatOf, lengthOf, numberAt, sizeAt } from './webm.ts'
import { aacForm } from './aac-config.ts'
import { alacForm } from './alac.ts'
import { flacRate } from './flac.ts'
import { vorbisPacketSeconds } from './ogg.ts'

const ID = {
  segment: 0x18538067,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  simpleBlock: 0xa3,
  block: 0xa1,
  tracks: 0x1654ae6b,
  track: 0xae,
  audio: 0xe1,
  number: 0xd7,
  type: 0x83,
  codec: 0x86,
  private: 0x63a2,
  encodings: 0x6d80,
  rate: 0xb5,
  outputRate: 0x78b5,
  channels: 0x9f,
  bits: 0x6264,
} as const
const OPENED: ReadonlySet<number> = new Set([ID.segment, ID.cluster, ID.blockGroup, ID.tracks, ID.track, ID.audio])
const CLUSTER = Buffer.from('1f43b675', 'hex')
/** The head of the element and the head of a block. */
const CLUSTER_BYTES_MIN = 10
const TYPE_AUDIO = 2
const RATE_DEFAULT = 8_000
const ELEMENTS_MAX = 250_000
const FRAMES_MAX = 1_000_000
/** More than any honest file has. */
const TRACKS_MAX = 100
/** The most that a frame grows by header stripping. */
const UNPACKED = 1_000
/** The first bytes of each frame are in the head of the track: the packing that honest files have. */
const STRIPPED = Buffer.from('42548103', 'hex')
const STRIPPED_BYTES_MAX = 100
const ALGORITHM = STRIPPED.subarray(0, 2)

interface WebmTrack {
  number: number
  type: number
  codec: string
  config: Buffer
  rate: number
  channels: number
  bits: number
  /** Whether its frames are plain, without their first bytes, or compressed or encrypted. */
  packing: 'none' | 'stripped' | 'packed'
  /** More than one codec or configuration. */
  isTwofold: boolean
}

interface Blocks {
  readonly starts: number[]
  readonly ends: number[]
  bytes: number
}

interface FoundBlocks {
  readonly tracks: WebmTrack[]
  readonly blocks: Map<number, Blocks>
  frames: number
  /** Bytes that no walk explains. */
  unexplained: number
}

/**
 * The most seconds that the sound tracks of a WebM or Matroska file decode to: by the frames in its blocks, whatever
 * times it gives.
 */
export function webmSecondsMax(bytes: Buffer): number {
  const found: FoundBlocks = { tracks: [], blocks: new Map(), frames: 0, unexplained: 0 }
  readElements(bytes, found)
  const longest = [...found.blocks].reduce((most, [number, blocks]) => {
    const tracks = found.tracks.filter((track) => track.number === number)
    // Of two tracks with one number the longer counts; blocks of an undeclared track count by their bytes.
    return Math.max(
      most,
      tracks.length === 0
        ? blocks.bytes / CAUTIOUS_BYTES_PER_SECOND
        : tracks.reduce((seconds, track) => Math.max(seconds, trackSeconds(bytes, blocks, track)), 0),
    )
  }, 0)
  return longest + found.unexplained / CAUTIOUS_BYTES_PER_SECOND
}

function readElements(bytes: Buffer, found: FoundBlocks): void {
  let at = 0
  for (
    let elements = 0;
    at < bytes.length && elements < ELEMENTS_MAX && found.frames < FRAMES_MAX && found.tracks.length <= TRACKS_MAX;
    elements += 1
  ) {
    const idLength = lengthOf(bytes[at], 4)
    const id = idLength === 0 ? 0 : numberAt(bytes, at, idLength)
    const sizeLength = lengthOf(bytes[at + idLength], 8)
    if (id === 0 || sizeLength === 0 || at + idLength + sizeLength > bytes.length) break
    const start = at + idLength + sizeLength
    if (id === ID.track)
      found.tracks.push({
        number: 0,
        type: 0,
        codec: '',
        config: Buffer.alloc(0),
        rate: Infinity,
        channels: Infinity,
        bits: Infinity,
        packing: 'none',
        isTwofold: false,
      })
    if (OPENED.has(id)) {
      at = start
      continue
    }
    const size = sizeAt(bytes, at + idLength, sizeLength)
    if (size === null) break
    const content = bytes.subarray(start, start + size)
    // Decoders look for the next cluster where a size cannot be: one inside another element may be played.
    if (start + size > bytes.length || (size > CLUSTER_BYTES_MIN && content.includes(CLUSTER)))
      found.unexplained += content.length
    if (id === ID.simpleBlock || id === ID.block) addBlock(bytes, start, Math.min(bytes.length, start + size), found)
    else readTrack(id, content, found.tracks.at(-1))
    at = start + size
  }
  found.unexplained += Math.max(0, bytes.length - at)
}

function readTrack(id: number, content: Buffer, track: WebmTrack | undefined): void {
  if (track === undefined) return
  const number = numberAt(content, 0, content.length)
  if (id === ID.number) track.number = number
  else if (id === ID.type) track.type = number
  else if (id === ID.rate || id === ID.outputRate) track.rate = Math.min(track.rate, floatOf(content) || track.rate)
  else if (id === ID.channels) track.channels = Math.min(track.channels, number || 1)
  else if (id === ID.bits) track.bits = Math.min(track.bits, number)
  else if (id === ID.codec) {
    track.isTwofold ||= track.codec !== ''
    track.codec = content.toString('latin1', 0, 40).replace(/\0.*$/s, '')
  } else if (id === ID.private) {
    track.isTwofold ||= track.config.length > 0
    track.config = content
  } else if (id === ID.encodings) {
    const isStripped =
      content.length <= STRIPPED_BYTES_MAX &&
      content.includes(STRIPPED) &&
      content.indexOf(ALGORITHM) === content.lastIndexOf(ALGORITHM)
    track.packing = track.packing === 'none' && isStripped ? 'stripped' : 'packed'
  }
}

function addBlock(bytes: Buffer, start: number, end: number, found: FoundBlocks): void {
  const length = lengthOf(bytes[start], 8)
  const at = start + length + 3
  if (length === 0 || at >= end) return
  const number = numberAt(bytes, start, length) - 2 ** (7 * length)
  let blocks = found.blocks.get(number)
  if (blocks === undefined) found.blocks.set(number, (blocks = { starts: [], ends: [], bytes: 0 }))
  blocks.bytes += end - at
  const sizes = framesOf(bytes, at - 1, end)
  if (sizes === null) {
    // Decoders skip a block whose frames do not add up, or read it in different ways.
    found.unexplained += end - at
    return
  }
  let frame = sizes.start
  for (const size of sizes.sizes) {
    blocks.starts.push(frame)
    blocks.ends.push((frame += size))
  }
  found.frames += sizes.sizes.length
}

function trackSeconds(bytes: Buffer, blocks: Blocks, track: WebmTrack): number {
  if (track.type !== TYPE_AUDIO && !track.codec.startsWith('A_')) return 0
  const finite = (value: number, other: number): number => (value === Infinity ? other : value)
  const head = {
    ...track,
    rate: finite(track.rate, RATE_DEFAULT),
    channels: finite(track.channels, 1),
    bits: finite(track.bits, 0),
  }
  const form: PacketForm = track.isTwofold ? { codec: 'unknown' } : trackForm(head)
  if (track.packing === 'none') return packetsSeconds(bytes, blocks, form)
  const frames = blocks.starts.length
  return unreadSeconds(
    track.packing === 'stripped' ? blocks.bytes + frames * STRIPPED_BYTES_MAX : blocks.bytes * UNPACKED,
    frames,
    form,
  )
}

/** The data of a track of a WebM or Matroska file; of a field that occurs twice the lower value. */
interface TrackHead {
  readonly codec: string
  /** `CodecPrivate`. */
  readonly config: Buffer
  readonly rate: number
  readonly channels: number
  readonly bits: number
}

/** The form of the frames of a track. */
function trackForm({ codec, config, rate, channels, bits }: TrackHead): PacketForm {
  const unknown: PacketForm = { codec: 'unknown' }
  const bytesPerSecond = (rate * channels * bits) / 8
  switch (codec) {
    case 'A_OPUS':
      return { codec: 'opus' }
    case 'A_MPEG/L1':
    case 'A_MPEG/L2':
    case 'A_MPEG/L3':
      return { codec: 'mpeg' }
    case 'A_AAC':
      return aacForm(config)
    case 'A_ALAC':
      return alacForm(config, rate)
    case 'A_FLAC':
      return config.toString('latin1', 0, 4) === 'fLaC'
        ? { codec: 'flac', rate: Math.min(flacRate(config, 0), rate) }
        : unknown
    case 'A_PCM/INT/LIT':
    case 'A_PCM/INT/BIG':
    case 'A_PCM/FLOAT/IEEE':
      return bytesPerSecond > 0 ? { codec: 'pcm', bytesPerSecond } : unknown
    case 'A_VORBIS': {
      const seconds = vorbisPacketSeconds(config, vorbisStart(config))
      return seconds === null ? unknown : { codec: 'frames', seconds }
    }
    default:
      return unknown
  }
}

/** The place of the first of the three heads of Vorbis: behind their number and the sizes of the first two. */
function vorbisStart(config: Buffer): number {
  let at = 1
  for (let sizes = 0; sizes < 2 && at < config.length; at += 1) if (config[at] !== 255) sizes += 1
  return at
}
