import { audioStart, type AudioContainer, framesSeconds } from './audio-container.ts'

/** A month: a longer length is not trusted. */
const SECONDS_MAX = 2_678_400
/**
 * The most bytes that a head and its tags may have besides the sound: of any file, and of one with stored samples,
 * whose rate is known.
 */
const HEAD_BYTES = 65_536
const STORED_HEAD_BYTES = 4_096
/** Bytes of a second at 8 kbit/s, by which a file that cannot be read is held for. */
const UNREAD = 1_000
/** Bytes of a second at the lowest rate: silence takes 200 bit/s or more in each lossy codec. */
const LOWEST = 16
/** Half a day, the longest that a compressed file may be: a lossless codec writes minutes of silence in a few bytes. */
const COMPRESSED_SECONDS = 43_200
/** The most bytes of a second: in a lossy codec (320 kbit/s), in a lossless one, and in a film. */
const LOSSY = 40_000
const LOSSLESS = 600_000
const FILM = 500_000
/** The most bytes of a second of stored samples: more than eight channels of 192,000 samples of 32 bits. */
const STORED_MAX = 6_200_000
/**
 * Codecs that store samples one by one, so that a second has as many bytes as the head says. AIFF's other form names a
 * codec in words of its own.
 */
const STORED: ReadonlySet<string> = new Set(['PCM', 'IEEE_FLOAT', 'ALAW', 'MULAW', 'non-PCM (65534)'])

/** Containers that state their length in a form that we read. */
const READ: ReadonlySet<AudioContainer> = new Set(['wav', 'mp3', 'aac', 'flac', 'ogg', 'm4a', 'webm', 'aiff'])

/** How long a sound is, in seconds. */
export interface AudioLength {
  /** By its head or its frames; null = neither states a length that its bytes can have. */
  readonly seconds: number | null
  /** The seconds that are held for: that length, else its bytes at 8 kbit/s. */
  readonly heldSeconds: number
  /** The most seconds that its bytes can hold, which bound a charge. */
  readonly secondsMax: number
}

/**
 * The length of a sound by its container; null = its container is unknown. A container may state anything, and nothing
 * here decodes the sound. So seconds that a file hides are charged when the provider reports them, and the part that
 * the balance does not cover counts for rule 20.
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
    // With another codec in a WAV, the library would divide its bytes as if they were samples.
    seconds: form === 'WAVE' && !isStored ? null : head.seconds,
    stored: isStored && head.sampleBytes !== null && head.sampleBytes <= STORED_MAX ? head.sampleBytes : null,
    fastest: head.isFilm ? FILM : head.isLossless ? Math.min(LOSSLESS, head.sampleBytes ?? LOSSY) : LOSSY,
  })
}

interface Said {
  readonly seconds: number | null
  /** The bytes of a second of samples that are stored one by one; null = they are not. */
  readonly stored: number | null
  /** The most bytes of a second, for samples that are not stored one by one. */
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
