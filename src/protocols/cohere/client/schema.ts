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
  rub,
  text,
  whole,
} from '../../../base/schema.ts'
import { SAMPLING } from '../../../kinds/chat/parameters.ts'
import { MODEL, OPTIONAL_MODEL, ROUTED } from '../../../kinds/fields/routed-request.ts'

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

/** `POST /v2/chat`. The reader is `parse.ts`; fields beyond these are dropped and named in `X-Tollgate-Dropped`. */
export const CohereChatBody = object({
  ...ROUTED,
  model: OPTIONAL_MODEL,
  messages: list(Message, '', { minItems: 1 }),
  stream: maybe(flag()),
  tools: maybe(list(object({ type: only('function'), function: Function }))),
  tool_choice: maybe(oneOf(['REQUIRED', 'NONE'])),
  response_format: maybe(object({ type: oneOf(['text', 'json_object']), json_schema: maybe(map(anything())) })),
  max_tokens: maybe(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  stop_sequences: maybe(list(FILLED, '', { maxItems: 5 })),
  temperature: SAMPLING.temperature,
  seed: SAMPLING.seed,
  frequency_penalty: SAMPLING.frequency_penalty,
  presence_penalty: SAMPLING.presence_penalty,
  k: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  p: SAMPLING.top_p,
  thinking: maybe(
    object({
      type: maybe(oneOf(['enabled', 'disabled'])),
      token_budget: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    }),
  ),
  documents: maybe(list(anything(), 'Not offered.', { maxItems: 0 })),
})

const Tokens = object({ input_tokens: whole(), output_tokens: whole() })
const COST = { cost: rub('What was charged.'), currency: only('RUB') } as const

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
