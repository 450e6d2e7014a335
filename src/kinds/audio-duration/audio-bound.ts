import { CAUTIOUS_BYTES_PER_SECOND } from './aac-config.ts'
import { adtsSeconds, adtsSound } from './adts.ts'
import { audioContainer, audioStart } from './audio-duration.ts'
import { flacFrameSeconds } from './flac.ts'
import { mp3Sound } from './mp3.ts'
import { mp4SecondsMax } from './mp4-bound.ts'
import { oggSecondsMax } from './ogg-bound.ts'
import { wavSecondsMax } from './wav.ts'
import { webmSecondsMax } from './webm-bound.ts'

/** Bytes of a second at the lowest rate of each codec; what no walk over frames explains is taken for that. */
const LOWEST = { mp3: 1_000, aac: 1_000, wav: 600, unknown: 500 } as const

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
      return oggSecondsMax(bytes) ?? left / CAUTIOUS_BYTES_PER_SECOND
    case 'm4a':
      return mp4SecondsMax(bytes)
    case 'webm':
      return webmSecondsMax(bytes)
    case null:
      return left / LOWEST.unknown
  }
}
