import { Agent, request as undiciRequest, type Dispatcher } from 'undici'

type RequestOptions = NonNullable<Parameters<typeof undiciRequest>[1]>

/** HTTP/2 is off: nothing here was ever tried with it. */
const http1 = new Agent({ allowH2: false })

/** One request and its answer, as undici has it; over connections for nobody in particular where none are given. */
export function request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData<unknown>> {
  return undiciRequest(url, { dispatcher: http1, ...options })
}
