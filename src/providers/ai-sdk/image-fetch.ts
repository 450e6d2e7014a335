import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import type { ImageCall } from '../../protocols/ports/call.ts'
import { StepFailedError, askInStep, type StepContext } from '../../protocols/upstream/steps.ts'
import { FileFetchError, type FileFetch } from '../../protocols/wire/file-fetch.ts'
import { IMAGE_BYTES_MAX } from '../answers/image-shares.ts'
import { parseJson } from '../../protocols/wire/raw-json.ts'
import type { Transport } from '../../protocols/wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** Requests of one call: some packages poll until a picture is ready. */
const REQUESTS_MAX = 300
const FILE_MS = 60_000

export interface ImageFetchPorts {
  readonly transport: Transport
  readonly files: FileFetch
  readonly now: () => number
}

/**
 * The `fetch` for one call of an image package. Its POST goes through our transport, with its limits, and only to the
 * provider's address; its GETs fetch files or the state of a job.
 */
export class ImageFetch {
  readonly #ports: ImageFetchPorts
  readonly #call: ImageCall
  readonly #context: StepContext
  #requests = 0
  /** The provider's error in full; a package keeps less of it. */
  failure: AttemptFailure | null = null

  constructor(ports: ImageFetchPorts, call: ImageCall, context: StepContext) {
    this.#ports = ports
    this.#call = call
    this.#context = context
  }

  get started(): boolean {
    return this.#requests > 0
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.#requests += 1
    if (this.#requests > REQUESTS_MAX) throw new TypeError('a call has an end')
    if (input instanceof Request) throw new TypeError('a request is an address and its settings')
    const url = new URL(input)
    const method = init?.method ?? 'GET'
    if (method === 'GET') return this.#get(url, init)
    if (method !== 'POST' || init?.body === undefined || init.body === null)
      throw new TypeError('a call is a POST with a body')
    return this.#post(url, init)
  }

  async #post(url: URL, init: RequestInit): Promise<Response> {
    const { provider } = this.#call.endpoint
    // The key goes only to the address that the operator configured, whatever the package asks for.
    if (url.origin !== new URL(provider.baseUrl).origin) throw new TypeError("the package left the provider's base_url")
    const encoded = new Response(init.body)
    const type = encoded.headers.get('content-type')
    const headers = {
      ...(type === null ? {} : { 'content-type': type }),
      ...Object.fromEntries(new Headers(init.headers)),
    }
    const request = {
      path: url.pathname + url.search,
      body: Buffer.from(await encoded.arrayBuffer()),
      headers,
    }
    const { transport, now } = this.#ports
    const endpoint = { provider: { ...provider, baseUrl: url.origin } }
    try {
      return answerOf(
        await askInStep(
          this.#context,
          transport,
          { endpoint },
          {
            request: () => request,
            answer: (bytes) => bytes,
            bytesMax: IMAGE_BYTES_MAX,
            error: (status, body, received) => upstreamFailure(status, body, received, now()),
          },
        ),
      )
    } catch (thrown) {
      if (thrown instanceof StepFailedError) this.failure ??= thrown.failure
      throw thrown
    }
  }

  async #get(url: URL, init: RequestInit | undefined): Promise<Response> {
    const ownHost = new URL(this.#call.endpoint.provider.baseUrl).host
    try {
      return answerOf(
        await this.#ports.files.get(url.href, {
          ownHost,
          headers: Object.fromEntries(new Headers(init?.headers)),
          bytesMax: IMAGE_BYTES_MAX,
          timeoutMs: FILE_MS,
          signal: this.#context.signal,
        }),
      )
    } catch (thrown) {
      if (thrown instanceof FileFetchError) this.failure ??= failure('garbage', null, thrown.message)
      throw thrown
    }
  }
}

function answerOf(bytes: Buffer): Response {
  const type = parseJson(bytes) === undefined ? 'application/octet-stream' : 'application/json'
  return new Response(new Uint8Array(bytes), {
    headers: { 'content-type': type, 'content-length': String(bytes.length) },
  })
}
