import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { crc32 } from 'node:zlib'
import type { IdSource } from '../base/ids.ts'

export const KEY_PREFIX = 'sk-tg-'
/** The prefix of a key that opens no model, only the routes that manage keys. */
export const MANAGEMENT_PREFIX = 'sk-tgm-'
/** The prefix of a named token for the admin API. */
export const ADMIN_PREFIX = 'sk-tga-'
const SECRET_LETTERS = 32
const CHECKSUM_LETTERS = 6
const SHAPE = /^sk-tg[am]?-[0-9A-Za-z]{38}$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new API key: prefix, 190 random bits, checksum (wire.md 12). It is shown once and stored as a digest. */
export function generateKey(ids: IdSource, prefix = KEY_PREFIX): string {
  const checked = prefix + ids.letters(SECRET_LETTERS)
  return checked + checksum(checked)
}

/**
 * Whether a text can be one of our keys, decided without a look-up, so that guesses and typing errors cost the store
 * nothing.
 */
export function isWellFormed(key: string): boolean {
  return SHAPE.test(key) && key.slice(-CHECKSUM_LETTERS) === checksum(key.slice(0, -CHECKSUM_LETTERS))
}

export function isAdminToken(key: string): boolean {
  return key.startsWith(ADMIN_PREFIX)
}

export function isManagementKey(key: string): boolean {
  return key.startsWith(MANAGEMENT_PREFIX)
}

/** SHA-256 of the key, the only form in which it is stored. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The same digest as text, for the keys of maps. */
export function digestText(key: string): string {
  return hash('sha256', key, 'base64url')
}

export function digestBytes(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

/** The part of a key that people may see: enough to recognise it, too little to help a guess. */
export function labelOf(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-3)}`
}

/** CRC32 in base62, zero-padded: six letters hold 2^32 values. */
function checksum(text: string): string {
  let rest = crc32(text)
  let letters = ''
  for (let index = 0; index < CHECKSUM_LETTERS; index += 1) {
    letters = (ALPHABET[rest % 62] ?? '') + letters
    rest = Math.floor(rest / 62)
  }
  return letters
}

/** Two places of the request hold different keys. */
export const DIFFERENT_KEYS: unique symbol = Symbol('different keys')

/** Only Gemini's clients put the key into the query. */
const QUERY_PATH = '/v1beta/'

/** The API key of a request, wherever its protocol puts it (clients.md D-14.4); null = none. */
export function presentedKey({ headers, url = '' }: IncomingMessage): string | typeof DIFFERENT_KEYS | null {
  const { 'x-api-key': anthropic, 'x-goog-api-key': google } = headers
  const token = bearer(headers.authorization)
  const inQuery = url.startsWith(QUERY_PATH) ? queryKey(url) : null
  if (anthropic === undefined && google === undefined && inQuery === null) return token
  const keys = new Set([token, headerKey(anthropic), headerKey(google), inQuery].filter((key) => key !== null))
  if (keys.size > 1) return DIFFERENT_KEYS
  return [...keys][0] ?? null
}

/** The token of `Authorization: Bearer x`; null when there is none. */
export function bearer(header: string | undefined): string | null {
  if (header === undefined || header.length <= 7) return null
  if (!header.startsWith('Bearer ') && header.slice(0, 7).toLowerCase() !== 'bearer ') return null
  const token = header.slice(7).trim()
  return token === '' ? null : token
}

function headerKey(header: string | readonly string[] | undefined): string | null {
  const key = typeof header === 'string' ? header.trim() : (header?.join(', ') ?? '')
  return key === '' ? null : key
}

function queryKey(url: string): string | null {
  const queryAt = url.indexOf('?')
  const key = queryAt === -1 ? null : new URLSearchParams(url.slice(queryAt + 1)).get('key')
  return key === '' ? null : key
}
