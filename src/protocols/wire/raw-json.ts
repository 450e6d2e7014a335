import { JsonScan, type JsonLimits } from '../../base/json-scan.ts'

export type RawJson = Readonly<Record<string, unknown>>

/**
 * Bounds on the form of an answer that keep out bombs: 31 MB of `[],` took 147 s, 600,000 of them as parts of an answer
 * took its reader half a second, and 28 MB of escapes took 150 ms. In addition, a message of a stream has at most 1
 * MiB, an error 64 kB.
 */
export const UPSTREAM_LIMITS: JsonLimits = Object.freeze({
  depth: 128,
  containers: 60_000,
  keys: 300_000,
  commas: 4_000_000,
  words: 60_000,
  escapes: 3_000_000,
})
/**
 * Bounds for an answer whose reader does not convert its entries: the words of a day of speech, ranks of documents,
 * probabilities.
 */
export const LISTING_LIMITS: JsonLimits = Object.freeze({
  ...UPSTREAM_LIMITS,
  containers: 700_000,
  keys: 1_500_000,
  escapes: 4_000_000,
})
/** A text of so few bytes cannot break a limit that matters. */
const UNSCANNED_BYTES = 256

/** The value as an object, or null: reading is lenient with providers. */
export function objectOf(value: unknown): RawJson | null {
  // Keys of a parsed JSON object are strings.
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as RawJson) : null
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Must be called before anything parses an upstream's bytes. */
export function isBomb(bytes: Buffer, limits = LISTING_LIMITS): boolean {
  return bytes.length > UNSCANNED_BYTES && new JsonScan(limits).whole(bytes) !== null
}

/** Parsed JSON; undefined = the bytes are not JSON, or have a form that only an attack has. */
export function parseJson(bytes: Buffer, limits = UPSTREAM_LIMITS): unknown {
  return isBomb(bytes, limits) ? undefined : parseScanned(bytes)
}

/** A scan for an answer whose reader checks its form part by part. */
export function upstreamScan(): JsonScan {
  return new JsonScan(UPSTREAM_LIMITS)
}

/** Parses only bytes whose form was checked. */
export function parseScanned(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
