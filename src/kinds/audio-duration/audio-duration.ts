import { adtsSeconds, isAdtsFrame } from './adts.ts'
import { flacSeconds } from './flac.ts'
import { isMpegFrame, mp3Seconds } from './mp3.ts'
import { mp4Seconds } from './mp4.ts'
import { oggSeconds } from './ogg.ts'
import { wavSeconds } from './wav.ts'
import { webmSeconds } from './webm.ts'

/** Containers that are told from their first bytes. */
export type AudioContainer = 'wav' | 'mp3' | 'aac' | 'flac' | 'ogg' | 'm4a' | 'webm'

/** A tag in front of the audio, such as its title and cover: its size in four times seven bits. */
const ID3_HEADER_BYTES = 10
/** More tags than any honest file has: a million empty ones take half a second to pass over. */
const TAGS_MAX = 16
/** A month: what says it is longer says nothing. */
const SECONDS_MAX = 2_678_400

/** What an audio file is by its bytes; null where they tell nothing. */
export function audioContainer(bytes: Buffer): AudioContainer | null {
  const start = audioStart(bytes)
  const mark = bytes.toString('latin1', start, start + 4)
  if ((mark === 'RIFF' || mark === 'RF64') && bytes.toString('latin1', 8, 12) === 'WAVE') return 'wav'
  if (mark === 'OggS') return 'ogg'
  if (mark === 'fLaC') return 'flac'
  if (bytes.toString('latin1', 4, 8) === 'ftyp') return 'm4a'
  if (mark === '\u001aE\u00df\u00a3') return 'webm'
  if (isAdtsFrame(bytes, start)) return 'aac'
  return start > 0 || isMpegFrame(bytes, start) ? 'mp3' : null
}

/** Seconds of an audio file, read from its container and never from the sound itself; null where it does not tell. */
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
    case null:
      return null
  }
}

/** Where the audio begins, behind the tags. */
export function audioStart(bytes: Buffer): number {
  let at = 0
  for (let tags = 0; tags < TAGS_MAX; tags += 1) at += tagBytes(bytes, at)
  return at
}

/**
 * Bytes of the tag that stands here; 0 = none. Where decoders see no tag they look for sound, and so must we: one with
 * a version or a size that cannot be, or that goes past the end.
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
