const LF = 10
const CR = 13
const LINE_BYTES_MAX = 1_048_576

/** Splits a byte stream into the lines of newline-delimited JSON at any cut: LF or CRLF, empty lines left out, the last line with or without its end. */
export class NdjsonDecoder {
  readonly #line: (data: Buffer) => void
  #rest: Buffer | null = null

  /** What `line` is given is its to keep only until it returns. */
  constructor(line: (data: Buffer) => void) {
    this.#line = line
  }

  /** false: a line is longer than any honest one, and the stream is to be given up. */
  push(chunk: Buffer): boolean {
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
    let start = 0
    // What was kept holds no line end, so the search goes on where it stopped.
    let end = bytes.indexOf(LF, this.#rest?.length ?? 0)
    this.#rest = null
    while (end !== -1) {
      this.#take(bytes.subarray(start, end))
      start = end + 1
      end = bytes.indexOf(LF, start)
    }
    if (bytes.length - start > LINE_BYTES_MAX) return false
    this.#rest = start < bytes.length ? bytes.subarray(start) : null
    return true
  }

  /** The body ended: a line without its end still counts. */
  end(): void {
    if (this.#rest !== null) this.#take(this.#rest)
    this.#rest = null
  }

  #take(line: Buffer): void {
    const data = line.at(-1) === CR ? line.subarray(0, -1) : line
    if (data.length > 0) this.#line(data)
  }
}
