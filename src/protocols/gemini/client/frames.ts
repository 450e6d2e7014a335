const NOTHING = Buffer.alloc(0)

/** Frames the chunks of a stream: as server-sent events, or as items of one JSON array. */
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

  /** The last chunks and the end of the stream. */
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
