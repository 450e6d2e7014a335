import type { Dispatcher } from 'undici'
import type { Provider } from '../../catalog/catalog.ts'
import { Bag, type BagItem } from '../../base/bag.ts'
import type { Clock } from '../../base/clock.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../ports/call.ts'
import { AnswerBudget } from '../answer-budget.ts'
import { isAuthorized, isRefused, refusesToken, type Authorized, type TokenCache } from '../auth/token-cache.ts'
import { connectFailure, UpstreamAgents } from './connections.ts'
import { PROVIDER_TIMEOUTS } from '../../tables/settings-table.ts'
import { ownValue } from '../../base/own-value.ts'

const CONNECTIONS_MAX = 2_048
const TICK_MS = 250
/** The bytes of one answer that are passed on in a turn of the loop: with events of 30 bytes they take about 10 ms. */
const TURN_BYTES = 32_768
/** A longer piece of a stream, such as sound, is passed on without joining: a copy costs more than another write. */
const JOINED_BYTES_MAX = 2_048
/** The same for a plain answer, which is only collected: at 64 kB, each read would pause its socket. */
const WHOLE_TURN_BYTES = 1_048_576

/** Header names are in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** A request to be sent. */
export interface HttpRequest {
  readonly provider: Provider
  /** The path after the provider's base address, such as `/chat/completions`. */
  readonly path: string
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly streaming: boolean
}

interface Address {
  readonly origin: string
  readonly path: string
}

/** Gets the response to a request. A failure after `isComplete` does not affect the answer. */
export interface ResponseSink extends AnswerSink<Buffer, [status: number, headers: UpstreamHeaders]> {
  /** Whether all content of the answer has come although its body has not ended. */
  isComplete(): boolean
}

/** How long an answer whose content is complete waits for its usage and its last message (guarantees.md F22, F24). */
export const LAST_WORD_MS = 3_000
/** How long the rest of a body may take after the last message, so that its connection can be used again. */
const RELEASE_MS = 1_000
/** The first byte of a plain answer may take as long as the answer (guarantees.md 5). */
const FIRST_BYTE_PLAIN_SECONDS = 300

/** Sends requests to providers. */
export class Transport {
  /** The memory budget for plain answers. */
  readonly answers: AnswerBudget
  readonly clock: Clock
  readonly #agents = new Map<number, UpstreamAgents>()
  readonly #running = new Bag<SentRequest>()
  readonly #addresses = new Map<string, Address>()
  #ticking = false
  /** null = there are no providers with an `auth`. */
  readonly #tokens: TokenCache | null

  constructor(clock: Clock, answers = new AnswerBudget(), tokens: TokenCache | null = null) {
    this.clock = clock
    this.answers = answers
    this.#tokens = tokens
  }

