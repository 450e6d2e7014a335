// oxlint-disable-next-line eslint/no-restricted-imports -- the only import of it, which turns HTTP/2 off
import { Agent, type Dispatcher, request as undiciRequest } from 'undici'

export interface FetchBounds {
  readonly headers?: Readonly<Record<string, string>>
  /** Absent = the shared connections are used. */
  readonly dispatcher?: Dispatcher
  readonly timeoutMs: number
  /** The most bytes of the answer; a longer answer is an error. */
  readonly bytesMax: number
  readonly stop: AbortSignal
}

/** The body of a 200 answer. No redirect is followed: the answer must come from the given address. */
export async function fetchedBytes(
  url: string,
  { headers = {}, dispatcher, timeoutMs, bytesMax, stop }: FetchBounds,
): Promise<Buffer> {
  const answer = await request(url, {
    method: 'GET',
    headers: { 'user-agent': 'tollgate', ...headers },
    signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  })
  const bytes = await bodyBytes(answer.body, bytesMax)
  if (bytes === null) throw new Error(`the answer is longer than ${bytesMax} bytes`)
  if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`)
  return bytes
}

/** The same answer, parsed as JSON. */
export async function fetchedJson(url: string, bounds: FetchBounds): Promise<unknown> {
  const bytes = await fetchedBytes(url, { ...bounds, headers: { accept: 'application/json', ...bounds.headers } })
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    throw new Error('the answer is not JSON')
  }
}

type RequestOptions = NonNullable<Parameters<typeof undiciRequest>[1]>

/** HTTP/2 is off, since nothing in the project is tested with it. */
const http1 = new Agent({ allowH2: false })

/** One request and its answer, as in undici; without a given dispatcher it uses shared connections. */
export function request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData<unknown>> {
  return undiciRequest(url, { dispatcher: http1, ...options })
}

/** The whole body of an answer; null if it is longer. */
export async function bodyBytes(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > bytesMax) return null
    chunks.push(part)
  }
  return Buffer.concat(chunks)
}

/** The header that carries a key; none without a key. */
export function bearer(key: string | null | undefined): Readonly<Record<string, string>> {
  return key === null || key === undefined ? {} : { authorization: `Bearer ${key}` }
}
