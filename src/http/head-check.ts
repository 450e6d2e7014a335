import type { IncomingMessage } from 'node:http'
import { ApiError } from '../base/errors.ts'

const HEADERS_MAX = 100
const TARGET_BYTES_MAX = 8_192

/** Refuses heads that Node accepts and we do not (guarantees.md F46): proxies and servers can read them differently. */
export function headRefusal(request: IncomingMessage): ApiError | null {
  const { rawHeaders } = request
  const target = request.url ?? ''
  if (rawHeaders.length > HEADERS_MAX * 2) return refused(`The request has more than ${HEADERS_MAX} headers`)
  if (!target.startsWith('/')) return refused('The request target must be a path that starts with a slash')
  if (target.length > TARGET_BYTES_MAX) return refused(`The request target is longer than ${TARGET_BYTES_MAX} bytes`)
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name !== undefined && name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) return refused(`The request has ${hosts} Host headers, exactly one is allowed`)
  // Two readers would disagree about the length of such a message (RFC 9112, 6.1).
  if (request.httpVersion !== '1.1' && request.headers['transfer-encoding'] !== undefined)
    return refused('A request of HTTP/1.0 must not have a Transfer-Encoding')
  if (hosts === 0 && request.httpVersion === '1.1') return refused('The request has no Host header')
  return null
}

function refused(message: string): ApiError {
  return new ApiError('invalid_input', message)
}
