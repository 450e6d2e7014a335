import type { Agent, Dispatcher } from 'undici'
import type { Provider } from '../../catalog/catalog.ts'
import type { Clock } from '../../base/clock.ts'
import { request } from '../../base/http-request.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { roomFor, type AnswerBudget, type AnswerHold } from '../answer-budget.ts'
import { CollectedBody, LARGE_BYTES } from './collected-body.ts'
import { isAuthorized, isRefused, refusesToken, type TokenCache } from '../auth/token-cache.ts'
import { connectFailure, patientAgent, publicConnector, UpstreamAgents } from './connections.ts'
import { redirected } from './file-fetch.ts'
import { LiftedTexts } from './lifted-json.ts'
import { parseErrorBody } from './error-body.ts'
import { upstreamFailure } from './upstream-error.ts'
import { LAST_WORD_MS, type UpstreamHeaders } from './transport.ts'

/**
 * Job HTTP is separate from `upstream/response.ts`, which carries all other requests. A submission has a connection of
 * its own, and distinguishes bytes that were sent from bytes that may have been sent. Jobs are polled with GET. Their
 * time limits are not the provider's settings, and no stream or relay attempt is involved. Both share the memory budget
 * for plain answers.
 */

const NO_BODY = Buffer.alloc(0)
const CONNECT_MS = 3_000
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

