import type { Duplex } from 'node:stream'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { statusOf } from '../base/client-protocol.ts'
import { ApiError, asApiError, overloaded } from '../base/errors.ts'
import { refuseNulInBody, refuseNulInUrl } from '../base/refusals.ts'
import { Bag, type BagItem } from '../base/bag.ts'
import { JsonScan } from '../base/json-scan.ts'
import { uniform } from '../base/rendezvous.ts'
import { BodyBudget, type BodyHold } from './body-budget.ts'
import { breakConnection, ignore, ROOMY, SlowReaders } from './slow-readers.ts'
import {
  BodyDeadlines,
  checkBodyHead,
  ClientGone,
  readBody,
  type Body,
  type BodyHead,
  type BodyPorts,
  invalidJson,
  isLong,
  parseInTurns,
  parseJsonObject,
} from './body.ts'
import { ipKey, TrustedProxies } from './client-ip.ts'
import {
  type AccessResult,
  HIJACKED,
  type MaintenanceNotice,
  type Reply,
  type Route,
  type RoutePlane,
  type Edge,
  type EdgeOptions,
  type EdgeTimeouts,
  listenFailure,
} from './edge.ts'
import { Exchange, type ExchangePorts } from './exchange.ts'
import { headRefusal, answerBrokenRequest, Lingering } from './connection-end.ts'
import { leavesRest, sendError, sendReply, type AfterError } from './reply.ts'
import { pathTemplate, Router } from './router.ts'
import { CONNECTIONS_MAX, SocketShares } from './socket-shares.ts'
import { handshakeRefusal, handshakeResponse, TurnSockets, type Turn } from './turn-sockets.ts'

/** Some SDKs add the version to a base address that already has it. */
const TWICE = '/v1/v1/'
const TIMEOUTS: EdgeTimeouts = Object.freeze({
  headers: 15_000,
  request: 60_000,
  upload: 120_000,
  keepAlive: 75_000,
  check: 5_000,
})
const KEEP_ALIVE_PROBE_MS = 30_000
/** The shortest time in which the rest of an unwanted body is read; the longest is that of an upload. */
const LINGER_MS = 30_000
/** Connections that wait to be accepted. With Node's 511, clients of a burst wait seconds for the system's next try. */
const BACKLOG = 4_096
const IDLE_SWEEP_MS = 250
/** How long the log line of a stream waits for its cost after the client has left: longer than any drain. */
const LATE_LINE_MS = 180_000
/** The status in logs for a client that left before the answer, as in nginx. It is never sent. */
const STATUS_CLIENT_GONE = 499
const FAULT_CHARS_MAX = 300
const MAINTENANCE_RETRY_SECONDS_MAX = 60
/** The type of a message's body. */
const MESSAGE = { type: 'json' } as const
const PREFLIGHT = Object.freeze({
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  'access-control-allow-headers': '*, Authorization',
  'access-control-max-age': '86400',
})

/**
 * The HTTP edge: one order of checks, one error boundary, one log line for each request.
 *
 * **What it is for.** Everything that arrives at the socket is answered or refused here within bounds: heads, bodies,
 * waiting, memory of an address, connections of a slow reader. A handler gets a `Call` that is complete and checked. It
 * returns a `Reply`, or takes the response over (`HIJACKED`, for streams).
 *
 * **The order.** Head (`connection-end.ts`) → route (`router.ts`) → maintenance → access, the port that says who calls
 * and how often → load, which may refuse → body (`body.ts`, within `body-budget.ts`), JSON or multipart → handler →
 * reply (`reply.ts`). Cheap checks come before those that cost more. A refusal is an `ApiError`; anything else that is
 * thrown is a bug: the request is answered 500, the process lives.
 *
 * **What it offers.** `createEdge` makes an edge of routes and ports. `sse.ts` writes streams and lets clients come
 * back to them; `turn-sockets.ts` are the WebSockets of Responses. `exchange.ts` is one request and its answer, with
 * its id, its headers and its line of the log; `request-log.ts` counts them.
 *
 * **What it never does.** It knows neither money nor models nor accounts: `P`, the principal, is opaque to it. It opens
 * no connections of its own, and knows only the settings that it is given.
 */
