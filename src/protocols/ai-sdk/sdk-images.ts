import type { ImageModelV4, ImageModelV4File } from '@ai-sdk/provider'
import { type ImageResult, wantedRatio, type SourceImage } from '../../kinds/images/request.ts'
import type { Adapter } from '../ports/adapter.ts'
import type { ImageCall } from '../ports/call.ts'
import { StepFailedError, inSteps, type StepContext, askInStep } from '../upstream/steps.ts'
import { inShares, readImages, IMAGE_BYTES_MAX } from '../answers/images-over-chat.ts'
import { listOf, objectOf, textOf, parseJson } from '../wire/raw-json.ts'
import { refusal, thrownFailure } from './sdk-run.ts'
import { settingsOf, type SdkPackages } from './sdk-packages.ts'
import { sdkUsage } from './sdk-chat.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { FileFetchError, type FileFetch } from '../wire/file-fetch.ts'
import type { Transport } from '../wire/transport.ts'

/** The most requests of one call: some packages poll until a picture is ready. */
const REQUESTS_MAX = 300
const FILE_MS = 60_000

interface ImageFetchPorts {
  readonly transport: Transport
  readonly files: FileFetch
}

/**
 * The `fetch` for one call of an image package. Its POST goes through our transport, with its limits, and only to the
 * provider's address; its GETs fetch files or the state of a job.
 */
class ImageFetch {
  readonly #ports: ImageFetchPorts
  readonly #call: ImageCall
  readonly #context: StepContext
  #requests = 0
  /** The provider's error in full, since a package retains less of it. */
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
    // The key is sent only to the address that the operator configured, whatever the package asks for.
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
    const { transport } = this.#ports
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
          },
        ),
      )
    } catch (thrown) {
      if (thrown instanceof StepFailedError) this.failure ??= thrown.failure
      throw thrown
    }
  }

  async #get(url: URL, init: RequestInit | undefined): Promise<Response> {
    const { baseUrl, publicOnly } = this.#call.endpoint.provider
    try {
      return answerOf(
        await this.#ports.files.get(url.href, {
          ownHost: new URL(baseUrl).host,
          publicOnly: publicOnly === true,
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

export interface SdkImagesPorts extends ImageFetchPorts {
  readonly packages: Pick<SdkPackages, 'model'>
}

/** Pictures through a package that has image models. */
export function sdkImages(ports: SdkImagesPorts): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps(async (context) => {
      const idle = await modelOf(ports, call, new ImageFetch(ports, call, context))
      return inShares(call.request.count, await countMax(idle), (count) => askOnce(ports, call, count, context))
    }, sink)
}

function modelOf(ports: SdkImagesPorts, call: ImageCall, images: ImageFetch): Promise<ImageModelV4> {
  return attempted(images, () => ports.packages.model('image', call.endpoint, settingsOf(call, images.fetch)))
}

/** In the SDK, a model that states no limit makes one picture per call. */
async function countMax({ maxImagesPerCall, modelId }: ImageModelV4): Promise<number> {
  const most = typeof maxImagesPerCall === 'function' ? await maxImagesPerCall({ modelId }) : maxImagesPerCall
  return Math.max(1, most ?? 1)
}

async function askOnce(ports: SdkImagesPorts, call: ImageCall, n: number, context: StepContext): Promise<ImageResult> {
  const images = new ImageFetch(ports, call, context)
  const model = await modelOf(ports, call, images)
  const { request } = call
  const {
    images: made,
    usage,
    providerMetadata,
  } = await attempted(images, async () =>
    model.doGenerate({
      prompt: request.prompt,
      n,
      // A package drops the one of the two fields that its provider lacks.
      size: pairOf(request.size, 'x'),
      aspectRatio: pairOf(wantedRatio(request), ':'),
      seed: typeof request.parameters['seed'] === 'number' ? request.parameters['seed'] : undefined,
      files: request.sources.length === 0 ? undefined : request.sources.map(fileOf),
      mask: undefined,
      providerOptions: {},
      abortSignal: context.signal,
    }),
  )
  const revised =
    Object.values(providerMetadata ?? {}).map((metadata) => listOf(objectOf(metadata)?.['images']))[0] ?? []
  const spelled = made.map((image, index) => ({
    base64: typeof image === 'string' ? image : Buffer.from(image).toString('base64'),
    url: null,
    mediaType: null,
    revisedPrompt: textOf(objectOf(revised[index])?.['revisedPrompt']),
  }))
  const report = sdkUsage({ inputTokens: { total: usage?.inputTokens }, outputTokens: { total: usage?.outputTokens } })
  return {
    images: await readImages(spelled, call, ports.files, context),
    usage: report === null ? null : { report, imageTokens: 0 },
    upstreamId: null,
    calls: 1,
  }
}

/** Runs `work`; if it fails, the provider's own error is preferred to the package's. */
async function attempted<T>(images: ImageFetch, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    throw new StepFailedError(
      images.failure ?? (images.started ? null : refusal(thrown)) ?? thrownFailure(thrown, images.started),
    )
  }
}

function pairOf<Sign extends 'x' | ':'>(text: string | null, sign: Sign): `${number}${Sign}${number}` | undefined {
  const [left, right] = (text ?? '').split(sign).map(Number)
  return left === undefined || right === undefined ? undefined : `${left}${sign}${right}`
}

function fileOf(source: SourceImage): ImageModelV4File {
  return source.type === 'address'
    ? { type: 'url', url: source.url }
    : { type: 'file', mediaType: source.mediaType, data: source.base64 }
}
