import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseFromTokenizer, type IFormat } from 'music-metadata'
import { AbstractTokenizer, EndOfStreamError, type IReadChunkOptions } from 'strtok3'
import { AUDIO_CONTAINERS, type AudioContainer } from './audio-container.ts'

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
