import { KNOWN_ADAPTERS } from '../../src/protocols/index.ts'
import type { KnownAdapters } from '../../src/catalog/catalog.ts'

/** Only these adapters, for a test that reads a catalogue. */
export function adaptersNamed(...names: readonly string[]): KnownAdapters {
  return new Map([...KNOWN_ADAPTERS].filter(([name]) => names.includes(name)))
}
