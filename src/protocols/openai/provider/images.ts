import type { ImageResult } from '../../../kinds/images/request.ts'
import type { Picture } from '../../../kinds/images/bytes.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { ImageCall, UpstreamRequest } from '../../ports/call.ts'
import { StepFailedError, askJson, inSteps, type StepContext } from '../../upstream/steps.ts'
import type { FileFetch } from '../../wire/file-fetch.ts'
import {
  IMAGE_BYTES_MAX,
  inShares,
  readImages,
  sourcePicture,
  spelledText,
  type SpelledImage,
} from '../../answers/images-over-chat.ts'
import { imageTraitsOf, shapeFields, type ImageTraits } from './image-traits.ts'
import { openaiUsage } from './usage.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import { failure } from '../../ports/attempt-failure.ts'
import type { Transport } from '../../wire/transport.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

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
