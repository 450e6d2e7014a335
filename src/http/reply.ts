import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorBody, statusOf } from '../base/client-protocol.ts'
import { CSV_TYPE } from '../base/csv.ts'
import type { ApiError } from '../base/errors.ts'
import { JSON_TYPE } from '../base/json-text.ts'
import { type Call, HIJACKED, type Reply } from './edge.ts'
import type { Exchange } from './exchange.ts'
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

/**
 * Sends bytes at the client's pace and ends the body. Also resolves if the client has left, or was cut off because it
 * does not read (`slow-readers.ts`). Throws the errors of the source: half a file must not look complete.
 */
export async function sendBytes(
  response: ServerResponse,
  bytes: AsyncIterable<Buffer | string> | Iterable<readonly Buffer[]>,
): Promise<void> {
  for await (const piece of bytes) {
    if (response.destroyed) return
    // The writes of one turn of the event loop become one system call.
    const flows = Array.isArray(piece) ? piece.map((part) => response.write(part)).at(-1) : response.write(piece)
    if (flows === false) await drained(response)
    // A fast client and a source that is always ready would block everything else.
    await nextTurn()
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

/**
 * Sends lines as a file at the client's pace. The first piece is read before the head, so that its failure has a
 * status.
 */
export async function sendCsv(
  { response, baseHeaders, log }: Call<unknown>,
  fileName: string,
  lines: AsyncGenerator<string, void>,
): Promise<typeof HIJACKED> {
  const first = await lines.next()
  response.writeHead(200, {
    ...baseHeaders,
    'content-type': CSV_TYPE,
    'content-disposition': `attachment; filename="${fileName}"`,
  })
  await sendBytes(response, after(first.value ?? '', lines))
  log.finish(200)
  return HIJACKED
}

async function* after(first: string, rest: AsyncGenerator<string, void>): AsyncIterable<string> {
  yield first
  yield* rest
}

/** The bytes of a file to send, `start` and `end` included; null = the whole file. */
export type ByteRange = { readonly start: number; readonly end: number } | null

const SINGLE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/

/**
 * Reads one range of a file of this size (RFC 9110, 14.2); `unsatisfiable` = the range covers no byte of the file.
 * Units other than bytes are ignored.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' {
  if (header === undefined || !/^bytes\s*=/i.test(header)) return null
  const match = SINGLE.exec(header)
  const [, first = '', last = ''] = match ?? []
  if (match === null || (first === '' && last === '')) return 'unsatisfiable'
  if (first === '') {
    const length = Math.min(Number(last), bytes)
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  return start >= bytes || end < start ? 'unsatisfiable' : { start, end }
}
