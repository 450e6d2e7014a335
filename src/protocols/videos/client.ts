import { ApiError } from '../../base/errors.ts'
import {
  either,
  flag,
  list,
  maybe,
  needed,
  object,
  oneOf,
  only,
  readBy,
  said,
  text,
  whole,
  type OptionalField,
  type Schema,
} from '../../base/schema.ts'
import { field, invalidInput, isObject, quoted } from '../../kinds/fields/body-fields.ts'
import { imageUrl, type MediaUrl } from '../../kinds/fields/media.ts'
import { readPaidBody, readValue } from '../../kinds/fields/paid-body.ts'
import { MODEL, ROUTED, routingOf, USER } from '../../kinds/fields/routed-request.ts'
import { formValue, uploadError, type UploadedFile, type UploadedForm } from '../../kinds/fields/uploaded-form.ts'
import { imageTypeOf } from '../../kinds/images/bytes.ts'
import type { FrameImage, VideoRequest, VideoWish } from './request.ts'

const DURATION_MAX = 60
const IMAGES_MAX = 16
const SIZE = /^(\d{2,5}x\d{2,5}|auto)$/
const RESOLUTION = /^[A-Za-z0-9]{1,16}$/
const ASPECT_RATIO = /^(\d{1,3}:\d{1,3}|auto)$/
const ADDRESS = /^(https?:\/\/|data:image\/[a-z0-9.+-]{1,40};base64,)/i

const SECONDS_RULE = `must be a whole number of seconds from 1 to ${DURATION_MAX}`
const SECONDS = said(
  whole('One that the model lists, else 1 to 60.', { minimum: 1, maximum: DURATION_MAX }),
  SECONDS_RULE,
)
const SECONDS_TEXT = text('', { pattern: '^(0{0,2}[1-9]|0?[1-5]\\d|0?60)$' })
const URL_FORM = text('An address or a data URL.', {
  pattern: '^([hH][tT][tT][pP][sS]?://|[dD][aA][tT][aA]:[iI][mM][aA][gG][eE]/[a-zA-Z0-9.+-]{1,40};[bB][aA][sS][eE]64,)',
})
const IMAGE = either(URL_FORM, object({ url: URL_FORM }))
const FRAME = object({ image_url: IMAGE, frame_type: maybe(oneOf(['first_frame', 'last_frame'])) })

function shaped(form: RegExp, about: string, what: string): OptionalField<string | null> {
  const read = (given: unknown, path: string): string | null => {
    if (typeof given !== 'string') throw invalidInput(path, 'must be a string')
    // OpenAI's clients send `auto` to leave the choice to the model.
    if (given === 'auto') return null
    if (form.test(given)) return given
    throw invalidInput(path, `${what}, got '${quoted(given)}'`)
  }
  return maybe(readBy(text(about, { pattern: form.source }), read))
}

function images<T>(item: Schema<T>, about = ''): OptionalField<readonly T[] | null> {
  return maybe(said(list(item, about, { maxItems: IMAGES_MAX }), `must be an array of at most ${IMAGES_MAX} images`))
}

/** `POST /v1/videos` (wire.md D-4.4). The model's own limits are checked later. */
export const VideoBody = object({
  model: MODEL,
  prompt: needed(text('', { minLength: 1, pattern: '\\S' }), 'missing_prompt', 'blank text'),
  stream: maybe(readBy(only(false), refuseStream)),
  size: shaped(SIZE, 'Such as `1280x720`.', 'must be width x height such as 1280x720'),
  duration: maybe(SECONDS),
  seconds: maybe(readBy(either(SECONDS, SECONDS_TEXT), secondsOf)),
  resolution: shaped(RESOLUTION, 'Such as `720p`.', 'must be a resolution such as 720p'),
  aspect_ratio: shaped(ASPECT_RATIO, 'Such as `16:9`.', 'must be a ratio such as 16:9'),
  frame_images: images(readBy(FRAME, frameOf)),
  input_references: images(
    readBy(either(URL_FORM, object({ image_url: IMAGE })), addressOf),
    'Images to take things or a style from.',
  ),
  input_reference: maybe(
    readBy(either(URL_FORM, object({ image_url: IMAGE }, 'The first of them; in a form, a file.')), addressOf),
  ),
  generate_audio: maybe(flag()),
  seed: maybe(
    said(whole('', { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }), 'must be a whole number'),
  ),
  user: USER,
  ...ROUTED,
})

