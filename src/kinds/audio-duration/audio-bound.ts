import { adtsSeconds, adtsSound } from './adts.ts'
import { audioContainer, audioStart } from './audio-duration.ts'
import { flacFrameSeconds } from './flac.ts'
import { mp3Sound } from './mp3.ts'
import { opusSeconds } from './ogg.ts'
import { wavSecondsMax } from './wav.ts'

/** Bytes of a second at the lowest rate of each codec; what no walk over frames explains is taken for that. */
const LOWEST = { mp3: 1_000, aac: 1_000, m4a: 1_000, webm: 750, vorbis: 500, wav: 600, unknown: 500 } as const

/** The most seconds of sound that the bytes of a file can hold, whatever its container says of them. */
export function audioSecondsMax(bytes: Buffer): number {
  const start = Math.min(audioStart(bytes), bytes.length)
  const left = bytes.length - start
  switch (audioContainer(bytes)) {
    case 'wav':
      return wavSecondsMax(bytes) ?? left / LOWEST.wav
    case 'flac':
      return flacFrameSeconds(bytes, start)
    case 'mp3': {
      const { seconds, bytes: explained } = mp3Sound(bytes, start)
      return seconds + Math.max(0, left - explained) / LOWEST.mp3
    }
    case 'aac':
      return (adtsSeconds(bytes, start) ?? 0) + Math.max(0, left - adtsSound(bytes, start)) / LOWEST.aac
    case 'ogg':
      return opusSeconds(bytes) ?? left / LOWEST.vorbis
    case 'm4a':
      return left / LOWEST.m4a
    case 'webm':
      return left / LOWEST.webm
    case null:
      return left / LOWEST.unknown
  }
}
