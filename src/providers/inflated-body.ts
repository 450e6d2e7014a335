import { createBrotliDecompress, createGunzip, createInflate, type BrotliDecompress, type Gunzip, type Inflate } from 'node:zlib'

const INFLATED_BYTES_MAX = 32 * 1_048_576

export interface InflatedEvents {
  data(bytes: Buffer): boolean
  end(): void
  fail(detail: string): void
}

/** A body the upstream compressed although we asked for identity, inflated up to a bound (reliability.md F28). */
export class InflatedBody {
  readonly #inflate: Gunzip | Inflate | BrotliDecompress | null
  readonly #events: InflatedEvents
  #bytes = 0

  constructor(encoding: string, events: InflatedEvents) {
    this.#events = events
    this.#inflate = encoding === 'gzip' ? createGunzip() : encoding === 'deflate' ? createInflate() : encoding === 'br' ? createBrotliDecompress() : null
    if (this.#inflate === null) {
      queueMicrotask(() => events.fail(`unknown content-encoding ${encoding.slice(0, 40)}`))
      return
    }
    this.#inflate.on('data', (chunk: Buffer) => this.#inflated(chunk))
    this.#inflate.on('end', () => events.end())
    this.#inflate.on('error', (error) => events.fail(error.message))
  }

  push(bytes: Buffer): boolean {
    this.#inflate?.write(bytes)
    return true
  }

  end(): void {
    this.#inflate?.end()
  }

  #inflated(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= INFLATED_BYTES_MAX) {
      this.#events.data(chunk)
      return
    }
    this.#inflate?.destroy()
    this.#events.fail('the inflated answer is larger than 32 MiB')
  }
}
