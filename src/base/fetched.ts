import type { Dispatcher } from 'undici'
import { bodyBytes, request } from './http-request.ts'

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
