import type { IncomingMessage, ServerResponse } from 'node:http'
import { protocolOfPath, type ClientProtocol } from '../base/client-protocol.ts'
import type { Clock } from '../base/clock.ts'
import { timedId, type IdSource } from '../base/ids.ts'
import type { JsonMember } from '../base/json-scan.ts'
import type { BodyHold } from './body-budget.ts'
import { isReadAgain, parseJsonObject, type Body } from './body.ts'
import type { Call, EdgeAccess, Route, TurnMemory } from './edge.ts'
import { RequestLine, type RequestLogSink } from './request-log.ts'

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/
/** Headers of ours that the script of a web page may read. */
const EXPOSED = [
  'X-Request-Id',
  'X-Generation-Id',
  ...['', '-Requests', '-Tokens'].flatMap((unit) =>
    ['Limit', 'Remaining', 'Reset'].map((name) => `X-RateLimit-${name}${unit}`),
  ),
  'X-Max-Tokens',
  'X-Tollgate-Dropped',
  'Request-Id',
  'Retry-After',
  'X-Should-Retry',
].join(', ')
/** A year, for this host name only: subdomains may not be ours. */
const TRANSPORT_SECURITY = 'max-age=31536000'
const NO_BYTES = Buffer.alloc(0)
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

export interface ExchangePorts<P> {
  readonly access: EdgeAccess<P>
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: RequestLogSink
  readonly clientIp: (request: IncomingMessage) => string
  readonly isSecure: (request: IncomingMessage) => boolean
  /** Whether the server is closing; each response then says so. */
  draining(): boolean
}

/** One request on its way through the edge; handlers see it as `Call`. */
export class Exchange<P> implements Call<P> {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly clientIp: string
  readonly isSecure: boolean
  readonly startedMs: number
  readonly arrivedAtMs: number
  readonly log: RequestLine
  readonly path: string
  /** Whether the route belongs to the customer API, whose answers carry CORS and rate-limit headers. */
  readonly isPublic: boolean
  /** Whether the client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean
  params: Readonly<Record<string, string>> = NO_PARAMS
  route: Route<P> | null = null
  principal: P | null = null
  /** A known caller whom access did not let through. */
  refused: P | null = null
  turn: TurnMemory | null = null
  /** The message of a WebSocket that is its body; null = the body is read from the request. */
  message: Buffer | null = null
  /** Opens a WebSocket after the checks; null = the request asks for none. */
  opens: (() => void) | null = null
  body: Body | null = null
  /** The bytes of its body in the node's budget. */
  bodyHold: BodyHold | null = null
  readonly #ports: ExchangePorts<P>
  #json: Record<string, unknown> | 'dropped' | undefined = undefined
  #query: URLSearchParams | null = null
  #baseHeaders: Readonly<Record<string, string>> | null = null

