import { setImmediate as nextTurn } from 'node:timers/promises'
import { type IFormat, parseFromTokenizer } from 'music-metadata'
import { AbstractTokenizer, EndOfStreamError, type IReadChunkOptions } from 'strtok3'
import { AUDIO_CONTAINERS, type AudioContainer, audioStart, framesSeconds } from './audio-container.ts'

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
  const { readAudioHead } = await import('./audio-length.ts')
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

/** More reads than the head of any real file takes; the library would make 300,000 for a file of empty pages. */
const READS_MAX = 8_192
/** The most bytes of one read. Only the tables of a movie take more. */
const READ_BYTES_MAX = 65_536
const TABLE_BYTES_MAX = 1_048_576
/** The bytes at the beginning and the end of an Ogg file that are read; no page is longer. */
const OGG_END_BYTES = 65_536
/** The reads between two checks of the time, and the ms after which other work gets a turn. */
const READS_A_LOOK = 64
const TURN_MS = 5

/** What the head of a file says about its sound; null = it does not say. */
export interface AudioHead {
  readonly seconds: number | null
  /** The bytes of a second of samples, if they are not compressed or were compressed without loss. */
  readonly sampleBytes: number | null
  readonly codec: string
  readonly isLossless: boolean
  readonly isFilm: boolean
}

/**
 * Reads a head with `music-metadata`, which is loaded with the first file. `seconds` is null if the head cannot be read
 * to its end within bounds; the other facts are those read before.
 */
export async function readAudioHead(bytes: Buffer, container: AudioContainer): Promise<AudioHead> {
  let format: IFormat = { trackInfo: [], tagTypes: [] }
  let isWhole = true
  try {
    await parseFromTokenizer(new BoundedSource(container === 'ogg' ? oggEnds(bytes) : bytes, container), {
      skipCovers: true,
      skipPostHeaders: true,
      duration: true,
      observer: ({ metadata }) => (format = metadata.format),
    })
  } catch {
    // Any failure of the library is caught: the file is then held for by its bytes.
    isWhole = false
  }
  const { duration = 0, sampleRate = 0, numberOfChannels = 0, bitsPerSample = 0, codec = '' } = format
  const sampleBytes = (sampleRate * numberOfChannels * bitsPerSample) / 8
  return {
    seconds: isWhole && Number.isFinite(duration) && duration > 0 ? duration : null,
    sampleBytes: Number.isFinite(sampleBytes) && sampleBytes > 0 ? sampleBytes : null,
    codec,
    isLossless: format.lossless === true,
    isFilm: format.hasVideo === true,
  }
}

/**
 * The first and the last pages of the file: its length is the last position, and the library would read all pages in
 * between.
 */
function oggEnds(bytes: Buffer): Buffer {
  if (bytes.length <= 2 * OGG_END_BYTES) return bytes
  const head = bytes.subarray(0, Math.max(0, bytes.lastIndexOf('OggS', OGG_END_BYTES)))
  const tail = bytes.indexOf('OggS', bytes.length - OGG_END_BYTES)
  return tail === -1 ? head : Buffer.concat([head, bytes.subarray(tail)])
}

/** A file in memory. Reading it ends after a number of reads, and gives other work its turns. */
class BoundedSource extends AbstractTokenizer {
  override readonly fileInfo: { readonly size: number; readonly mimeType: string }
  readonly #bytes: Buffer
  #reads = 0
  #turnEndMs = performance.now() + TURN_MS

  constructor(bytes: Buffer, container: AudioContainer) {
    super({ maxBufferSize: container === 'm4a' ? TABLE_BYTES_MAX : READ_BYTES_MAX })
    this.#bytes = bytes
    this.fileInfo = { size: bytes.length, mimeType: AUDIO_CONTAINERS[container] }
  }

  /** Otherwise the library would look for tags after the sound. */
  override supportsRandomAccess(): boolean {
    return false
  }

  override async readBuffer(target: Uint8Array, options?: IReadChunkOptions): Promise<number> {
    const start = options?.position ?? this.position
    const read = await this.peekBuffer(target, options)
    this.position = start + read
    return read
  }

  override async peekBuffer(target: Uint8Array, options?: IReadChunkOptions): Promise<number> {
    const { length, position, mayBeLess } = this.normalizeOptions(target, options)
    await this.#counted()
    const part = this.#bytes.subarray(position, position + length)
    if (part.length < length && !mayBeLess) throw new EndOfStreamError()
    target.set(part)
    return part.length
  }

  override async ignore(length: number): Promise<number> {
    await this.#counted()
    return super.ignore(length)
  }

  /** Counts a read or a skip; a loop may consist of either. */
  async #counted(): Promise<void> {
    this.#reads += 1
    if (this.#reads > READS_MAX) throw new RangeError('The head of the file takes too many reads.')
    if (this.#reads % READS_A_LOOK !== 0 || performance.now() <= this.#turnEndMs) return
    await nextTurn()
    this.#turnEndMs = performance.now() + TURN_MS
  }
}
