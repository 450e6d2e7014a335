import type { Dispatcher } from 'undici'
import type { Provider } from '../../catalog/catalog.ts'
import type { Clock } from '../../base/clock.ts'
import { request } from '../../base/http-request.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { roomFor, type AnswerBudget, type AnswerHold } from '../answer-budget.ts'
import { CollectedBody, LARGE_BYTES } from './collected-body.ts'
import { isAuthorized, isRefused, refusesToken, type TokenCache } from '../auth/token-cache.ts'
import { connectFailure, patientAgent, publicConnector, UpstreamAgents } from './connections.ts'
import { LiftedTexts } from './lifted-json.ts'
import { parseErrorBody } from './error-body.ts'
import { upstreamFailure } from './upstream-error.ts'
import { LAST_WORD_MS, type UpstreamHeaders } from './transport.ts'

/**
 * Job HTTP is separate from `upstream/response.ts`, which carries all other requests. A submission has its own
 * connection, and tells bytes that were sent from bytes that may have been. Jobs are polled with GET. Their time limits
 * are not the provider's settings, and no stream or relay attempt is involved. Both share the budget of whole answers.
 */

const NO_BODY = Buffer.alloc(0)
const CONNECT_MS = 3_000
const REDIRECTS_MAX = 3
const REDIRECT: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** A poll is answered at once; a slower provider is simply polled again. */
const POLL_MS = 30_000
/** Some providers hold a submission until the job has started. */
const SUBMIT_MS = 120_000

export interface JobRequest {
  readonly provider: Provider
  /** The path after the provider's base address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** `sent` = part of the request may have left: nobody knows whether it arrived. */
export type JobAnswer =
  | {
      readonly status: 'answered'
      readonly code: number
      readonly headers: UpstreamHeaders
      readonly body: Buffer
      /** What an error status says. */
      readonly refusal: () => AttemptFailure
      /** Files that were lifted out of the body. */
      readonly files: readonly (readonly Buffer[])[]
    }
  | { readonly status: 'failed'; readonly sent: boolean; readonly failure: AttemptFailure }

/** A file opened for one read. */
export interface OpenedFile {
  readonly mediaType: string | null
  readonly bytes: AsyncIterable<Buffer>
}

/** HTTP for jobs: few, long exchanges that tell bytes that were sent from bytes that may have been. */
export class JobHttp {
  /** The node's budget for whole answers. */
  readonly answers: AnswerBudget
  readonly #clock: Clock
  readonly #own = new UpstreamAgents(CONNECT_MS)
  readonly #guarded = patientAgent(publicConnector(CONNECT_MS))
  /** null = no provider has an `auth`. */
  readonly #tokens: TokenCache | null

  constructor(clock: Clock, answers: AnswerBudget, tokens: TokenCache | null = null) {
    this.#clock = clock
    this.answers = answers
    this.#tokens = tokens
  }

  /**
   * Uses a new connection: a kept one may close just as the request leaves, and nobody could tell whether it arrived.
   * `lifts`: the answer may contain files in base64, which the caller then holds and releases from the budget. Any
   * other answer frees its room when it is complete.
   */
  async post(
    wish: JobRequest,
    body: Buffer,
    { bytesMax, lifts }: { readonly bytesMax: number; readonly lifts?: AnswerHold },
  ): Promise<JobAnswer> {
    const agents = new UpstreamAgents(wish.provider.timeouts.connect * 1_000, { connections: 1, pipelining: 1 })
    try {
      const options = { body, bytesMax, timeoutMs: SUBMIT_MS, lifts: lifts ?? null }
      return await this.#withToken(wish, body, (ready) => this.#exchange(agents.of(wish.provider), ready, options))
    } finally {
      await agents.destroy()
    }
  }

  get(wish: JobRequest, { bytesMax }: { readonly bytesMax: number }): Promise<JobAnswer> {
    const options = { body: null, bytesMax, timeoutMs: POLL_MS, lifts: null }
    return this.#withToken(wish, NO_BODY, (ready) => this.#exchange(this.#own.of(wish.provider), ready, options))
  }

