/** Reads bits of AAC; behind the last byte all are 0. */
export class AacBits {
  readonly view: DataView
  readonly #bytes: Buffer
  readonly #lastWord: number
  /** The next bit. */
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#lastWord = bytes.length - 4
  }

  /** `count`: 1 to 25. */
  read(count: number): number {
    const bits = this.word() >>> (32 - count)
    this.at += count
    return bits
  }

  /** 25 bits from here on, in the upper bits of 32. */
  word(): number {
    return (this.wordAt(this.at >> 3) << (this.at & 7)) >>> 0
  }

  wordAt(first: number): number {
    if (first <= this.#lastWord) return this.view.getInt32(first)
    const bytes = this.#bytes
    return (
      ((bytes[first] ?? 0) << 24) |
      ((bytes[first + 1] ?? 0) << 16) |
      ((bytes[first + 2] ?? 0) << 8) |
      (bytes[first + 3] ?? 0)
    )
  }

  /** The rest of a data element. */
  skipData(): void {
    const isAligned = this.read(1) === 1
    const size = this.read(8)
    const more = size === 255 ? this.read(8) : 0
    if (isAligned) this.at = (this.at + 7) & ~7
    this.at += 8 * (size + more)
  }
}
