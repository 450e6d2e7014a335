import { ApiError } from '../../base/errors.ts'
import { decodeBase64, imageTypeOf, readDataUrl } from './bytes.ts'
import {
  ASPECT_RATIOS,
  IMAGE_RESOLUTIONS,
  IMAGE_SIZES,
  IMAGES_MAX,
  SOURCES_MAX,
  type ImageRequest,
  type SourceImage,
} from './request.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  numberField,
  objectField,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'

const WORD_CHARACTERS_MAX = 64
const PARTIALS_MAX = 3
const USER_CHARACTERS_MAX = 512
const URL_CHARACTERS_MAX = 8_192
const OUTPUT_FORMATS = ['png', 'jpeg', 'webp'] as const
const RESPONSE_FORMATS = ['url', 'b64_json'] as const

/** Reads the body of a request for pictures (wire.md D-2.3): required fields first, then types and ranges. */
export function parseImages(json: unknown): ImageRequest {
  const body = imageBody(json)
  const model = requiredModel(body)
  const prompt = requiredPrompt(body)
  return {
    task: 'generate',
    model,
    prompt,
    ...wishesOf(body),
    sources: sourcesOf(body),
    mask: null,
    parameters: parametersOf(body),
  }
}

/** Fields that every request for pictures may have. */
type Wishes = Omit<ImageRequest, 'task' | 'model' | 'prompt' | 'sources' | 'mask' | 'parameters'>

export function wishesOf(body: RawObject): Wishes {
  const config = objectField(body, 'image_config') ?? {}
  const stream = streamOf(body)
  return {
    fallbackModels: [],
    n: 1,
    count:
      numberField(
        body,
        'n',
        (n) => Number.isInteger(n) && n >= 1 && n <= IMAGES_MAX,
        `must be an integer from 1 to ${IMAGES_MAX}`,
      ) ?? 1,
    size: sizeOf(body),
    aspectRatio: oneOf(config, 'aspect_ratio', ASPECT_RATIOS, 'image_config.aspect_ratio') ?? null,
    imageSize: oneOf(config, 'image_size', IMAGE_RESOLUTIONS, 'image_config.image_size') ?? null,
    responseFormat: responseFormatOf(body) ?? (stream ? 'b64_json' : 'url'),
    stream,
    provider: parseProviderPreferences(body),
    sessionId: null,
  }
}

export function imageBody(json: unknown): RawObject {
  if (isObject(json)) return json
  throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
}

export function requiredModel(body: RawObject): string {
  return requiredText(body, 'model', 'missing_model')
}

export function requiredPrompt(body: RawObject): string {
  const prompt = requiredText(body, 'prompt', 'missing_prompt')
  if (prompt.trim() === '') throw new ApiError('missing_prompt', "Parameter 'prompt' is required")
  return prompt
}

function requiredText(body: RawObject, name: string, error: 'missing_model' | 'missing_prompt'): string {
  const given = field(body, name)
  if (given === undefined || given === '') throw new ApiError(error, `Parameter '${name}' is required`)
  return stringField(body, name) ?? ''
}

/** `auto` leaves the choice to the provider, like an absent size. */
function sizeOf(body: RawObject): string | null {
  if (field(body, 'size') === 'auto') return null
  return oneOf(body, 'size', IMAGE_SIZES) ?? null
}

function oneOf<T extends string>(object: RawObject, name: string, allowed: readonly T[], path = name): T | undefined {
  const given = field(object, name)
  if (given === undefined) return undefined
  const found = allowed.find((value) => value === given)
  if (found === undefined) throw invalidInput(path, `must be one of ${allowed.join(', ')}`)
  return found
}

/** The most partial images that are accepted: none is requested from providers, since each is paid for. */
function streamOf(body: RawObject): boolean {
  numberField(
    body,
    'partial_images',
    (value) => Number.isInteger(value) && value >= 0 && value <= PARTIALS_MAX,
    `must be an integer from 0 to ${PARTIALS_MAX}`,
  )
  return booleanField(body, 'stream') ?? false
}

function responseFormatOf(body: RawObject): ImageRequest['responseFormat'] | null {
  const given = field(body, 'response_format')
  if (given === undefined) return null
  const found = RESPONSE_FORMATS.find((format) => format === given)
  if (found === undefined)
    throw new ApiError('invalid_response_format', `Invalid response_format: must be ${RESPONSE_FORMATS.join(' or ')}`)
  return found
}

export function parametersOf(body: RawObject): Readonly<Record<string, string | number>> {
  const given = {
    quality: wordOf(body, 'quality'),
    background: wordOf(body, 'background'),
    output_format: oneOf(body, 'output_format', OUTPUT_FORMATS),
    output_compression: numberField(
      body,
      'output_compression',
      (value) => Number.isInteger(value) && value >= 0 && value <= 100,
      'must be an integer from 0 to 100',
    ),
    style: wordOf(body, 'style'),
    seed: numberField(body, 'seed', Number.isSafeInteger, 'must be an integer'),
    input_fidelity: oneOf(body, 'input_fidelity', ['low', 'high']),
    user: userOf(body),
  }
  const parameters: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(given)) if (value !== undefined) parameters[name] = value
  return parameters
}

export function userOf(body: RawObject): string | undefined {
  return stringField(body, 'user')?.slice(0, USER_CHARACTERS_MAX)
}

function wordOf(body: RawObject, name: string): string | undefined {
  const word = stringField(body, name)
  if (word !== undefined && (word === '' || word.length > WORD_CHARACTERS_MAX))
    throw invalidInput(name, `must be a string of 1 to ${WORD_CHARACTERS_MAX} characters`)
  return word
}

/** `image` first, then `input_references`. */
function sourcesOf(body: RawObject): readonly SourceImage[] {
  const image = field(body, 'image')
  const references = field(body, 'input_references')
  if (references !== undefined && !Array.isArray(references))
    throw invalidInput('input_references', `must be an array of at most ${SOURCES_MAX} images`)
  const listed = (references ?? []).map((reference: unknown, index: number) =>
    sourceOf(referenceUrl(reference), `input_references[${index}]`),
  )
  const all = image === undefined ? listed : [sourceOf(image, 'image'), ...listed]
  if (all.length > SOURCES_MAX)
    throw invalidInput('input_references', `must be an array of at most ${SOURCES_MAX} images`)
  return all
}

/** A reference is an address, or a part of a chat message. */
export function referenceUrl(reference: unknown): unknown {
  if (!isObject(reference)) return reference
  const part = field(reference, 'image_url')
  return isObject(part) ? field(part, 'url') : part
}

export function sourceOf(url: unknown, path: string): SourceImage {
  if (typeof url !== 'string') throw invalidInput(path, 'must be an http or https URL or a data URL of an image')
  if (/^data:/i.test(url)) return dataSource(url, path)
  const parsed = url.length <= URL_CHARACTERS_MAX && URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw invalidInput(path, 'must be an http or https URL or a data URL of an image')
  return { type: 'address', url, path }
}

function dataSource(url: string, path: string): SourceImage {
  const read = readDataUrl(url)
  const bytes = read === null ? null : decodeBase64(read.base64)
  if (read === null || bytes === null) throw invalidInput(path, 'the data URL is not valid base64')
  const mediaType = imageTypeOf(bytes) ?? read.mediaType
  if (mediaType === null || !mediaType.startsWith('image/')) throw invalidInput(path, 'the data URL is not of an image')
  return { type: 'data', url, mediaType, base64: read.base64, path }
}
