import { jsonTextEnd } from '../../lib/json-text.ts'
import { parseScanned, upstreamScan } from './raw-json.ts'

const QUOTE = 34
const MINUS = 45
const NINE = 57
const ZERO = 48
const OPEN = 91
const CLOSE = 93
/**
 * A string that begins with this many base64 characters is a vector or a file: other texts have a space or a comma by
 * then.
 */
const BASE64_CHARS_MIN = 64
/** A request has at most 2,048 inputs, with few vectors for each. */
const VECTORS_MAX = 8_192
/** The longest head of a data URL, before its base64 characters. */
const DATA_URL_HEAD_BYTES = 100
const COMMA = 44
const SLICE_BYTES = 65_536
const BASE64 = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\\'))

/**
 * A vector as it came, or a file: the JSON of an array of numbers, or of a base64 string or data URL with its quotes.
 * It is not checked yet.
 */
export interface VectorBytes {
  readonly form: 'numbers' | 'base64'
  readonly bytes: Buffer
}

/** Parsed JSON without its vectors and files, which are most of the body and can be passed on unparsed. */
export interface LiftedJson {
  /** A vector is replaced by a list of one number, its place in `vectors`; no other list begins with a number. */
  readonly json: unknown
  readonly vectors: readonly VectorBytes[]
}

/** Parses a body and keeps its vectors as bytes; undefined for invalid JSON. */
export function parseLifted(body: Buffer): LiftedJson | undefined {
  const vectors: VectorBytes[] = []
  const kept: Buffer[] = []
  let from = 0
  const scan = upstreamScan()
  let looked = 0
  let isExcessive = false
  /** Whether the bytes kept up to `end` exceed what an answer may hold. */
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

function startsNumber(body: Buffer, start: number): boolean {
  let at = start
  while ((body[at] ?? 0) <= 32 && at < body.length) at += 1
  const byte = body[at] ?? 0
  return byte === MINUS || (byte >= ZERO && byte <= NINE)
}
