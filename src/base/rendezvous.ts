import { randomInt } from 'node:crypto'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * FNV-1a over at most `charactersMax` characters of a text, starting with `seed`. It spreads load and must not be used
 * for security.
 */
export function textHash(text: string, seed = FNV_OFFSET, charactersMax = text.length): number {
  let hash = seed
  const end = Math.min(text.length, charactersMax)
  for (let index = 0; index < end; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME)
  return hash >>> 0
}

/**
 * The weight of `target` for `key`: uniform in (0, 1), the same on every node. The target with the greatest weight is
 * chosen; when one disappears, only its own keys move (rendezvous hashing).
 */
export function attraction(key: number, target: string): number {
  let hash = textHash(target) ^ key
  // The finaliser of MurmurHash3: each bit of the key changes half of the result.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32 + 2 ** -33
}

const STEPS = 2 ** 47

/** Uniform in [0, 1) and unpredictable. */
export function uniform(): number {
  return randomInt(STEPS) / STEPS
}
