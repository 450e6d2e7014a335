import { CollectedBody } from './collected-body.ts'

const LF = 10
const CR = 13
const COLON = 58
const SPACE = 32
const LINE_BYTES_MAX = 1_048_576
/**
 * The most bytes of all lines of an event together. Each line also counts with the memory that it costs, or a million
 * empty lines would be allowed.
 */
const EVENT_BYTES_MAX = 1_048_576
const LINE_COST_BYTES = 64
const NEW_LINE = Buffer.from('\n')
const DATA = Buffer.from('data')
const ERROR = Buffer.from('error')

/** Called with the data of each event; a callback that uses the data after it has returned must copy it. */
export interface SseEvents {
  event(data: Buffer): void
  /** A line `error: {…}`, an unknown field with which some providers abort. */
  errorLine(value: Buffer): void
  /**
   * Takes complete events that it knows by their bytes, and returns the index at which the next one begins: `start` if
   * it knows none.
   */
  known?(bytes: Buffer, start: number): number
}

/**
 * Splits a byte stream into server-sent events, whatever the size of the reads: LF, CR, CRLF, BOM, comments, data of
 * several lines, no space after the colon.
 */
export class SseDecoder {
  readonly #events: SseEvents
  #rest: CollectedBody | null = null
  #data: Buffer[] = []
  #dataBytes = 0
  /** The number of lines in `#data` that are copies, and so do not hold a whole network read in memory. */
  #owned = 0
  #started = false
  /** Whether the last line ended with CR: an LF directly after it belongs to the same line end. */
  #skipLf = false

  constructor(events: SseEvents) {
    this.#events = events
  }

  /** false = a line or an event is longer than any real one, and the stream must be given up. */
  push(chunk: Buffer): boolean {
    // A long line from small reads is joined once, instead of with every read.
    if (this.#rest !== null && this.#started && !chunk.includes(LF) && !chunk.includes(CR)) return this.#keep(chunk)
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest.take(), chunk])
    // The remaining bytes contain no line end, so the search continues after them; bytes that waited for a BOM were not
    // searched.
    const searched = this.#started ? (this.#rest?.bytes ?? 0) : 0
    this.#rest = null
    const start = this.#started ? 0 : this.#skipBom(bytes)
    return start < 0 ? this.#keep(bytes) : this.#lines(bytes, start, Math.max(start, searched))
  }

  #keep(bytes: Buffer): boolean {
    this.#rest ??= new CollectedBody(null)
    this.#rest.add(bytes)
    return this.#rest.bytes <= LINE_BYTES_MAX
  }

  /** Reads the lines from `start`; no line ends before `searched`. */
  #lines(bytes: Buffer, lineStart: number, searched: number): boolean {
    const ends = new LineEnds(bytes)
    let start = lineStart
    let from = searched
    if (this.#skipLf && from < bytes.length) {
      if (bytes[from] === LF && from === start) start = from += 1
      this.#skipLf = false
    }
    for (;;) {
      if (this.#data.length === 0 && this.#events.known !== undefined) {
        start = this.#events.known(bytes, start)
        from = Math.max(from, start)
      }
      const end = ends.after(from)
      if (end === -1) break
      this.#line(bytes, start, end)
      start = end + 1
      if (bytes[end] === CR) {
        if (start === bytes.length) this.#skipLf = true
        else if (bytes[start] === LF) start += 1
      }
      from = start
    }
    for (; this.#owned < this.#data.length; this.#owned += 1)
      this.#data[this.#owned] = Buffer.from(this.#data[this.#owned] ?? '')
    return this.#dataBytes <= EVENT_BYTES_MAX && (start === bytes.length || this.#keep(bytes.subarray(start)))
  }

  /** The body has ended: an event without its blank line still counts. */
  end(): void {
    const rest = this.#rest?.take() ?? null
    this.#rest = null
    if (rest !== null) this.#line(rest, this.#started ? 0 : Math.max(0, this.#skipBom(rest)), rest.length)
    this.#dispatch()
  }

  /** The start of the text; -1 = a BOM may still be incomplete. */
  #skipBom(bytes: Buffer): number {
    if (bytes.length < 3 && bytes[0] === 0xef) return -1
    this.#started = true
    return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (start === end) return this.#dispatch()
    if (isField(bytes, start, end, DATA)) this.#add(fieldValue(bytes, start + DATA.length, end))
    else if (isField(bytes, start, end, ERROR)) this.#events.errorLine(fieldValue(bytes, start + ERROR.length, end))
  }

  #add(line: Buffer): void {
    this.#dataBytes += line.length + LINE_COST_BYTES
    // Data beyond the bound is not stored: the stream is given up after this read.
    if (this.#dataBytes <= EVENT_BYTES_MAX) this.#data.push(line)
  }

  #dispatch(): void {
    const lines = this.#data
    const [first] = lines
    if (first === undefined || this.#dataBytes > EVENT_BYTES_MAX) return
    this.#data = []
    this.#dataBytes = 0
    this.#owned = 0
    this.#events.event(
      lines.length === 1
        ? first
        : Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [NEW_LINE, line]))),
    )
  }
}

/** Bytes checked one by one before the native search, which costs ~100 ns a call: 2 MB of empty lines took 0.2 s. */
const STEP_BYTES = 32

/**
 * The positions of line ends. A distant LF is remembered: searching for it again from each CR would take time quadratic
 * in the read.
 */
class LineEnds {
  readonly #bytes: Buffer
  #lf = -2

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The index of the next CR or LF from `from` on; -1 = there is none. `from` must never decrease. */
  after(from: number): number {
    const stepEnd = Math.min(this.#bytes.length, from + STEP_BYTES)
    for (let at = from; at < stepEnd; at += 1) if (this.#bytes[at] === LF || this.#bytes[at] === CR) return at
    if (this.#lf !== -1 && this.#lf < from) this.#lf = this.#bytes.indexOf(LF, from)
    if (this.#lf === -1) return this.#bytes.indexOf(CR, from)
    const cr = this.#bytes.subarray(from, this.#lf).indexOf(CR)
    return cr === -1 ? this.#lf : from + cr
  }
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
