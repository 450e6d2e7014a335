import type { ImageModelV4, ImageModelV4File } from '@ai-sdk/provider'
import type { ImageResult } from '../../kinds/images/answer.ts'
import { wantedRatio, type SourceImage } from '../../kinds/images/request.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import type { ImageCall } from '../../protocols/ports/call.ts'
import { StepFailedError, inSteps, type StepContext } from '../../protocols/upstream/steps.ts'
import { inShares, readImages } from '../answers/image-shares.ts'
import { listOf, objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { ImageFetch, type ImageFetchPorts } from './image-fetch.ts'
import { refusal, thrownFailure } from '../../protocols/ai-sdk/sdk-error.ts'
import type { SdkPackages } from '../../protocols/ai-sdk/sdk-packages.ts'
import { sdkUsage } from '../../protocols/ai-sdk/sdk-usage.ts'

export interface SdkImagesPorts extends ImageFetchPorts {
  readonly packages: Pick<SdkPackages, 'imageModel'>
}

/** Pictures through a package that has image models. */
export function sdkImages(ports: SdkImagesPorts): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps(async (context) => {
      const idle = await modelOf(ports, call, new ImageFetch(ports, call, context))
      return inShares(call.request.count, await countMax(idle), (count) => askOnce(ports, call, count, context))
    }, sink)
}

function modelOf(ports: SdkImagesPorts, { endpoint, apiKey }: ImageCall, images: ImageFetch): Promise<ImageModelV4> {
  const { provider, upstreamModel } = endpoint
  return attempted(images, () =>
    ports.packages.imageModel(provider, upstreamModel, {
      apiKey: apiKey ?? '',
      baseURL: provider.baseUrl,
      fetch: images.fetch,
    }),
  )
}

/** In the SDK a model that names no limit makes one picture per call. */
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
      // A package drops the field that its provider lacks.
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

/** The provider's own error is preferred to the package's. */
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
