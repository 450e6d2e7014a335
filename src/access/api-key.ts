import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { IdSource } from '../lib/ids.ts'

export const KEY_PREFIX = 'sk-tg-'
const SECRET_LETTERS = 32
const CHECKSUM_LETTERS = 6
const CHECKED_LENGTH = KEY_PREFIX.length + SECRET_LETTERS
const SHAPE = /^sk-tg-[0-9A-Za-z]{38}$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new API key: prefix, 190 random bits, checksum (wire.md 12). It is shown once and stored as a digest. */
export function generateKey(ids: IdSource): string {
  const checked = KEY_PREFIX + ids.letters(SECRET_LETTERS)
  return checked + checksum(checked)
}

/**
 * Whether text can be a key of ours at all, told without a look-up: guesses and typing errors cost the store nothing.
 */
export function isWellFormed(key: string): boolean {
  return SHAPE.test(key) && key.slice(CHECKED_LENGTH) === checksum(key.slice(0, CHECKED_LENGTH))
}

/** SHA-256 of the key, the only form in which it is stored. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The same digest as text, a key for maps. */
export function digestText(key: string): string {
  return hash('sha256', key, 'base64url')
}

export function digestBytes(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

/** What people may see of a key: enough to tell theirs apart, nothing to guess by. */
export function labelOf(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-3)}`
}

/** CRC32 in base62, zero-padded: six letters hold 2^32. */
function checksum(text: string): string {
  let rest = crc32(text)
  let letters = ''
  for (let index = 0; index < CHECKSUM_LETTERS; index += 1) {
    letters = (ALPHABET[rest % 62] ?? '') + letters
    rest = Math.floor(rest / 62)
  }
  return letters
}
