import { randomInt } from 'node:crypto'
import { jsonTextEnd, oddBackslashes, STEP_BYTES } from './json-text.ts'

/** Limits on the shape of a JSON text, so that `JSON.parse` and every walk over the value are fast. */
export interface JsonLimits {
  readonly depth: number
  readonly containers: number
  readonly keys: number
  readonly commas: number
  /**
   * Different keys and short texts, which V8 keeps in a table: ~0.5 µs for each new one, thirty times the cost of a
   * known one.
   */
  readonly words: number
  /**
   * The approximate number of backslashes. Each costs `JSON.parse` ~10 ns, and again wherever the text is written. null
   * = the length of the text bounds them well enough.
   */
  readonly escapes: number | null
}

/** Limits of a client's body. Beyond them `JSON.parse` of 10 MB takes seconds, within them at most ~0.1 s. */
export const BODY_LIMITS: JsonLimits = Object.freeze({
  depth: 64,
  containers: 100_000,
  keys: 30_000,
  commas: 700_000,
  words: 60_000,
  escapes: null,
})

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SLICE_BYTES = 65_536
/** The longest number or other bare text: no ordinary one is longer, and a number of 20 MB takes 200 ms to read. */
const BARE_BYTES_MAX = 4_096
const SPACE = 0x20
/**
 * Bytes of each slice that are searched for escapes, at an unpredictable place: searching all bytes would take as long
 * as parsing them.
 */
const SAMPLE_BYTES = 4_096
const HASH_PRIME = 0x01000193

/** A member of the outermost object, as its original bytes. */
export interface JsonMember {
  /** After `movedInto`, the same bytes in the provider's body. */
  bytes: Buffer
  /** The number of keys of all objects in it. */
  readonly keys: number
  /** Tells whose memory holds `bytes` that `copy` has the same bytes, so that its own need not stay. */
  readonly moveTo?: (copy: Buffer) => void
}

/** The body for a provider, of parts that contain the bytes of `moved`, whose own memory need not stay. */
export function movedInto(parts: readonly Buffer[], moved: JsonMember | null): Buffer {
  const body = Buffer.concat(parts)
  const place = moved === null ? -1 : parts.indexOf(moved.bytes)
  if (moved === null || place === -1) return body
  const from = parts.slice(0, place).reduce((sum, { length }) => sum + length, 0)
  moved.bytes = body.subarray(from, from + moved.bytes.length)
  moved.moveTo?.(moved.bytes)
  return body
}

/** The position of a member's value in the outermost object, and the number of keys before each of its ends. */
interface MemberPlace {
  readonly from: number
  readonly keysBefore: number
  to: number
  keysUpTo: number
}
/** Members of an object with more than this, or with a name longer than the next, cannot be found. */
const MEMBERS_MAX = 32
const NAME_BYTES_MAX = 128

/**
 * Counts the structure of a JSON text chunk by chunk as it arrives, so that a bomb is refused before it is complete.
 */
export class JsonScan {
  readonly #limits: JsonLimits
  readonly #words: WordCount
  #depth = 0
  #containers = 0
  #keys = 0
  #commas = 0
  #inString = false
  /** Bytes outside of strings since the last structural character, without white space. */
  #bare = 0
  #mostBare = 0
  #escapes = 0
  /** The hash of the open string, of at most its first step. */
  #hash = 0
  /** The number of bytes in earlier chunks. */
  #read = 0
  readonly #members: MemberPlace[] = []
  /** The previous chunk ended with a backslash that escapes the next character. */
  #escaped = false

  constructor(limits: JsonLimits = BODY_LIMITS) {
    this.#limits = limits
    this.#words = new WordCount()
  }

