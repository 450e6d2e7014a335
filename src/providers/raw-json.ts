export type RawJson = Readonly<Record<string, unknown>>

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

/** Parsed JSON, or undefined where the bytes are none. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
