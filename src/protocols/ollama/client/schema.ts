import {
  anything,
  either,
  flag,
  list,
  map,
  maybe,
  number,
  object,
  oneOf,
  only,
  optional,
  readBy,
  said,
  text,
  whole,
} from '../../../base/schema.ts'
import { invalidInput } from '../../../kinds/fields/body-fields.ts'
import { readValue } from '../../../kinds/fields/paid-body.ts'
import { COST, MODEL, MODELS, OPTIONAL_MODEL, ROUTED } from '../../../kinds/fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
const SAFE = Number.MAX_SAFE_INTEGER
const Message = object({
  role: oneOf(['system', 'user', 'assistant', 'tool']),
  content: maybe(text()),
  images: maybe(list(text('A picture in base64.'))),
  thinking: maybe(text()),
  tool_calls: maybe(list(anything('As in the answer.'))),
  tool_name: maybe(text('Of a result: the function that was called.')),
  tool_call_id: maybe(text()),
})

const STOPS_MAX = 8
const STOPS = said(list(FILLED, '', { maxItems: STOPS_MAX }), `must be at most ${STOPS_MAX} non-empty strings`)

/** Members of `options` that other providers have too, which are read by this schema. */
export const OllamaOptions = object({
  temperature: maybe(number('', { minimum: 0, maximum: 2 })),
  top_p: maybe(number('', { minimum: 0, maximum: 1 })),
  top_k: maybe(whole('', { minimum: 0, maximum: SAFE })),
  min_p: maybe(number('', { minimum: 0, maximum: 1 })),
  repeat_penalty: maybe(number('', { exclusiveMinimum: 0, maximum: 2 })),
  frequency_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  presence_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  seed: maybe(whole('', { minimum: -SAFE, maximum: SAFE })),
  num_predict: maybe(
    readBy(
      either(
        whole('The most tokens of the answer.', { minimum: 1, maximum: SAFE }),
        whole('No limit.', { minimum: -2, maximum: -1 }),
      ),
      limitOf,
    ),
  ),
  stop: maybe(
    readBy(either(FILLED, STOPS), (given, path) => readValue(STOPS, Array.isArray(given) ? given : [given], path)),
  ),
})

function limitOf(given: unknown, path: string): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= -2 && given !== 0) return given
  throw invalidInput(path, 'must be an integer of at least 1, or -1 or -2 for no limit')
}

/** `POST /api/chat`. The reader is in `calls.ts`; fields beyond these are dropped and named in `X-Tollgate-Dropped`. */
export const OllamaChatBody = object({
  ...ROUTED,
  model: OPTIONAL_MODEL,
  models: MODELS,
  messages: list(Message, '', { minItems: 1 }),
  stream: maybe(flag('Lines of JSON; true if absent.')),
  tools: maybe(
    list(
      object({
        type: only('function'),
        function: object({ name: FILLED, description: maybe(text()), parameters: maybe(map(anything())) }),
      }),
    ),
  ),
  format: maybe(either(oneOf(['', 'json']), map(anything(), 'A JSON Schema.'))),
  think: maybe(either(flag(), oneOf(['', 'low', 'medium', 'high', 'max']))),
  options: maybe(OllamaOptions),
})

/** The plain answer, and the last line of a stream. */
export const OllamaChatAnswer = object({
  model: text(),
  created_at: text(),
  message: object({
    role: only('assistant'),
    content: text(),
    thinking: optional(text()),
    tool_calls: optional(list(anything('`id` and `function` with `name` and `arguments`.'))),
  }),
  done: only(true),
  done_reason: oneOf(['stop', 'length', 'content_filter', 'error']),
  prompt_eval_count: whole('Tokens of the input, with cached ones.'),
  eval_count: whole('Tokens of the answer.'),
  cached_tokens: whole('Among those of the input.'),
  ...COST,
})

/** `POST /api/embed`. */
export const OllamaEmbedBody = object({
  ...ROUTED,
  model: MODEL,
  input: either(FILLED, list(FILLED, '', { minItems: 1, maxItems: 2_048 })),
  dimensions: maybe(whole('', { minimum: 1, maximum: SAFE })),
})
export const OllamaEmbedAnswer = object({
  model: text(),
  embeddings: list(list(number())),
  prompt_eval_count: whole(),
  ...COST,
})

const OllamaModel = object({
  name: text(),
  model: text('The same.'),
  modified_at: text(),
  size: only(0),
  digest: only(''),
  details: object({
    parent_model: only(''),
    format: only(''),
    family: text('The vendor.'),
    families: list(text()),
    parameter_size: only(''),
    quantization_level: only(''),
  }),
})
/** `GET /api/tags`. */
export const OllamaModels = object({ models: list(OllamaModel) })
export const OllamaVersion = object({ version: text() })