export function parseVideo(json: unknown): VideoRequest {
  const body = readPaidBody(VideoBody, json)
  const { duration, seconds, input_references: listed, input_reference: single } = body
  if (seconds && duration && seconds !== duration)
    throw invalidInput('seconds', `says ${seconds}, and duration says ${duration}: give one of them`)
  if (single && listed?.length === IMAGES_MAX)
    throw invalidInput('input_reference', `is one image more than the ${IMAGES_MAX} of input_references: leave one out`)
  const wish: VideoWish = {
    prompt: body.prompt,
    size: body.size ?? null,
    duration: seconds ?? duration ?? null,
    resolution: body.resolution ?? null,
    aspectRatio: body.aspect_ratio ?? null,
    frameImages: body.frame_images ?? [],
    inputReferences: [...(single ? [single] : []), ...(listed ?? [])],
    generateAudio: body.generate_audio ?? null,
    seed: body.seed ?? null,
    user: body.user ?? null,
  }
  return { ...routingOf(json, body), wish }
}

function refuseStream(given: unknown, path: string): void {
  if (given === true) throw new ApiError('streaming_not_supported', 'Streaming is not supported by videos')
  if (given !== false) throw invalidInput(path, 'must be a boolean')
}

/** `seconds` is OpenAI's name for `duration`, and a string. */
function secondsOf(given: unknown, path: string): number {
  return readValue(SECONDS, typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : given, path)
}

function frameOf(given: unknown, path: string): FrameImage {
  if (!isObject(given)) throw invalidInput(path, 'must be an object')
  const frame = field(given, 'frame_type') ?? 'first_frame'
  if (frame !== 'first_frame' && frame !== 'last_frame')
    throw invalidInput(`${path}.frame_type`, 'must be first_frame or last_frame')
  return { url: addressOf(given, path), frame }
}

/** A text, or `{image_url}` with a text or `{url}`: clients give pictures in all of these forms. */
function addressOf(item: unknown, path: string): MediaUrl<'image'> {
  const inner = isObject(item) ? field(item, 'image_url') : item
  const url = isObject(inner) ? field(inner, 'url') : inner
  if (typeof url === 'string' && ADDRESS.test(url)) return imageUrl(url, path)
  throw invalidInput(
    isObject(item) ? `${path}.image_url` : path,
    'must be an http or https address or a data URL of an image in base64',
  )
}

/** Fields that are not texts: each is read as JSON. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['frame_images', 'input_references', 'provider', 'generate_audio'])
const WHOLE_FIELDS: ReadonlySet<string> = new Set(['duration', 'seed'])
const REFERENCE = 'input_reference'
/** The way in which a client writes an object into a form. */
const REFERENCE_ADDRESS = 'input_reference[image_url]'

/**
 * Reads a form, in which OpenAI's clients send every video, as if it had come as JSON; its file is a picture to start
 * from.
 */
export function parseVideoForm({ fields, files: [file] }: UploadedForm): VideoRequest {
  const body: Record<string, unknown> = {}
  for (const [name, value] of fields) {
    if (name === REFERENCE_ADDRESS) body[REFERENCE] = value
    else if (name !== '__proto__' && value !== '')
      body[name] = formValue(name, value, { json: JSON_FIELDS, whole: WHOLE_FIELDS })
  }
  if (file !== undefined) body[REFERENCE] = pictureAddress(file)
  return parseVideo(body)
}

function pictureAddress({ field, bytes }: UploadedFile): string {
  if (field !== REFERENCE) throw uploadError(`the file must be in field '${REFERENCE}', got '${field.slice(0, 40)}'`)
  const mediaType = imageTypeOf(bytes)
  if (mediaType === null) throw uploadError(`the file in field '${REFERENCE}' is no image`)
  return `data:${mediaType};base64,${bytes.toString('base64')}`
}
