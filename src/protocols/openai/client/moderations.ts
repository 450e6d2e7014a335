import {
  either,
  flag,
  list,
  map,
  maybe,
  needed,
  nullable,
  number,
  object,
  only,
  optional,
  readBy,
  text,
} from '../../../base/schema.ts'
import type { WireRoute } from '../../../base/wire-route.ts'
import { field, invalidInput, isObject, quoted, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { imageUrl, type MediaUrl } from '../../../kinds/fields/media.ts'
import { readPaidBody } from '../../../kinds/fields/paid-body.ts'
import { COST, ROUTED, routingOf } from '../../../kinds/fields/routed-request.ts'
import type { ModerationInput, ModerationPart, ModerationRequest } from '../../../kinds/moderations.ts'

const INPUTS_MAX = 2_048
/** The model that OpenAI's clients mean if they leave it out. */
const MODEL_DEFAULT = 'omni-moderation-latest'
const ADDRESS = /^(?:https?:\/\/.|data:.)/i
const SHAPES = 'must be a string, an array of strings, or an array of parts of type text and image_url'
const Part = either(
  object({ type: only('text'), text: text() }),
  object({
    type: only('image_url'),
    image_url: object({
      url: text('An address or a data URL.', { pattern: '^([hH][tT][tT][pP][sS]?://.|[dD][aA][tT][aA]:.)' }),
    }),
  }),
)

const INPUT = either(
  text(),
  list(text(), 'Judged one by one.', { minItems: 1, maxItems: INPUTS_MAX }),
  list(Part, 'Judged together.', { minItems: 1, maxItems: INPUTS_MAX }),
)

/** `POST /v1/moderations`. */
export const ModerationBody = object({
  model: maybe(needed(text(`\`${MODEL_DEFAULT}\` if absent.`, { minLength: 1 }), 'missing_model', 'empty text')),
  input: needed(readBy(INPUT, inputOf), 'missing_input', 'empty list'),
  ...ROUTED,
})

const ModerationAnswer = object({
  id: text(),
  model: text(),
  provider: text(),
  results: list(
    object({
      flagged: flag(),
      categories: map(nullable(flag()), 'By the names that the model has.'),
      category_scores: map(nullable(number()), '0 to 1.'),
      category_applied_input_types: optional(map(list(text()), 'What each score is about.')),
    }),
    'One for each text, or one for all parts.',
  ),
  usage: object({ ...COST }),
})

/** For the reference. */
export const MODERATION_ROUTE: WireRoute = {
  summary: 'Judges texts and images by the categories of a model.',
  body: ModerationBody,
  answer: ModerationAnswer,
  records: { ModerationBody, ModerationAnswer },
  errors: ['missing_model', 'missing_input', 'invalid_input', 'model_not_supported', 'empty_response'],
  example: { body: { model: 'sandbox/moderation', input: ['first', 'second'] } },
}

export function parseModeration(json: unknown): ModerationRequest {
  const { input, model, provider } = readPaidBody(ModerationBody, json)
  return { ...routingOf(json, { model: model ?? MODEL_DEFAULT, provider }), input }
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

function urlIn(part: RawObject, path: string): MediaUrl<'image'> {
  const image = field(part, 'image_url')
  const url = isObject(image) ? field(image, 'url') : undefined
  if (typeof url === 'string' && ADDRESS.test(url)) return imageUrl(url, `${path}.image_url`)
  throw invalidInput(`${path}.image_url`, 'must be an object whose url is an http, https or data URL')
}
