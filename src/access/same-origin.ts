import type { IncomingMessage } from 'node:http'
import type { ApiError } from '../base/errors.ts'
import { reasonError } from '../base/refusals.ts'

/** OWASP's check of fetch metadata, with Origin for browsers that do not send it (guarantees.md requirement 9). */
export function isSameOrigin(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = request.headers
  return origin !== undefined && host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)
}

export function isSafeMethod(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** For routes that need no session but accept requests only from our own pages. */
export function originRefusal(request: IncomingMessage): ApiError | null {
  return isSafeMethod(request.method) || isSameOrigin(request) ? null : reasonError('foreign_page')
}

export function cookieOf(request: IncomingMessage, wanted: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals !== -1 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim()
  }
  return null
}
