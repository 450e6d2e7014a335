import type { IncomingMessage } from 'node:http'

export function cookieOf(request: IncomingMessage, wanted: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals !== -1 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim()
  }
  return null
}
