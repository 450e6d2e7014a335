import type { JsonBytes } from '../../base/json-text.ts'
import { rubles } from '../../base/money.ts'
import type { ChargedUsage } from '../answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../chat/answer.ts'
import type { Picture } from './bytes.ts'
import type { ImageRequest } from './request.ts'

/** A picture as a provider delivered it. */
export interface GeneratedImage {
  readonly picture: Picture
  readonly revisedPrompt: string | null
}

/** The results of all calls of one attempt. */
export interface ImageResult {
  /** The delivered pictures; there may be fewer than requested. */
  readonly images: readonly GeneratedImage[]
  /** null = the provider reported no tokens. */
  readonly usage: ImageUsage | null
  readonly upstreamId: string | null
  /** Answered calls: each sent a request, with the source images, to the provider. */
  readonly calls: number
}

export interface ImageUsage {
  readonly report: UsageReport
  /** The part of the input tokens that images made. */
  readonly imageTokens: number
}

/** The place of a picture for the client: stored by us, or in the answer. */
export type DeliveredImage = { readonly url: string } | { readonly b64_json: JsonBytes }

/** The body of wire.md D-2.3. `delivered` in the order of the images. */
export function imagesBody(
  result: ImageResult,
  delivered: readonly DeliveredImage[],
  { id, created, model }: ChunkIdentity,
  usage: ChargedUsage,
): Record<string, unknown> {
  return { id, created, model, data: dataOf(result, delivered), usage: usageOf(result, usage) }
}

/** The same as events: one for each image, and the usage of all with the last. */
export function imageEvents(
  { task, size, parameters }: ImageRequest,
  result: ImageResult,
  delivered: readonly DeliveredImage[],
  { id, created, model }: ChunkIdentity,
  usage: ChargedUsage,
): readonly { readonly type: string }[] {
  const images = dataOf(result, delivered)
  return images.map((image, index) => ({
    type: task === 'edit' ? 'image_edit.completed' : 'image_generation.completed',
    id,
    model,
    created_at: created,
    size: size ?? 'auto',
    quality: parameters['quality'] ?? 'auto',
    background: parameters['background'] ?? 'auto',
    output_format: image.media_type.slice('image/'.length),
    ...image,
    ...(index === images.length - 1 ? { usage: usageOf(result, usage) } : {}),
  }))
}

function dataOf(
  { images }: ImageResult,
  delivered: readonly DeliveredImage[],
): readonly (Partial<DeliveredImage> & { readonly media_type: string })[] {
  return images.map(({ picture, revisedPrompt }, index) => ({
    ...delivered[index],
    media_type: picture.mediaType,
    ...(revisedPrompt === null ? {} : { revised_prompt: revisedPrompt }),
  }))
}

function usageOf({ usage, images }: ImageResult, { report, chargedMicro }: ChargedUsage): Record<string, unknown> {
  const { inputTokens, outputTokens } = report
  const imageTokens = Math.min(usage?.imageTokens ?? 0, inputTokens)
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { text_tokens: inputTokens - imageTokens, image_tokens: imageTokens },
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    images: images.length,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}
