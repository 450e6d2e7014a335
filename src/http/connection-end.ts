import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { ApiError } from '../base/errors.ts'
import { commonHeaders, requestId, type ExchangePorts } from './exchange.ts'
import { errorHeaders } from './reply.ts'
import { RequestLine } from './request-log.ts'

/** The same limit as nginx's: a client that sends nothing for this long has left or waits for us. */
const SILENCE_MS = 5_000
const BYTES_MAX = 64 * 1_048_576

/**
 * Closes a socket after an early answer. With unread bytes the kernel would send RST, and the client would report EPIPE
 * instead of our answer. So we end our side after the answer, and read and drop the client's bytes until it ends, falls
 * silent, or reaches the limit of time or bytes.
 */
export class Lingering {
  readonly #clock: Clock
  readonly #open = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `untilMs` is a time of clock.monotonic(). */
  discard(request: IncomingMessage, untilMs: number): void {
    const { socket } = request
    let leftBytes = BYTES_MAX
    let heardMs = this.#clock.monotonic()
    let cancel = (): void => undefined
    const finish = (): void => {
      if (!this.#open.delete(finish)) return
      cancel()
      socket.destroy()
    }
    const look = (): void => {
      const leftMs = Math.min(untilMs, heardMs + SILENCE_MS) - this.#clock.monotonic()
      if (leftMs <= 0) finish()
      else cancel = this.#clock.after(leftMs, look)
    }
    this.#open.add(finish)
    socket.end()
    request.on('data', (chunk: Buffer) => {
      heardMs = this.#clock.monotonic()
      leftBytes -= chunk.length
      if (leftBytes < 0) finish()
    })
    request.on('end', finish).on('close', finish).resume()
    look()
  }

  /** A process that ends does not wait for these sockets. */
  close(): void {
    for (const finish of this.#open) finish()
  }
}

/** Answers requests that Node's parser refused (smuggling, slow or oversized heads) in our error shape, then closes. */
export function answerBrokenRequest(
  thrown: Error & { readonly code?: string },
  stream: Duplex,
  ports: ExchangePorts<unknown>,
): void {
  // Node passes the server's own sockets here and keeps the running response on them; its default handler reads it too.
  const socket = stream as Socket & { readonly _httpMessage?: ServerResponse | null }
  const running = socket._httpMessage ?? null
  if (thrown.code === 'ECONNRESET' || !socket.writable || running?.headersSent === true) {
    socket.destroy()
    return
  }
  const error = refusalOf(thrown.code)
  const id = requestId(undefined, ports.clock.now(), ports.ids)
  const body = JSON.stringify(error.body())
  const ip = (socket.remoteAddress ?? '0.0.0.0').replace(/^::ffff:/, '')
  const headers = {
    ...commonHeaders(id, true),
    ...ports.access.anonymousHeaders(ip),
    ...errorHeaders(error),
    'content-length': String(Buffer.byteLength(body)),
    date: new Date(ports.clock.now()).toUTCString(),
    connection: 'close',
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${head.join('')}\r\n${body}`, () =>
    socket.destroySoon(),
  )
  if (running !== null) return
  const line = new RequestLine(ports.log, ports.clock, ports.clock.monotonic(), id, '')
  line.set({ error_type: error.errorType })
  line.finish(error.status)
}

function refusalOf(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('request_timeout', 'Request was not received in time')
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('invalid_input', 'The request headers are larger than 16 KiB')
  return new ApiError('invalid_input', 'The request is not valid HTTP/1.1')
}

const HEADERS_MAX = 100
const TARGET_BYTES_MAX = 8_192

/** Refuses heads that Node accepts but that proxies and servers can read differently (guarantees.md F46). */
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
