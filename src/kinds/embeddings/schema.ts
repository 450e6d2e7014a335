import { either, list, maybe, number, object, oneOf, only, text, whole } from '../../base/schema.ts'
import { COST, MODEL, ROUTED, USER } from '../fields/schema.ts'

const INPUTS_MAX = 2_048
const FILLED = text('', { minLength: 1 })
const TOKENS = list(whole('A token.', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), '', { minItems: 1 })

/** `POST /v1/embeddings`. The reader is `parse.ts`. */
export const EmbeddingsBody = object({
  model: MODEL,
  input: either(
    FILLED,
    list(FILLED, '', { minItems: 1, maxItems: INPUTS_MAX }),
    TOKENS,
    list(TOKENS, '', { minItems: 1, maxItems: INPUTS_MAX }),
  ),
  encoding_format: maybe(oneOf(['float', 'base64'])),
  dimensions: maybe(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  input_type: maybe(text('Passed on.')),
  user: USER,
  ...ROUTED,
})

export const EmbeddingsAnswer = object({
  id: text(),
  object: only('list'),
  model: text(),
  data: list(
    object({
      object: only('embedding'),
      index: whole(),
      embedding: either(list(number()), text('float32 in base64.')),
    }),
  ),
  usage: object({ prompt_tokens: whole(), total_tokens: whole(), ...COST }),
})
