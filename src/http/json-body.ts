import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'

const BACKSLASH = 0x5c
const DIGIT_8 = 0x38
const DIGIT_9 = 0x39
const LETTER_A = 0x61
const LETTER_B = 0x62
const LETTER_C = 0x63
const LETTER_D = 0x64
const LETTER_F = 0x66
const LETTER_U = 0x75
/** The bit that turns a letter into lower case. */
const LOWER_CASE = 0x20
/** The length of `\uXXXX`. */
const ESCAPE_CHARS = 6
/** The beginning of an escaped surrogate. One pass over a text costs about as much as a native search. */
const SURROGATE = /\\u[dD][89a-fA-F]/g
const SURROGATE_CHARS = 4
/** Characters checked before other requests have their turn: at most ~10 ms, if they are all surrogates. */
const PART_CHARS = 1_048_576

/** A body longer than this is read in parts, so that other requests run between them. */
const MOMENT_BYTES = 524_288

/** Parses a scanned body; a bad one gives `invalid_json` with one sentence that says why. */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  const text = jsonText(body)
  for (const _part of surrogateCheck(text)) continue
  return objectIn(text)
}

export function isLong(body: Buffer): boolean {
  return body.length > MOMENT_BYTES
}

/** The same, for a long body. */
export async function parseInTurns(body: Buffer): Promise<Record<string, unknown>> {
  const text = jsonText(body)
  for (const _part of surrogateCheck(text)) await nextTurn()
  await nextTurn()
  const value = objectIn(text)
  await nextTurn()
  return value
}

function jsonText(body: Buffer): string {
  if (body.length === 0) throw invalidJson('the body is empty')
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)
    throw invalidJson('it starts with a byte order mark; send UTF-8 without one')
  if (!isUtf8(body)) throw invalidJson('it is not valid UTF-8')
  return body.toString('utf8')
}

function objectIn(text: string): Record<string, unknown> {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidJson('the top level must be an object')
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

/** V8's sentence without its excerpt of the body, which must not reach logs. */
function syntaxDetail(message: string): string {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (message.startsWith('Unexpected end')) return 'it ends too early'
  const token = /^Unexpected token '(.{1,2})'/u.exec(message)?.[1]
  const what =
    token !== undefined
      ? `unexpected '${token}'`
      : (/^[A-Z][^"“]*? in JSON/.exec(message)?.[0].replace(/ in JSON$/, '') ?? 'unexpected text')
  return position === undefined ? what : `${what} at position ${position}`
}

/** Finds lone surrogates, which pass the UTF-8 check only as JSON escapes. Makes one pass over the text, in parts. */
function* surrogateCheck(text: string): Generator<void> {
  // Most texts have no escape at all, which a native search finds out at almost no cost.
  for (let at = text.indexOf('\\'); at !== -1 && at < text.length;) {
    at = checkedUpTo(text, at)
    yield
  }
}

/** Answers the index to continue from, or -1 when no escaped surrogate follows. */
function checkedUpTo(text: string, from: number): number {
  const end = Math.min(text.length, from + PART_CHARS)
  let at = from
  while (at < end) {
    SURROGATE.lastIndex = at
    if (!SURROGATE.test(text)) return -1
    at = SURROGATE.lastIndex
    const start = at - SURROGATE_CHARS
    if (isEscaped(text, start)) continue
    const half = surrogateAt(text, start)
    if (half === 'low' || (half === 'high' && surrogateAt(text, start + ESCAPE_CHARS) !== 'low'))
      throw invalidJson('it has an unpaired surrogate escape')
    at = start + 2 * ESCAPE_CHARS
  }
  return at
}

/** Whether the character at `index` follows a backslash that is not itself escaped. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1
  while (before >= 0 && text.charCodeAt(before) === BACKSLASH) before -= 1
  return (index - before) % 2 === 0
}

/**
 * Which half of a surrogate pair `\uDxxx` at `index` is: D8 to DB begin a pair, DC to DF end it. A broken escape is
 * neither, and is not JSON.
 */
function surrogateAt(text: string, index: number): 'high' | 'low' | null {
  if (text.charCodeAt(index) !== BACKSLASH || text.charCodeAt(index + 1) !== LETTER_U) return null
  if ((text.charCodeAt(index + 2) | LOWER_CASE) !== LETTER_D) return null
  const digit = text.charCodeAt(index + 3)
  if (digit === DIGIT_8 || digit === DIGIT_9) return 'high'
  const letter = digit | LOWER_CASE
  if (letter === LETTER_A || letter === LETTER_B) return 'high'
  return letter >= LETTER_C && letter <= LETTER_F ? 'low' : null
}