/** `sent` = part of the request may have left, so nobody knows whether it arrived. */
export type JobAnswer =
  | {
      readonly status: 'answered'
      readonly code: number
      readonly headers: UpstreamHeaders
      readonly body: Buffer
      /** The failure that an error status means. */
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

/** HTTP for jobs: few, long exchanges that distinguish bytes that were sent from bytes that may have been sent. */
export class JobHttp {
  /** The node's memory budget for plain answers. */
  readonly answers: AnswerBudget
  readonly #clock: Clock
  readonly #own = new UpstreamAgents(CONNECT_MS)
  readonly #guarded = patientAgent(publicConnector(CONNECT_MS))
  /** null = there are no providers with an `auth`. */
  readonly #tokens: TokenCache | null

  constructor(clock: Clock, answers: AnswerBudget, tokens: TokenCache | null = null) {
    this.#clock = clock
    this.answers = answers
    this.#tokens = tokens
  }

  /**
   * Uses a new connection: an open one may close just as the request leaves, and then nobody could know whether the
   * request arrived. `lifts`: the answer may contain files in base64, which the caller then holds and releases from the
   * budget. Any other answer frees its room when it is complete.
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

  /** Asks with the provider's token if it has an `auth`; a refused token is replaced once. */
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
   * Opens a file of the provider: by a path at the provider, or by any public address that the provider names
   * (guarantees.md 4 row 13). Throws if it cannot.
   */
  async open(wish: JobRequest & { readonly url: string | null }): Promise<OpenedFile> {
    const base = new URL(wish.provider.baseUrl)
    const headers = await this.#headersOf(wish)
    const start = wish.url === null ? new URL(wish.provider.baseUrl + wish.path) : new URL(wish.url, base)
    const { progress } = wish.provider.timeouts
    const answer = await redirected(start, (url) => {
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new Error(`no files are fetched by ${url.protocol}`)
      return request(url, {
        method: 'GET',
        dispatcher: url.host === base.host ? this.#own.of(wish.provider) : this.#guarded,
        signal: wish.signal,
        // The provider's credentials are sent only to its own address.
        headers: {
          accept: '*/*',
          'accept-encoding': 'identity',
          ...(url.origin === base.origin ? { ...headers, ...wish.provider.dialect.headers } : {}),
        },
        headersTimeout: progress * 1_000,
        bodyTimeout: progress * 1_000,
      })
    })
    if (answer.statusCode === 200) return { mediaType: mediaTypeOf(answer.headers), bytes: bytesOf(answer.body) }
    answer.body.destroy()
    throw new Error(`the file answered ${answer.statusCode}`)
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

  async #exchange(agent: Agent, wish: JobRequest, options: ExchangeOptions): Promise<JobAnswer> {
    const room = options.lifts ?? this.answers.hold()
    try {
      return await exchanged(agent, wish, options, { clock: this.#clock, room })
    } finally {
      if (options.lifts === null) room.release()
    }
  }
}

function mediaTypeOf(headers: UpstreamHeaders): string | null {
  const type = headers['content-type']
  return typeof type === 'string' ? (type.split(';', 1)[0]?.trim().toLowerCase() ?? null) : null
}

/** The body of a response yields Buffers. */
function bytesOf(body: AsyncIterable<unknown>): AsyncIterable<Buffer> {
  return body as AsyncIterable<Buffer>
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
}

/** Tells when a request begins to leave, from when on nobody knows whether it arrived. */
function leaving(onLeave: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    const onRequestStart: typeof handler.onRequestStart = (...started) => {
      onLeave()
      start?.(...started)
    }
    return dispatch(options, Object.assign(handler, { onRequestStart }))
  }
}

/** One request with its whole answer. Time in which its socket waits for room is not counted against the provider. */
async function exchanged(
  agent: Agent,
  wish: JobRequest,
  { body: sent, bytesMax, timeoutMs, lifts }: ExchangeOptions,
  { clock, room }: ExchangePorts,
): Promise<JobAnswer> {
  const { signal } = wish
  const collected = lifts === null ? new CollectedBody(null) : new LiftedTexts()
  const late = new AbortController()
  let isSent = false
  /** Whether all of the answer's JSON has come although its body has not ended. */
  let isWhole = false
  let [code, headers]: [number, UpstreamHeaders] = [0, {}]
  let stopTimer = (): void => undefined
  const startTimer = (): void => {
    stopTimer()
    stopTimer = clock.after(isWhole ? LAST_WORD_MS : timeoutMs, () => late.abort())
  }
  const failed = (found: AttemptFailure): JobAnswer => ({ status: 'failed', sent: isSent, failure: found })
  startTimer()
  try {
    const onLeave = (): void => {
      isSent = true
    }
    const answer = await asked(agent.compose(leaving(onLeave)), wish, sent, AbortSignal.any([signal, late.signal]))
    code = answer.statusCode
    headers = answer.headers
    let bytes = 0
    for await (const piece of bytesOf(answer.body)) {
      bytes += piece.length
      collected.add(piece)
      if (bytes > bytesMax || (collected instanceof LiftedTexts && collected.isExcessive))
        return failed(failure('too_large', null, `the answer is larger than ${bytesMax} bytes`))
      if (!isWhole && collected.isWholeJson()) {
        isWhole = true
        startTimer()
      }
      if (bytes < LARGE_BYTES || bytes <= room.bytes) continue
      stopTimer()
      await room.reached(roomFor(bytes), signal)
      startTimer()
    }
  } catch (thrown) {
    if (signal.aborted) return failed(failure('cancelled', null, 'cancelled'))
    if (!isWhole)
      return failed(late.signal.aborted ? failure('timeout', null, 'no answer in time') : brokenOff(thrown, code))
  } finally {
    stopTimer()
  }
  const body = collected.take()
  const refusal = (): AttemptFailure => upstreamFailure(code, parseErrorBody(body), headers, clock.now())
  return {
    status: 'answered',
    code,
    headers,
    body,
    refusal,
    files: collected instanceof LiftedTexts ? collected.files : [],
  }
}

function asked(
  dispatcher: Dispatcher,
  { provider, path, headers }: JobRequest,
  body: Buffer | null,
  signal: AbortSignal,
): ReturnType<typeof request> {
  return request(provider.baseUrl + path, {
    dispatcher,
    method: body === null ? 'GET' : 'POST',
    body,
    signal,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...headers,
      ...provider.dialect.headers,
    },
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function brokenOff(thrown: unknown, code: number): AttemptFailure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return code === 0 ? connectFailure(error) : failure('cut', null, error.message)
}
