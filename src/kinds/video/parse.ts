import { ApiError } from '../../base/errors.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  numberField,
  quoted,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'
import type { FrameImage, VideoRequest, VideoWish } from '../video.ts'
import { sessionIdOf } from '../fields/body-fields.ts'

const DURATION_MAX = 60
const IMAGES_MAX = 16
const SIZE = /^\d{2,5}x\d{2,5}$/
const RESOLUTION = /^[A-Za-z0-9]{1,16}$/
const ASPECT_RATIO = /^\d{1,3}:\d{1,3}$/
const ADDRESS = /^(https?:\/\/|data:image\/[a-z0-9.+-]{1,40};base64,)/i

/**
 * Reads the body of `POST /v1/videos` (wire.md D-4.4): required fields first, then types and ranges. The model's own
 * limits are checked later.
 */
export function parseVideo(json: unknown): VideoRequest {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  const model = stringField(json, 'model')
  if (model === undefined || model === '') throw new ApiError('missing_model', "Parameter 'model' is required")
  const prompt = stringField(json, 'prompt')
  if (prompt === undefined || prompt.trim() === '')
    throw new ApiError('missing_prompt', "Parameter 'prompt' is required")
  if (booleanField(json, 'stream') === true)
    throw new ApiError('streaming_not_supported', 'Streaming is not supported by videos')
  const wish = wishOf(json, prompt)
  return {
    model,
    fallbackModels: [],
    provider: parseProviderPreferences(json),
    n: 1,
    sessionId: sessionIdOf(json),
    wish,
  }
}

function wishOf(json: RawObject, prompt: string): VideoWish {
  return {
    prompt,
    size: textOf(json, 'size', SIZE, 'must be width x height such as 1280x720'),
    duration: durationOf(json),
    resolution: textOf(json, 'resolution', RESOLUTION, 'must be a resolution such as 720p'),
    aspectRatio: textOf(json, 'aspect_ratio', ASPECT_RATIO, 'must be a ratio such as 16:9'),
    frameImages: frameImagesOf(json),
    inputReferences: referencesOf(json),
    generateAudio: booleanField(json, 'generate_audio') ?? null,
    seed: numberField(json, 'seed', Number.isSafeInteger, 'must be a whole number') ?? null,
    user: stringField(json, 'user') ?? null,
  }
}

function textOf(json: RawObject, name: string, form: RegExp, what: string): string | null {
  const text = stringField(json, name)
  // OpenAI's clients send `auto` to leave it to the model.
  if (text === undefined || text === 'auto') return null
  if (!form.test(text)) throw invalidInput(name, `${what}, got '${quoted(text)}'`)
  return text
}

/** `seconds` is OpenAI's name for it, as a string. */
function durationOf(json: RawObject): number | null {
  const isDuration = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= DURATION_MAX
  const refusal = `must be a whole number of seconds from 1 to ${DURATION_MAX}`
  const duration = numberField(json, 'duration', isDuration, refusal) ?? null
  const given = field(json, 'seconds')
  if (given === undefined) return duration
  const seconds = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : given
  if (typeof seconds !== 'number' || !isDuration(seconds)) throw invalidInput('seconds', refusal)
  if (duration !== null && duration !== seconds)
    throw invalidInput('seconds', `says ${seconds}, and duration says ${duration}: give one of them`)
  return seconds
}

function frameImagesOf(json: RawObject): readonly FrameImage[] {
  return listOf(json, 'frame_images').map((item, index): FrameImage => {
    const path = `frame_images[${index}]`
    if (!isObject(item)) throw invalidInput(path, 'must be an object')
    const frame = field(item, 'frame_type') ?? 'first_frame'
    if (frame !== 'first_frame' && frame !== 'last_frame')
      throw invalidInput(`${path}.frame_type`, 'must be first_frame or last_frame')
    return { url: addressOf(item, path), frame }
  })
}

function referencesOf(json: RawObject): readonly string[] {
  const listed = listOf(json, 'input_references').map((item, index) => addressOf(item, `input_references[${index}]`))
  const single = field(json, 'input_reference')
  if (single === undefined) return listed
  if (listed.length === IMAGES_MAX)
    throw invalidInput('input_reference', `is one image more than the ${IMAGES_MAX} of input_references: leave one out`)
  return [addressOf(single, 'input_reference'), ...listed]
}

function listOf(json: RawObject, name: string): readonly unknown[] {
  const list = field(json, name)
  if (list === undefined) return []
  if (!Array.isArray(list) || list.length > IMAGES_MAX)
    throw invalidInput(name, `must be an array of at most ${IMAGES_MAX} images`)
  return list
}

/** A text, or `{image_url}` with a text or `{url}`: pictures are given in all of these forms. */
function addressOf(item: unknown, path: string): string {
  const inner = isObject(item) ? field(item, 'image_url') : item
  const url = isObject(inner) ? field(inner, 'url') : inner
  if (typeof url === 'string' && ADDRESS.test(url)) return url
  throw invalidInput(
    isObject(item) ? `${path}.image_url` : path,
    'must be an http or https address or a data URL of an image in base64',
  )
}