  send(request: HttpRequest, sink: ResponseSink): SentRequest {
    const sent = new SentRequest(request, sink, this.clock, (ended) => this.#running.delete(ended))
    this.#running.add(sent)
    if (!this.#ticking) this.#tick()
    const { provider } = request
    const { origin, path } = this.#address(provider.baseUrl)
    const options = {
      origin,
      path: path + request.path,
      method: 'POST' as const,
      body: request.body,
      headers: {
        'content-type': 'application/json',
        accept: request.streaming ? 'text/event-stream' : 'application/json',
        'accept-encoding': 'identity',
        ...request.headers,
        ...request.provider.dialect.headers,
      },
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    if (isAuthorized(provider)) void this.#sendWithToken(sent, { ...request, provider }, options, true)
    else sent.dispatch(this.#agent(provider), options)
    return sent
  }

  /**
   * Sends a request with the provider's token. A token that the provider refuses is replaced once, and the request is
   * repeated.
   */
  async #sendWithToken(
    sent: SentRequest,
    request: HttpRequest & { readonly provider: Authorized },
    options: Dispatcher.DispatchOptions & { readonly headers: Readonly<Record<string, string>> },
    repeats: boolean,
  ): Promise<void> {
    const { provider } = request
    const tokens = this.#tokens
    if (tokens === null) throw new Error(`Provider ${provider.slug} has an auth and the transport no tokens.`)
    const token = await tokens.get(provider)
    if (isRefused(token)) return sent.refuse(token)
    const headers = { ...options.headers, ...tokens.headers(provider, token, request) }
    const again = (): void => {
      tokens.refused(provider, token.value)
      void this.#sendWithToken(sent, request, options, false)
    }
    sent.dispatch(this.#agent(provider), { ...options, headers }, repeats ? again : null)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  /** The address parts of a base address, each parsed once; there are only as many as the catalogue has ever had. */
  #address(baseUrl: string): Address {
    let address = this.#addresses.get(baseUrl)
    if (address === undefined) {
      const { origin, pathname } = new URL(baseUrl)
      address = { origin, path: pathname === '/' ? '' : pathname }
      this.#addresses.set(baseUrl, address)
    }
    return address
  }

  /** A connect timeout belongs to a connection pool, so providers with the same timeout share one. */
  #agent(provider: Provider): Dispatcher {
    const { connect } = provider.timeouts
    let agents = this.#agents.get(connect)
    if (agents === undefined) {
      agents = new UpstreamAgents(connect * 1_000, {
        connections: CONNECTIONS_MAX,
        pipelining: 1,
        keepAliveTimeout: 30_000,
      })
      this.#agents.set(connect, agents)
    }
    return agents.of(provider)
  }

  /** One timer watches every request: one for each would cost more than all other state of a request. */
  #tick(): void {
    this.#ticking = true
    this.clock.after(TICK_MS, () => {
      const now = this.clock.monotonic()
      for (const sent of this.#running) sent.check(now)
      if (this.#running.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

/** A request that was sent. */
export class SentRequest implements RunningCall, Dispatcher.DispatchHandler, BagItem {
  bagPlace = 0
  readonly #request: HttpRequest
  readonly #sink: ResponseSink
  readonly #clock: Clock
  readonly #forget: (sent: SentRequest) => void
  readonly #startedMs: number
  /**
   * Bytes that have not been passed on: pieces of a stream that came with one read, and bytes that came while nobody
   * could take them, since undici continues to read when the other side has closed.
   */
  #held: Buffer[] = []
  #heldBytes = 0
  #controller: Dispatcher.DispatchController | null = null
  /** `asked` = its head has not come. `released` = nobody waits for the rest of its body. */
  #phase: 'asked' | 'answering' | 'released' | 'over' = 'asked'
  #paused = false
  /** Whether the rest of the held bytes waits for the next turn of the loop. */
  #turning = false
  #turnBytes = 0
  /** The end, if it came while bytes were held, or before it could be reported. */
  #ended: 'whole' | AttemptFailure | null = null
  /** Monotonic ms since which nothing has come that advances the answer, or nobody has waited for it. */
  #progressMs: number

  constructor(request: HttpRequest, sink: ResponseSink, clock: Clock, forget: (sent: SentRequest) => void) {
    this.#request = request
    this.#sink = sink
    this.#clock = clock
    this.#forget = forget
    this.#startedMs = clock.monotonic()
    this.#progressMs = this.#startedMs
  }

  /**
   * Sends the request. An immediate failure is reported only after `send` has returned. `again` is called in place of
   * an answer that says that the token has ended.
   */
  dispatch(agent: Dispatcher, options: Dispatcher.DispatchOptions, again: (() => void) | null = null): void {
    if (this.#phase === 'over') return
    try {
      agent.dispatch(options, again === null ? this : new FirstTry(this, again))
    } catch (thrown) {
      this.onResponseError(null, thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }

  /** Fails the request because there is no token to send it with. */
  refuse(found: AttemptFailure): void {
    this.#fail(found)
  }

  cancel(): void {
    if (this.#phase === 'over') return
    this.#finish()
    this.#controller?.abort(new Error('cancelled'))
  }

  /**
   * The answer is complete: the sink gets nothing more, and the rest of the body has a short time to end before the
   * connection is closed.
   */
  release(): void {
    if (this.#phase === 'over') return
    this.#phase = 'released'
    this.progressed()
    this.resume()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.progressed()
    this.#goOn()
  }

  /**
   * Called when a parsed event arrived: bytes without an event are no progress, or a slow drip would never end
   * (guarantees.md F23).
   */
  progressed(): void {
    this.#progressMs = this.#clock.monotonic()
  }

  /**
   * Ends the request if one of its limits has passed. A client's pause does not count against the provider, and a
   * complete answer is not affected.
   */
  check(nowMs: number): void {
    const { streaming, provider } = this.#request
    const { first_byte: firstByte, progress, total } = provider.timeouts
    const ageMs = nowMs - this.#startedMs
    const quietMs = nowMs - this.#progressMs
    if (this.#phase === 'released') {
      if (quietMs > RELEASE_MS) this.cancel()
    } else if (ageMs > total * 1_000) this.#break('timeout', 'total time is over')
    else if (this.#phase === 'asked') {
      const isPlain = !streaming && firstByte === PROVIDER_TIMEOUTS.first_byte
      if (ageMs > (isPlain ? FIRST_BYTE_PLAIN_SECONDS : firstByte) * 1_000)
        this.#break('timeout', 'no first byte in time')
    } else if (this.#paused) return
    else if (quietMs > progress * 1_000 || (quietMs > LAST_WORD_MS && this.#sink.isComplete()))
      this.#break('stall', 'no progress in time')
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'over') controller.abort(new Error('cancelled'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UpstreamHeaders): void {
    if (this.#phase !== 'asked' || status < 200) return
    this.#phase = 'answering'
    this.progressed()
    this.#sink.headers(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici reports an end without a length as an empty piece.
    if (!this.#isAwaited || chunk.length === 0) return
    if (!this.#isBlocked && (!this.#request.streaming || chunk.length >= JOINED_BYTES_MAX)) {
      this.#tellHeld()
      if (!this.#isAwaited) return
      if (!this.#isBlocked) return this.#tell(chunk)
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#isBlocked) return
    // A provider that sends many events at once frames each of them; passed on one by one, each would cost a write to
    // the client.
    if (this.#heldBytes >= TURN_BYTES) this.#tellHeld()
    else if (this.#held.length === 1) queueMicrotask(() => this.#readOver())
  }

  /** Called when the read is over, but before the turn of the loop ends. */
  #readOver(): void {
    try {
      this.#tellHeld()
    } catch (thrown) {
      this.#broken(thrown)
    }
  }

  onResponseEnd(): void {
    this.#tellHeld()
    if (this.#isBlocked && this.#isAwaited) this.#ended = 'whole'
    else if (this.#finish()) this.#sink.end()
  }

  onResponseError(_controller: unknown, error: Error): void {
    const found = this.#phase === 'asked' ? connectFailure(error) : failure('cut', null, error.message)
    this.#readOver()
    if (this.#held.length > 0 && this.#isAwaited) this.#ended = found
    else if (this.#controller !== null) this.#fail(found)
    // It failed before it was sent, so still within `send`: the failure is reported after `send` has returned.
    else queueMicrotask(() => this.#fail(found))
  }

  /**
   * Passes on a piece. Many small events at once would delay all other requests, so after a number of bytes these get a
   * turn.
   */
  #tell(chunk: Buffer): void {
    this.#turnBytes += chunk.length
    const flows = this.#sink.push(chunk)
    if (!this.#isAwaited) return
    this.#paused = !flows
    if (this.#turnBytes >= (this.#request.streaming ? TURN_BYTES : WHOLE_TURN_BYTES)) {
      this.#turnBytes = 0
      this.#turning = true
      setImmediate(() => {
        this.#turning = false
        this.#goOn()
      })
    }
    if (this.#isBlocked) this.#controller?.pause()
  }

  /** Passes on the held bytes, and then lets undici continue. */
  #goOn(): void {
    try {
      this.#tellHeld()
      // The connection of a finished request already serves the next one.
      if (this.#phase === 'over' || (this.#isBlocked && this.#isAwaited)) return
      if (this.#ended === null) this.#controller?.resume()
      else if (this.#ended === 'whole') this.onResponseEnd()
      else this.#fail(this.#ended)
    } catch (thrown) {
      this.#broken(thrown)
    }
  }

  #tellHeld(): void {
    while (this.#isAwaited && !this.#isBlocked && this.#held.length > 0) this.#tell(this.#nextHeld())
  }

  /** A long piece, or as many short ones as one turn may take. */
  #nextHeld(): Buffer {
    const isShort = (at: number): boolean => (this.#held[at]?.length ?? 0) < JOINED_BYTES_MAX
    let count = 0
    let bytes = 0
    do {
      bytes += this.#held[count]?.length ?? 0
      count += 1
    } while (count < this.#held.length && bytes < TURN_BYTES && isShort(count - 1) && isShort(count))
    const taken = count === this.#held.length ? this.#held : this.#held.slice(0, count)
    this.#held = count === this.#held.length ? [] : this.#held.slice(count)
    this.#heldBytes -= bytes
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken, bytes)
  }

  /** Does what undici does when its own calls throw. */
  #broken(thrown: unknown): void {
    this.#controller?.abort(thrown as Error)
    this.#fail(failure('cut', null, String(thrown)))
  }

  get #isBlocked(): boolean {
    return this.#paused || this.#turning
  }

  /** Whether anybody still waits for the response. */
  get #isAwaited(): boolean {
    return this.#phase === 'asked' || this.#phase === 'answering'
  }

  #fail(found: AttemptFailure): void {
    if (this.#finish()) this.#sink.fail(found)
  }

  #break(reason: 'timeout' | 'stall', detail: string): void {
    if (!this.#finish()) return
    this.#controller?.abort(new Error(detail))
    this.#sink.fail(failure(reason, null, detail))
  }

  /** Ends the request; returns whether the sink must get the result. */
  #finish(): boolean {
    const isAwaited = this.#isAwaited
    this.#phase = 'over'
    this.#forget(this)
    return isAwaited
  }
}

/** A request whose token may have ended: then its answer is dropped, and the answer to another request replaces it. */
class FirstTry implements Dispatcher.DispatchHandler {
  readonly #sent: SentRequest
  readonly #again: () => void
  #isDropped = false

  constructor(sent: SentRequest, again: () => void) {
    this.#sent = sent
    this.#again = again
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#sent.onRequestStart(controller)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: UpstreamHeaders): void {
    if (!refusesToken(status, headers)) return this.#sent.onResponseStart(controller, status, headers)
    this.#isDropped = true
    controller.abort(new Error('the token is over'))
    this.#again()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isDropped) this.#sent.onResponseData(controller, chunk)
  }

  onResponseEnd(): void {
    if (!this.#isDropped) this.#sent.onResponseEnd()
  }

  onResponseError(controller: unknown, error: Error): void {
    if (!this.#isDropped) this.#sent.onResponseError(controller, error)
  }
}

/** One header of an answer as text. */
export function headerOf(headers: UpstreamHeaders, name: string): string | undefined {
  const value = ownValue(headers, name)
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}
