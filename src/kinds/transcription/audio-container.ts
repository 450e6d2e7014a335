/**
 * Containers that are recognised by their first bytes, with the media type of each; any other file does not count as
 * sound.
 */
export const AUDIO_CONTAINERS = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  webm: 'audio/webm',
  aiff: 'audio/aiff',
  ac3: 'audio/ac3',
  amr: 'audio/amr',
} as const
export type AudioContainer = keyof typeof AUDIO_CONTAINERS

/** The first bytes of each container that has a mark. */
const MARKS: readonly (readonly [mark: string, container: AudioContainer])[] = [
  ['OggS', 'ogg'],
  ['fLaC', 'flac'],
  ['\u001aE\u00df\u00a3', 'webm'],
  ['#!AMR', 'amr'],
  ['\u000bw', 'ac3'],
]
/** Boxes that MP4 and QuickTime files begin with. */
const FIRST_BOXES: ReadonlySet<string> = new Set(['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip', 'pnot'])
/** The header of a tag before the sound, such as title and cover: the size is four times seven bits. */
const ID3_HEADER_BYTES = 10
/** More tags than any real file has: skipping a million empty ones takes half a second. */
const TAGS_MAX = 16

/** The format of an audio file by its bytes; null = they are no sound. */
export function audioContainer(bytes: Buffer): AudioContainer | null {
  const start = audioStart(bytes)
  const mark = bytes.toString('latin1', start, start + 12)
  const form = mark.slice(0, 4)
  if ((form === 'RIFF' || form === 'RF64') && mark.endsWith('WAVE')) return 'wav'
  if (form === 'FORM' && (mark.endsWith('AIFF') || mark.endsWith('AIFC'))) return 'aiff'
  if (isMovie(bytes)) return 'm4a'
  return MARKS.find(([known]) => mark.startsWith(known))?.[1] ?? frameStream(bytes, start)
}

/** Whether the first box ends within the file: in a text, the name of a box may be at that place by chance. */
function isMovie(bytes: Buffer): boolean {
  return bytes.length >= 8 && FIRST_BOXES.has(bytes.toString('latin1', 4, 8)) && bytes.readUInt32BE(0) <= bytes.length
}

/** The start of the sound, behind the tags. */
export function audioStart(bytes: Buffer): number {
  let at = 0
  for (let tags = 0; tags < TAGS_MAX; tags += 1) at += tagBytes(bytes, at)
  return at
}

/**
 * The size of the tag at this place; 0 = there is none. Decoders that see no tag look for sound, and so must we. It is
 * no tag if its version or size is impossible, or if it extends past the end.
 */
function tagBytes(bytes: Buffer, at: number): number {
  if (
    at + ID3_HEADER_BYTES > bytes.length ||
    bytes.toString('latin1', at, at + 3) !== 'ID3' ||
    bytes[at + 3] === 0xff ||
    bytes[at + 4] === 0xff
  )
    return 0
  const parts = bytes.subarray(at + 6, at + ID3_HEADER_BYTES)
  if (parts.some((part) => part > 127)) return 0
  const size = ID3_HEADER_BYTES + parts.reduce((total, part) => total * 128 + part, 0)
  return at + size <= bytes.length ? size : 0
}

