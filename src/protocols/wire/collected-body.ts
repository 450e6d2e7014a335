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
