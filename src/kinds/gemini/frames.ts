const NOTHING = Buffer.alloc(0)

/** The chunks of a stream on their way: events of an event stream, or the items of one JSON array. */
export class ChunkFrames {
  readonly #isArray: boolean
  #before: string

  constructor(framing: 'sse' | 'array') {
    this.#isArray = framing === 'array'
    this.#before = this.#isArray ? '[' : 'data: '
  }

  chunk(body: unknown): Buffer {
    return Buffer.from(this.#head() + JSON.stringify(body) + this.#after)
  }

  /** A chunk that is JSON already. */
  raw(json: Buffer): Buffer {
    return Buffer.concat([Buffer.from(this.#head()), json, Buffer.from(this.#after)])
  }

  /** The last chunks, and what closes the stream. */
  end(bodies: readonly unknown[]): Buffer {
    const chunks = bodies.map((body) => this.chunk(body))
    return Buffer.concat([...chunks, this.#isArray ? Buffer.from(']') : NOTHING])
  }

  get #after(): string {
    return this.#isArray ? '' : '\n\n'
  }

  #head(): string {
    const head = this.#before
    if (this.#isArray) this.#before = ',\r\n'
    return head
  }
}
