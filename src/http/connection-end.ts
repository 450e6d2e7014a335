import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { ApiError } from '../base/errors.ts'
import { commonHeaders, requestId, type ExchangePorts } from './exchange.ts'
import { errorHeaders } from './reply.ts'
import { RequestLine } from './request-log.ts'

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
