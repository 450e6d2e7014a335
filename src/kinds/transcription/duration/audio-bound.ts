import { ac3Seconds } from './ac3.ts'
import { adtsFrames, adtsSeconds, hasAdtsFrames } from './adts.ts'
import { aiffSecondsMax } from './aiff.ts'
import { amrSeconds } from './amr.ts'
import { audioContainer, audioStart } from './audio-duration.ts'
import { flacFrameSeconds } from './flac.ts'
import { mp3Sound } from './mp3.ts'
import { mp4SecondsMax } from './mp4-bound.ts'
import { oggSecondsMax } from './ogg-bound.ts'
import { packetsSeconds, unreadSeconds } from './packet-form.ts'
import { wavSecondsMax } from './wav.ts'
import { webmSecondsMax } from './webm-bound.ts'

/**
 * The bytes of a second at the lowest rate of each codec. Bytes that no walk over frames explains count at this rate.
 */
const LOWEST = { mp3: 1_000, wav: 600 } as const

/** The most seconds of sound that the bytes of a file can contain, whatever its container says; 0 = it is no sound. */
export function audioSecondsMax(bytes: Buffer): number {
  const start = Math.min(audioStart(bytes), bytes.length)
  const left = bytes.length - start
  switch (audioContainer(bytes)) {
    case 'wav':
      return wavSecondsMax(bytes) ?? left / LOWEST.wav
    case 'flac':
      return flacFrameSeconds(bytes, start)
    case 'mp3':
      // Which of two streams in one file is heard depends on the decoder.
      return Math.max(
        mp3SecondsMax(bytes, start),
        hasAdtsFrames(bytes, start, bytes.length) ? aacSecondsMax(bytes, start) : 0,
      )
    case 'aac':
      return Math.max(aacSecondsMax(bytes, start), mp3Sound(bytes, start).seconds)
    case 'ogg':
      return oggSecondsMax(bytes)
    case 'm4a':
      return mp4SecondsMax(bytes)
    case 'webm':
      return webmSecondsMax(bytes)
    case 'aiff':
      return aiffSecondsMax(bytes)
    case 'ac3':
      return ac3Seconds(bytes, start)
    case 'amr':
      return amrSeconds(bytes)
    case null:
      return 0
  }
}

function mp3SecondsMax(bytes: Buffer, start: number): number {
  const { seconds, bytes: explained } = mp3Sound(bytes, start)
  return seconds + Math.max(0, bytes.length - start - explained) / LOWEST.mp3
}

/** A frame with a header may contain further frames without one, behind its end mark. */
function aacSecondsMax(bytes: Buffer, start: number): number {
  const { rate, rest, ...frames } = adtsFrames(bytes, start)
  const form = { codec: 'aac', rate, rateIndex: null } as const
  return Math.max(adtsSeconds(bytes, start) ?? 0, packetsSeconds(bytes, frames, form) + unreadSeconds(rest, 0, form))
}
