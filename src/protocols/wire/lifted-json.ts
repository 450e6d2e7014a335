import { jsonTextEnd, oddBackslashes } from '../../base/json-text.ts'
import { CollectedBody } from './collected-body.ts'
import { parseScanned, upstreamScan } from './raw-json.ts'
import { Base64Text } from './base64-text.ts'

const QUOTE = 34
const MINUS = 45
const NINE = 57
const ZERO = 48
const OPEN = 91
const CLOSE = 93
/**
 * A string that begins with this many base64 characters is a vector or a file: other texts have a space or a comma
 * earlier.
 */
const BASE64_CHARS_MIN = 64
/** A request has at most 2,048 inputs, with few vectors for each. */
const VECTORS_MAX = 8_192
/** The longest head of a data URL, before its base64 characters. */
const DATA_URL_HEAD_BYTES = 100
const COMMA = 44
const SLICE_BYTES = 65_536
/** The most blanks before the first number of a list; with more of them the list is parsed. */
const SPACES_MAX = 64
const BASE64 = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\\'))

/**
 * A vector or a file in its original bytes: the JSON of an array of numbers, or of a base64 string or data URL with its
 * quotes. It has not been checked yet.
 */
export interface VectorBytes {
  readonly form: 'numbers' | 'base64'
  readonly bytes: Buffer
}

/** Parsed JSON without its vectors and files, which are most of the body and can be passed on unparsed. */
export interface LiftedJson {
  /** Each vector is replaced by a list of one number, its index in `vectors`; no other list begins with a number. */
  readonly json: unknown
  readonly vectors: readonly VectorBytes[]
}

/** Parses a body whose vectors stay bytes; undefined = invalid JSON. */
export function parseLifted(body: Buffer): LiftedJson | undefined {
  const lifted = new LiftedBody()
  lifted.push(body)
  return lifted.end()
}

/**
 * Lifts vectors and files out of a body that comes in pieces. The pieces are not joined: in one buffer, 17 MB of
 * vectors took a fifth longer, because its memory pages are new each time.
 */
export class LiftedBody {
  readonly #scan = upstreamScan()
  readonly #vectors: VectorBytes[] = []
  /** The JSON around the vectors. */
  readonly #kept = new CollectedBody(null)
  /** The form of a string or a list of numbers that began in an earlier piece. */
  #open: VectorBytes['form'] | null = null
  #begun = new CollectedBody(null)
  /** Whether the last piece ended with a backslash that escapes the next byte. */
  #isEscaped = false
  /** The end of the last piece, if it is not clear yet whether a list of numbers begins there. */
  #undecided: Buffer | null = null
  #isRefused = false

