import { TraitTable } from '../../../catalog/trait-table.ts'
import { type ImageResult, proportionOf, wantedRatio, type ImageRequest } from '../../../kinds/images/request.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { failure } from '../../ports/attempt-failure.ts'
import { type ImageCall, UnsendableError } from '../../ports/call.ts'
import { StepFailedError, askJson, inSteps, type StepContext } from '../../upstream/steps.ts'
import type { ReadsError } from '../../upstream/response.ts'
import type { FileFetch } from '../../wire/file-fetch.ts'
import {
  IMAGE_BYTES_MAX,
  inShares,
  readImages,
  spelledText,
  type SpelledImage,
  moderated,
} from '../../answers/images-over-chat.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { listOf, objectOf, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { geminiCredentials, geminiPath, geminiResource } from './request.ts'

/** The most pictures of one call to Imagen. */
const COUNT_MAX = 4
const RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9']
/** The address of the Gemini API. Any other with this protocol is Vertex AI, whose Imagen accepts more parameters. */
const GEMINI_API = /^https:\/\/generativelanguage\.googleapis\.com\//
const REASON_CHARACTERS_MAX = 500

/** Parameters of both ways to make pictures, by the names that clients send. */
export const GEMINI_IMAGE_PARAMETERS: readonly string[] = Object.freeze([
  'n',
  'size',
  'aspect_ratio',
  'image_size',
  'image',
  'output_format',
  'output_compression',
  'seed',
])

export interface GeminiImagesPorts {
  readonly transport: Transport
  readonly files: FileFetch
  readonly chatImages: NonNullable<Adapter['chatImages']>
}

const IMAGEN = { source: 'https://ai.google.dev/gemini-api/docs/imagen', date: '2026-11-27' }
/** Models that are called by `:predict`. */
export const PREDICTS = new TraitTable<true>([
  { of: 'imagen', traits: true, ...IMAGEN },
  { of: 'imagegeneration', traits: true, ...IMAGEN },
])

/** Google's pictures: Imagen through `:predict`, all other models through `generateContent`. */
export function geminiImages(ports: GeminiImagesPorts): NonNullable<Adapter['images']> {
  return (call, sink) =>
    PREDICTS.of(call.endpoint.upstreamModel) === true
      ? inSteps(
          (context) => inShares(call.request.count, COUNT_MAX, (count) => predict(ports, call, count, context)),
          sink,
        )
      : ports.chatImages(call, sink)
}

async function predict(
  { transport, files }: GeminiImagesPorts,
  call: ImageCall,
  count: number,
  context: StepContext,
): Promise<ImageResult> {
  const { endpoint, request, apiKey } = call
  const { provider, upstreamModel } = endpoint
  const body = {
    instances: [{ prompt: request.prompt }],
    parameters: parametersOf(request, count, GEMINI_API.test(`${provider.baseUrl}/`)),
  }
  const lifted = await askJson(context, transport, call, {
    request: () => ({
      path: `${geminiPath(geminiResource(upstreamModel))}:predict`,
      body,
      headers: geminiCredentials(apiKey),
    }),
    bytesMax: IMAGE_BYTES_MAX,
    error: errorOf,
  })
  const answer = objectOf(lifted.json)
  if (answer === null) throw new StepFailedError(failure('garbage', null, 'the answer is no object'))
  const images = await readImages(
    listOf(answer['predictions']).map((raw) => spelledOf(raw, lifted)),
    call,
    files,
    context,
  )
  const reason = filterReason(answer)
  if (images.length === 0 && reason !== null) throw new StepFailedError(moderated(reason))
  return { images, usage: null, upstreamId: null, calls: 1 }
}

function parametersOf(request: ImageRequest, count: number, isGeminiApi: boolean): Readonly<Record<string, unknown>> {
  const { imageSize, sources, parameters } = request
  const [source] = sources
  if (source !== undefined) throw new UnsendableError(`${source.path}: this model starts from no image`)
  if (imageSize === '4K') throw new UnsendableError('image_config.image_size: this provider makes 1K and 2K')
  const { seed, output_format: format, output_compression: compression } = parameters
  const aspectRatio = ratioOf(request)
  return {
    sampleCount: count,
    ...(aspectRatio === null ? {} : { aspectRatio }),
    ...(imageSize === null ? {} : { sampleImageSize: imageSize }),
    // A seed and a watermark exclude each other.
    ...(typeof seed === 'number' && !isGeminiApi ? { seed: Math.abs(seed) % 2_147_483_648, addWatermark: false } : {}),
    ...(format === 'png' || format === 'jpeg'
      ? {
          outputOptions: {
            mimeType: `image/${format}`,
            ...(format === 'jpeg' && compression !== undefined ? { compressionQuality: compression } : {}),
          },
        }
      : {}),
  }
}

/** The requested ratio. A size stands for a shape and becomes the nearest ratio; a given ratio is sent unchanged. */
function ratioOf(request: ImageRequest): string | null {
  const ratio = wantedRatio(request)
  if (ratio === null || RATIOS.includes(ratio)) return ratio
  if (request.aspectRatio !== null)
    throw new UnsendableError(`image_config.aspect_ratio: this provider makes ${RATIOS.join(', ')}`)
  const distance = (known: string): number => Math.abs(Math.log(proportionOf(known) / proportionOf(ratio)))
  return RATIOS.toSorted((left, right) => distance(left) - distance(right))[0] ?? null
}

function spelledOf(raw: unknown, lifted: LiftedJson): SpelledImage {
  const prediction = objectOf(raw)
  return {
    base64: spelledText(prediction?.['bytesBase64Encoded'], lifted),
    url: null,
    mediaType: textOf(prediction?.['mimeType']),
    revisedPrompt: textOf(prediction?.['prompt']),
  }
}

/** An answer with an error status may also have no error in its body. */
const errorOf: ReadsError = (status, body, read) => {
  const reason = status === 400 ? filterReason(body) : null
  return reason === null ? read(body) : moderated(reason)
}

/** The reason why the pictures were withheld. */
function filterReason(body: unknown): string | null {
  for (const raw of listOf(objectOf(body)?.['predictions'])) {
    const reason = textOf(objectOf(raw)?.['raiFilteredReason'])
    if (reason !== null) return reason.slice(0, REASON_CHARACTERS_MAX)
  }
  return null
}
