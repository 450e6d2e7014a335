const LF = 10
const CR = 13
const COLON = 58
const SPACE = 32
const LINE_BYTES_MAX = 1_048_576
const DATA = Buffer.from('data')
const ERROR = Buffer.from('error')

/** Called with the data of each event; `offset`less copies are the caller's to keep only until it returns. */
export interface SseEvents {
  event(data: Buffer): void
  /** A line `error: {…}`, an unknown field that some providers break off with. */
  errorLine(value: Buffer): void
}

/** Splits a byte stream into server-sent events at any cut: LF, CR, CRLF, BOM, comments, multi-line data, no space after the colon. */
export class SseDecoder {
  readonly #events: SseEvents
  #rest: Buffer | null = null
  #data: Buffer[] = []
  #started = false
  /** A CR ended the last line, so that an LF right after it ends nothing. */
  #skipLf = false

  constructor(events: SseEvents) {
    this.#events = events
  }

  /** false: a line is longer than any honest one, and the stream is to be given up. */
  push(chunk: Buffer): boolean {
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
    // What was kept holds no line end, so the search goes on where it stopped; what waited for its BOM was not looked at.
    const searched = this.#started ? (this.#rest?.length ?? 0) : 0
    let start = this.#started ? 0 : this.#skipBom(bytes)
    if (start < 0) {
      this.#rest = bytes
      return true
    }
    let from = Math.max(start, searched)
    this.#rest = null
    if (this.#skipLf && from < bytes.length) {
      if (bytes[from] === LF && from === start) start = from += 1
      this.#skipLf = false
    }
    for (;;) {
      const end = lineEnd(bytes, from)
      if (end === -1) break
      this.#line(bytes, start, end)
      start = end + 1
      if (bytes[end] === CR) {
        if (start === bytes.length) this.#skipLf = true
        else if (bytes[start] === LF) start += 1
      }
      from = start
    }
    if (bytes.length - start > LINE_BYTES_MAX) return false
    this.#rest = start < bytes.length ? bytes.subarray(start) : null
    return true
  }

  /** The body ended: an event without its blank line still counts. */
  end(): void {
    if (this.#rest !== null) this.#line(this.#rest, this.#started ? 0 : Math.max(0, this.#skipBom(this.#rest)), this.#rest.length)
    this.#rest = null
    this.#dispatch()
  }

  /** Where the text begins; -1 while a BOM may still be incomplete. */
  #skipBom(bytes: Buffer): number {
    if (bytes.length < 3 && bytes[0] === 0xef) return -1
    this.#started = true
    return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (start === end) return this.#dispatch()
    if (isField(bytes, start, end, DATA)) this.#data.push(fieldValue(bytes, start + DATA.length, end))
    else if (isField(bytes, start, end, ERROR)) this.#events.errorLine(fieldValue(bytes, start + ERROR.length, end))
  }

  #dispatch(): void {
    const [first, ...more] = this.#data
    if (first === undefined) return
    this.#data = []
    this.#events.event(more.length === 0 ? first : Buffer.concat([first, ...more.flatMap((line) => [Buffer.from('\n'), line])]))
  }
}

/** Index of the next CR or LF; -1 when there is none. `indexOf` runs natively, so the CR search is bounded by the LF found. */
function lineEnd(bytes: Buffer, from: number): number {
  const lf = bytes.indexOf(LF, from)
  const cr = lf === -1 ? bytes.indexOf(CR, from) : bytes.subarray(from, lf).indexOf(CR)
  if (lf === -1) return cr
  return cr === -1 ? lf : from + cr
}

function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const after = start + name.length
  if (after > end || (after < end && bytes[after] !== COLON)) return false
  for (let index = 0; index < name.length; index += 1) if (bytes[start + index] !== name[index]) return false
  return true
}

function fieldValue(bytes: Buffer, colon: number, end: number): Buffer {
  const start = colon + 1
  return bytes.subarray(bytes[start] === SPACE && start < end ? start + 1 : Math.min(start, end), end)
}