  /** `isTurn`: it is one of many messages of one handshake, so the id in the headers is not its own. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    awaitsContinue: boolean,
    ports: ExchangePorts<P>,
    isTurn = false,
  ) {
    this.#ports = ports
    this.request = request
    this.response = response
    this.awaitsContinue = awaitsContinue
    this.startedMs = ports.clock.monotonic()
    this.arrivedAtMs = ports.clock.now()
    this.clientIp = ports.clientIp(request)
    this.isSecure = ports.isSecure(request)
    this.requestId = requestId(isTurn ? undefined : request.headers['x-request-id'], this.arrivedAtMs, ports.ids)
    this.log = new RequestLine(
      ports.log,
      ports.clock,
      this.startedMs,
      this.requestId,
      request.method ?? '',
      traceParentOf(request),
    )
    const url = request.url ?? ''
    const queryAt = url.indexOf('?')
    this.path = queryAt === -1 ? url : url.slice(0, queryAt)
    // Without a valid path the target may belong to the customer API, so it is treated as such.
    this.isPublic = isPublicPath(this.path) || !this.path.startsWith('/')
  }

  get json(): Record<string, unknown> | undefined {
    if (this.#json !== 'dropped') return this.#json
    // All that a failed attempt asks for is read at once.
    const json = parseJsonObject(this.body?.bytes ?? NO_BYTES)
    this.#json = json
    setImmediate(() => (this.#json = 'dropped'))
    return json
  }

  set json(value: Record<string, unknown> | undefined) {
    this.#json = value
  }

  dropJson(): void {
    const { body } = this
    if (this.#json !== undefined && body !== null && isReadAgain(body.bytes)) this.#json = 'dropped'
  }

  get rawBody(): Buffer | undefined {
    return this.body?.bytes
  }

  jsonMember(name: string): JsonMember | null {
    const { bytes, scan } = this.body ?? {}
    const member = bytes === undefined ? null : (scan?.member(bytes, name) ?? null)
    if (bytes === undefined || member === null) return null
    const from = member.bytes.byteOffset - bytes.byteOffset
    return { ...member, moveTo: this.#movesMember(from, from + member.bytes.length) }
  }

  /** Must not hold the body itself, which it is there to free. */
  #movesMember(from: number, to: number): (copy: Buffer) => void {
    return (copy) => {
      if (this.body === null) return
      const { bytes, scan } = this.body
      this.body = new MovedBody([Buffer.from(bytes.subarray(0, from)), copy, Buffer.from(bytes.subarray(to))], scan)
    }
  }

  /** The protocol in whose form its errors are written. */
  get protocol(): ClientProtocol {
    const own = this.route?.protocol ?? protocolOfPath(this.path)
    return typeof own === 'function' ? own(this.request) : own
  }

  get query(): URLSearchParams {
    if (this.#query === null) {
      const url = this.request.url ?? ''
      this.#query = new URLSearchParams(url.slice(this.path.length + 1))
    }
    return this.#query
  }

  /** Until access has answered, the rate headers are those of the IP address. */
  get baseHeaders(): Readonly<Record<string, string>> {
    return (
      this.#baseHeaders ?? this.admitted(this.isPublic ? this.#ports.access.anonymousHeaders(this.clientIp) : NO_PARAMS)
    )
  }

  /** Fixes the headers that every response of this exchange carries. */
  admitted(accessHeaders: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const own: Record<string, string> = commonHeaders(this.requestId, this.isPublic)
    if (this.protocol === 'anthropic') own['request-id'] = this.requestId
    if (this.isSecure) own['strict-transport-security'] = TRANSPORT_SECURITY
    if (this.#ports.draining()) own['connection'] = 'close'
    for (const name in accessHeaders) own[name] = accessHeaders[name] ?? ''
    this.#baseHeaders = own
    return own
  }
}

/** A body the largest part of which is in other memory, such as that of the body for a provider. */
class MovedBody implements Body {
  readonly scan: Body['scan']
  readonly #parts: readonly Buffer[]

  constructor(parts: readonly Buffer[], scan: Body['scan']) {
    this.#parts = parts
    this.scan = scan
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function traceParentOf({ headers }: IncomingMessage): string | null {
  const { traceparent } = headers
  return typeof traceparent === 'string' ? traceparent : null
}

/** The headers of each response, successful or not. */
export function commonHeaders(id: string, isPublic: boolean): Record<string, string> {
  if (!isPublic) return { 'x-request-id': id, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }
  return {
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': EXPOSED,
  }
}

/** The client's own id if it is harmless in a header and in a log, else a new one (wire.md D-7.6). */
export function requestId(given: string | string[] | undefined, nowMs: number, ids: IdSource): string {
  if (typeof given === 'string' && REQUEST_ID.test(given)) return given
  return timedId('req', nowMs, ids)
}

function isPublicPath(path: string): boolean {
  return path.startsWith('/v1/') || /^\/(?:v(?:1|1beta|1alpha|2)|api)(?:\/|$)/.test(path)
}