  push(given: Buffer): void {
    const piece = owned(given)
    for (let at = 0; at < piece.length && !this.#isRefused; at += SLICE_BYTES)
      this.#read(piece.subarray(at, at + SLICE_BYTES))
  }

  /** Whether it is one object or array, by its brackets. */
  isWholeJson(): boolean {
    return this.#scan.isWhole && this.#open === null && this.#undecided === null
  }

  /** undefined = invalid JSON, or more than an answer may contain. */
  end(): LiftedJson | undefined {
    if (this.#isRefused || this.#open !== null || this.#undecided !== null) return undefined
    const json = parseScanned(this.#kept.take())
    return json === undefined ? undefined : { json, vectors: this.#vectors }
  }

  #read(given: Buffer): void {
    const piece = this.#undecided === null ? given : Buffer.concat([this.#undecided, given])
    this.#undecided = null
    let at = this.#open === null ? 0 : this.#goOn(piece, this.#open)
    let from = at
    while (at < piece.length) {
      const form = formAt(piece, at)
      if (form === null) {
        at += 1
        continue
      }
      if (form === 'undecided') {
        this.#keep(piece.subarray(from, at))
        this.#undecided = piece.subarray(at)
        return
      }
      const end = endOf(piece, form, at + 1)
      if (end === 0) {
        this.#keep(piece.subarray(from, at))
        this.#begin(piece.subarray(at), form)
        return
      }
      if (isLifted(piece, form, at, end)) {
        this.#keep(piece.subarray(from, at))
        this.#lift(form, piece.subarray(at, end))
        from = end
      }
      at = end
    }
    this.#keep(piece.subarray(from))
  }

  #begin(bytes: Buffer, form: VectorBytes['form']): void {
    this.#open = form
    this.#begun = new CollectedBody(null)
    this.#begun.add(bytes)
    this.#isEscaped = form === 'base64' && oddBackslashes(bytes, 1, bytes.length)
  }

  /** The index at which the piece continues after what began in an earlier piece. */
  #goOn(piece: Buffer, form: VectorBytes['form']): number {
    const start = this.#isEscaped ? 1 : 0
    const end = endOf(piece, form, start)
    this.#begun.add(end === 0 ? piece : piece.subarray(0, end))
    this.#isEscaped = end === 0 && form === 'base64' && oddBackslashes(piece, start, piece.length)
    if (end === 0) return piece.length
    this.#open = null
    const bytes = this.#begun.take()
    if (isLifted(bytes, form, 0, bytes.length)) this.#lift(form, bytes)
    else this.#keep(bytes)
    return end
  }

  #lift(form: VectorBytes['form'], bytes: Buffer): void {
    this.#kept.add(Buffer.from(`[${this.#vectors.length}]`))
    this.#vectors.push({ form, bytes })
    this.#isRefused ||= this.#vectors.length > VECTORS_MAX
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#isRefused ||= this.#scan.push(bytes) !== null
    this.#kept.add(bytes)
  }
}

/** A copy of a piece that is less than half of the memory behind it, which its framing would otherwise keep in use. */
function owned(piece: Buffer): Buffer {
  return piece.length * 2 < piece.buffer.byteLength ? Buffer.from(piece) : piece
}

/** The form of what begins at a byte outside of strings; null = it may not be lifted. */
function formAt(piece: Buffer, at: number): VectorBytes['form'] | 'undecided' | null {
  const byte = piece[at]
  if (byte === QUOTE) return 'base64'
  if (byte !== OPEN) return null
  const spacesEnd = Math.min(piece.length, at + 1 + SPACES_MAX)
  let first = at + 1
  while (first < spacesEnd && (piece[first] ?? 0) <= 32) first += 1
  if (first === piece.length) return 'undecided'
  const next = piece[first] ?? 0
  return next === MINUS || (next >= ZERO && next <= NINE) ? 'numbers' : null
}

/** The index after the end of what a piece continues from `start` on; 0 = it does not end in this piece. */
function endOf(piece: Buffer, form: VectorBytes['form'], start: number): number {
  return (form === 'numbers' ? piece.indexOf(CLOSE, start) : jsonTextEnd(piece, start)) + 1
}

function isLifted(bytes: Buffer, form: VectorBytes['form'], start: number, end: number): boolean {
  return form === 'numbers' || isLongBase64(bytes, start + 1, end - 1)
}

function isLongBase64(body: Buffer, begin: number, end: number): boolean {
  const start = begin + dataUrlHead(body, begin)
  if (end - start < BASE64_CHARS_MIN) return false
  for (let at = start; at < start + BASE64_CHARS_MIN; at += 1) if (!BASE64.has(body[at] ?? 0)) return false
  return true
}

function dataUrlHead(body: Buffer, start: number): number {
  if (body.toString('latin1', start, start + 5) !== 'data:') return 0
  return body.subarray(start, start + DATA_URL_HEAD_BYTES).indexOf(COMMA) + 1
}

const BACKSLASH = 92
/** The most bytes around the files, and the most files; no real answer has as many. */
const REST_BYTES_MAX = 1_048_576
const FILES_MAX = 16

