import { isUtf8 } from 'node:buffer'
import { ApiError } from '../errors.ts'

/** What the shape of a body may be: beyond these `JSON.parse` of 10 MB takes seconds, within them at most ~0.1 s (reliability.md F48). */
interface JsonLimits {
  readonly depth: number
  readonly containers: number
  readonly keys: number
  readonly commas: number
}

const JSON_LIMITS: JsonLimits = Object.freeze({ depth: 64, containers: 100_000, keys: 30_000, commas: 700_000 })

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/**
 * Bytes of a string looked at one by one before the native search takes over. The search costs ~100 ns a call, so a string of
 * nothing but escaped quotes must not cause one call a quote: 10 MB of `\"` took 0.4 s that way.
 */
const STRING_STEP_BYTES = 64

/** Counts the structure of a JSON text chunk by chunk as it arrives, so that a bomb is refused before it is whole. */
export class JsonScan {
  readonly #limits: JsonLimits
  #depth = 0
  #containers = 0
  #keys = 0
  #commas = 0
  #inString = false
  /** The chunk before ended between a backslash and what it escapes. */
  #escaped = false

  constructor(limits: JsonLimits = JSON_LIMITS) {
    this.#limits = limits
  }

  /** What the text breaks, as the end of a sentence, or null while it is within the limits. */
  push(chunk: Buffer): string | null {
    let index = 0
    let depth = this.#depth
    let deepest = depth
    const length = chunk.length
    while (index < length) {
      if (this.#inString) {
        index = this.#skipString(chunk, index)
        continue
      }
      const byte = chunk[index]
      index += 1
      if (byte === QUOTE) this.#inString = true
      else if (byte === COMMA) this.#commas += 1
      else if (byte === COLON) this.#keys += 1
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#containers += 1
        depth += 1
        if (depth > deepest) deepest = depth
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1
    }
    this.#depth = depth
    return this.#excess(deepest)
  }

  #excess(deepest: number): string | null {
    const { depth, containers, keys, commas } = this.#limits
    if (deepest > depth) return `it is nested deeper than ${depth} levels`
    if (this.#containers > containers) return `it has more than ${containers} objects and arrays`
    if (this.#keys > keys) return `it has more than ${keys} keys`
    if (this.#commas > commas) return `it has more than ${commas} commas`
    return null
  }

  /** Answers the index after the closing quote, or the chunk's length when the string goes on. */
  #skipString(chunk: Buffer, from: number): number {
    const length = chunk.length
    let index = this.#escaped ? from + 1 : from
    this.#escaped = false
    for (;;) {
      const stepEnd = Math.min(length, index + STRING_STEP_BYTES)
      while (index < stepEnd) {
        const byte = chunk[index]
        index += 1
        if (byte === QUOTE) {
          this.#inString = false
          return index
        }
        if (byte === BACKSLASH) index += 1
      }
      if (index >= length) {
        this.#escaped = index > length
        return length
      }
      const quote = chunk.indexOf(QUOTE, index)
      const end = quote === -1 ? length : quote
      const escaped = oddBackslashes(chunk, index, end)
      if (quote === -1) {
        this.#escaped = escaped
        return length
      }
      index = quote + 1
      if (!escaped) {
        this.#inString = false
        return index
      }
    }
  }
}

/** Whether the run of backslashes that ends before `end` and starts no earlier than `start` is of odd length. */
function oddBackslashes(chunk: Buffer, start: number, end: number): boolean {
  let index = end
  while (index > start && chunk[index - 1] === BACKSLASH) index -= 1
  return (end - index) % 2 === 1
}

/** The object a scanned body says, or `invalid_json` with one sentence why not. */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) throw invalidJson('the body is empty')
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) throw invalidJson('it starts with a byte order mark; send UTF-8 without one')
  if (!isUtf8(body)) throw invalidJson('it is not valid UTF-8')
  const text = body.toString('utf8')
  if ((text.includes('\\ud') || text.includes('\\uD')) && hasLoneSurrogate(text)) throw invalidJson('it has an unpaired surrogate escape')
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidJson('the top level must be an object')
  // A non-null, non-array object from JSON.parse has string keys and unknown values.
  return value as Record<string, unknown>
}

export function invalidJson(detail: string): ApiError {
  return new ApiError('invalid_json', `Request body is not valid JSON: ${detail}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw invalidJson(thrown instanceof SyntaxError ? syntaxDetail(thrown.message) : 'it cannot be read')
  }
}

/** V8's sentence without the excerpt of the body that it may quote, which must not reach logs. */
function syntaxDetail(message: string): string {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (message.startsWith('Unexpected end')) return 'it ends too early'
  const token = /^Unexpected token '(.{1,2})'/u.exec(message)?.[1]
  const what = token !== undefined ? `unexpected '${token}'` : (/^[A-Z][^"“]*? in JSON/.exec(message)?.[0].replace(/ in JSON$/, '') ?? 'unexpected text')
  return position === undefined ? what : `${what} at position ${position}`
}

/** JSON escapes are the only way a lone surrogate gets past the UTF-8 check. One pass over the text, whatever it holds. */
function hasLoneSurrogate(text: string): boolean {
  let index = text.indexOf('\\')
  while (index !== -1) {
    const unit = escapedUnit(text, index)
    if (unit >= 0xdc00 && unit <= 0xdfff) return true
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const low = escapedUnit(text, index + 6)
      if (low < 0xdc00 || low > 0xdfff) return true
      index += 6
    }
    index = nextBackslash(text, index + (unit === -1 ? 2 : 6))
  }
  return false
}

/** Near backslashes are found without a native call, so that a text of nothing else stays cheap. */
function nextBackslash(text: string, from: number): number {
  return text.charCodeAt(from) === BACKSLASH ? from : text.indexOf('\\', from)
}

/** The code unit of the `\uXXXX` at `index`, or -1. */
function escapedUnit(text: string, index: number): number {
  if (text.charCodeAt(index) !== BACKSLASH || text.charCodeAt(index + 1) !== 0x75) return -1
  const digits = text.slice(index + 2, index + 6)
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : -1
}
