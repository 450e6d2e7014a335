import type { Endpoint } from '../../../catalog/catalog.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'
import { TraitTable } from '../../../catalog/trait-table.ts'
import type { Picture } from '../../../kinds/images/bytes.ts'
import {
  IMAGE_SIZES,
  type ImageRequest,
  type ImageResult,
  proportionOf,
  sizeOfRatio,
  wantedRatio,
} from '../../../kinds/images/request.ts'
import {
  IMAGE_BYTES_MAX,
  type SpelledImage,
  inShares,
  readImages,
  sourcePicture,
  spelledText,
} from '../../answers/images-over-chat.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { failure } from '../../ports/attempt-failure.ts'
import { type ImageCall, UnsendableError, type UpstreamRequest } from '../../ports/call.ts'
import { type StepContext, StepFailedError, askJson, inSteps } from '../../upstream/steps.ts'
import type { FileFetch } from '../../wire/file-fetch.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { type RawJson, listOf, objectOf, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { openaiUsage } from './usage.ts'

const GENERATIONS_PATH = '/images/generations'
const EDITS_PATH = '/images/edits'
const VARIATIONS_PATH = '/images/variations'

/** Parameters of the image protocol, by the names that clients send. */
export const OPENAI_IMAGE_PARAMETERS: readonly string[] = Object.freeze([
  'n',
  'size',
  'aspect_ratio',
  'image_size',
  'image',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'style',
  'seed',
  'input_fidelity',
  'user',
])

export interface OpenaiImagesPorts {
  readonly transport: Transport
  readonly files: FileFetch
}

/**
 * OpenAI's image protocol and its dialects: `/images/generations`, `/images/edits` if there are pictures to start from,
 * and `/images/variations` if there is no prompt.
 */
export function openaiImages(ports: OpenaiImagesPorts): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps((context) => {
      const traits = imageTraitsOf(call.endpoint, call.sizes)
      return inShares(call.request.count, traits.countMax, (count) => askOnce(ports, call, traits, count, context))
    }, sink)
}

async function askOnce(
  { transport, files }: OpenaiImagesPorts,
  call: ImageCall,
  traits: ImageTraits,
  count: number,
  context: StepContext,
): Promise<ImageResult> {
  const request = await requestOf(call, traits, count, files, context)
  const lifted = await askJson(context, transport, call, {
    request: () => request,
    bytesMax: IMAGE_BYTES_MAX,
  })
  const body = objectOf(lifted.json)
  if (body === null || !Array.isArray(body['data']))
    throw new StepFailedError(failure('garbage', null, 'the answer holds no list of images'))
  const format = textOf(body['output_format'])
  const spelled = listOf(body['data']).map((raw) =>
    spelledOf(objectOf(raw), format === null ? null : `image/${format}`, lifted),
  )
  return {
    images: await readImages(spelled, call, files, context),
    usage: usageOf(body['usage']),
    upstreamId: textOf(body['id']),
    calls: 1,
  }
}

async function requestOf(
  call: ImageCall,
  traits: ImageTraits,
  count: number,
  files: FileFetch,
  context: StepContext,
): Promise<UpstreamRequest> {
  const { endpoint, request } = call
  const { provider } = endpoint
  const edits = request.sources.length > 0
  const fields = fieldsOf(call, traits, count)
  const path =
    (request.task === 'variation' ? VARIATIONS_PATH : edits ? EDITS_PATH : GENERATIONS_PATH) + provider.dialect.query
  const headers = keyHeaders(provider.dialect, call.apiKey)
  if (edits && !traits.inWords) {
    const form = await formOf(call, fields, files, context)
    return { path, body: form.body, headers: { ...headers, 'content-type': form.contentType } }
  }
  const addresses = request.sources.map(({ url }) => ({ url, type: 'image_url' }))
  const sources = addresses.length === 0 ? {} : addresses.length === 1 ? { image: addresses[0] } : { images: addresses }
  return { path, body: { ...fields, ...sources }, headers }
}

function fieldsOf(
  { endpoint, request }: ImageCall,
  traits: ImageTraits,
  count: number,
): Readonly<Record<string, string | number>> {
  const takes = (name: string): boolean => traits.parameters === null || traits.parameters.has(name)
  const fields: Record<string, string | number> = {
    model: endpoint.upstreamModel,
    ...(request.task === 'variation' ? {} : { prompt: request.prompt }),
    ...shapeFields(request, traits),
  }
  if (count > 1) fields['n'] = count
  for (const [name, value] of Object.entries(request.parameters)) if (takes(name)) fields[name] = value
  // An address would mean one more request to the provider; services without this parameter send bytes by default.
  if (takes('response_format')) fields['response_format'] = 'b64_json'
  return fields
}

/** A form: pictures are sent as files, and several of them under PHP's name for a list. */
async function formOf(
  call: ImageCall,
  fields: Readonly<Record<string, string | number>>,
  files: FileFetch,
  context: StepContext,
): Promise<{ readonly body: Buffer; readonly contentType: string }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  const { sources, mask } = call.request
  const pictures = await Promise.all(sources.map((source) => sourcePicture(source, call, files, context)))
  for (const [index, picture] of pictures.entries())
    append(form, pictures.length === 1 ? 'image' : 'image[]', picture, `image-${index}`)
  if (mask !== null) append(form, 'mask', await sourcePicture(mask, call, files, context), 'mask')
  const encoded = new Response(form)
  return {
    body: Buffer.from(await encoded.arrayBuffer()),
    contentType: encoded.headers.get('content-type') ?? 'multipart/form-data',
  }
}

function append(form: FormData, field: string, { bytes, mediaType }: Picture, name: string): void {
  const ending = mediaType.slice('image/'.length).split('+', 1)[0] ?? ''
  form.append(field, new Blob([new Uint8Array(bytes)], { type: mediaType }), `${name}.${ending}`)
}

function spelledOf(image: RawJson | null, mediaType: string | null, lifted: LiftedJson): SpelledImage {
  return {
    base64: spelledText(image?.['b64_json'], lifted),
    url: spelledText(image?.['url'], lifted),
    mediaType: textOf(image?.['media_type']) ?? mediaType,
    revisedPrompt: textOf(image?.['revised_prompt']),
  }
}

function usageOf(raw: unknown): ImageResult['usage'] {
  const report = openaiUsage(raw)
  if (report === null) return null
  return {
    report,
    imageTokens: new TokenReader().part(objectOf(objectOf(raw)?.['input_tokens_details']), 'image_tokens'),
  }
}

/** Differences between services of OpenAI's image protocol that a request must know. */
interface ImageTraits {
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
function imageTraitsOf(
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
function shapeFields(request: ImageRequest, { inWords, sizes }: ImageTraits): Readonly<Record<string, string>> {
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