/**
 * Reads JSON with files in base64 as it comes: each file is decoded piece by piece, and replaced by a list of one
 * number, its index in `files`. Parsing 256 MB at once would stop everything else for seconds.
 */
export class LiftedTexts {
  readonly #rest = new CollectedBody(null)
  readonly #files: Buffer[][] = []
  #at: 'outside' | 'head' | 'text' | 'file' = 'outside'
  /** Whether the next byte belongs to an escape that began in the piece before. */
  #isEscaped = false
  /** The beginning of a string of unknown kind, with its quote. */
  #head: Buffer = Buffer.alloc(0)
  #file = new Base64Text()

  /** Whether the answer has more files, or more bytes besides them, than it may. */
  get isExcessive(): boolean {
    return this.#rest.bytes > REST_BYTES_MAX || this.#files.length > FILES_MAX
  }

  /** Whether it is one object or array, by its brackets. */
  isWholeJson(): boolean {
    return this.#at === 'outside' && this.#rest.isWholeJson()
  }

  get files(): readonly (readonly Buffer[])[] {
    return this.#files
  }

  add(piece: Buffer): void {
    for (let at = 0; at < piece.length;) at = this.#at === 'outside' ? this.#outside(piece, at) : this.#text(piece, at)
  }

  /** The JSON around the files. */
  take(): Buffer {
    this.#rest.add(this.#head)
    this.#head = Buffer.alloc(0)
    return this.#rest.take()
  }

  #outside(piece: Buffer, start: number): number {
    const quote = piece.indexOf(QUOTE, start)
    this.#rest.add(piece.subarray(start, quote === -1 ? piece.length : quote))
    if (quote === -1) return piece.length
    this.#at = 'head'
    this.#head = piece.subarray(quote, quote + 1)
    return quote + 1
  }

  /** Reads a string; returns its end in this piece, or the piece's length. */
  #text(piece: Buffer, start: number): number {
    const from = this.#isEscaped ? start + 1 : start
    const quote = jsonTextEnd(piece, from)
    const end = quote === -1 ? piece.length : quote
    this.#isEscaped = quote === -1 && endsInEscape(piece, from)
    this.#read(piece.subarray(start, end), quote !== -1)
    return quote === -1 ? end : quote + 1
  }

  #read(bytes: Buffer, isLast: boolean): void {
    if (this.#at === 'head') {
      this.#head = Buffer.concat([this.#head, bytes])
      if (this.#head.length > BASE64_CHARS_MIN) this.#known()
    } else if (this.#at === 'file') this.#keep(this.#file.push(bytes))
    else this.#rest.add(bytes)
    if (!isLast) return
    if (this.#at === 'file') this.#keep(this.#file.end())
    else this.#rest.add(Buffer.concat([this.#head, Buffer.of(QUOTE)]))
    this.#head = Buffer.alloc(0)
    this.#at = 'outside'
  }

  /** Enough of a string has come to recognise its kind. */
  #known(): void {
    const inside = this.#head.subarray(1)
    if (inside.subarray(0, BASE64_CHARS_MIN).every((byte) => BASE64.has(byte))) {
      this.#at = 'file'
      this.#rest.add(Buffer.from(`[${this.#files.length}]`))
      this.#files.push([])
      this.#file = new Base64Text()
      this.#keep(this.#file.push(inside))
    } else {
      this.#at = 'text'
      this.#rest.add(this.#head)
    }
    this.#head = Buffer.alloc(0)
  }

  #keep(bytes: Buffer): void {
    if (bytes.length > 0) this.#files.at(-1)?.push(bytes)
  }
}

/** Whether a piece of a string ends with a backslash that begins an escape. */
function endsInEscape(piece: Buffer, start: number): boolean {
  let at = piece.length
  while (at > start && piece[at - 1] === BACKSLASH) at -= 1
  return (piece.length - at) % 2 === 1
}