  /** Asks with the provider's token where it has an `auth`; one that is refused is replaced once. */
  async #withToken(
    wish: JobRequest,
    body: Buffer,
    ask: (ready: JobRequest) => Promise<JobAnswer>,
    repeats = true,
  ): Promise<JobAnswer> {
    const { provider, path } = wish
    const tokens = this.#tokens
    if (tokens === null || !isAuthorized(provider)) return ask(wish)
    const token = await tokens.get(provider)
    if (isRefused(token)) return { status: 'failed', sent: false, failure: token }
    const headers = { ...wish.headers, ...tokens.headers(provider, token, { path, body }) }
    const answer = await ask({ ...wish, headers })
    if (!repeats || answer.status === 'failed' || !refusesToken(answer.code, answer.headers)) return answer
    tokens.refused(provider, token.value)
    return this.#withToken(wish, body, ask, false)
  }

  /**
   * Opens a file of the provider: by a path of its own, or by any public address that it names (guarantees.md 4 row
   * 13). Throws if it cannot.
   */
  async open(wish: JobRequest & { readonly url: string | null }): Promise<OpenedFile> {
    const base = new URL(wish.provider.baseUrl)
    const headers = await this.#headersOf(wish)
    let url = wish.url === null ? new URL(wish.provider.baseUrl + wish.path) : new URL(wish.url, base)
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const own = url.host === base.host
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new Error(`no files are fetched by ${url.protocol}`)
      const { progress } = wish.provider.timeouts
      const answer = await request(url, {
        method: 'GET',
        dispatcher: own ? this.#own.of(wish.provider) : this.#guarded,
        signal: wish.signal,
        // The provider's credentials go only to its own address.
        headers: {
          accept: '*/*',
          'accept-encoding': 'identity',
          ...(url.origin === base.origin ? { ...headers, ...wish.provider.dialect.headers } : {}),
        },
        headersTimeout: progress * 1_000,
        bodyTimeout: progress * 1_000,
      })
      // A discarded body without an error listener could end the process.
      answer.body.on('error', () => undefined)
      const { location } = answer.headers
      if (answer.statusCode === 200) return { mediaType: mediaTypeOf(answer.headers), bytes: buffers(answer.body) }
      answer.body.destroy()
      if (!REDIRECT.has(answer.statusCode) || typeof location !== 'string')
        throw new Error(`the file answered ${answer.statusCode}`)
      url = new URL(location, url)
    }
    throw new Error(`the file has more than ${REDIRECTS_MAX} redirects`)
  }

  async #headersOf({ provider, path, headers }: JobRequest): Promise<Readonly<Record<string, string>>> {
    const tokens = this.#tokens
    if (tokens === null || !isAuthorized(provider)) return headers
    const token = await tokens.get(provider)
    if (isRefused(token)) throw new Error('there is no token for it')
    return { ...headers, ...tokens.headers(provider, token, { path, body: NO_BODY }) }
  }

  async close(): Promise<void> {
    await Promise.all([this.#own.destroy(), this.#guarded.destroy()])
  }

  async #exchange(agent: Dispatcher, wish: JobRequest, options: ExchangeOptions): Promise<JobAnswer> {
    const room = options.lifts ?? this.answers.hold()
    try {
      return await new Promise((resolve) =>
        new JobExchange(wish, options, { clock: this.#clock, room, resolve }).send(agent),
      )
    } finally {
      if (options.lifts === null) room.release()
    }
  }
}

function mediaTypeOf(headers: UpstreamHeaders): string | null {
  const type = headers['content-type']
  return typeof type === 'string' ? (type.split(';', 1)[0]?.trim().toLowerCase() ?? null) : null
}

async function* buffers(body: AsyncIterable<unknown>): AsyncIterable<Buffer> {
  // The body of a response yields Buffers.
  for await (const chunk of body) yield Buffer.from(chunk as Uint8Array)
}

interface ExchangeOptions {
  readonly body: Buffer | null
  readonly bytesMax: number
  readonly timeoutMs: number
  readonly lifts: AnswerHold | null
}

interface ExchangePorts {
  readonly clock: Clock
  readonly room: AnswerHold
  readonly resolve: (answer: JobAnswer) => void
}

/** One request with its whole answer. */
class JobExchange implements Dispatcher.DispatchHandler {
  readonly #wish: JobRequest
  readonly #options: ExchangeOptions
  readonly #ports: ExchangePorts
  readonly #body = new CollectedBody(null)
  readonly #lifted = new LiftedTexts()
  #bytes = 0
  #code = 0
  #headers: UpstreamHeaders = {}
  #controller: Dispatcher.DispatchController | null = null
  /** All of the answer's JSON has come, though its body has not ended. */
  #isWhole = false
  #stopTimer = (): void => undefined
  #over = false

  constructor(wish: JobRequest, options: ExchangeOptions, ports: ExchangePorts) {
    this.#wish = wish
    this.#options = options
    this.#ports = ports
  }

  send(agent: Dispatcher): void {
    const { provider, path, headers, signal } = this.#wish
    const { body } = this.#options
    this.#startTimer()
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) return this.#onAbort()
    const url = new URL(provider.baseUrl + path)
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: body === null ? 'GET' : 'POST',
        body,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(body === null ? {} : { 'content-type': 'application/json' }),
          ...headers,
          ...provider.dialect.headers,
        },
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      this,
    )
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('cancelled'))
  }

  onResponseStart(_controller: unknown, code: number, headers: UpstreamHeaders): void {
    this.#code = code
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#over) return
    const { bytesMax, lifts } = this.#options
    this.#bytes += piece.length
    if (lifts === null) this.#body.add(piece)
    else this.#lifted.push(piece)
    if (this.#bytes > bytesMax || this.#lifted.isExcessive)
      return this.#fail('too_large', `the answer is larger than ${bytesMax} bytes`)
    if (!this.#isWhole && (lifts === null ? this.#body : this.#lifted).isWholeJson()) {
      this.#isWhole = true
      this.#stopTimer()
      this.#startTimer()
    }
    if (this.#bytes >= LARGE_BYTES) this.#takeRoom(controller)
  }

  onResponseEnd(): void {
    const { lifts } = this.#options
    const [code, headers] = [this.#code, this.#headers]
    const body = lifts === null ? this.#body.take() : this.#lifted.rest()
    this.#finish({
      status: 'answered',
      code,
      headers,
      body,
      refusal: () => upstreamFailure(code, parseErrorBody(body), headers, this.#ports.clock.now()),
      files: this.#lifted.files,
    })
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isWhole) this.onResponseEnd()
    this.#finish(this.#failed(this.#code === 0 ? connectFailure(error) : failure('cut', null, error.message)))
  }

  /** Time in which the socket waits for room is not counted against the provider. */
  #takeRoom(controller: Dispatcher.DispatchController): void {
    const { room } = this.#ports
    if (this.#bytes <= room.bytes) return
    const goOn = (): void => {
      if (this.#over) return
      this.#startTimer()
      controller.resume()
    }
    // Room is freed inside the parser of another answer's socket: no other socket may resume before that parser
    // returns.
    if (room.reach(roomFor(this.#bytes), () => setImmediate(goOn))) return
    this.#stopTimer()
    controller.pause()
  }

  #startTimer(): void {
    const timeoutMs = this.#isWhole ? LAST_WORD_MS : this.#options.timeoutMs
    this.#stopTimer = this.#ports.clock.after(timeoutMs, () => this.#fail('timeout', 'no answer in time'))
  }

  readonly #onAbort = (): void => this.#fail('cancelled', 'cancelled')

  #fail(reason: AttemptFailure['reason'], detail: string): void {
    if (reason === 'timeout' && this.#isWhole) this.onResponseEnd()
    this.#finish(this.#failed(failure(reason, null, detail)))
    this.#controller?.abort(new Error(detail))
  }

  #failed(found: AttemptFailure): JobAnswer {
    return { status: 'failed', sent: this.#controller !== null, failure: found }
  }

  #finish(answer: JobAnswer): void {
    if (this.#over) return
    this.#over = true
    this.#stopTimer()
    this.#wish.signal.removeEventListener('abort', this.#onAbort)
    this.#ports.resolve(answer)
  }
}
