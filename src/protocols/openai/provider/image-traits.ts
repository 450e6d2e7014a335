import type { Endpoint } from '../../../catalog/catalog.ts'
import { TraitTable } from '../../../catalog/trait-table.ts'
import {
  IMAGE_SIZES,
  proportionOf,
  sizeOfRatio,
  wantedRatio,
  type ImageRequest,
} from '../../../kinds/images/request.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { UnsendableError } from '../../ports/call.ts'

/** Differences between services of OpenAI's image protocol that a request must know. */
export interface ImageTraits {
  /** The most pictures of one call. */
  readonly countMax: number
  /** The sizes that the model makes; null = any. */
  readonly sizes: readonly string[] | null
  /** Whether shape and resolution replace the size, and source images are addresses in JSON, as in xAI's form. */
  readonly inWords: boolean
  /** The parameters that it accepts; null = all of the protocol. */
  readonly parameters: ReadonlySet<string> | null
  /** Whether it has `/images/variations`, and accepts a mask at `/images/edits`. */
  readonly varies: boolean
  readonly masks: boolean
}

const GPT: ImageTraits = {
  countMax: 10,
  sizes: ['1024x1024', '1536x1024', '1024x1536'],
  inWords: false,
  parameters: new Set(['quality', 'background', 'output_format', 'output_compression', 'input_fidelity', 'user']),
  varies: false,
  masks: true,
}
const DALL_E_3: ImageTraits = {
  countMax: 1,
  sizes: ['1024x1024', '1792x1024', '1024x1792'],
  inWords: false,
  parameters: new Set(['quality', 'style', 'user', 'response_format']),
  varies: false,
  masks: false,
}
const DALL_E_2: ImageTraits = {
  countMax: 10,
  sizes: ['1024x1024'],
  inWords: false,
  parameters: new Set(['user', 'response_format']),
  varies: true,
  masks: true,
}
const WORDS: ImageTraits = {
  countMax: 10,
  sizes: null,
  inWords: true,
  parameters: new Set(['user', 'response_format']),
  varies: false,
  masks: false,
}
const PLAIN: ImageTraits = {
  countMax: 10,
  sizes: null,
  inWords: false,
  parameters: null,
  varies: true,
  masks: true,
}
const PAGE = { source: 'https://platform.openai.com/docs/guides/image-generation', date: '2026-11-27' }

export const IMAGE_TRAITS = new TraitTable<ImageTraits>([
  { of: 'gpt image', traits: GPT, ...PAGE },
  { of: 'chatgpt image', traits: GPT, ...PAGE },
  { of: 'dall e', from: '2', traits: DALL_E_2, ...PAGE },
  { of: 'dall e', from: '3', traits: DALL_E_3, ...PAGE },
])
const WORD_RATIOS: readonly string[] = ['1:1', '2:3', '3:2', '3:4', '4:3', '9:16', '16:9']

/** The traits by name, since the protocol does not report them. Parameters that the endpoint lists take precedence. */
export function imageTraitsOf(
  { upstreamModel, provider, supportedParameters }: Endpoint,
  sizes: readonly string[] | null,
): ImageTraits {
  const traits = familyOf(upstreamModel, provider)
  const own = { ...traits, sizes: sizes ?? traits.sizes }
  if (supportedParameters === null) return own
  return {
    ...own,
    countMax: supportedParameters.includes('n') ? traits.countMax : 1,
    parameters: new Set(supportedParameters),
  }
}

/** Whether an endpoint makes variations and takes masks. */
export const imageEditsOf: NonNullable<Adapter['imageEdits']> = {
  masks: ({ upstreamModel, provider }) => familyOf(upstreamModel, provider).masks,
  varies: ({ upstreamModel, provider }) => familyOf(upstreamModel, provider).varies,
  tellsQuality: (endpoint) => imageTraitsOf(endpoint, null).parameters?.has('quality') !== false,
}

function familyOf(upstreamModel: string, { dialect, baseUrl }: Endpoint['provider']): ImageTraits {
  const form = dialect.images ?? (/^https:\/\/([\w-]+\.)*x\.ai(\/|$)/.test(baseUrl) ? 'words' : 'size')
  if (form === 'words') return WORDS
  return IMAGE_TRAITS.of(upstreamModel) ?? PLAIN
}

/** The fields for size and shape. Throws an UnsendableError if this provider makes no such pictures. */
export function shapeFields(request: ImageRequest, { inWords, sizes }: ImageTraits): Readonly<Record<string, string>> {
  if (inWords) return wordFields(request)
  const size = sizeOf(request, sizes)
  return size === null ? {} : { size }
}

function wordFields(request: ImageRequest): Readonly<Record<string, string>> {
  const ratio = wantedRatio(request)
  const { imageSize } = request
  if (ratio !== null && !WORD_RATIOS.includes(ratio))
    throw new UnsendableError(`image_config.aspect_ratio: this provider makes ${WORD_RATIOS.join(', ')}`)
  if (imageSize === '4K') throw new UnsendableError('image_config.image_size: this provider makes 1K and 2K')
  return {
    ...(ratio === null ? {} : { aspect_ratio: ratio }),
    ...(imageSize === null ? {} : { resolution: imageSize.toLowerCase() }),
  }
}

function sizeOf({ size, aspectRatio, imageSize }: ImageRequest, sizes: readonly string[] | null): string | null {
  const ratio = aspectRatio ?? (imageSize === null ? null : '1:1')
  if (ratio === null) return size === null || sizes === null || sizes.includes(size) ? size : nearest(size, sizes)
  const usual =
    imageSize === null || imageSize === '1K' ? IMAGE_SIZES.find((known) => isOfRatio(known, ratio)) : undefined
  const wanted = usual ?? sizeOfRatio(ratio, imageSize)
  if (sizes === null || sizes.includes(wanted)) return wanted
  const alike = sizes.filter(
    (known) =>
      isOfRatio(known, ratio) && (imageSize === null || Math.abs(Math.log2(areaOf(known) / areaOf(wanted))) < 1),
  )
  if (alike.length === 0) throw new UnsendableError(`image_config: this provider makes pictures of ${sizes.join(', ')}`)
  return nearest(wanted, alike)
}

/** The size nearest in shape, then in area: a size in a request stands for a shape. */
function nearest(size: string, sizes: readonly string[]): string | null {
  const distance = (known: string): number =>
    Math.abs(Math.log(proportionOf(known) / proportionOf(size))) * 100 +
    Math.abs(Math.log(areaOf(known) / areaOf(size)))
  return sizes.toSorted((left, right) => distance(left) - distance(right))[0] ?? null
}

/** Whether a size has a ratio. Whole pixels miss a ratio by a little: 1792x1024 counts as 16:9. */
function isOfRatio(size: string, ratio: string): boolean {
  return Math.abs(Math.log(proportionOf(size) / proportionOf(ratio))) < 0.03
}

function areaOf(size: string): number {
  const [width = 1, height = 1] = size.split('x').map(Number)
  return width * height
}
