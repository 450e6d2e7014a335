import { jsonTextEnd } from '../../lib/json-text.ts'
import { parseScanned, upstreamScan } from './raw-json.ts'

const QUOTE = 34
const MINUS = 45
const NINE = 57
const ZERO = 48
const OPEN = 91
const CLOSE = 93
/** A text as long as this that begins in base64 is a vector: every other text has a space or a comma by then. */
const BASE64_CHARS_MIN = 64
/** A request has at most 2,048 inputs, and few vectors for each. */
const VECTORS_MAX = 8_192
const SLICE_BYTES = 65_536
const BASE64 = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\\'))

/**
 * A vector as it came: the JSON of an array of numbers, or of a text in base64, its quotes included. Nothing of it is
 * checked yet.
 */
export interface VectorBytes {
  readonly form: 'numbers' | 'base64'
  readonly bytes: Buffer
}

/** Parsed JSON without the vectors in it, which are most of the body and need not be parsed to be passed on. */
export interface LiftedJson {
  /**
   * A vector is a list of one number, its place in `vectors`: no other list begins with a number, and nothing that is
   * one is taken for it.
   */
  readonly json: unknown
  readonly vectors: readonly VectorBytes[]
}

/** Parses a body and leaves its vectors as the bytes they are; undefined where it is no JSON. */
export function parseLifted(body: Buffer): LiftedJson | undefined {
  const vectors: VectorBytes[] = []
  const kept: Buffer[] = []
  let from = 0
  const scan = upstreamScan()
  let looked = 0
  let isExcessive = false
  /** Whether what is kept before `end` is more than an answer may hold. */
  const isExcess = (end: number): boolean => {
    const excess = scan.push(body.subarray(looked, end))
    looked = end
    return excess !== null
  }
  const lift = (form: VectorBytes['form'], start: number, end: number): void => {
    isExcessive ||= isExcess(start)
    kept.push(body.subarray(from, start), Buffer.from(`[${vectors.length}]`))
    vectors.push({ form, bytes: body.subarray(start, end) })
    from = end
    looked = end
  }
  for (let at = 0; at < body.length;) {
    if (isExcessive || vectors.length > VECTORS_MAX || (at - looked > SLICE_BYTES && isExcess(at))) return undefined
    const byte = body[at]
    if (byte === QUOTE) {
      const end = jsonTextEnd(body, at + 1) + 1
      if (end === 0) return undefined
      if (isLongBase64(body, at + 1, end - 1)) lift('base64', at, end)
      at = end
    } else if (byte === OPEN && startsNumber(body, at + 1)) {
      const end = body.indexOf(CLOSE, at) + 1
      if (end === 0) return undefined
      lift('numbers', at, end)
      at = end
    } else at += 1
  }
  kept.push(body.subarray(from))
  if (isExcessive || isExcess(body.length)) return undefined
  const json = parseScanned(Buffer.concat(kept))
  return json === undefined ? undefined : { json, vectors }
}

function isLongBase64(body: Buffer, start: number, end: number): boolean {
  if (end - start < BASE64_CHARS_MIN) return false
  for (let at = start; at < start + BASE64_CHARS_MIN; at += 1) if (!BASE64.has(body[at] ?? 0)) return false
  return true
}

function startsNumber(body: Buffer, start: number): boolean {
  let at = start
  while ((body[at] ?? 0) <= 32 && at < body.length) at += 1
  const byte = body[at] ?? 0
  return byte === MINUS || (byte >= ZERO && byte <= NINE)
}
