import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import type { Transform } from 'node:stream'

/** Supported content codings of a body (wire.md D-7.4). */
export const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const
export type Coding = (typeof CODINGS)[number]

/**
 * Text seldom compresses to less than a fiftieth of its size, and a bomb to less than a hundredth. Short bodies are not
 * checked: the limit of a body bounds them.
 */
export const RATIO_MAX = 200
const JUDGED_BYTES = 1_048_576
const CHUNK_BYTES = 65_536
/** The largest window that a frame may request, which costs memory: the longest body, rounded up to a power of 2. */
const WINDOW_LOG_MAX = 24
/** The low half of a zlib header's first byte. */
const ZLIB_METHOD = 8

/** The coding in a `Content-Encoding`; null = not coded; undefined = several, or an unsupported one. */
export function codingOf(header: string | undefined): Coding | null | undefined {
  const name = (header ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return null
  return CODINGS.find((coding) => coding === name || (coding === 'gzip' && name === 'x-gzip'))
}

/** `long` = more came than a body may have; `bomb` = it decodes to far more than came. */
export type BadCoding = 'broken' | 'long' | 'bomb'

export interface DecodedEvents {
  /** Decoded bytes. */
  data(bytes: Buffer): void
  end(): void
  /** The bytes are not of this coding, or decode to far more than arrived. */
  fail(why: BadCoding): void
  /** After `push` returned false, more may be pushed now. */
  drain(): void
}

/** Decodes a body as it arrives, in linear time and bounded memory. Nothing follows `end`, `fail` or `destroy`. */
export class DecodedBody {
  readonly #coding: Coding
  readonly #events: DecodedEvents
  readonly #bytesMax: number
  #decoder: Transform | null = null
  #comeBytes = 0
  #decodedBytes = 0
  #isWhole = false
  #isDecoded = false
  #over = false

  /**
   * `bytesMax`: bound on the arriving bytes, which could otherwise arrive without end and decode to nothing. The caller
   * bounds the decoded bytes.
   */
  constructor(coding: Coding, bytesMax: number, events: DecodedEvents) {
    this.#coding = coding
    this.#bytesMax = bytesMax
    this.#events = events
  }

  /** false = wait for `drain` before the next push. */
  push(bytes: Buffer): boolean {
    const [first] = bytes
    if (this.#over || first === undefined) return true
    this.#comeBytes += bytes.length
    if (this.#comeBytes > this.#bytesMax) this.#finish(() => this.#events.fail('long'))
    if (this.#isDecoded) this.#finish(() => this.#events.fail('broken'))
    if (this.#over) return true
    this.#decoder ??= this.#listen(decoderOf(this.#coding, first))
    return this.#decoder.write(bytes)
  }

  end(): void {
    this.#isWhole = true
    if (this.#decoder === null || this.#isDecoded) this.#finish(() => this.#events.end())
    else this.#decoder.end()
  }

  destroy(): void {
    this.#over = true
    this.#decoder?.destroy()
  }

  #listen(decoder: Transform): Transform {
    decoder.on('data', (bytes: Buffer) => this.#decoded(bytes))
    decoder.on('drain', () => {
      if (!this.#over) this.#events.drain()
    })
    // The coded data may end before the body: further bytes are an error.
    decoder.on('end', () => {
      this.#isDecoded = true
      if (this.#isWhole) this.#finish(() => this.#events.end())
    })
    decoder.on('error', () => this.#finish(() => this.#events.fail('broken')))
    return decoder
  }

  #decoded(bytes: Buffer): void {
    if (this.#over) return
    this.#decodedBytes += bytes.length
    if (this.#decodedBytes > Math.max(JUDGED_BYTES, this.#comeBytes * RATIO_MAX)) {
      this.#finish(() => this.#events.fail('bomb'))
      this.#decoder?.destroy()
    } else this.#events.data(bytes)
  }

  #finish(tell: () => void): void {
    if (this.#over) return
    this.#over = true
    tell()
  }
}

/** Clients call data `deflate` both with zlib's header and without it. */
function decoderOf(coding: Coding, first: number): Transform {
  const options = { chunkSize: CHUNK_BYTES }
  switch (coding) {
    case 'gzip':
      return createGunzip(options)
    case 'deflate':
      return (first & 0x0f) === ZLIB_METHOD ? createInflate(options) : createInflateRaw(options)
    case 'br':
      return createBrotliDecompress(options)
    case 'zstd':
      return createZstdDecompress({ ...options, params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX } })
  }
}
