// oxlint-disable-next-line eslint/no-restricted-imports -- the only import of it, which turns HTTP/2 off
import { Agent, request as undiciRequest, type Dispatcher } from 'undici'

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
