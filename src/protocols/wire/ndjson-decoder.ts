import { CollectedBody } from './collected-body.ts'

const LF = 10
const CR = 13
const LINE_BYTES_MAX = 1_048_576

/**
 * Splits a byte stream of newline-delimited JSON into lines, whatever the size of the reads: LF or CRLF, without empty
 * lines; the last line may lack its end.
 */
export class NdjsonDecoder {
  readonly #line: (data: Buffer) => void
  #rest: CollectedBody | null = null

  /** `line` may use its data only until it returns. */
  constructor(line: (data: Buffer) => void) {
    this.#line = line
  }

  /** false = a line is longer than any real one, and the stream must be given up. */
  push(chunk: Buffer): boolean {
    // A long line from small reads is joined once, instead of with every read.
    if (this.#rest !== null && !chunk.includes(LF)) return this.#keep(chunk)
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest.take(), chunk])
    let start = 0
    // The remaining bytes contain no line end, so the search continues after them.
    let end = bytes.indexOf(LF, this.#rest?.bytes ?? 0)
    this.#rest = null
    while (end !== -1) {
      const isEmpty = end === start || (end === start + 1 && bytes[start] === CR)
      if (!isEmpty) this.#take(bytes.subarray(start, end))
      start = end + 1
      // An empty line ends right here, where a search would cost ten times as much.
      end =
        bytes[start] === LF
          ? start
          : bytes[start] === CR && bytes[start + 1] === LF
            ? start + 1
            : bytes.indexOf(LF, start)
    }
    return start === bytes.length || this.#keep(bytes.subarray(start))
  }

  #keep(bytes: Buffer): boolean {
    this.#rest ??= new CollectedBody(null)
    this.#rest.add(bytes)
    return this.#rest.bytes <= LINE_BYTES_MAX
  }

  /** The body ended: a line without its end still counts. */
  end(): void {
    const rest = this.#rest?.take() ?? null
    this.#rest = null
    if (rest !== null) this.#take(rest)
  }

  #take(line: Buffer): void {
    const data = line.at(-1) === CR ? line.subarray(0, -1) : line
    if (data.length > 0) this.#line(data)
  }
}
