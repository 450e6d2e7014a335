/** Bits in order, most significant first, with the Exp-Golomb codes of H.264 (9.1). */
export class BitWriter {
  readonly #bytes: number[] = []
  #current = 0
  #filled = 0

  bits(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      this.#current = this.#current * 2 + (Math.floor(value / 2 ** bit) % 2)
      this.#filled += 1
      if (this.#filled === 8) {
        this.#bytes.push(this.#current)
        this.#current = 0
        this.#filled = 0
      }
    }
    return this
  }

  ue(value: number): this {
    const length = Math.floor(Math.log2(value + 1))
    return this.bits(0, length).bits(value + 1, length + 1)
  }

  se(value: number): this {
    return this.ue(value > 0 ? 2 * value - 1 : -2 * value)
  }

  /** With the stop bit and the zeros behind it. */
  ended(): Buffer {
    this.bits(1, 1)
    while (this.#filled > 0) this.bits(0, 1)
    return Buffer.from(this.#bytes)
  }
}
