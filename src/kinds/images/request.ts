import type { MediaUrl } from '../fields/media.ts'
import type { RoutedRequest } from '../fields/routed-request.ts'
import type { JsonBytes } from '../../base/json-text.ts'
import { rubles } from '../../base/money.ts'
import type { ChargedUsage } from '../answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../chat/answer.ts'
import type { Picture } from './bytes.ts'

/** A picture to start from: an address, or bytes. */
export type SourceImage =
  | { readonly type: 'address'; readonly url: MediaUrl<'image'>; readonly path: string }
  /** `url` is the whole data URL; `path` names the field for messages. */
  | {
      readonly type: 'data'
      readonly url: MediaUrl<'image'>
      readonly mediaType: `image/${string}`
      readonly base64: string
      readonly path: string
    }

/** A validated request for pictures (wire.md D-2.3). */
export interface ImageRequest extends RoutedRequest {
  /** `variation` = a variation of its only source, without a prompt. */
  readonly task: 'generate' | 'edit' | 'variation'
  readonly prompt: string
  /**
   * The number of requested pictures. `n` stays 1: several calls make more pictures than a provider makes at once, so
   * the number excludes no provider.
   */
  readonly count: number
  /** One of `IMAGE_SIZES`; null = the provider's own choice. */
  readonly size: string | null
  readonly aspectRatio: string | null
  readonly imageSize: '1K' | '2K' | '4K' | null
  readonly sources: readonly SourceImage[]
  /** Marks the parts of its first source to be redrawn. */
  readonly mask: SourceImage | null
  readonly responseFormat: 'url' | 'b64_json'
  /** Whether the answer is sent as events. */
  readonly stream: boolean
  /** The given ones of quality, background, output_format, output_compression, style, seed, input_fidelity and user. */
  readonly parameters: Readonly<Record<string, string | number>>
}

/** The sizes that a client may ask for. */
export const IMAGE_SIZES = [
  '1024x1024',
  '1024x768',
  '768x1024',
  '1280x720',
  '720x1280',
  '1536x1024',
  '1024x1536',
] as const
export const ASPECT_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const
export const IMAGE_RESOLUTIONS = ['1K', '2K', '4K'] as const
export const IMAGES_MAX = 10
export const SOURCES_MAX = 16
/** The limit that OpenAI documents for gpt-image, also used for models that name none. */
export const PROMPT_CHARACTERS_MAX = 32_000

/** Pixels of a square picture's side at `1K`. */
const SIDE_PIXELS = { '1K': 1_024, '2K': 2_048, '4K': 4_096 } as const
const SIDE_STEP_PIXELS = 16

/** Width divided by height, of a size or an aspect ratio. */
export function proportionOf(text: string): number {
  const [width = 1, height = 1] = text.split(/[x:]/).map(Number)
  return width / height
}

/** The requested aspect ratio, named in words or by a size; null = none. */
export function wantedRatio({ aspectRatio, size }: Pick<ImageRequest, 'aspectRatio' | 'size'>): string | null {
  if (aspectRatio !== null || size === null) return aspectRatio
  const proportion = proportionOf(size)
  return ASPECT_RATIOS.find((ratio) => Math.abs(proportionOf(ratio) - proportion) < 1e-9) ?? null
}

/** A size of this proportion with the area of a square of this resolution, as `1360x768`. */
export function sizeOfRatio(ratio: string, imageSize: ImageRequest['imageSize']): string {
  const root = Math.sqrt(proportionOf(ratio))
  const side = SIDE_PIXELS[imageSize ?? '1K']
  const pixels = (length: number): number => Math.round(length / SIDE_STEP_PIXELS) * SIDE_STEP_PIXELS
  return `${pixels(side * root)}x${pixels(side / root)}`
}

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
  /** The number of answered calls: each sent the request, with the source images, to the provider. */
  readonly calls: number
}

interface ImageUsage {
  readonly report: UsageReport
  /** The input tokens that images made, a part of all input tokens. */
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

/** The same pictures as events: one for each image, and the usage of all with the last. */
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