export function createEdge<P>(options: EdgeOptions<P>): Edge {
  return new HttpEdge(options)
}

interface UnfinishedLine extends BagItem {
  readonly finish: () => void
}

const CLOSED_IN_MAINTENANCE: ReadonlySet<RoutePlane> = new Set<RoutePlane>([
  'key',
  'management',
  'any_key',
  'token',
  'playground',
])

class HttpEdge<P> implements Edge {
  readonly server: Server
  readonly #options: EdgeOptions<P>
  readonly #timeouts: EdgeTimeouts
  readonly #router: Router<Route<P>>
  readonly #ports: ExchangePorts<P>
  readonly #body: BodyPorts
  readonly #budget: BodyBudget
  readonly #lingering: Lingering
  readonly #readers: SlowReaders
  readonly #turns: TurnSockets
  /** Finishes the log lines of hijacked responses: when the edge closes, no line waits for its cost any more. */
  readonly #unfinished = new Bag<UnfinishedLine>()
  readonly sockets: SocketShares
  #draining = false

  constructor(options: EdgeOptions<P>) {
    const { access, clock, ids, log } = options
    this.#options = options
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts }
    this.#router = new Router(options.routes)
    const proxies = new TrustedProxies(options.trustedProxies)
    this.#ports = {
      access,
      clock,
      ids,
      log,
      clientIp: (request) => proxies.clientIp(request),
      isSecure: options.isSecure,
      draining: () => this.#draining,
    }
    this.#body = { deadlines: new BodyDeadlines(clock), random: uniform }
    this.#budget = new BodyBudget(options.bodyBudgetBytes)
    this.#lingering = new Lingering(clock)
    this.#readers = new SlowReaders({ clock, room: options.replyRoom ?? ROOMY })
    const connectionsMax = options.connectionsMax ?? CONNECTIONS_MAX
    this.sockets = new SocketShares({ clock, proxies, connectionsMax, notice: options.notice ?? ignore })
    this.#turns = new TurnSockets({ clock, shares: this.sockets, turn: (turn) => this.#turn(turn) })
    this.server = createServer({
      headersTimeout: this.#timeouts.headers,
      // The edge's own deadline of a body takes effect first; Node's is the fallback.
      requestTimeout: this.#timeouts.upload + LINGER_MS + this.#timeouts.check,
      keepAliveTimeout: this.#timeouts.keepAlive,
      connectionsCheckingInterval: this.#timeouts.check,
      // TCP keep-alive finds clients that vanish while they wait for a long answer.
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
      // The edge checks the header itself, so that the refusal has a body.
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => this.#turnsOf(request) !== null,
    })
    this.server.maxConnections = connectionsMax
    this.server.on('connection', (socket) => {
      this.sockets.add(socket)
      this.#readers.add(socket)
    })
    this.server.on('request', (request, response) => this.#start(request, response, false))
    this.server.on('checkContinue', (request, response) => this.#start(request, response, true))
    this.server.on('checkExpectation', (request, response) => this.#start(request, response, false))
    this.server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.server.on('clientError', (error, socket) => answerBrokenRequest(error, socket, this.#ports))
  }

  get bodyBytes(): number {
    return this.#budget.bytes
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      const failed = (thrown: Error): void => reject(listenFailure(thrown, host, port))
      this.server.once('error', failed)
      this.server.listen({ port, host, backlog: BACKLOG }, () => {
        this.server.off('error', failed)
        // A listening TCP server has an address object; only pipes have a string.
        resolve(this.server.address() as AddressInfo)
      })
    })
  }

  async close(drainMs: number): Promise<void> {
    this.#draining = true
    this.#lingering.close()
    this.#turns.close()
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    const stopCut = this.#options.clock.after(drainMs, () => {
      this.server.closeAllConnections()
      this.#turns.terminate()
    })
    let stopSweep = (): void => undefined
    const sweep = (): void => {
      this.server.closeIdleConnections()
      stopSweep = this.#options.clock.after(IDLE_SWEEP_MS, sweep)
    }
    sweep()
    await closed
    stopSweep()
    stopCut()
    for (const line of this.#unfinished) line.finish()
  }

  #start(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    response.on('error', ignore)
    const exchange = new Exchange(request, response, awaitsContinue, this.#ports)
    this.#guarded(exchange, () => this.#route(exchange))
  }

  /**
   * The route whose requests come as messages of the requested WebSocket; null = none is requested, or the path has no
   * such route.
   */
  #turnsOf({ method, url = '', headers }: IncomingMessage): Route<P> | null {
    if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return null
    // A handshake has no body.
    if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0) return null
    const match = this.#router.match('POST', url.split('?', 1)[0] ?? '')
    return match.status === 'found' && match.route.turns === true ? match.route : null
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const exchange = new Exchange(request, handshakeResponse(request, socket), false, this.#ports)
    const route = this.#turnsOf(request)
    if (route === null) throw new Error('Node asks for each upgrade whether there is one.')
    exchange.opens = () => {
      exchange.response.detachSocket(request.socket)
      const hold = this.#holdOf(exchange)
      this.#turns.open(request, head, hold, () => exchange.log.finish(101))
    }
    this.#guarded(exchange, () => {
      const refusal = this.#draining ? overloaded(0, 'shutdown') : (headRefusal(request) ?? handshakeRefusal(request))
      if (refusal !== null) this.#fail(exchange, refusal, true)
      else this.#enter(exchange, route)
    })
  }

  /** One message as a request of its route: its key, limits and load are checked again. */
  #turn({ request, response, bytes, hold, memory }: Turn): void {
    response.on('error', ignore)
    const exchange = new Exchange(request, response, false, this.#ports, true)
    exchange.turn = memory
    exchange.message = bytes
    exchange.bodyHold = hold
    this.#guarded(exchange, () => {
      const route = this.#turnsOf(request)
      if (route === null) throw new Error('A turn belongs to the route that its socket was opened for.')
      this.#enter(exchange, route)
    })
  }

  #guarded(exchange: Exchange<P>, work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#fail(exchange, thrown)
    }
  }

  /** All checks before the body, in the order of wire.md 7.3. */
  #route(exchange: Exchange<P>): void {
    const { request } = exchange
    const method = request.method ?? ''
    const refusal = headRefusal(request)
    if (refusal !== null) return this.#fail(exchange, refusal, true)
    if (method === 'OPTIONS')
      return this.#send(exchange, { status: 204, body: undefined, headers: exchange.isPublic ? PREFLIGHT : {} })
    const match = this.#router.match(method, exchange.path)
    const shown = exchange.path.slice(0, 200)
    if (match.status === 'unknown') {
      const reply = this.#options.unmatched?.(request, exchange.path) ?? null
      if (reply !== null) return this.#send(exchange, reply)
      throw new ApiError('endpoint_not_found', `Unknown endpoint: ${method} ${shown}${this.#hint(exchange.path)}`)
    }
    if (match.status === 'wrong_method') {
      const allowed = match.allowed.join(', ')
      throw new ApiError('method_not_allowed', `Method ${method} is not allowed for ${shown}. Allowed: ${allowed}`, {
        headers: { allow: allowed },
      })
    }
    exchange.params = match.params
    this.#enter(exchange, match.route)
  }

  #enter(exchange: Exchange<P>, route: Route<P>): void {
    const { request } = exchange
    exchange.route = route
    exchange.log.route(route.path)
    const notice = CLOSED_IN_MAINTENANCE.has(route.plane) ? this.#options.maintenance() : null
    if (notice !== null) throw underMaintenance(notice)
    if (route.plane === 'open' || route.plane === 'token') {
      const foreign = route.refuse?.(request, exchange.clientIp) ?? null
      if (foreign !== null) throw foreign
      return this.#receive(exchange, route)
    }
    const result = this.#options.access.admit(
      request,
      route.plane === 'admin' ? route.scope : route.plane,
      exchange.clientIp,
    )
    if (!(result instanceof Promise)) return this.#admitted(exchange, route, result)
    result
      .then((late) => this.#admitted(exchange, route, late))
      .catch((thrown: unknown) => this.#fail(exchange, thrown))
  }

  /** A hint for a path that is not offered, or for a base address without the version or with it twice. */
  #hint(path: string): string {
    const instead = this.#options.instead?.(path) ?? null
    if (instead !== null) return `. ${instead}`
    const right = path.startsWith(TWICE) ? path.slice('/v1'.length) : `/v1${path}`
    if (this.#router.match('POST', right).status !== 'unknown') return `. Did you mean ${right.slice(0, 200)}?`
    const near = this.#router.near(path).map((route) => `${route.method} ${pathTemplate(route.path)}`)
    return near.length === 0 ? '' : `. Offered there: ${near.join(', ')}`
  }

  #admitted(exchange: Exchange<P>, route: Route<P>, result: AccessResult<P>): void {
    exchange.admitted(result.headers)
    if ('error' in result) {
      exchange.refused = result.refused ?? null
      return this.#fail(exchange, result.error)
    }
    exchange.principal = result.principal
    if (result.principal !== null && this.#options.describe !== undefined)
      exchange.log.set(this.#options.describe(result.principal))
    const refusal = result.principal === null ? null : (this.#options.refuse?.(route, result.principal) ?? null)
    if (refusal !== null) return this.#fail(exchange, refusal)
    this.#receive(exchange, route)
  }

  #receive(exchange: Exchange<P>, route: Route<P>): void {
    refuseNulInUrl(exchange.request.url ?? '')
    if (exchange.opens !== null) return exchange.opens()
    if (exchange.message !== null) return this.#receiveMessage(exchange, route, exchange.message)
    if (route.body === 'none') return this.#handle(exchange, route)
    const head = checkBodyHead(exchange.request, route.body, route.plane)
    if (exchange.awaitsContinue) exchange.response.writeContinue()
    const limitMs = head.type === 'json' ? this.#timeouts.request : this.#timeouts.upload
    // The sweep runs once a second, so a deadline that is one second early keeps the stated limit.
    const deadlineMs = exchange.startedMs + limitMs - Math.min(1_000, limitMs / 2)
    const hold = this.#holdOf(exchange)()
    exchange.bodyHold = hold
    readBody(exchange.request, head, hold, deadlineMs, this.#body)
      .then((body) => this.#received(exchange, route, head, body))
      .catch((thrown: unknown) => this.#fail(exchange, thrown))
  }

  /** Returns a function that opens holds for bodies of its client. */
  #holdOf({ principal, clientIp }: Exchange<P>): () => BodyHold {
    const account =
      principal === null || this.#options.accountOf === undefined ? null : this.#options.accountOf(principal)
    const address = ipKey(clientIp)
    return () => this.#budget.hold(address, account)
  }

  #receiveMessage(exchange: Exchange<P>, route: Route<P>, bytes: Buffer): void {
    const scan = new JsonScan()
    const excess = scan.push(bytes)
    if (excess !== null) throw invalidJson(excess)
    this.#received(exchange, route, MESSAGE, { bytes, scan })?.catch((thrown: unknown) => this.#fail(exchange, thrown))
  }

  #received(
    exchange: Exchange<P>,
    route: Route<P>,
    head: Pick<BodyHead, 'type'>,
    body: Body,
  ): Promise<void> | undefined {
    const { bytes } = body
    exchange.body = body
    if (head.type === 'json' && isLong(bytes)) return this.#receivedLong(exchange, route, bytes)
    if (head.type === 'json') exchange.json = parseJsonObject(bytes)
    this.#handleBody(exchange, route)
    return undefined
  }

  async #receivedLong(exchange: Exchange<P>, route: Route<P>, bytes: Buffer): Promise<void> {
    exchange.json = await parseInTurns(bytes)
    if (exchange.request.socket.destroyed) throw new ClientGone('The client closed the connection after its body.')
    this.#handleBody(exchange, route)
  }

  #handleBody(exchange: Exchange<P>, route: Route<P>): void {
    if (exchange.json !== undefined) refuseNulInBody(exchange.json, route.prompts)
    this.#handle(exchange, route)
  }

  #handle(exchange: Exchange<P>, route: Route<P>): void {
    const outcome = route.handle(exchange)
    if (!(outcome instanceof Promise)) return this.#finish(exchange, outcome)
    outcome.then((late) => this.#finish(exchange, late)).catch((thrown: unknown) => this.#fail(exchange, thrown))
  }

  #finish(exchange: Exchange<P>, outcome: Reply | typeof HIJACKED): void {
    if (outcome === HIJACKED) this.#watch(exchange)
    else this.#send(exchange, outcome)
  }

  #send(exchange: Exchange<P>, reply: Reply): void {
    const gone = exchange.response.destroyed
    sendReply(exchange, reply, this.#readers)
    this.#release(exchange)
    if (gone) exchange.log.set({ aborted: true })
    exchange.log.finish(gone ? STATUS_CLIENT_GONE : reply.status)
  }

  /** The error boundary: anything thrown becomes an answer and a log line; a bug is also reported. */
  #fail(exchange: Exchange<P>, thrown: unknown, close = false): void {
    this.#release(exchange)
    if (thrown instanceof ClientGone || (exchange.response.destroyed && !exchange.response.headersSent)) {
      exchange.log.set({ aborted: true })
      return exchange.log.finish(STATUS_CLIENT_GONE)
    }
    const error = asApiError(thrown)
    const { cause, refusedBy } = error.details
    const caller = exchange.principal ?? exchange.refused
    if (caller !== null && exchange.route !== null) this.#options.refused?.(exchange, exchange.route, caller, error)
    const status = statusOf(error.errorName, exchange.protocol)
    if (error.errorName === 'internal_error') this.#options.log.bug(cause, exchange.requestId)
    exchange.log.set({ error_type: error.errorType })
    if (refusedBy !== undefined) exchange.log.set({ refused_by: refusedBy })
    if (error.errorName !== 'internal_error' && cause instanceof Error) exchange.log.set({ fault: faultText(cause) })
    if (exchange.response.headersSent) {
      // A cut answer must not look complete (wire.md C2).
      const { socket } = exchange.response
      if (socket !== null) breakConnection(socket)
      return exchange.log.finish(status)
    }
    try {
      this.#sendError(exchange, error, close)
    } catch (unsendable) {
      this.#options.log.bug(unsendable, exchange.requestId)
      exchange.response.destroy()
    }
    exchange.log.finish(status)
  }

  #sendError(exchange: Exchange<P>, error: ApiError, close: boolean): void {
    const { request, response, startedMs } = exchange
    const slow = error.errorName === 'request_timeout'
    // A pipelined response that waits for an earlier one has no socket yet.
    const lingers = !close && response.socket !== null && leavesRest(request, slow)
    const after: AfterError = lingers ? 'linger' : close || slow ? 'close' : 'keep'
    sendError(exchange, error, after)
    if (lingers)
      this.#lingering.discard(
        request,
        Math.max(this.#options.clock.monotonic() + LINGER_MS, startedMs + this.#timeouts.upload),
      )
  }

  /** Makes sure that a hijacked response has its log line even if the handler forgets it. */
  #watch(exchange: Exchange<P>): void {
    const { response, log } = exchange
    this.#release(exchange)
    if (log.finished) return
    let cancel = (): void => undefined
    const finish = (): void => {
      cancel()
      this.#unfinished.delete(line)
      if (!response.writableFinished) log.set({ aborted: true })
      log.finish(response.statusCode)
    }
    const line: UnfinishedLine = { bagPlace: 0, finish }
    const onClose = (): void => {
      if (log.finished || response.writableFinished) finish()
      else cancel = this.#options.clock.after(LATE_LINE_MS, finish)
    }
    this.#unfinished.add(line)
    if (response.closed) onClose()
    else response.on('close', onClose)
  }

  #release(exchange: Exchange<P>): void {
    exchange.bodyHold?.release()
    exchange.bodyHold = null
  }
}

/** The log line about a dependency that did not answer. It is no bug of ours, so there is no stack. */
function faultText({ message, cause }: Error): string {
  const inner = cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
  return `${message}${inner}`.slice(0, FAULT_CHARS_MAX).replaceAll(/\s+/g, ' ')
}

function underMaintenance(notice: MaintenanceNotice): ApiError {
  const message = notice.message ?? 'Service is under maintenance'
  if (notice.retryAfter === null) return new ApiError('maintenance_mode', message, { noRetry: true })
  const retryAfterSeconds = Math.max(1, Math.min(MAINTENANCE_RETRY_SECONDS_MAX, Math.ceil(notice.retryAfter)))
  return new ApiError('maintenance_mode', message, { retryAfterSeconds })
}

/** Errors of writes to a client that has left; nothing can be done about them. */
