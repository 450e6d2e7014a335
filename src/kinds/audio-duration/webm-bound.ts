import { AAC_BYTES_PER_SECOND, aacForm, CAUTIOUS_BYTES_PER_SECOND } from './aac-config.ts'
import { opusPacketSeconds, OPUS_PACKET_SECONDS_MAX, vorbisPacketSeconds } from './ogg.ts'
import { lengthOf, numberAt, sizeAt } from './webm.ts'

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
} as const
const OPENED: ReadonlySet<number> = new Set([ID.segment, ID.cluster, ID.blockGroup, ID.tracks, ID.track, ID.audio])
const CLUSTER = Buffer.from('1f43b675', 'hex')
const TYPE_AUDIO = 2
const ELEMENTS_MAX = 300_000
/** More than any honest file has. */
const TRACKS_MAX = 100

interface Track {
  number: number
  type: number
  codec: string
  config: Buffer
  /** Compressed or encrypted: what its frames begin with is not what a decoder sees. */
  isCoded: boolean
}

interface Blocks {
  frames: number
  bytes: number
  /** Of the largest block. */
  most: number
  /** As Opus. */
  opusSeconds: number
}

/**
 * The most seconds that the sound tracks of a WebM or Matroska file decode to: by the frames in its blocks, whatever it
 * says of times.
 */
export function webmSecondsMax(bytes: Buffer): number {
  const tracks: Track[] = []
  const blocks = new Map<number, Blocks>()
  let unexplained = 0
  let at = 0
  for (let elements = 0; at < bytes.length && elements < ELEMENTS_MAX && tracks.length <= TRACKS_MAX; elements += 1) {
    const idLength = lengthOf(bytes[at], 4)
    const id = idLength === 0 ? 0 : numberAt(bytes, at, idLength)
    const sizeLength = lengthOf(bytes[at + idLength], 8)
    if (id === 0 || sizeLength === 0 || at + idLength + sizeLength > bytes.length) break
    const start = at + idLength + sizeLength
    if (id === ID.track) tracks.push({ number: 0, type: 0, codec: '', config: Buffer.alloc(0), isCoded: false })
    if (OPENED.has(id)) {
      at = start
      continue
    }
    const size = sizeAt(bytes, at + idLength, sizeLength)
    if (size === null) break
    const content = bytes.subarray(start, start + size)
    // Decoders look for the next cluster where a size cannot be: one inside another element may be played.
    if (start + size > bytes.length || (size > CLUSTER.length && content.includes(CLUSTER)))
      unexplained += content.length
    if (id === ID.simpleBlock || id === ID.block) addBlock(content, blocks)
    else readTrack(id, content, tracks.at(-1))
    at = start + size
  }
  unexplained += Math.max(0, bytes.length - at)
  const longest = [...blocks].reduce(
    (most, [number, found]) =>
      Math.max(
        most,
        blocksSeconds(
          found,
          tracks.filter((track) => track.number === number),
        ),
      ),
    0,
  )
  return longest + unexplained / CAUTIOUS_BYTES_PER_SECOND
}

function readTrack(id: number, content: Buffer, track: Track | undefined): void {
  if (track === undefined) return
  if (id === ID.number) track.number = numberAt(content, 0, content.length)
  else if (id === ID.type) track.type = numberAt(content, 0, content.length)
  else if (id === ID.codec) track.codec = content.toString('latin1', 0, 40).replace(/\0.*$/s, '')
  else if (id === ID.private) track.config = content
  else if (id === ID.encodings) track.isCoded = true
}

function addBlock(content: Buffer, blocks: Map<number, Blocks>): void {
  const length = lengthOf(content[0], 8)
  const at = length + 3
  if (length === 0 || content.length <= at) return
  const number = numberAt(content, 0, length) - 2 ** (7 * length)
  let found = blocks.get(number)
  if (found === undefined) blocks.set(number, (found = { frames: 0, bytes: 0, most: 0, opusSeconds: 0 }))
  const isLaced = ((content[at - 1] ?? 0) & 6) !== 0
  const frames = isLaced ? (content[at] ?? 0) + 1 : 1
  found.frames += frames
  found.bytes += content.length - at
  found.most = Math.max(found.most, content.length - at)
  found.opusSeconds += isLaced ? frames * OPUS_PACKET_SECONDS_MAX : opusPacketSeconds(content, at)
}

/** The most that the blocks of one number hold: of a number told twice the longer, of one never told by the bytes. */
function blocksSeconds(blocks: Blocks, tracks: readonly Track[]): number {
  if (tracks.length === 0) return blocks.bytes / CAUTIOUS_BYTES_PER_SECOND
  return tracks.reduce((most, track) => Math.max(most, trackSeconds(blocks, track)), 0)
}

function trackSeconds({ frames, bytes, most, opusSeconds }: Blocks, { type, codec, config, isCoded }: Track): number {
  if (type !== TYPE_AUDIO && !codec.startsWith('A_')) return 0
  if (codec === 'A_OPUS') return isCoded ? frames * OPUS_PACKET_SECONDS_MAX : opusSeconds
  const vorbis = codec === 'A_VORBIS' ? vorbisPacketSeconds(config, vorbisStart(config)) : null
  if (vorbis !== null) return frames * vorbis
  const aac = codec === 'A_AAC' ? aacForm(config) : null
  if (aac === null || (isCoded && most > 0)) return bytes / CAUTIOUS_BYTES_PER_SECOND
  return (
    Math.max(frames * aac.seconds, bytes / AAC_BYTES_PER_SECOND) +
    (most > aac.bytesMax ? bytes / CAUTIOUS_BYTES_PER_SECOND : 0)
  )
}

/** Where the first of the three heads of Vorbis stands: behind their number and the sizes of the first two. */
function vorbisStart(config: Buffer): number {
  let at = 1
  for (let sizes = 0; sizes < 2 && at < config.length; at += 1) if (config[at] !== 255) sizes += 1
  return at
}
