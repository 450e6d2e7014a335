import { ApiError } from '../../../base/errors.ts'
import { ownValue } from '../../../base/own-value.ts'
import {
  either,
  flag,
  list,
  maybe,
  needed,
  object,
  oneOf,
  only,
  optional,
  readBy,
  said,
  text,
  whole,
  type OptionalField,
} from '../../../base/schema.ts'
import { bodyObject, field, invalidInput, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { dataOf, imageUrl } from '../../../kinds/fields/media.ts'
import { readPaidBody, type Read } from '../../../kinds/fields/paid-body.ts'
import { COST, MODEL, ROUTED, routingOf, USER } from '../../../kinds/fields/routed-request.ts'
import { formValue, uploadError, type UploadedFile, type UploadedForm } from '../../../kinds/fields/uploaded-form.ts'
import { decodeBase64, imageTypeOf, readDataUrl } from '../../../kinds/images/bytes.ts'
import {
  ASPECT_RATIOS,
  IMAGE_RESOLUTIONS,
  IMAGE_SIZES,
  IMAGES_MAX,
  SOURCES_MAX,
  type ImageRequest,
  type SourceImage,
} from '../../../kinds/images/request.ts'

const URL_CHARACTERS_MAX = 8_192
const RESPONSE_FORMATS = ['url', 'b64_json'] as const
const WORD = maybe(text('Passed on where it is priced.', { minLength: 1, maxLength: 64 }))
const ADDRESS = text('An address or a data URL.', { pattern: '^([hH][tT][tT][pP][sS]?://.+|[dD][aA][tT][aA]:.+)' })
const PICTURE = either(ADDRESS, object({ image_url: either(ADDRESS, object({ url: ADDRESS })) }))

/** A whole number, with a refusal in these words. */
function count(about: string, minimum: number, maximum: number): OptionalField<number | null> {
  return maybe(said(whole(about, { minimum, maximum }), `must be an integer from ${minimum} to ${maximum}`))
}

const TOO_MANY = `must be an array of at most ${SOURCES_MAX} images`
const PROMPT = needed(
  text('At most 32,000 characters, or what the model says.', { minLength: 1, pattern: '\\S' }),
  'missing_prompt',
  'blank text',
)
/** Fields that every request for pictures may have. */
const ASKED = {
  partial_images: count('At most so many before it; none are sent, since each is paid for.', 0, 3),
  stream: maybe(flag('The answer as events: `image_generation.completed` for each image.')),
  n: count('1 if absent.', 1, IMAGES_MAX),
  size: maybe(said(oneOf([...IMAGE_SIZES, 'auto']), `must be one of ${IMAGE_SIZES.join(', ')}`)),
  image_config: maybe(
    object({ aspect_ratio: maybe(oneOf(ASPECT_RATIOS)), image_size: maybe(oneOf(IMAGE_RESOLUTIONS)) }),
  ),
  response_format: maybe(readBy(oneOf(RESPONSE_FORMATS, '`url` is kept 24 hours.'), responseFormatOf)),
  ...ROUTED,
} as const
/** Fields that go to the provider in this order. */
const PARAMETERS = {
  quality: WORD,
  background: WORD,
  output_format: maybe(oneOf(['png', 'jpeg', 'webp'])),
  output_compression: count('', 0, 100),
  style: WORD,
  seed: maybe(whole('', { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  input_fidelity: maybe(oneOf(['low', 'high'])),
  user: USER,
} as const

/** `POST /v1/images/generations` (wire.md D-2.3). */
export const ImagesBody = object({
  model: MODEL,
  prompt: PROMPT,
  ...ASKED,
  image: maybe(readBy(ADDRESS, sourceOf)),
  input_references: maybe(
    said(
      list(readBy(PICTURE, referenceOf), 'More images to start from; 16 in all.', { maxItems: SOURCES_MAX }),
      TOO_MANY,
    ),
  ),
  ...PARAMETERS,
})

/** An edit without its pictures, which a form may have as files. */
const EDIT = object({ model: MODEL, prompt: PROMPT, ...ASKED, ...PARAMETERS })
const VARIATION = object({ model: MODEL, ...ASKED, user: USER })

/** `POST /v1/images/edits` as JSON; a form has the same fields, and files. */
export const ImageEditBody = object({
  ...EDIT.fields,
  image: either(PICTURE, list(PICTURE, 'Images to start from.', { minItems: 1, maxItems: SOURCES_MAX })),
  mask: maybe(PICTURE),
})

/** `POST /v1/images/variations`, in the same two forms. */
export const ImageVariationBody = object({
  model: MODEL,
  image: either(PICTURE, list(PICTURE, 'One image.', { minItems: 1, maxItems: 1 })),
  n: ASKED.n,
  size: ASKED.size,
  response_format: ASKED.response_format,
  stream: maybe(only(false)),
  user: USER,
  ...ROUTED,
})

export const ImagesAnswer = object({
  id: text(),
  created: whole('Unix seconds.'),
  model: text(),
  data: list(
    object({
      url: optional(text()),
      b64_json: optional(text()),
      media_type: text(),
      revised_prompt: optional(text()),
    }),
  ),
  usage: object({
    input_tokens: whole(),
    output_tokens: whole(),
    total_tokens: whole(),
    input_tokens_details: object({ text_tokens: whole(), image_tokens: whole() }),
    prompt_tokens: whole(),
    completion_tokens: whole(),
    images: whole(),
    ...COST,
  }),
})

export function parseImages(json: unknown): ImageRequest {
  const body = readPaidBody(ImagesBody, json)
  const { image, input_references: references } = body
  const sources = [...(image ? [image] : []), ...(references ?? [])]
  if (sources.length > SOURCES_MAX) throw invalidInput('input_references', TOO_MANY)
  return {
    task: 'generate',
    prompt: body.prompt,
    ...wishesOf(body),
    sources,
    mask: null,
    parameters: parametersOf(body),
  }
}

const WHOLE_FIELDS: ReadonlySet<string> = new Set(['n', 'seed', 'output_compression', 'partial_images'])
/** Fields with objects, which a form has as JSON. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['provider', 'image_config'])
/** The name of a list in a form: `image[]`, or with a number. */
const LIST_FIELD = /^(image|images|input_references)\[\d{0,2}\]$/
const SOURCE_FIELDS = ['image', 'images', 'input_references'] as const
const MASK = 'mask'

/** A request as JSON, or as the form that OpenAI's clients send. */
export type ImageInput = { readonly json: unknown } | { readonly form: UploadedForm }

/** Reads `/v1/images/edits` (clients.md 6). */
export function parseImageEdit(input: ImageInput): ImageRequest {
  const { body: given, images, mask } = partsOf(input)
  const body = readPaidBody(EDIT, given)
  return {
    task: 'edit',
    prompt: body.prompt,
    ...wishesOf(body),
    sources: sourcesIn(images, SOURCES_MAX),
    mask: mask === null ? null : sourceIn(mask),
    parameters: parametersOf(body),
  }
}

/** Reads `/v1/images/variations`. */
export function parseImageVariation(input: ImageInput): ImageRequest {
  const { body: given, images, mask } = partsOf(input)
  const body = readPaidBody(VARIATION, given)
  if (body.stream === true)
    throw new ApiError('streaming_not_supported', 'Streaming is not supported by images/variations')
  if (mask !== null) throw invalidInput(MASK, 'is not allowed for a variation. Allowed: for images/edits')
  return {
    task: 'variation',
    prompt: '',
    ...wishesOf(body),
    sources: sourcesIn(images, 1),
    mask: null,
    parameters: parametersOf({ user: body.user }),
  }
}

type Wishes = Omit<ImageRequest, 'task' | 'prompt' | 'sources' | 'mask' | 'parameters'>

function wishesOf(body: Read<typeof VARIATION>): Wishes {
  const { image_config: config, size, stream } = body
  return {
    ...routingOf(null, body),
    count: body.n ?? 1,
    // `auto` leaves the choice to the provider, as an absent size does.
    size: size === 'auto' ? null : (size ?? null),
    aspectRatio: config?.aspect_ratio ?? null,
    imageSize: config?.image_size ?? null,
    responseFormat: body.response_format ?? (stream === true ? 'b64_json' : 'url'),
    stream: stream ?? false,
  }
}

function responseFormatOf(given: unknown): ImageRequest['responseFormat'] {
  const found = RESPONSE_FORMATS.find((format) => format === given)
  if (found !== undefined) return found
  throw new ApiError('invalid_response_format', `Invalid response_format: must be ${RESPONSE_FORMATS.join(' or ')}`)
}

type Parameters = Readonly<Partial<Record<keyof typeof PARAMETERS, string | number | null | undefined>>>

function parametersOf(body: Parameters): ImageRequest['parameters'] {
  const given = Object.keys(PARAMETERS).map(
    (name) => [name, ownValue<string | number | null | undefined>(body, name)] as const,
  )
  return Object.fromEntries(
    given.flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value]])),
  )
}