  /** The limit that the text exceeds, as the end of a sentence; null while it is within all limits. */
  push(chunk: Buffer): string | null {
    let index = 0
    let depth = this.#depth
    let deepest = depth
    let bare = this.#bare
    const length = chunk.length
    while (index < length) {
      if (this.#inString) {
        index = this.#skipString(chunk, index)
        continue
      }
      const byte = chunk[index] ?? 0
      index += 1
      if (byte === QUOTE) {
        this.#inString = true
        this.#hash = this.#words.open()
      } else if (byte === COMMA) {
        this.#commas += 1
        if (bare > this.#mostBare) this.#mostBare = bare
        bare = 0
        if (depth === 1) this.#closeMember(index - 1)
      } else if (byte === COLON) {
        this.#keys += 1
        bare = 0
        if (depth === 1) this.#openMember(index)
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#containers += 1
        depth += 1
        if (depth > deepest) deepest = depth
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (depth === 1) this.#closeMember(index - 1)
        depth -= 1
      } else if (byte > SPACE) bare += 1
    }
    if (bare > this.#mostBare) this.#mostBare = bare
    this.#bare = bare
    this.#depth = depth
    this.#read += length
    if (this.#limits.escapes !== null) this.#escapes += escapesIn(chunk)
    return this.#excess(deepest)
  }

  /** The same for a whole text; it stops at the first exceeded limit. */
  whole(text: Buffer): string | null {
    for (let at = 0; at < text.length; at += SLICE_BYTES) {
      const excess = this.push(text.subarray(at, at + SLICE_BYTES))
      if (excess !== null) return excess
    }
    return null
  }

  /** Whether every bracket that was opened is closed, and at least one was. */
  get isWhole(): boolean {
    return this.#containers > 0 && this.#depth === 0 && !this.#inString
  }

  /**
   * A member of the outermost object; null unless it occurs exactly once and the object has few members. One whose name
   * is written with escapes may be the same again. `text` is everything that was pushed, and JSON.
   */
  member(text: Buffer, name: string): JsonMember | null {
    if (this.#members.length > MEMBERS_MAX) return null
    if (!this.#members.every(({ from }) => isPlainName(text, from - 1))) return null
    const quoted = JSON.stringify(name)
    const [place, ...more] = this.#members.filter(({ from }) => isNamed(text, from - 1, quoted))
    if (place === undefined || more.length > 0) return null
    return { bytes: text.subarray(place.from, place.to), keys: place.keysUpTo - place.keysBefore }
  }

  #openMember(from: number): void {
    if (this.#members.length <= MEMBERS_MAX)
      this.#members.push({ from: this.#read + from, keysBefore: this.#keys, to: 0, keysUpTo: 0 })
  }

  #closeMember(to: number): void {
    const place = this.#members.at(-1)
    if (place === undefined || place.to !== 0) return
    place.to = this.#read + to
    place.keysUpTo = this.#keys
  }

  #excess(deepest: number): string | null {
    const { depth, containers, keys, commas, words, escapes } = this.#limits
    if (deepest > depth) return `it is nested deeper than ${depth} levels`
    if (this.#containers > containers) return `it has more than ${containers} objects and arrays`
    if (this.#keys > keys) return `it has more than ${keys} keys`
    if (this.#commas > commas) return `it has more than ${commas} commas`
    if (this.#mostBare > BARE_BYTES_MAX) return `it has a number of more than ${BARE_BYTES_MAX} digits`
    if (this.#words.count > words) return `it has more than ${words} different short texts`
    if (escapes !== null && this.#escapes > escapes) return `it has more than ${escapes} escapes`
    return null
  }

  /** Returns the index after the closing quote, or the chunk's length if the string goes on. */
  #skipString(chunk: Buffer, from: number): number {
    const length = chunk.length
    let index = this.#escaped ? from + 1 : from
    this.#escaped = false
    if (!this.#words.isCounting) return this.#skipLong(chunk, index)
    const stepEnd = Math.min(length, index + STEP_BYTES)
    let hash = this.#hash
    while (index < stepEnd) {
      const byte = chunk[index] ?? 0
      index += 1
      if (byte === QUOTE) {
        this.#inString = false
        this.#words.add(hash)
        return index
      }
      if (byte === BACKSLASH) {
        hash ^= (chunk[index] ?? 0) << 8
        index += 1
      }
      hash = Math.imul(hash ^ byte, HASH_PRIME)
    }
    this.#hash = hash
    return this.#skipLong(chunk, index)
  }

  /** The same, from the point where the string is longer than any counted word. */
  #skipLong(chunk: Buffer, from: number): number {
    const quote = from < chunk.length ? jsonTextEnd(chunk, from) : -1
    if (quote !== -1) {
      this.#inString = false
      return quote + 1
    }
    this.#escaped = from > chunk.length || oddBackslashes(chunk, from, chunk.length)
    return chunk.length
  }
}

/** Whether the key before the colon at `colon` is written as `quoted`. */
function isNamed(text: Buffer, colon: number, quoted: string): boolean {
  const end = nameEnd(text, colon)
  const start = end - quoted.length
  return start >= 1 && text.toString('latin1', start, end) === quoted && text[start - 1] !== BACKSLASH
}

/** Whether the name before a colon is short and has no escape. */
function isPlainName(text: Buffer, colon: number): boolean {
  const last = nameEnd(text, colon) - 2
  for (let at = last; at > last - NAME_BYTES_MAX && at > 0; at -= 1) {
    if (text[at] === BACKSLASH) return false
    if (text[at] === QUOTE) return text[at - 1] !== BACKSLASH
  }
  return false
}

/** The index after the closing quote of the name before a colon. */
function nameEnd(text: Buffer, colon: number): number {
  let end = colon
  while (end > 0 && (text[end - 1] ?? 0) <= SPACE) end -= 1
  return end
}

/** The approximate number of backslashes, from a sample. */
function escapesIn(chunk: Buffer): number {
  const sampled = Math.min(chunk.length, SAMPLE_BYTES)
  const from = sampled === chunk.length ? 0 : randomInt(chunk.length - sampled + 1)
  let escapes = 0
  for (let at = from; at < from + sampled; at += 1) if (chunk[at] === BACKSLASH) escapes += 1
  return sampled === 0 ? 0 : (escapes * chunk.length) / sampled
}

const WORD_BITS = 18
/** Up to this many words may all differ: most texts never need the table. */
const WORDS_FREE = 4_096

/**
 * Estimates the number of different texts in 32 kB: a bit for each hash. The seed prevents a choice of texts that share
 * their bits.
 */
class WordCount {
  #seed = 0
  #seen = 0
  #bits: Uint32Array | null = null
  #set = 0

  get count(): number {
    return this.#set
  }

  /** Whether there are so many texts that different ones are counted. */
  get isCounting(): boolean {
    return this.#bits !== null
  }

  /** Begins a text; returns the initial hash. */
  open(): number {
    if (this.#bits === null) {
      this.#seen += 1
      if (this.#seen > WORDS_FREE) {
        this.#seed = randomInt(2 ** 32)
        this.#bits = new Uint32Array(2 ** (WORD_BITS - 5))
      }
    }
    return this.#seed
  }

  add(hash: number): void {
    if (this.#bits === null) return
    const bit = hash >>> (32 - WORD_BITS)
    const mask = 1 << (bit & 31)
    const word = this.#bits[bit >>> 5] ?? 0
    if ((word & mask) !== 0) return
    this.#bits[bit >>> 5] = word | mask
    this.#set += 1
  }
}
