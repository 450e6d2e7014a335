import type { RawJson } from './raw-json.ts'

/** Reads the numbers of a usage object and remembers whether one of them cannot be a count of tokens. */
export class TokenReader {
  implausible = false

  read(object: RawJson | null, ...names: readonly string[]): number {
    for (const name of names) {
      const value = object?.[name]
      if (value === undefined || value === null) continue
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)) return value
      this.implausible = true
      return 0
    }
    return 0
  }
}
