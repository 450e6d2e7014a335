import type { IncomingMessage } from 'node:http'

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
