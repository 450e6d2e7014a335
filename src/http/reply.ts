import type { IncomingMessage } from 'node:http'
import type { ApiError } from '../errors.ts'
import type { Reply } from './edge.ts'
import type { Exchange } from './exchange.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** A rest of a body this small is read off the socket by Node itself, and the connection lives on. */
const SMALL_REST_BYTES = 65_536
/** SDKs sleep a `Retry-After` in full, so a long one must say that it is not for them (wire.md F5). */
const RETRY_AFTER_SECONDS_MAX = 60

/** Sends a handler's answer. */
export function sendReply(exchange: Exchange<unknown>, reply: Reply): void {
  const parts =
    reply.contentType === undefined ? [reply.body === undefined ? '' : JSON.stringify(reply.body)] : partsOf(reply.body)
  const headers: Record<string, string | number | string[]> = { ...exchange.baseHeaders }
  if (reply.status !== 204 && reply.status !== 304) {
    headers['content-type'] = reply.contentType ?? JSON_TYPE
    headers['content-length'] = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
  }
  // `writeHead` sends the same name in two spellings twice.
  for (const name in reply.headers) headers[name.toLowerCase()] = headerOf(reply.headers[name])
  const { response } = exchange
  response.writeHead(reply.status, headers)
  if (parts.length > 1) response.cork()
  for (const part of parts.slice(0, -1)) response.write(part)
  response.end(parts.at(-1))
  if (parts.length > 1) response.uncork()
}

function headerOf(value: string | readonly string[] = ''): string | string[] {
  return typeof value === 'string' ? value : [...value]
}

function partsOf(body: unknown): readonly (string | Buffer)[] {
  if (Array.isArray(body)) return body.filter((part) => Buffer.isBuffer(part))
  return [typeof body === 'string' || Buffer.isBuffer(body) ? body : String(body ?? '')]
}

/**
 * What becomes of the connection after an error: `linger` = the rest of the body is read and dropped, as `Lingering`
 * says.
 */
export type AfterError = 'linger' | 'close' | 'keep'

/** Sends an error in the one shape of wire.md D-7.5. */
export function sendError(exchange: Exchange<unknown>, error: ApiError, after: AfterError): void {
  const { response } = exchange
  const body = Buffer.from(JSON.stringify(error.body()))
  const headers: Record<string, string | number> = { ...exchange.baseHeaders }
  const extra = errorHeaders(error)
  for (const name in extra) headers[name] = extra[name] ?? ''
  headers['content-length'] = body.length
  if (after !== 'keep') headers['connection'] = 'close'
  response.writeHead(error.status, headers)
  if (after !== 'linger') response.end(body)
  else if (response.req.method === 'HEAD') response.flushHeaders()
  else response.write(body)
}

/** Content type, Retry-After and what else the error itself asks for. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfterSeconds, noRetry, headers } = error.details
  const all: Record<string, string> = { 'content-type': JSON_TYPE }
  if (retryAfterSeconds !== undefined) all['retry-after'] = String(retryAfterSeconds)
  if (noRetry === true || (retryAfterSeconds ?? 0) > RETRY_AFTER_SECONDS_MAX) all['x-should-retry'] = 'false'
  if (error.status === 401) all['www-authenticate'] = 'Bearer'
  for (const name in headers) all[name.toLowerCase()] = headers[name] ?? ''
  return all
}

/**
 * More of the body is to come than Node itself reads off a connection that lives on; `slow` = any rest at all, since
 * its sender has been given up.
 */
export function leavesRest(request: IncomingMessage, slow: boolean): boolean {
  if (request.complete || request.destroyed) return false
  return (
    slow ||
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > SMALL_REST_BYTES
  )
}
