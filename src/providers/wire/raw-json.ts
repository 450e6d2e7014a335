import { JsonScan, type JsonLimits } from '../../lib/json-scan.ts'

export type RawJson = Readonly<Record<string, unknown>>

/**
 * What an answer may be, and no bomb: 31 MB of `[],` took 147 s, and 600,000 of them as the parts of an answer half a
 * second in its reader; 28 MB of escapes took 150 ms. A message of a stream is within 1 MiB besides, an error within 64
 * kB.
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
 * What an answer may be whose reader takes its entries as they are: the words of a day of speech, ranks of documents,
 * probabilities.
 */
export const LISTING_LIMITS: JsonLimits = Object.freeze({
  ...UPSTREAM_LIMITS,
  containers: 700_000,
  keys: 1_500_000,
  escapes: 4_000_000,
})
/** So few bytes break no limit that matters. */
const UNSCANNED_BYTES = 256

/** An object of an upstream's answer, or null: we are lenient with providers. */
export function objectOf(value: unknown): RawJson | null {
  // A non-array object of parsed JSON has text keys.
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as RawJson) : null
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** To be asked before anything parses what an upstream sent. */
export function isBomb(bytes: Buffer, limits = LISTING_LIMITS): boolean {
  return bytes.length > UNSCANNED_BYTES && new JsonScan(limits).whole(bytes) !== null
}

/** Parsed JSON, or undefined where the bytes are none, or are of a shape that only an attack has. */
export function parseJson(bytes: Buffer, limits = UPSTREAM_LIMITS): unknown {
  return isBomb(bytes, limits) ? undefined : parseScanned(bytes)
}

/** For an answer whose reader looks at its shape in parts. */
export function upstreamScan(): JsonScan {
  return new JsonScan(UPSTREAM_LIMITS)
}

/** Only for bytes whose shape was looked at. */
export function parseScanned(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
