import { audioStart, type AudioContainer, framesSeconds } from './audio-container.ts'

/** A month: a longer length is not believed. */
const SECONDS_MAX = 2_678_400
/** Bytes that a head and its tags may have besides the sound, and those of stored samples, whose rate is known. */
const HEAD_BYTES = 65_536
const STORED_HEAD_BYTES = 4_096
/** Bytes of a second: a file that cannot be read is held for at 8 kbit/s. */
const UNREAD = 1_000
/** Silence takes 200 bit/s or more in each lossy codec. */
const LOWEST = 16
/** Half a day, which any compressed file may be: a lossless codec writes minutes of silence in a few bytes. */
const COMPRESSED_SECONDS = 43_200
/** The most of a sound by a lossy codec (320 kbit/s), of a lossless one, and of a film. */
const LOSSY = 40_000
const LOSSLESS = 600_000
const FILM = 500_000
/** More than eight channels of 192,000 samples of 32 bits. */
const STORED_MAX = 6_200_000
/** Samples one by one: a second has as many bytes as the head says. AIFF's other form names a codec in free words. */
const STORED: ReadonlySet<string> = new Set(['PCM', 'IEEE_FLOAT', 'ALAW', 'MULAW', 'non-PCM (65534)'])

/** Containers that say how long they are, in a form that we read. */
const READ: ReadonlySet<AudioContainer> = new Set(['wav', 'mp3', 'aac', 'flac', 'ogg', 'm4a', 'webm', 'aiff'])

/** How long a sound is, in seconds. */
export interface AudioLength {
  /** By its head or its frames; null where neither says a length that its bytes can have. */
  readonly seconds: number | null
  /** What is held for: that length, else its bytes at 8 kbit/s. */
  readonly heldSeconds: number
  /** The longest that its bytes can be, which bounds a charge. */
  readonly secondsMax: number
}

/**
 * The length of a sound by its container; null = it is in none that we know. A container may say anything, and nothing
 * here decodes: what a file hides is charged when the provider reports it, and what the balance does not cover counts
 * for rule 20.
 */
export async function audioLength(bytes: Buffer, container: AudioContainer | null): Promise<AudioLength> {
  const start = audioStart(bytes)
  const size = bytes.length - start
  if (container === null || !READ.has(container)) return lengthOf(size, { seconds: null, stored: null, fastest: LOSSY })
  if (container === 'mp3' || container === 'aac')
    return lengthOf(size, { seconds: framesSeconds(bytes, start), stored: null, fastest: LOSSY })
  const { readAudioHead } = await import('./audio-head.ts')
  const head = await readAudioHead(bytes.subarray(start), container)
  const form = bytes.toString('latin1', start + 8, start + 12)
  const isStored = (form === 'WAVE' && STORED.has(head.codec)) || form === 'AIFF'
  return lengthOf(size, {
    // Other codecs in a WAV: the library divides their bytes as if they were samples.
    seconds: form === 'WAVE' && !isStored ? null : head.seconds,
    stored: isStored && head.sampleBytes !== null && head.sampleBytes <= STORED_MAX ? head.sampleBytes : null,
    fastest: head.isFilm ? FILM : head.isLossless ? Math.min(LOSSLESS, head.sampleBytes ?? LOSSY) : LOSSY,
  })
}

interface Said {
  readonly seconds: number | null
  /** Bytes of a second where samples are stored one by one; null = they are not. */
  readonly stored: number | null
  /** The most bytes of a second, unless they are stored one by one. */
  readonly fastest: number
}

function lengthOf(bytes: number, { seconds, stored, fastest }: Said): AudioLength {
  const most = stored === null ? Math.max(COMPRESSED_SECONDS, bytes / LOWEST) : bytes / stored
  const fits =
    seconds !== null &&
    seconds > 0 &&
    seconds <= Math.min(most, SECONDS_MAX) &&
    bytes <= (stored === null ? HEAD_BYTES + seconds * fastest : STORED_HEAD_BYTES + seconds * stored)
  if (!fits) return { seconds: null, heldSeconds: bytes / (stored ?? UNREAD), secondsMax: most }
  return { seconds, heldSeconds: seconds, secondsMax: stored === null ? most : seconds }
}
