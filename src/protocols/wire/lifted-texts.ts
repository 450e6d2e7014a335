import { jsonTextEnd } from '../../base/json-text.ts'
import { Base64Text } from './base64-text.ts'
import { CollectedBody } from './collected-body.ts'

const QUOTE = 34
const BACKSLASH = 92
/** A string that begins with this many base64 characters is a file: other texts have a space or a colon by then. */
const BASE64_CHARS_MIN = 64
const BASE64 = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\\'))
/** The bytes around the files, and the number of files; no honest answer has as many. */
const REST_BYTES_MAX = 1_048_576
const FILES_MAX = 16

/**
 * Reads JSON with files in base64 as it comes: each file is decoded piece by piece, and a list of one number, its place
 * in `files`, replaces it. Parsing 256 MB at once would stop everything else for seconds.
 */
export class LiftedTexts {
  readonly #rest = new CollectedBody(null)
  readonly #files: Buffer[][] = []
  #at: 'outside' | 'head' | 'text' | 'file' = 'outside'
  /** The next byte belongs to an escape that began in the piece before. */
  #isEscaped = false
  /** The beginning of a string of unknown kind, with its quote. */
  #head: Buffer = Buffer.alloc(0)
  #file = new Base64Text()

  /** Whether the answer has more files, or more bytes beside them, than it may. */
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

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length;) at = this.#at === 'outside' ? this.#outside(piece, at) : this.#text(piece, at)
  }

  /** The JSON around the files. */
  rest(): Buffer {
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
    this.#take(piece.subarray(start, end), quote !== -1)
    return quote === -1 ? end : quote + 1
  }

  #take(bytes: Buffer, isLast: boolean): void {
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

  /** Enough of a string has come to see its kind. */
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
