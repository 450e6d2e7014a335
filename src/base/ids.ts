import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const POOL_BYTES = 4_096
/** Bytes at or above this are skipped, so that each of the 62 letters is equally likely. */
const BYTE_MAX = 248

/** Source of unguessable base62 text; the simulator passes a seeded one. */
export interface IdSource {
  /** `length` letters of [0-9A-Za-z]. */
  letters(length: number): string
}

/**
 * Cryptographic letters from a pool: one `randomBytes` call for each letter would cost more than the request's other
 * work.
 */
export function randomIds(): IdSource {
  let pool = randomBytes(POOL_BYTES)
  let next = 0
  return {
    letters(length) {
      let text = ''
      while (text.length < length) {
        if (next === pool.length) {
          pool = randomBytes(POOL_BYTES)
          next = 0
        }
        const byte = pool[next] ?? 0
        next += 1
        if (byte < BYTE_MAX) text += ALPHABET[byte % 62] ?? ''
      }
      return text
    },
  }
}

const TAIL_LETTERS = 20
const MILLIS_LETTERS = 2

/**
 * `<prefix>-<unix seconds>-<20 letters>` (wire.md D-2.0). The first two letters encode the millisecond and letters sort
 * as bytes do, so new ids come last in an index: random ones would each dirty a page.
 */
export function timedId(prefix: string, nowMs: number, ids: IdSource): string {
  const millis = Math.floor(nowMs % 1_000)
  return `${prefix}-${Math.floor(nowMs / 1_000)}-${ALPHABET[Math.floor(millis / 62)] ?? ''}${ALPHABET[millis % 62] ?? ''}${ids.letters(TAIL_LETTERS - MILLIS_LETTERS)}`
}
