/** Something that holds room until it is released. */
interface Remembered {
  release(): void
}

/** The value that a turn of a WebSocket leaves for the next ones; its type belongs to the route. */
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