/** kbit/s by index, of layers 1 to 3 of MPEG-1 and of layer 1 and layers 2 and 3 of MPEG-2. */
const KBITS = {
  v1l1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  v1l2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v1l3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v2l1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  v2l23: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const
const MPEG_RATES = [44_100, 48_000, 32_000] as const
const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const
const ADTS_HEADER_BYTES = 7
/** So many frames of one form in a row are no coincidence. */
const CHAIN = 3
/** A stream that was cut out of another begins within a frame, so the first one is searched for in so many bytes. */
const CUT_BYTES_MAX = 65_536
/** More places that only look like the start of a frame than any real file has. */
const STRAYS_MAX = 100_000

interface Frame {
  readonly stream: 'mp3' | 'aac'
  readonly bytes: number
  readonly seconds: number
}

/** The kind of the frames that begin at `start` or soon after it; null = there are none. */
export function frameStream(bytes: Buffer, start: number): Frame['stream'] | null {
  const end = Math.min(bytes.length, start + CUT_BYTES_MAX)
  for (let at = bytes.indexOf(0xff, start); at !== -1 && at < end; at = bytes.indexOf(0xff, at + 1)) {
    const first = frameAt(bytes, at)
    let frames = 0
    let next = at
    for (let frame = first; frame !== null && frames < CHAIN; frame = frameAt(bytes, next)) {
      if (frame.stream !== first?.stream) break
      next += frame.bytes
      frames += 1
    }
    // Fewer frames are a file only if they fill it: the last one may be cut.
    const isAll = at === start && (next === bytes.length || isTag(bytes, next) || (frames > 1 && next > bytes.length))
    if (first !== null && (frames === CHAIN || isAll)) return first.stream
  }
  return null
}

/**
 * The seconds of the frames from `start` on. Each frame counts with its own rate, since the first one may have any.
 * null = most bytes belong to no frame. Frames after a gap count, since decoders look for them.
 */
export function framesSeconds(bytes: Buffer, start: number): number | null {
  const counts = new Map<number, number>()
  let explained = 0
  let strays = 0
  let synced = false
  for (let at = bytes.indexOf(0xff, start); at !== -1 && strays < STRAYS_MAX;) {
    const frame = frameAt(bytes, at)
    // Anything may look like one frame; two in a row are no coincidence.
    if (frame === null || (!synced && !isFollowed(bytes, at + frame.bytes))) {
      synced = false
      strays += 1
      at = bytes.indexOf(0xff, at + 1)
      continue
    }
    synced = true
    counts.set(frame.seconds, (counts.get(frame.seconds) ?? 0) + 1)
    explained += frame.bytes
    at += frame.bytes
    if (at >= bytes.length) break
  }
  if (explained * 2 < bytes.length - start) return null
  // Frames of equal length are multiplied, so that the sum is as exact as its parts.
  return [...counts].reduce((sum, [seconds, frames]) => sum + seconds * frames, 0)
}

function isFollowed(bytes: Buffer, at: number): boolean {
  return at >= bytes.length || frameAt(bytes, at) !== null || isTag(bytes, at)
}

/** Whether there is a tag after the sound. */
function isTag(bytes: Buffer, at: number): boolean {
  return bytes.toString('latin1', at, at + 3) === 'TAG'
}

function frameAt(bytes: Buffer, at: number): Frame | null {
  if (at + 4 > bytes.length) return null
  const header = bytes.readUInt32BE(at)
  if (header >>> 21 !== 0x7ff) return null
  return ((header >>> 17) & 3) === 0 ? adtsFrame(bytes, at, header) : mpegFrame(header)
}

function mpegFrame(header: number): Frame | null {
  const version = (header >>> 19) & 3
  const layer = 4 - ((header >>> 17) & 3)
  const rateBase = MPEG_RATES[(header >>> 10) & 3]
  if (version === 1 || rateBase === undefined) return null
  const first = version === 3
  const kbits = (first ? [KBITS.v1l1, KBITS.v1l2, KBITS.v1l3] : [KBITS.v2l1, KBITS.v2l23, KBITS.v2l23])[layer - 1]?.[
    (header >>> 12) & 15
  ]
  // Index 0 is a bit rate that the header does not give; 15 is invalid.
  if (kbits === undefined || kbits === 0) return null
  const rate = first ? rateBase : version === 2 ? rateBase / 2 : rateBase / 4
  const padding = (header >>> 9) & 1
  if (layer === 1)
    return { stream: 'mp3', bytes: (Math.floor((12_000 * kbits) / rate) + padding) * 4, seconds: 384 / rate }
  const samples = layer === 3 && !first ? 576 : 1_152
  return { stream: 'mp3', bytes: Math.floor((samples * 125 * kbits) / rate) + padding, seconds: samples / rate }
}

/** A frame of AAC with its own header, of one to four blocks of 1,024 samples. */
function adtsFrame(bytes: Buffer, at: number, header: number): Frame | null {
  const rate = AAC_RATES[(header >>> 10) & 15]
  if (header >>> 20 !== 0xfff || rate === undefined || at + ADTS_HEADER_BYTES > bytes.length) return null
  const length = ((header & 3) << 11) | (bytes.readUInt16BE(at + 4) >> 5)
  const blocks = (bytes.readUInt8(at + 6) & 3) + 1
  return length < ADTS_HEADER_BYTES ? null : { stream: 'aac', bytes: length, seconds: (blocks * 1_024) / rate }
}
