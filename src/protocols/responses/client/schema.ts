import {
  anything,
  either,
  flag,
  list,
  map,
  maybe,
  narrowed,
  nullable,
  object,
  oneOf,
  only,
  optional,
  rub,
  text,
  whole,
} from '../../../base/schema.ts'
import { SAMPLING } from '../../../kinds/chat/parameters.ts'
import { MODELS, OPTIONAL_MODEL, ROUTED, USER } from '../../../kinds/fields/routed-request.ts'

const OTHER_TYPE = text('', { pattern: '^(?!function$)[\\s\\S]' })
const FILLED = text('', { minLength: 1 })
const ITEM = either(object({ role: FILLED }), object({ type: FILLED }))
const NAMED_SCHEMA = object({
  type: only('json_schema'),
  name: FILLED,
  schema: map(anything(), 'A JSON Schema.'),
  description: maybe(text()),
  strict: maybe(flag()),
})
const FORMAT = either(object({ type: only('text') }), object({ type: only('json_object') }), NAMED_SCHEMA)
/** A function of the client's, another of its tools, or a tool that the provider runs. */
const TOOL = either(
  object({
    type: only('function'),
    name: FILLED,
    description: maybe(text()),
    parameters: maybe(map(anything(), 'A JSON Schema.')),
    strict: maybe(flag()),
  }),
  object({ type: OTHER_TYPE }),
)
const TOOL_CHOICE = either(
  oneOf(['none', 'auto', 'required']),
  object({ type: only('function'), name: FILLED }),
  object({ type: OTHER_TYPE }),
)
const NOT_KEPT = optional(narrowed<null>({ type: 'null', description: 'Refused.' }))

/** `POST /v1/responses`. The reader is `parse.ts`, which also reads the items of `input` and of `tools`. */
export const ResponsesBody = object({
  model: OPTIONAL_MODEL,
  models: MODELS,
  input: either(FILLED, list(ITEM, '', { minItems: 1 })),
  instructions: maybe(text('Comes before the conversation.')),
  max_output_tokens: maybe(
    either(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), only(-1, '`-1`: all that fits.')),
  ),
  stream: maybe(flag('Events of Responses, without `[DONE]`.')),
  tools: maybe(list(TOOL)),
  tool_choice: maybe(TOOL_CHOICE),
  text: maybe(object({ format: maybe(FORMAT), verbosity: maybe(text()) })),
  reasoning: maybe(map(anything(), '`effort`, `summary`, `max_tokens`.')),
  include: optional(anything('`reasoning.encrypted_content`.')),
  prompt_cache_key: optional(anything('Names the conversation.')),
  client_metadata: optional(anything('For a provider of this protocol, as every unknown field.')),
  max_tool_calls: optional(anything("Of a provider's own tools.")),
  metadata: maybe(map(anything(), 'Comes back.')),
  parallel_tool_calls: maybe(flag()),
  store: maybe(flag('Keeps the answer for the account; not given, nothing is kept.')),
  background: maybe(flag('Answers at once; the answer is kept and asked for later.')),
  previous_response_id: maybe(text('Continues the conversation of a kept answer.')),
  conversation: NOT_KEPT,
  prompt: NOT_KEPT,
  ...SAMPLING,
  user: USER,
  ...ROUTED,
})

export const ResponsesAnswer = object({
  id: text('`resp-…`.'),
  object: only('response'),
  created_at: whole('Unix seconds.'),
  completed_at: nullable(whole()),
  status: oneOf(['completed', 'incomplete', 'failed', 'cancelled', 'in_progress', 'queued']),
  background: flag(),
  error: nullable(object({ code: text(), message: text() })),
  error_type: optional(text()),
  incomplete_details: nullable(object({ reason: oneOf(['max_output_tokens', 'content_filter']) })),
  instructions: nullable(text()),
  max_output_tokens: nullable(whole()),
  max_tool_calls: nullable(whole()),
  metadata: map(anything()),
  model: text(),
  output: list(map(anything()), 'Items: `reasoning`, `message`, `function_call`, `custom_tool_call` …'),
  parallel_tool_calls: flag(),
  previous_response_id: nullable(text()),
  prompt_cache_key: nullable(text()),
  reasoning: map(anything()),
  safety_identifier: nullable(text()),
  service_tier: nullable(text('In which it was served, as the provider says; null = it does not.')),
  store: flag(),
  temperature: anything(),
  text: map(anything()),
  tool_choice: anything(),
  tools: list(map(anything())),
  top_logprobs: whole(),
  top_p: anything(),
  frequency_penalty: anything(),
  presence_penalty: anything(),
  truncation: text(),
  usage: nullable(
    object({
      input_tokens: whole(),
      input_tokens_details: object({ cached_tokens: whole(), cache_write_tokens: whole() }),
      output_tokens: whole(),
      output_tokens_details: object({ reasoning_tokens: whole() }),
      total_tokens: whole(),
      cost: rub(),
      currency: only('RUB'),
    }),
  ),
  user: nullable(text()),
})
