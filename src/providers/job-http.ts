import { Agent, request, type Dispatcher } from 'undici'
import type { Provider } from '../catalog/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import type { AttemptFailure } from './adapter.ts'
import { CollectedBody } from './collected-body.ts'
import { publicConnector, upstreamLookup } from './guarded-lookup.ts'
import { failure, type UpstreamHeaders } from './transport.ts'

const HEADERS_BYTES_MAX = 16_384
const CONNECT_MS = 3_000
const REDIRECTS_MAX = 3
const REDIRECT: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** A poll answers at once; a provider that makes us wait longer is asked again. */
const POLL_MS = 30_000
/** Some providers hold a submission until the job has started. */
const SUBMIT_MS = 120_000

export interface JobRequest {
  readonly provider: Provider
  /** After the provider's base address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** `sent` = some of the request may have left: whether it arrived is not known. */
export type JobAnswer =
  | { readonly status: 'answered'; readonly code: number; readonly headers: UpstreamHeaders; readonly body: Buffer }
  | { readonly status: 'failed'; readonly sent: boolean; readonly failure: AttemptFailure }

/** What was opened to be read once. */
export interface OpenedFile {
  readonly mediaType: string | null
  readonly bytes: AsyncIterable<Buffer>
}

/** The few, long-lived exchanges of jobs: what was sent is told apart from what may have been. */
export interface JobHttp {
  post(wish: JobRequest, body: Buffer, options: { readonly bytesMax: number }): Promise<JobAnswer>
  get(wish: JobRequest, options: { readonly bytesMax: number }): Promise<JobAnswer>
  /**
   * A file of the provider, or one that it names: by an address of its own or by any public one (reliability.md 4 row
   * 13). Throws.
   */
  open(wish: JobRequest & { readonly url: string | null }): Promise<OpenedFile>
  close(): Promise<void>
}

export function createJobHttp({ clock }: { readonly clock: Clock }): JobHttp {
  return new UndiciJobHttp(clock)
}

class UndiciJobHttp implements JobHttp {
  readonly #clock: Clock
  readonly #plain = new Agent({
    connect: { timeout: CONNECT_MS, lookup: upstreamLookup },
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  readonly #guarded = new Agent({
    connect: publicConnector(CONNECT_MS),
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * On a connection of its own: one that was kept may close just as the request leaves, and nobody could say whether it
   * arrived.
   */
  async post(wish: JobRequest, body: Buffer, { bytesMax }: { readonly bytesMax: number }): Promise<JobAnswer> {
    const agent = new Agent({
      connections: 1,
      pipelining: 1,
      connect: { timeout: wish.provider.timeouts.connect * 1_000, lookup: upstreamLookup },
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    try {
      return await exchange(agent, 'POST', wish, { body, bytesMax, timeoutMs: SUBMIT_MS, clock: this.#clock })
    } finally {
      await agent.destroy()
    }
  }

  get(wish: JobRequest, { bytesMax }: { readonly bytesMax: number }): Promise<JobAnswer> {
    return exchange(this.#plain, 'GET', wish, { body: null, bytesMax, timeoutMs: POLL_MS, clock: this.#clock })
  }

  async open(wish: JobRequest & { readonly url: string | null }): Promise<OpenedFile> {
    const base = new URL(wish.provider.baseUrl)
    let url = wish.url === null ? new URL(wish.provider.baseUrl + wish.path) : new URL(wish.url, base)
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const own = url.host === base.host
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new Error(`no files are fetched by ${url.protocol}`)
      const { progress } = wish.provider.timeouts
      const answer = await request(url, {
        method: 'GET',
        dispatcher: own ? this.#plain : this.#guarded,
        signal: wish.signal,
        // The provider's credentials go to the provider's own address alone.
        headers: { accept: '*/*', 'accept-encoding': 'identity', ...(url.origin === base.origin ? wish.headers : {}) },
        headersTimeout: progress * 1_000,
        bodyTimeout: progress * 1_000,
      })
      // Without a listener the error of a body that is thrown away would end the process.
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

  async close(): Promise<void> {
    await Promise.all([this.#plain.destroy(), this.#guarded.destroy()])
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
  readonly clock: Clock
}

/** One request with its whole answer. */
function exchange(
  agent: Dispatcher,
  method: 'GET' | 'POST',
  wish: JobRequest,
  { body, bytesMax, timeoutMs, clock }: ExchangeOptions,
): Promise<JobAnswer> {
  const url = new URL(wish.provider.baseUrl + wish.path)
  return new Promise((resolve) => {
    const received = new CollectedBody(null)
    let code = 0
    let headers: UpstreamHeaders = {}
    let controller: Dispatcher.DispatchController | null = null
    let over = false
    const finish = (answer: JobAnswer): void => {
      if (over) return
      over = true
      stopTimer()
      wish.signal.removeEventListener('abort', onAbort)
      resolve(answer)
    }
    const fail = (reason: AttemptFailure['reason'], detail: string): void => {
      finish({ status: 'failed', sent: controller !== null, failure: failure(reason, null, detail) })
      controller?.abort(new Error(detail))
    }
    const onAbort = (): void => fail('cancelled', 'cancelled')
    const stopTimer = clock.after(timeoutMs, () => fail('timeout', 'no answer in time'))
    wish.signal.addEventListener('abort', onAbort)
    if (wish.signal.aborted) return onAbort()
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        body,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(body === null ? {} : { 'content-type': 'application/json' }),
          ...wish.headers,
        },
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onRequestStart: (started) => {
          controller = started
          if (over) started.abort(new Error('cancelled'))
        },
        onResponseStart: (_controller, status, answered) => {
          code = status
          headers = answered
        },
        onResponseData: (_controller, chunk) => {
          if (received.bytes + chunk.length > bytesMax) fail('too_large', `the answer is larger than ${bytesMax} bytes`)
          else received.add(chunk)
        },
        onResponseEnd: () => finish({ status: 'answered', code, headers, body: received.take() }),
        onResponseError: (_controller, error) => fail(code === 0 ? 'connect' : 'cut', error.message),
      },
    )
  })
}
