/** Something that holds room until it is released. */
interface Remembered {
  release(): void
}

/** What the turns of one WebSocket leave for the next ones: one thing, which its route knows. */
export class TurnMemory {
  #value: Remembered | null = null
  #closed = false

  get value(): Remembered | null {
    return this.#value
  }

  keep(value: Remembered | null): void {
    this.#value?.release()
    this.#value = this.#closed ? null : value
    if (this.#closed) value?.release()
  }

  /** The socket has closed: a turn of it may still end. */
  close(): void {
    this.keep(null)
    this.#closed = true
  }
}
