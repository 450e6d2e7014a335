import { ac3Seconds, isAc3 } from './ac3.ts'
import { adtsSeconds, hasAdtsFrames, isAdtsFrame } from './adts.ts'
import { aiffSeconds, isAiff } from './aiff.ts'
import { amrSeconds, isAmr } from './amr.ts'
import { flacSeconds } from './flac.ts'
import { hasMpegFrames, mp3Seconds } from './mp3.ts'
import { mp4Seconds } from './mp4.ts'
import { oggSeconds } from './ogg.ts'
import { wavSeconds } from './wav.ts'
import { webmSeconds } from './webm.ts'

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

/** Boxes that MP4 and QuickTime files begin with. */
const FIRST_BOXES: ReadonlySet<string> = new Set(['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip', 'pnot'])
/** A stream that was cut out of another begins within a frame. */
const CUT_BYTES_MAX = 65_536

/** A tag before the audio, such as title and cover: its size is in four times seven bits. */
const ID3_HEADER_BYTES = 10
/** More tags than any honest file has: it takes half a second to skip a million empty ones. */
const TAGS_MAX = 16
/** A month: a longer duration is not believed. */
const SECONDS_MAX = 2_678_400

/** The format of an audio file by its bytes; null where they are no sound. */
export function audioContainer(bytes: Buffer): AudioContainer | null {
  const start = audioStart(bytes)
  const mark = bytes.toString('latin1', start, start + 4)
  if ((mark === 'RIFF' || mark === 'RF64') && bytes.toString('latin1', 8, 12) === 'WAVE') return 'wav'
  if (mark === 'OggS') return 'ogg'
  if (mark === 'fLaC') return 'flac'
  if (isMovie(bytes)) return 'm4a'
  if (mark === '\u001aE\u00df\u00a3') return 'webm'
  if (isAiff(bytes)) return 'aiff'
  if (isAmr(bytes)) return 'amr'
  if (isAc3(bytes, start)) return 'ac3'
  return streamOf(bytes, start)
}

/** The first box ends within the file: text may have the name of one at that place. */
function isMovie(bytes: Buffer): boolean {
  return bytes.length >= 8 && FIRST_BOXES.has(bytes.toString('latin1', 4, 8)) && bytes.readUInt32BE(0) <= bytes.length
}

/** A stream of frames, which has no head: a frame that others follow. */
function streamOf(bytes: Buffer, start: number): 'aac' | 'mp3' | null {
  if (hasMpegFrames(bytes, start, start + 1)) return 'mp3'
  if (isAdtsFrame(bytes, start) && hasAdtsFrames(bytes, start, start + CUT_BYTES_MAX)) return 'aac'
  if (hasMpegFrames(bytes, start, start + CUT_BYTES_MAX)) return 'mp3'
  return hasAdtsFrames(bytes, start, start + CUT_BYTES_MAX) ? 'aac' : null
}

/** Seconds of an audio file, read from its container and never from the sound; null where it does not say. */
export function audioSeconds(bytes: Buffer): number | null {
  const seconds = secondsOf(bytes)
  return seconds !== null && seconds > 0 && seconds <= SECONDS_MAX ? seconds : null
}

function secondsOf(bytes: Buffer): number | null {
  const container = audioContainer(bytes)
  switch (container) {
    case 'wav':
      return wavSeconds(bytes)
    case 'mp3':
      return mp3Seconds(bytes, audioStart(bytes))
    case 'aac':
      return adtsSeconds(bytes, audioStart(bytes))
    case 'flac':
      return flacSeconds(bytes, audioStart(bytes))
    case 'ogg':
      return oggSeconds(bytes)
    case 'm4a':
      return mp4Seconds(bytes)
    case 'webm':
      return webmSeconds(bytes)
    case 'aiff':
      return aiffSeconds(bytes)
    case 'ac3':
      return ac3Seconds(bytes, audioStart(bytes))
    case 'amr':
      return amrSeconds(bytes)
    case null:
      return null
  }
}

/** The start of the audio, behind the tags. */
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
