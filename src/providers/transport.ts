import { Agent, type Dispatcher } from 'undici'
import type { Provider } from '../catalog/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import type { AttemptFailure } from './adapter.ts'
import { upstreamLookup } from './guarded-lookup.ts'

const HEADERS_BYTES_MAX = 16_384
const CONNECTIONS_MAX = 2_048
const TICK_MS = 250

/** Header names in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** What an exchange tells of itself, never before `send` has returned. After `ended` or `failed` nothing follows. */
export interface ExchangeEvents {
  headers(status: number, headers: UpstreamHeaders): void
  /** false pauses the socket until `resume`. */
  data(bytes: Buffer): boolean
  /** The body ended as its framing said it would. */
  ended(): void
  failed(failure: AttemptFailure): void
}

export interface ExchangeRequest {
  readonly provider: Provider
  /** After the provider's base address, such as `/chat/completions`. */
  readonly path: string
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly streaming: boolean
}

interface Address {
  readonly origin: string
  readonly path: string
}

/** A request on the wire. */
export interface Exchange {
  cancel(): void
  resume(): void
  /**
   * The answer is complete: no more events, and the rest of the body only has a moment to end before its connection is
   * closed.
   */
  release(): void
  /** A parsed event arrived: bytes alone are no progress, a drip would never end (reliability.md F23). */
  progressed(): void
}

export interface Transport {
  send(request: ExchangeRequest, events: ExchangeEvents): Exchange
  close(): Promise<void>
}

/** How long the rest of a complete answer's body is waited for, so that its connection can be used again. */
const RELEASE_MS = 1_000
/** First byte of a non-streaming answer may take as long as the answer (reliability.md 5). */
const FIRST_BYTE_PLAIN_SECONDS = 300
const FIRST_BYTE_DEFAULT_SECONDS = 60

export function createTransport({ clock }: { readonly clock: Clock }): Transport {
  return new HttpTransport(clock)
}

class HttpTransport implements Transport {
  readonly #clock: Clock
  readonly #agents = new Map<number, Agent>()
  readonly #running = new Set<HttpExchange>()
  readonly #addresses = new Map<string, Address>()
  #ticking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  send(request: ExchangeRequest, events: ExchangeEvents): Exchange {
    const exchange = new HttpExchange(request, events, this.#clock, (ended) => this.#running.delete(ended))
    this.#running.add(exchange)
    if (!this.#ticking) this.#tick()
    const { origin, path } = this.#address(request.provider.baseUrl)
    const options: Dispatcher.DispatchOptions = {
      origin,
      path: path + request.path,
      method: 'POST',
      body: request.body,
      headers: {
        'content-type': 'application/json',
        accept: request.streaming ? 'text/event-stream' : 'application/json',
        'accept-encoding': 'identity',
        ...request.headers,
      },
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    exchange.dispatch(this.#agent(request.provider.timeouts.connect), options)
    return exchange
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  /** A base address is parsed once; there are as many as the catalogue has ever held. */
  #address(baseUrl: string): Address {
    let address = this.#addresses.get(baseUrl)
    if (address === undefined) {
      const { origin, pathname } = new URL(baseUrl)
      address = { origin, path: pathname === '/' ? '' : pathname }
      this.#addresses.set(baseUrl, address)
    }
    return address
  }

  /** Connect limits belong to a connection pool, so providers with the same limit share one. */
  #agent(connectSeconds: number): Agent {
    let agent = this.#agents.get(connectSeconds)
    if (agent === undefined) {
      agent = new Agent({
        connections: CONNECTIONS_MAX,
        pipelining: 1,
        connect: { timeout: connectSeconds * 1_000, lookup: upstreamLookup },
        maxHeaderSize: HEADERS_BYTES_MAX,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 30_000,
      })
      this.#agents.set(connectSeconds, agent)
    }
    return agent
  }

  /** One timer watches every exchange; a timer each would cost more than the request's other bookkeeping. */
  #tick(): void {
    this.#ticking = true
    this.#clock.after(TICK_MS, () => {
      const now = this.#clock.monotonic()
      for (const exchange of this.#running) exchange.check(now)
      if (this.#running.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

class HttpExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest
  readonly #events: ExchangeEvents
  readonly #clock: Clock
  readonly #forget: (exchange: HttpExchange) => void
  readonly #startedMs: number
  #controller: Dispatcher.DispatchController | null = null
  #over = false
  #releasedMs: number | null = null
  #answered = false
  #paused = false
  #progressMs: number

  constructor(
    request: ExchangeRequest,
    events: ExchangeEvents,
    clock: Clock,
    forget: (exchange: HttpExchange) => void,
  ) {
    this.#request = request
    this.#events = events
    this.#clock = clock
    this.#forget = forget
    this.#startedMs = clock.monotonic()
    this.#progressMs = this.#startedMs
  }

  /** Sends. What goes wrong at once is told after the caller has its exchange. */
  dispatch(agent: Agent, options: Dispatcher.DispatchOptions): void {
    try {
      agent.dispatch(options, this)
    } catch (thrown) {
      this.onResponseError(null, thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }

  cancel(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort(new Error('cancelled'))
  }

  release(): void {
    if (this.#over) return
    this.#releasedMs = this.#clock.monotonic()
    this.resume()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#progressMs = this.#clock.monotonic()
    this.#controller?.resume()
  }

  progressed(): void {
    this.#progressMs = this.#clock.monotonic()
  }

  /** Ends the exchange when one of its limits is over. A client that pauses us does not count against the provider. */
  check(nowMs: number): void {
    if (this.#over) return
    if (this.#releasedMs !== null) {
      if (nowMs - this.#releasedMs > RELEASE_MS) this.cancel()
      return
    }
    const { timeouts } = this.#request.provider
    const firstByte =
      this.#request.streaming || timeouts.first_byte !== FIRST_BYTE_DEFAULT_SECONDS
        ? timeouts.first_byte
        : FIRST_BYTE_PLAIN_SECONDS
    if (nowMs - this.#startedMs > timeouts.total * 1_000) this.#break('timeout', 'total time is over')
    else if (!this.#answered && nowMs - this.#startedMs > firstByte * 1_000)
      this.#break('timeout', 'no first byte in time')
    else if (this.#answered && !this.#paused && nowMs - this.#progressMs > timeouts.progress * 1_000)
      this.#break('stall', 'no progress in time')
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('cancelled'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UpstreamHeaders): void {
    if (this.#over || status < 200) return
    this.#answered = true
    this.#progressMs = this.#clock.monotonic()
    this.#events.headers(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over || this.#releasedMs !== null) return
    if (this.#events.data(chunk) || this.#over) return
    this.#paused = true
    controller.pause()
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#finish()
    if (this.#releasedMs === null) this.#events.ended()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#over) return
    this.#finish()
    if (this.#releasedMs !== null) return
    const found = failure(this.#answered ? 'cut' : 'connect', null, error.message)
    if (this.#controller !== null) this.#events.failed(found)
    // Refused before it was on its way, so within `send`: told when that has returned.
    else queueMicrotask(() => this.#events.failed(found))
  }

  #break(reason: 'timeout' | 'stall', detail: string): void {
    this.#finish()
    this.#controller?.abort(new Error(detail))
    this.#events.failed(failure(reason, null, detail))
  }

  #finish(): void {
    this.#over = true
    this.#forget(this)
  }
}

/** One header of an answer as text. */
export function headerOf(headers: UpstreamHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** A failure that carries nothing for the client to read. */
export function failure(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  return { reason, status, publicMessage: null, said: null, refusal: null, retryAfterSeconds: null, detail }
}
