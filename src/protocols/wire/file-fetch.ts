import type { Agent } from 'undici'
import { request } from '../../base/http-request.ts'
import { AnswerBudget, roomFor } from '../answer-budget.ts'
import { LARGE_BYTES } from './collected-body.ts'
import { type Resolve, patientAgent, publicConnector, upstreamLookup } from './connections.ts'
import { thrownMessage } from '../../base/text.ts'

const CONNECT_MS = 3_000
const REDIRECTS_MAX = 3
const REDIRECT: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export interface FileWish {
  /** A `host:port` that may be private, since the operator set it; null = only public addresses are allowed. */
  readonly ownHost: string | null
  /** Whether this host must be public too. */
  readonly publicOnly?: boolean
  readonly bytesMax: number
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Headers sent only to this host, and not after a redirect. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Thrown if a file could not be fetched. `message` is for the log: the client only learns that the file could not be
 * fetched.
 */
export class FileFetchError extends Error {
  override readonly name = 'FileFetchError'
}

/** The answer at the end of a few redirects at most, whatever its status. */
export async function redirected(
  start: URL,
  ask: (url: URL, isFirst: boolean) => ReturnType<typeof request>,
): ReturnType<typeof request> {
  let url = start
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const answer = await ask(url, redirects === 0)
    // A discarded body without an error listener could end the process.
    answer.body.on('error', () => undefined)
    const { location } = answer.headers
    if (!REDIRECT.has(answer.statusCode) || typeof location !== 'string') return answer
    answer.body.destroy()
    url = new URL(location, url)
  }
  throw new FileFetchError(`more than ${REDIRECTS_MAX} redirects`)
}

/**
 * Fetches files whose addresses clients and providers name (guarantees.md requirement 13). The address is checked when
 * the connection is made, after the name was resolved: a separate look-up before could get a different answer.
 */
export class FileFetch {
  readonly #guarded: Agent
  readonly #plain = patientAgent({ timeout: CONNECT_MS, lookup: upstreamLookup })

  readonly #answers: AnswerBudget

  constructor({
    answers = new AnswerBudget(),
    resolve,
  }: { readonly answers?: AnswerBudget; readonly resolve?: Resolve } = {}) {
    this.#answers = answers
    this.#guarded = patientAgent(publicConnector(CONNECT_MS, resolve))
  }

  /** The whole file. Throws only FileFetchError. */
  async get(address: string, wish: FileWish): Promise<Buffer> {
    const timeout = AbortSignal.timeout(wish.timeoutMs)
    const signal = wish.signal === undefined ? timeout : AbortSignal.any([timeout, wish.signal])
    try {
      const { statusCode, headers, body } = await redirected(new URL(address), (url, isFirst) =>
        this.#ask(url, isFirst ? wish : { ...wish, headers: {} }, signal),
      )
      if (statusCode === 200 && (headers['content-encoding'] ?? 'identity') === 'identity')
        return await this.#whole(body, wish.bytesMax, signal)
      body.destroy()
      throw new FileFetchError(`it answered ${statusCode}`)
    } catch (thrown) {
      throw thrown instanceof FileFetchError ? thrown : new FileFetchError(thrownMessage(thrown), { cause: thrown })
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#guarded.destroy(), this.#plain.destroy()])
  }

  #ask(
    url: URL,
    { ownHost, publicOnly = false, headers = {} }: FileWish,
    signal: AbortSignal,
  ): ReturnType<typeof request> {
    const isOwn = url.host === ownHost
    const refused = refusalOf(url, isOwn)
    if (refused !== null) throw new FileFetchError(refused)
    return request(url, {
      method: 'GET',
      dispatcher: isOwn && !publicOnly ? this.#plain : this.#guarded,
      signal,
      headers: { accept: '*/*', 'user-agent': 'tollgate', ...(isOwn ? headers : {}), 'accept-encoding': 'identity' },
    })
  }

  async #whole(body: AsyncIterable<Uint8Array>, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
    const room = this.#answers.hold()
    const chunks: Buffer[] = []
    let bytes = 0
    try {
      for await (const chunk of body) {
        const part = Buffer.from(chunk)
        bytes += part.length
        if (bytes > bytesMax) throw new FileFetchError(`the file is larger than ${bytesMax} bytes`)
        chunks.push(part)
        if (bytes >= LARGE_BYTES) await room.reached(roomFor(bytes), signal)
      }
      return Buffer.concat(chunks)
    } finally {
      room.release()
    }
  }
}

function refusalOf(url: URL, own: boolean): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `no files are fetched by ${url.protocol}`
  if (url.username !== '' || url.password !== '') return 'the address holds credentials'
  return own || url.port === '' || url.port === '80' || url.port === '443'
    ? null
    : `no files are fetched from port ${url.port}`
}
