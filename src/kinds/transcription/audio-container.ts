import { frameStream } from './sound-frames.ts'

/** Containers that are recognised by their first bytes, with the media type of each; another file is no sound. */
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
/** A tag before the sound, such as title and cover: its size is in four times seven bits. */
const ID3_HEADER_BYTES = 10
/** More tags than any real file has: it takes half a second to skip a million empty ones. */
const TAGS_MAX = 16

/** The format of an audio file by its bytes; null where they are no sound. */
export function audioContainer(bytes: Buffer): AudioContainer | null {
  const start = audioStart(bytes)
  const mark = bytes.toString('latin1', start, start + 12)
  const form = mark.slice(0, 4)
  if ((form === 'RIFF' || form === 'RF64') && mark.endsWith('WAVE')) return 'wav'
  if (form === 'FORM' && (mark.endsWith('AIFF') || mark.endsWith('AIFC'))) return 'aiff'
  if (isMovie(bytes)) return 'm4a'
  return MARKS.find(([known]) => mark.startsWith(known))?.[1] ?? frameStream(bytes, start)
}

/** The first box ends within the file: text may have the name of one at that place. */
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
 * The size of the tag at this place; 0 = none. Decoders that see no tag look for sound, and so must we: a tag is none
 * when its version or size is impossible, or when it goes past the end.
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
