/** From here a body is put into one place as it comes: pieces kept to its end would have to be copied then, and outlive a collection of garbage or two. */
const LARGE_BYTES = 262_144

/** A body that is read as a whole. */
export class CollectedBody {
  #pieces: Buffer[] = []
  #whole: Buffer | null = null
  #bytes = 0

  /** `bytesTold`: the length that the headers tell; null where they do not. More than that may come all the same. */
  constructor(bytesTold: number | null) {
    if (bytesTold !== null && bytesTold >= LARGE_BYTES) this.#whole = Buffer.allocUnsafeSlow(bytesTold)
  }

  get bytes(): number {
    return this.#bytes
  }

  add(piece: Buffer): void {
    if (this.#whole !== null && this.#bytes + piece.length <= this.#whole.length) this.#whole.set(piece, this.#bytes)
    else this.#pieces.push(piece)
    this.#bytes += piece.length
  }

  take(): Buffer {
    const [first] = this.#pieces
    if (this.#whole === null) return this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces)
    const placed = this.#whole.subarray(0, this.#bytes - this.#pieces.reduce((sum, { length }) => sum + length, 0))
    return this.#pieces.length === 0 ? placed : Buffer.concat([placed, ...this.#pieces])
  }
}
