import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, statusOf } from '../base/client-protocol.ts'
import type { ApiError } from '../base/errors.ts'
import { JSON_TYPE } from '../base/json-text.ts'
import type { Reply } from './edge.ts'
import type { Exchange } from './exchange.ts'
import { sendBytes } from './sent-bytes.ts'
import type { SlowReaders } from './slow-readers.ts'

/** Node itself reads up to this many remaining bytes of a body, and the connection stays open. */
const SMALL_REST_BYTES = 65_536
/** SDKs sleep for the whole `Retry-After`, so above this a header asks them not to retry (wire.md C5). */
const RETRY_AFTER_SECONDS_MAX = 60
/** A longer body is sent in pieces of this size, so that the client's progress can be seen. */
const PIECE_BYTES = 262_144

/** Sends a handler's answer. */
export function sendReply(exchange: Exchange<unknown>, reply: Reply, readers: SlowReaders): void {
  const parts =
    reply.contentType === undefined ? [reply.body === undefined ? '' : JSON.stringify(reply.body)] : partsOf(reply.body)
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
  const headers: Record<string, string | number | string[]> = { ...exchange.baseHeaders }
  if (reply.status !== 204 && reply.status !== 304) {
    headers['content-type'] = reply.contentType ?? JSON_TYPE
    headers['content-length'] = bytes
  }
  // `writeHead` would send a name twice if it is spelled in two ways.
  for (const name in reply.headers) headers[name.toLowerCase()] = headerOf(reply.headers[name])
  const { response } = exchange
  response.writeHead(reply.status, headers)
  // Pieces in memory cannot fail, and nothing waits until they are sent.
  if (bytes > PIECE_BYTES) void sendBytes(response, piecesOf(parts))
  else sendAtOnce(response, parts)
  if (!response.closed && (response.writableLength > 0 || !response.writableEnded)) readers.hold(response, bytes)
}

function sendAtOnce(response: ServerResponse, parts: readonly (string | Buffer)[]): void {
  if (parts.length > 1) response.cork()
  for (const part of parts.slice(0, -1)) response.write(part)
  response.end(parts.at(-1))
  if (parts.length > 1) response.uncork()
}

/** Pieces of at most `PIECE_BYTES`; short parts are gathered in one piece, since vectors come in thousands. */
function* piecesOf(parts: readonly (string | Buffer)[]): Generator<readonly Buffer[]> {
  let piece: Buffer[] = []
  let bytes = 0
  for (const part of parts) {
    const whole = typeof part === 'string' ? Buffer.from(part) : part
    for (let at = 0; at < whole.length; at += PIECE_BYTES) {
      const next = whole.subarray(at, at + PIECE_BYTES)
      if (bytes + next.length > PIECE_BYTES) {
        yield piece
        piece = []
        bytes = 0
      }
      piece.push(next)
      bytes += next.length
    }
  }
  if (piece.length > 0) yield piece
}

function headerOf(value: string | readonly string[] = ''): string | string[] {
  return typeof value === 'string' ? value : [...value]
}

function partsOf(body: unknown): readonly (string | Buffer)[] {
  if (Array.isArray(body)) return body.filter((part) => Buffer.isBuffer(part))
  return [typeof body === 'string' || Buffer.isBuffer(body) ? body : String(body ?? '')]
}

/**
 * What happens to the connection after an error: `linger` = the rest of the body is read and dropped, see `Lingering`.
 */
export type AfterError = 'linger' | 'close' | 'keep'

/** Sends an error in the format of its route's protocol. */
export function sendError(exchange: Exchange<unknown>, error: ApiError, after: AfterError): void {
  const { response, protocol } = exchange
  const body = Buffer.from(JSON.stringify(errorBody(error, protocol, exchange.requestId)))
  const headers: Record<string, string | number> = { ...exchange.baseHeaders }
  const extra = errorHeaders(error)
  for (const name in extra) headers[name] = extra[name] ?? ''
  headers['content-length'] = body.length
  if (after !== 'keep') headers['connection'] = 'close'
  response.writeHead(statusOf(error.errorName, protocol), headers)
  if (after !== 'linger') response.end(body)
  else if (response.req.method === 'HEAD') response.flushHeaders()
  else response.write(body)
}

/** Content type, Retry-After and the other headers of an error. */
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
 * Whether more of the body remains than Node reads on an open connection. After `slow` any rest counts, since we no
 * longer wait for its sender.
 */
export function leavesRest(request: IncomingMessage, slow: boolean): boolean {
  if (request.complete || request.destroyed) return false
  return (
    slow ||
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > SMALL_REST_BYTES
  )
}
