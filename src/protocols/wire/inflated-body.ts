import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
} from 'node:zlib'

const INFLATED_BYTES_MAX = 32 * 1_048_576
/** A body without its own end is inflated as far as it came: its reader knows whether that is all. */
const AS_FAR = { finishFlush: constants.Z_SYNC_FLUSH }
const BROTLI_AS_FAR = { finishFlush: constants.BROTLI_OPERATION_FLUSH }

/** Nothing follows `end` or `fail`. */
export interface InflatedEvents {
  /** false pauses until `resume`. */
  data(bytes: Buffer): boolean
  /** More bytes may be pushed after `push` returned false. */
  drained(): void
  end(): void
  fail(detail: string): void
}

/**
 * Decompresses up to a limit a body that the upstream compressed although we asked for identity (guarantees.md F28).
 */
export class InflatedBody {
  readonly #inflate: Gunzip | Inflate | BrotliDecompress
  readonly #events: InflatedEvents
  #bytes = 0
  #over = false

  private constructor(inflate: Gunzip | Inflate | BrotliDecompress, events: InflatedEvents) {
    this.#events = events
    this.#inflate = inflate
    inflate.on('data', (chunk: Buffer) => this.#inflated(chunk))
    inflate.on('drain', () => {
      if (!this.#over) events.drained()
    })
    inflate.on('end', () => this.#finish(() => events.end()))
    inflate.on('error', (error) => this.#finish(() => events.fail(error.message)))
  }

  /** null for an unknown encoding. */
  static of(encoding: string, events: InflatedEvents): InflatedBody | null {
    if (encoding === 'gzip') return new InflatedBody(createGunzip(AS_FAR), events)
    if (encoding === 'deflate') return new InflatedBody(createInflate(AS_FAR), events)
    return encoding === 'br' ? new InflatedBody(createBrotliDecompress(BROTLI_AS_FAR), events) : null
  }

  /** false: wait for `drained`. */
  push(bytes: Buffer): boolean {
    return this.#inflate.write(bytes)
  }

  end(): void {
    this.#inflate.end()
  }

  resume(): void {
    this.#inflate.resume()
  }

  /** Ends it; no event follows. */
  destroy(): void {
    this.#over = true
    this.#inflate.destroy()
  }

  #inflated(chunk: Buffer): void {
    if (this.#over) return
    this.#bytes += chunk.length
    if (this.#bytes > INFLATED_BYTES_MAX) {
      this.#inflate.destroy()
      this.#finish(() => this.#events.fail('the inflated answer is larger than 32 MiB'))
    } else if (!this.#events.data(chunk)) this.#inflate.pause()
  }

  #finish(tell: () => void): void {
    if (this.#over) return
    this.#over = true
    tell()
  }
}
