import { readFileSync } from 'node:fs'

/** Greater than any position in a piece, so that position and rank fit into one number of the heap. */
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

/** How an encoding splits a text before it merges pairs, as its makers publish it. */
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

const HASH_SEED = 0x811c9dc5
const HASH_FACTOR = 0x01000193
/** The largest part of the slots that is used, so that most look-ups end at the first slot. */
const FILL_MAX = 0.5

/**
 * The tokens of an encoding, found by their bytes. 200,000 of them take 7 MB: one buffer holds all bytes, and a hash
 * table the rank of each token.
 */
export class TokenTable {
  /** The length of the longest token in bytes. */
  readonly longest: number
  readonly #bytes: Uint8Array
  /** The start of the token with each rank; the last entry is the end of the last token. */
  readonly #starts: Uint32Array
  /**
   * Two numbers for each slot: the rank, and the whole hash, which excludes most other tokens without comparing bytes.
   */
  readonly #slots: Int32Array
  readonly #mask: number

  /** `packed`: the length of each token by rank, one byte each, and then the bytes of all tokens. */
  constructor(packed: Uint8Array, count: number) {
    this.#bytes = packed.subarray(count)
    this.#starts = new Uint32Array(count + 1)
    const slots = 2 ** Math.ceil(Math.log2(count / FILL_MAX))
    this.#mask = slots - 1
    this.#slots = new Int32Array(2 * slots).fill(NONE)
    let longest = 0
    let start = 0
    for (let rank = 0; rank < count; rank += 1) {
      const length = packed[rank] as number
      if (length > longest) longest = length
      const hash = hashOf(this.#bytes, start, start + length)
      let slot = hash & this.#mask
      while (this.#slots[2 * slot] !== NONE) slot = (slot + 1) & this.#mask
      this.#slots[2 * slot] = rank
      this.#slots[2 * slot + 1] = hash
      start += length
      this.#starts[rank + 1] = start
    }
    this.longest = longest
  }

  /** The rank of the token with these bytes; -1 = none. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.longest) return NONE
    const hash = hashOf(bytes, start, end)
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const rank = this.#slots[2 * slot] as number
      if (rank === NONE) return NONE
      if (this.#slots[2 * slot + 1] === hash && this.#is(rank, bytes, start, end)) return rank
    }
  }

  #is(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = this.#starts[rank] as number
    if ((this.#starts[rank + 1] as number) - first !== end - start) return false
    for (let index = start; index < end; index += 1)
      if (bytes[index] !== this.#bytes[first + index - start]) return false
    return true
  }
}

/** FNV-1a, with its upper half mixed into the bits that choose the slot. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_SEED
  for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ (bytes[index] as number), HASH_FACTOR)
  return hash ^ (hash >>> 15)
}
