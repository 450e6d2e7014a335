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
  type OptionalField,
} from '../../../base/schema.ts'
import { invalidInput, quoted } from '../../../kinds/fields/body-fields.ts'
import { SAMPLING } from '../../../kinds/chat/parameters.ts'
import { COST, MODEL, OPTIONAL_MODEL, ROUTED } from '../../../kinds/fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
const CONTENT = either(text(), list(object({ type: text('`text`, `image_url`, `thinking` or `document`.') })))
const Message = object({
  role: oneOf(['system', 'user', 'assistant', 'tool']),
  content: maybe(CONTENT),
  tool_calls: maybe(list(anything('As in the answer.'))),
  tool_plan: maybe(text()),
  tool_call_id: maybe(text()),
})
const Function = object({ name: FILLED, description: maybe(text()), parameters: maybe(map(anything())) })

const STOPS_MAX = 5

/** One of several words; the refusal is in the words of this protocol. */
function word<const T extends string>(words: readonly T[]): OptionalField<T | null> {
  const read = (given: unknown, path: string): T => {
    const found = words.find((allowed) => allowed === given)
    if (found !== undefined) return found
    const what = typeof given === 'string' ? `'${quoted(given)}' is not allowed. Allowed: ${words.join(', ')}` : null
    throw invalidInput(path, what ?? 'must be a string')
  }
  return maybe(readBy(oneOf(words), read))
}

const OWN_FIELDS = {
  documents: maybe(
    said(list(anything(), 'Not offered.', { maxItems: 0 }), 'is not offered: put the texts into a message'),
  ),
  k: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  max_tokens: maybe(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  p: SAMPLING.top_p,
  tool_choice: word(['REQUIRED', 'NONE']),
  thinking: maybe(
    object({
      type: word(['enabled', 'disabled']),
      token_budget: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    }),
  ),
  stop_sequences: maybe(
    said(list(FILLED, '', { maxItems: STOPS_MAX }), `must be an array of at most ${STOPS_MAX} non-empty strings`),
  ),
} as const
/** Fields that a chat does not have, or has under other names: they are read by this schema. */
export const CohereFields = object(OWN_FIELDS)

/** `POST /v2/chat`. The reader is in `calls.ts`; fields beyond these are dropped and named in `X-Tollgate-Dropped`. */
export const CohereChatBody = object({
  ...ROUTED,
  model: OPTIONAL_MODEL,
  messages: list(Message, '', { minItems: 1 }),
  stream: maybe(flag()),
  tools: maybe(list(object({ type: only('function'), function: Function }))),
  tool_choice: OWN_FIELDS.tool_choice,
  response_format: maybe(object({ type: oneOf(['text', 'json_object']), json_schema: maybe(map(anything())) })),
  max_tokens: OWN_FIELDS.max_tokens,
  stop_sequences: OWN_FIELDS.stop_sequences,
  temperature: SAMPLING.temperature,
  seed: SAMPLING.seed,
  frequency_penalty: SAMPLING.frequency_penalty,
  presence_penalty: SAMPLING.presence_penalty,
  k: OWN_FIELDS.k,
  p: OWN_FIELDS.p,
  thinking: OWN_FIELDS.thinking,
  documents: OWN_FIELDS.documents,
})

const Tokens = object({ input_tokens: whole(), output_tokens: whole() })

/** The plain answer. */
export const CohereChatAnswer = object({
  id: text('As in `X-Generation-Id`.'),
  finish_reason: oneOf(['COMPLETE', 'MAX_TOKENS', 'TOOL_CALL', 'ERROR']),
  message: object({
    role: only('assistant'),
    content: optional(list(anything('`text` or `thinking`.'))),
    tool_calls: optional(list(anything())),
  }),
  usage: object({ billed_units: Tokens, tokens: Tokens, cached_tokens: whole('Among those of the input.'), ...COST }),
})

/** `POST /v2/embed`. */
export const CohereEmbedBody = Object.assign(
  object({
    ...ROUTED,
    model: MODEL,
    texts: maybe(list(FILLED, '', { minItems: 1, maxItems: 2_048 })),
    inputs: maybe(list(anything('`content` with texts, in place of `texts`.'))),
    input_type: maybe(text()),
    embedding_types: maybe(list(oneOf(['float', 'base64']), '', { minItems: 1, maxItems: 1 })),
    output_dimension: maybe(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  }),
  {
    anyOf: [
      { properties: { texts: { type: 'array' } }, required: ['texts'] },
      { properties: { inputs: { type: 'array' } }, required: ['inputs'] },
    ],
  },
)
const VERSION = object({ version: only('2') })
export const CohereEmbedAnswer = object({
  id: text(),
  response_type: only('embeddings_by_type'),
  embeddings: object({ float: optional(list(list(number()))), base64: optional(list(text())) }),
  texts: list(text(), 'Always empty: the client has them.'),
  meta: object({ api_version: VERSION, billed_units: object({ input_tokens: whole() }), ...COST }),
})

/** The body of `POST /v2/rerank` is that of `POST /v1/rerank`. */
export const CohereRerankAnswer = object({
  id: text(),
  results: list(object({ index: whole('Of the document.'), relevance_score: number() })),
  meta: object({
    api_version: VERSION,
    billed_units: object({ search_units: optional(whole()), input_tokens: optional(whole()) }),
    ...COST,
  }),
})
