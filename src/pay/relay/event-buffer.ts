const STREAM_BYTES_MAX = 1_048_576
const SEPARATOR = Buffer.from('\n\n')

/** The bytes that all event buffers of the process together may hold. */
export class BufferBudget {
  readonly #bytesMax: number
  #used = 0

  constructor(bytesMax = 64 * 1_048_576) {
    this.#bytesMax = bytesMax
  }

  take(bytes: number): boolean {
    if (this.#used + bytes > this.#bytesMax) return false
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
  }
}

/**
 * The copy of one resumable stream, which other nodes read. It never fails: if events cannot be stored, the stream can
 * only not be resumed there.
 */
export interface StreamCopy {
  /** Appends numbered events, in order. */
  append(bytes: Buffer): void
  /** Its first events are dropped, so nobody can resume it any more. */
  drop(): void
  /**
   * Its hold has ended. `whole`: it has the last event; otherwise it broke off. It is stored for `retentionMs` from now
   * on.
   */
  end(whole: boolean, retentionMs: number): void
}

/** Begins the copy of a stream that its client may resume on another node. */
export type CopyStream = (stream: {
  readonly generationId: string
  /** Its `reachName`. */
  readonly owner: string
  readonly requestId: string
}) => StreamCopy

/**
 * The numbered events of a resumable stream (wire.md D-7.8). Past its bound it overflows and can no longer be resumed.
 */
export class EventBuffer {
  readonly #budget: BufferBudget
  #events: Buffer[] = []
  #bytes = 0
  #overflowed = false
  #count = 0
  #whole = false
  /** The copy for other nodes; null = there are none. */
  readonly #copy: StreamCopy | null

  constructor(budget: BufferBudget, copy: StreamCopy | null = null) {
    this.#budget = budget
    this.#copy = copy
  }

  /** Whether it has the last event. A stream that broke off must not look complete (wire.md C2). */
  get whole(): boolean {
    return this.#whole
  }

  get overflowed(): boolean {
    return this.#overflowed
  }

  /** Numbers and stores each complete event in `bytes`; returns the events in the form in which they are sent. */
  add(bytes: Buffer): Buffer {
    const numbered: Buffer[] = []
    let start = 0
    for (let end = bytes.indexOf(SEPARATOR, start); end !== -1; end = bytes.indexOf(SEPARATOR, start)) {
      this.#count += 1
      numbered.push(Buffer.concat([Buffer.from(`id: ${this.#count}\n`), bytes.subarray(start, end + 2)]))
      start = end + 2
    }
    for (const event of numbered) this.#keep(event)
    const together = Buffer.concat(numbered)
    this.#copy?.append(together)
    return together
  }

  /** Like `add`, for the last events. */
  finish(bytes: Buffer): Buffer {
    this.#whole = true
    return this.add(bytes)
  }

  /** No event follows; other nodes store the copy for `retentionMs`. */
  ended(retentionMs: number): void {
    this.#copy?.end(this.#whole, retentionMs)
  }

  /** All events after event number `after`. */
  since(after: number): Buffer {
    return Buffer.concat(this.#events.slice(after))
  }

  /** The newest event; null = there is none, or it is no longer in memory. */
  get last(): Buffer | null {
    return this.#events.at(-1) ?? null
  }

  release(): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
    this.#events = []
    this.#overflowed = true
  }

  #keep(event: Buffer): void {
    if (this.#overflowed) return
    if (this.#bytes + event.length > STREAM_BYTES_MAX || !this.#budget.take(event.length)) {
      this.release()
      this.#copy?.drop()
      return
    }
    this.#bytes += event.length
    this.#events.push(event)
  }
}
