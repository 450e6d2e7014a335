import { Agent, request as undiciRequest, type Dispatcher } from 'undici'

type RequestOptions = NonNullable<Parameters<typeof undiciRequest>[1]>

/** HTTP/2 is off, since nothing here was tested with it. */
const http1 = new Agent({ allowH2: false })

/** One request and its answer, as in undici; without a given dispatcher it uses shared connections. */
export function request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData<unknown>> {
  return undiciRequest(url, { dispatcher: http1, ...options })
}
