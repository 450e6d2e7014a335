import { type Gunzip, constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { JsonScan } from '../../base/json-scan.ts'

/**
 * From this size on, a body is written into one buffer as it comes: copying stored pieces at the end would be slow, and
 * the pieces would outlive several garbage collections.
 */
export const LARGE_BYTES = 262_144
/**
 * Small pieces are joined when there are this many: otherwise a body of one-byte chunks would cost a hundred times its
 * size.
 */
const PIECES_MAX = 256

/** A body of which all bytes are collected. */
export class CollectedBody {
  readonly #blocks: Buffer[] = []
  #pieces: Buffer[] = []
  #whole: Buffer | null = null
  #bytes = 0
  #placed = 0
  #scan: JsonScan | null = null

  /** `bytesTold`: the length that the headers state, null = none. The body may still be longer. */
  constructor(bytesTold: number | null) {
    if (bytesTold !== null && bytesTold >= LARGE_BYTES) this.#whole = Buffer.allocUnsafeSlow(bytesTold)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether it is one complete object or array of JSON, by its brackets. It is scanned only from the first call on. */
  isWholeJson(): boolean {
    if (this.#scan === null) {
      this.#scan = new JsonScan()
      for (const part of this.#parts()) this.#scan.push(part)
    }
    return this.#scan.isWhole
  }

  add(piece: Buffer): void {
    this.#scan?.push(piece)
    if (this.#whole !== null && this.#placed === this.#bytes && this.#bytes + piece.length <= this.#whole.length) {
      this.#whole.set(piece, this.#bytes)
      this.#placed += piece.length
    } else {
      this.#pieces.push(piece)
      if (this.#pieces.length >= PIECES_MAX) this.#join()
    }
    this.#bytes += piece.length
  }

  take(): Buffer {
    const parts = this.#parts()
    const [first] = parts
    return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
  }

  #parts(): readonly Buffer[] {
    return [...(this.#whole === null ? [] : [this.#whole.subarray(0, this.#placed)]), ...this.#blocks, ...this.#pieces]
  }

  #join(): void {
    this.#blocks.push(Buffer.concat(this.#pieces))
    this.#pieces = []
  }
}

const INFLATED_BYTES_MAX = 32 * 1_048_576
/** A body that is cut is decompressed as far as it came: its reader knows whether that is all. */
const AS_FAR = { finishFlush: constants.Z_SYNC_FLUSH }
const BROTLI_AS_FAR = { finishFlush: constants.BROTLI_OPERATION_FLUSH }

const MADE: ReadonlyMap<string, () => Pick<Gunzip, 'on' | 'write' | 'end' | 'pause' | 'resume' | 'destroy'>> = new Map([
  ['gzip', () => createGunzip(AS_FAR)],
  ['deflate', () => createInflate(AS_FAR)],
  ['br', () => createBrotliDecompress(BROTLI_AS_FAR)],
])

/** Nothing follows `end` or `fail`. */
interface InflatedEvents {
  /** false = pause until `resume`. */
  data(bytes: Buffer): boolean
  /** More bytes may be pushed after `push` returned false. */
  drained(): void
  end(): void
  fail(detail: string): void
}

export interface InflatedBody {
  /** false = wait for `drained`. */
  push(bytes: Buffer): boolean
  end(): void
  resume(): void
  /** Ends the decompression; no event follows. */
  destroy(): void
}

/**
 * Decompresses, up to a limit, a body that the upstream compressed although we asked for identity (guarantees.md F28).
 * null for an unknown encoding.
 */
export function inflatedBody(encoding: string, events: InflatedEvents): InflatedBody | null {
  const inflate = MADE.get(encoding)?.()
  if (inflate === undefined) return null
  let bytes = 0
  let isOver = false
  const finish = (tell: () => void): void => {
    if (isOver) return
    isOver = true
    tell()
  }
  inflate.on('data', (chunk: Buffer) => {
    if (isOver) return
    bytes += chunk.length
    if (bytes > INFLATED_BYTES_MAX) {
      inflate.destroy()
      finish(() => events.fail('the inflated answer is larger than 32 MiB'))
    } else if (!events.data(chunk)) inflate.pause()
  })
  inflate.on('drain', () => {
    if (!isOver) events.drained()
  })
  inflate.on('end', () => finish(() => events.end()))
  inflate.on('error', (error) => finish(() => events.fail(error.message)))
  return {
    push: (piece) => inflate.write(piece),
    end: () => inflate.end(),
    resume: () => inflate.resume(),
    destroy: () => {
      isOver = true
      inflate.destroy()
    },
  }
}
