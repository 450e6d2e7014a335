import { ApiError } from '../../base/errors.ts'
import { field, invalidInput, type RawObject } from '../fields/json-fields.ts'
import { formValue, uploadError, type UploadedFile, type UploadedForm } from '../fields/uploaded-form.ts'
import { imageTypeOf } from './bytes.ts'
import {
  imageBody,
  parametersOf,
  referenceUrl,
  requiredModel,
  requiredPrompt,
  sourceOf,
  userOf,
  wishesOf,
} from './parse.ts'
import { SOURCES_MAX, type ImageRequest, type SourceImage } from './request.ts'

const WHOLE_FIELDS: ReadonlySet<string> = new Set(['n', 'seed', 'output_compression', 'partial_images'])
/** Objects, which a form holds as their JSON. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['provider', 'image_config'])
/** A list's name in a form: `image[]`, or with a number. */
const LIST_FIELD = /^(image|images|input_references)\[\d{0,2}\]$/
const SOURCE_FIELDS = ['image', 'images', 'input_references'] as const
const MASK = 'mask'

/** A request as JSON, or as the form that OpenAI's clients send. */
export type ImageInput = { readonly json: unknown } | { readonly form: UploadedForm }

/** Reads `/v1/images/edits` (clients.md 6). */
export function parseImageEdit(input: ImageInput): ImageRequest {
  const { body, images, mask } = partsOf(input)
  const model = requiredModel(body)
  const prompt = requiredPrompt(body)
  return {
    task: 'edit',
    model,
    prompt,
    ...wishesOf(body),
    sources: sourcesIn(images, SOURCES_MAX),
    mask: mask === null ? null : sourceIn(mask),
    parameters: parametersOf(body),
  }
}

/** Reads `/v1/images/variations`. */
export function parseImageVariation(input: ImageInput): ImageRequest {
  const { body, images, mask } = partsOf(input)
  const model = requiredModel(body)
  if (field(body, 'stream') === true)
    throw new ApiError('streaming_not_supported', 'Streaming is not supported by images/variations')
  if (mask !== null) throw invalidInput(MASK, 'is not allowed for a variation. Allowed: for images/edits')
  const user = userOf(body)
  return {
    task: 'variation',
    model,
    prompt: '',
    ...wishesOf(body),
    sources: sourcesIn(images, 1),
    mask: null,
    parameters: user === undefined ? {} : { user },
  }
}

/** A given image. */
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
  return 'form' in input ? formParts(input.form) : jsonParts(imageBody(input.json))
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

/** A form's fields are strings; each is read as if it had come as JSON. */
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
  return 'text' in content ? sourceOf(referenceUrl(content.text), path) : fileSource(content.file, path)
}

function fileSource(bytes: Buffer, path: string): SourceImage {
  if (bytes.length === 0) throw uploadError(`the file in field '${path}' is empty`)
  const mediaType = imageTypeOf(bytes)
  if (mediaType === null) throw uploadError(`the file in field '${path}' is no image`)
  const base64 = bytes.toString('base64')
  return { type: 'data', url: `data:${mediaType};base64,${base64}`, mediaType, base64, path }
}