/** A picture in the request. */
interface Given {
  readonly path: string
  readonly content: { readonly file: Buffer } | { readonly text: unknown }
}

interface Parts {
  readonly body: RawObject
  readonly images: readonly Given[]
  readonly mask: Given | null
}

function partsOf(input: ImageInput): Parts {
  return 'form' in input ? formParts(input.form) : jsonParts(bodyObject(input.json))
}

function jsonParts(body: RawObject): Parts {
  const images = SOURCE_FIELDS.flatMap((name): readonly Given[] => {
    const given = field(body, name)
    if (given === undefined) return []
    if (!Array.isArray(given)) return [{ path: name, content: { text: given } }]
    return given.map((text: unknown, index) => ({ path: `${name}[${index}]`, content: { text } }))
  })
  const mask = field(body, MASK)
  return { body, images, mask: mask === undefined ? null : { path: MASK, content: { text: mask } } }
}

/** The fields of a form are strings; each is read as if it had come as JSON. */
function formParts({ fields, files }: UploadedForm): Parts {
  const body: Record<string, unknown> = {}
  const images: Given[] = []
  let mask: Given | null = null
  for (const [name, value] of fields) {
    if (value === '' || name === '__proto__') continue
    if (isSourceField(name)) images.push({ path: name, content: { text: value } })
    else if (name === MASK) mask = { path: MASK, content: { text: value } }
    else body[name] = formValue(name, value, { json: JSON_FIELDS, whole: WHOLE_FIELDS })
  }
  for (const file of files) {
    const given: Given = { path: nameOf(file), content: { file: file.bytes } }
    if (given.path !== MASK) images.push(given)
    else if (mask === null) mask = given
    else throw uploadError(`more than one file is in field '${MASK}'`)
  }
  return { body, images, mask }
}

