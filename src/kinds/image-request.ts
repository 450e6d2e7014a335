import type { RoutedRequest } from './routed-request.ts'

/** A picture to start from: an address, or bytes. */
export type SourceImage =
  | { readonly type: 'address'; readonly url: string; readonly path: string }
  /** `url` is the whole data URL; `path` names the field for messages. */
  | {
      readonly type: 'data'
      readonly url: string
      readonly mediaType: string
      readonly base64: string
      readonly path: string
    }

/** A validated request for pictures (api.md 4.8, wire.md D-2.3). */
export interface ImageRequest extends RoutedRequest {
  readonly prompt: string
  /**
   * Pictures asked for. `n` stays 1: more than a provider makes at once are made by several calls, so that it excludes
   * none.
   */
  readonly count: number
  /** One of the sizes of api.md 4.8; null = the provider's own choice. */
  readonly size: string | null
  readonly aspectRatio: string | null
  readonly imageSize: '1K' | '2K' | '4K' | null
  readonly sources: readonly SourceImage[]
  readonly responseFormat: 'url' | 'b64_json'
  /** quality, background, output_format, output_compression, style, seed, user: those that were given. */
  readonly parameters: Readonly<Record<string, string | number>>
}

/** Sizes that may be asked for (api.md 4.8). */
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
/** OpenAI's documented limit of gpt-image, for models that name none. */
export const PROMPT_CHARACTERS_MAX = 32_000

/** Pixels of a picture's side at `1K`, were it a square. */
const SIDE_PIXELS = { '1K': 1_024, '2K': 2_048, '4K': 4_096 } as const
const SIDE_STEP_PIXELS = 16

/** Width to height of a size or an aspect ratio. */
export function proportionOf(text: string): number {
  const [width = 1, height = 1] = text.split(/[x:]/).map(Number)
  return width / height
}

/** The aspect ratio that was asked for, in words or by a size; null = none was. */
export function wantedRatio({ aspectRatio, size }: Pick<ImageRequest, 'aspectRatio' | 'size'>): string | null {
  if (aspectRatio !== null || size === null) return aspectRatio
  const proportion = proportionOf(size)
  return ASPECT_RATIOS.find((ratio) => Math.abs(proportionOf(ratio) - proportion) < 1e-9) ?? null
}

/** A size of that proportion with the area of a square of that resolution, as `1360x768`. */
export function sizeOfRatio(ratio: string, imageSize: ImageRequest['imageSize']): string {
  const root = Math.sqrt(proportionOf(ratio))
  const side = SIDE_PIXELS[imageSize ?? '1K']
  const pixels = (length: number): number => Math.round(length / SIDE_STEP_PIXELS) * SIDE_STEP_PIXELS
  return `${pixels(side * root)}x${pixels(side / root)}`
}
