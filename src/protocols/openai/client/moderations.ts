import { bodyObject, requiredInput, requiredModel, sessionIdOf } from '../../../kinds/fields/body-fields.ts'
import { field, invalidInput, isObject, quoted, type RawObject } from '../../../kinds/fields/json-fields.ts'
import { parseProviderPreferences } from '../../../kinds/fields/provider-preferences.ts'
import type { ModerationInput, ModerationPart, ModerationRequest } from '../../../kinds/moderations/request.ts'

const INPUTS_MAX = 2_048
/** OpenAI's clients leave the model out when they mean this one. */
const MODEL_DEFAULT = 'omni-moderation-latest'
const ADDRESS = /^(?:https?:\/\/.|data:.)/i
const SHAPES = 'must be a string, an array of strings, or an array of parts of type text and image_url'

/** Reads the body of `POST /v1/moderations` in OpenAI's form. */
export function parseModeration(json: unknown): ModerationRequest {
  const body = bodyObject(json)
  const model = field(body, 'model') === undefined ? MODEL_DEFAULT : requiredModel(body)
  const given = requiredInput(body)
  return {
    model,
    fallbackModels: [],
    n: 1,
    input: inputOf(given),
    provider: parseProviderPreferences(body),
    sessionId: sessionIdOf(body),
  }
}

function inputOf(given: unknown): ModerationInput {
  if (typeof given === 'string') return { type: 'texts', texts: [given] }
  if (!Array.isArray(given)) throw invalidInput('input', SHAPES)
  const items: readonly unknown[] = given
  if (items.length > INPUTS_MAX)
    throw invalidInput('input', `must hold at most ${INPUTS_MAX} items, got ${items.length}`)
  if (isObject(items[0])) return { type: 'parts', parts: items.map((item, index) => partOf(item, `input[${index}]`)) }
  const texts = items.map((item, index) => {
    if (typeof item === 'string') return item
    throw invalidInput(`input[${index}]`, `input ${SHAPES}`)
  })
  return { type: 'texts', texts }
}

function partOf(item: unknown, path: string): ModerationPart {
  if (!isObject(item)) throw invalidInput(path, `input ${SHAPES}`)
  const type = field(item, 'type')
  if (type === 'text') return { type, text: textIn(item, path) }
  if (type === 'image_url') return { type, image_url: { url: urlIn(item, path) } }
  const got = typeof type === 'string' ? `'${quoted(type)}'` : 'no text'
  throw invalidInput(`${path}.type`, `must be text or image_url, got ${got}`)
}

function textIn(part: RawObject, path: string): string {
  const text = field(part, 'text')
  if (typeof text === 'string') return text
  throw invalidInput(`${path}.text`, 'must be a string')
}

function urlIn(part: RawObject, path: string): string {
  const image = field(part, 'image_url')
  const url = isObject(image) ? field(image, 'url') : undefined
  if (typeof url === 'string' && ADDRESS.test(url)) return url
  throw invalidInput(`${path}.image_url`, 'must be an object whose url is an http, https or data URL')
}
