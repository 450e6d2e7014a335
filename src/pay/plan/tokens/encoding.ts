import { readFileSync } from 'node:fs'
import { TokenTable } from './token-table.ts'

/** Longer than any piece, so that position and rank fit into one number of the heap. */
const POSITIONS = 2 ** 24
const PIECE_BYTES = 4_096
const NONE = -1

/**
 * Counts the tokens that byte pair encoding makes of a piece: adjacent parts whose bytes together are a token are
 * merged, the lowest rank first and the leftmost among equals, until none are left. O(n log n) with a heap of pairs.
 */
class BytePairs {
  readonly #table: TokenTable
  #next = new Int32Array(PIECE_BYTES)
  #previous = new Int32Array(PIECE_BYTES)
  /** The rank of the pair that begins at each byte; -1 = no token, or no part begins here any more. */
  #ranks = new Int32Array(PIECE_BYTES)
  /** rank × POSITIONS + position: the least is merged next. Outdated entries stay until they are popped. */
  #heap = new Float64Array(3 * PIECE_BYTES)
  #waiting = 0

  constructor(table: TokenTable) {
    this.#table = table
  }

  /** Tokens of the first `length` bytes, which are at least one. */
  count(bytes: Uint8Array, length: number): number {
    if (this.#table.rankOf(bytes, 0, length) !== NONE) return 1
    this.#reserve(length)
    this.#waiting = 0
    for (let at = 0; at < length; at += 1) {
      this.#previous[at] = at - 1
      this.#next[at] = at + 1
    }
    for (let at = 0; at < length; at += 1) this.#offer(bytes, length, at)
    let tokens = length
    while (this.#waiting > 0) {
      const least = this.#pop()
      const at = least % POSITIONS
      if (this.#ranks[at] === (least - at) / POSITIONS) {
        this.#merge(bytes, length, at)
        tokens -= 1
      }
    }
    return tokens
  }

  #merge(bytes: Uint8Array, length: number, at: number): void {
    const right = this.#next[at] as number
    const after = this.#next[right] as number
    this.#next[at] = after
    if (after < length) this.#previous[after] = at
    this.#ranks[right] = NONE
    this.#offer(bytes, length, at)
    if (at > 0) this.#offer(bytes, length, this.#previous[at] as number)
  }

  /** Adds the pair that begins at a part to the heap, if it is a token. */
  #offer(bytes: Uint8Array, length: number, at: number): void {
    const right = this.#next[at] as number
    const rank = right < length ? this.#table.rankOf(bytes, at, this.#next[right] as number) : NONE
    this.#ranks[at] = rank
    if (rank !== NONE) this.#push(rank * POSITIONS + at)
  }

  #push(value: number): void {
    const heap = this.#heap
    let place = this.#waiting
    this.#waiting += 1
    while (place > 0) {
      const above = (place - 1) >> 1
      const other = heap[above] as number
      if (other <= value) break
      heap[place] = other
      place = above
    }
    heap[place] = value
  }

  #pop(): number {
    const heap = this.#heap
    const least = heap[0] as number
    this.#waiting -= 1
    const size = this.#waiting
    const value = heap[size] as number
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below >= size) break
      if (below + 1 < size && (heap[below + 1] as number) < (heap[below] as number)) below += 1
      const other = heap[below] as number
      if (other >= value) break
      heap[place] = other
      place = below
    }
    heap[place] = value
    return least
  }

  #reserve(length: number): void {
    if (length <= this.#next.length) return
    this.#next = new Int32Array(length)
    this.#previous = new Int32Array(length)
    this.#ranks = new Int32Array(length)
    // One pair for each byte, and two more for each merge.
    this.#heap = new Float64Array(3 * length)
  }
}

export const ENCODING_NAMES = ['o200k_base', 'cl100k_base'] as const
export type EncodingName = (typeof ENCODING_NAMES)[number]

const UTF8_BYTES_PER_UNIT = 3
const utf8 = new TextEncoder()

/** How an encoding splits a text before merging pairs, as its makers publish it. */
interface EncodingFacts {
  readonly tokens: number
  readonly file: URL
  readonly pieces: RegExp
}

/** `scripts/token-tables.ts` makes the files. */
const ENCODINGS: Readonly<Record<EncodingName, EncodingFacts>> = {
  o200k_base: {
    tokens: 199_998,
    file: new URL('./o200k_base.tokens', import.meta.url),
    pieces:
      /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu,
  },
  cl100k_base: {
    tokens: 100_256,
    file: new URL('./cl100k_base.tokens', import.meta.url),
    pieces:
      /'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s/gu,
  },
}

/** Counts the tokens of a text; special tokens count as plain text. */
export class Encoding {
  readonly #pieces: RegExp
  readonly #pairs: BytePairs
  #bytes = new Uint8Array(4_096)

  private constructor({ tokens, file, pieces }: EncodingFacts) {
    this.#pieces = pieces
    this.#pairs = new BytePairs(new TokenTable(readFileSync(file), tokens))
  }

  /** Reads the table: about 25 ms. */
  static load(name: EncodingName): Encoding {
    return new Encoding(ENCODINGS[name])
  }

  count(text: string): number {
    let tokens = 0
    for (const piece of text.match(this.#pieces) ?? []) {
      const length = this.#write(piece)
      tokens += this.#pairs.count(this.#bytes, length)
    }
    return tokens
  }

  /** Writes the piece as UTF-8 into `#bytes`; returns its length. */
  #write(piece: string): number {
    const most = piece.length * UTF8_BYTES_PER_UNIT
    if (most > this.#bytes.length) this.#bytes = new Uint8Array(most)
    return utf8.encodeInto(piece, this.#bytes).written
  }
}