function isSourceField(name: string): boolean {
  return LIST_FIELD.test(name) || SOURCE_FIELDS.some((known) => known === name)
}

function nameOf({ field: name }: UploadedFile): string {
  if (isSourceField(name) || name === MASK) return name
  throw uploadError(`a file must be in field 'image', 'image[]' or 'mask', got '${name.slice(0, 40)}'`)
}

function sourcesIn(images: readonly Given[], most: number): readonly SourceImage[] {
  if (images.length === 0) throw new ApiError('missing_input', "Parameter 'image' is required")
  if (images.length > most)
    throw invalidInput('image', `must be ${most === 1 ? 'one image' : `at most ${most} images`}, got ${images.length}`)
  return images.map(sourceIn)
}

function sourceIn({ path, content }: Given): SourceImage {
  return 'text' in content ? referenceOf(content.text, path) : fileSource(content.file, path)
}

function fileSource(bytes: Buffer, path: string): SourceImage {
  if (bytes.length === 0) throw uploadError(`the file in field '${path}' is empty`)
  const mediaType = imageTypeOf(bytes)
  if (mediaType === null) throw uploadError(`the file in field '${path}' is no image`)
  const base64 = bytes.toString('base64')
  return { type: 'data', url: `data:${mediaType};base64,${base64}`, mediaType, base64, path }
}

/** The address of a reference, which is given directly or as a part of a chat message. */
function referenceUrl(reference: unknown): unknown {
  if (!isObject(reference)) return reference
  const part = field(reference, 'image_url')
  return isObject(part) ? field(part, 'url') : part
}

function referenceOf(reference: unknown, path: string): SourceImage {
  return sourceOf(referenceUrl(reference), path)
}

function sourceOf(url: unknown, path: string): SourceImage {
  if (typeof url !== 'string') throw invalidInput(path, 'must be an http or https URL or a data URL of an image')
  if (/^data:/i.test(url)) return dataSource(url, path)
  const parsed = url.length <= URL_CHARACTERS_MAX && URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw invalidInput(path, 'must be an http or https URL or a data URL of an image')
  return { type: 'address', url: imageUrl(url, path), path }
}

function dataSource(url: string, path: string): SourceImage {
  const read = readDataUrl(url)
  const bytes = read === null ? null : decodeBase64(read.base64)
  if (read === null || bytes === null) throw invalidInput(path, 'the data URL is not valid base64')
  const image = imageUrl(url, path)
  const found = dataOf(image)
  if (found === null || (read.mediaType === null && imageTypeOf(bytes) === null))
    throw invalidInput(path, 'the data URL is not of an image')
  return { type: 'data', url: image, mediaType: found.mediaType, base64: found.data, path }
}
