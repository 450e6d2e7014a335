import {
  anything,
  either,
  flag,
  list,
  map,
  maybe,
  narrowed,
  nullable,
  number,
  object,
  oneOf,
  only,
  optional,
  ruled,
  text,
  whole,
} from '../../../../base/schema.ts'
import { MODELS, OPTIONAL_MODEL, ROUTED, TokenUsage, USER } from '../../../../kinds/fields/schema.ts'

const FILLED = text('', { minLength: 1 })
const PASSED_ON = 'Passed on.'
const EFFORT = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const TOKENS_MAX = maybe(
  narrowed<number>(
    either(
      whole('Below the context of the model; absent: all that fits and the balance pays for (wire.md D-10.2).', {
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
      only(-1, '`-1`: all that fits.'),
    ),
  ),
)
const ADDRESS = either(FILLED, object({ url: FILLED, detail: maybe(text('`low`, `high` or `auto`.')) }))
const BASE64 = text('', { minLength: 1, pattern: '^[A-Za-z0-9+/]*={0,2}$', contentEncoding: 'base64' })

/** A part of a message. */
export const ChatPart = either(
  object({ type: only('text'), text: text() }),
  object({ type: only('image_url'), image_url: ADDRESS }, 'An address or a data URL.'),
  object({ type: only('input_audio'), input_audio: object({ data: BASE64, format: FILLED }) }),
  object({ type: only('file'), file: object({ file_data: FILLED, filename: maybe(text()) }) }),
  object({ type: only('video_url'), video_url: either(FILLED, object({ url: FILLED })) }),
  object({ type: only('refusal'), refusal: text() }),
)

const CONTENT = either(text(), list(ChatPart, '', { minItems: 1 }))
const NAME = maybe(text())

const ToolCall = object({
  id: FILLED,
  type: maybe(only('function')),
  function: object({ name: FILLED, arguments: maybe(text('JSON.')) }),
})

/** One message of a conversation. */
export const ChatMessage = either(
  object({ role: oneOf(['system', 'developer', 'user']), content: CONTENT, name: NAME }),
  ruled(
    object({
      role: only('assistant'),
      content: maybe(CONTENT),
      name: NAME,
      tool_calls: maybe(list(ToolCall)),
      reasoning: maybe(text()),
      reasoning_details: maybe(list(anything())),
      refusal: maybe(text()),
      audio: maybe(object({ id: text() })),
    }),
    {
      anyOf: [
        { properties: { content: CONTENT }, required: ['content'] },
        { properties: { tool_calls: { type: 'array', minItems: 1 } }, required: ['tool_calls'] },
        { properties: { reasoning: { type: 'string' } }, required: ['reasoning'] },
        { properties: { reasoning_details: { type: 'array', minItems: 1 } }, required: ['reasoning_details'] },
        { properties: { refusal: { type: 'string' } }, required: ['refusal'] },
        { properties: { audio: { type: 'object' } }, required: ['audio'] },
      ],
    },
  ),
  object({ role: only('tool'), content: CONTENT, tool_call_id: FILLED, name: NAME }),
)

const FUNCTION = object({
  name: FILLED,
  description: maybe(text()),
  parameters: maybe(map(anything(), 'A JSON Schema.')),
  strict: maybe(flag()),
})
const TOOL_CHOICE = either(
  oneOf(['none', 'auto', 'required']),
  object({ type: optional(anything('`function`.')), function: object({ name: FILLED }) }),
)

export const ResponseFormat = either(
  object({ type: only('text') }),
  object({ type: only('json_object') }),
  object({
    type: only('json_schema'),
    json_schema: object({
      name: FILLED,
      schema: map(anything(), 'A JSON Schema.'),
      description: maybe(text()),
      strict: maybe(flag()),
    }),
  }),
)

const REASONING = object({
  effort: maybe(EFFORT),
  max_tokens: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  exclude: maybe(flag('Keeps it out of the answer.')),
  enabled: maybe(flag()),
  summary: maybe(text()),
})

/** Parameters of sampling, which chat, Responses and completions share. */
export const SAMPLING = {
  temperature: maybe(number('', { minimum: 0, maximum: 2 })),
  top_p: maybe(number('', { exclusiveMinimum: 0, maximum: 1 })),
  top_k: maybe(number('', { minimum: 1 })),
  min_p: maybe(number('', { minimum: 0, maximum: 1 })),
  top_a: maybe(number('', { minimum: 0, maximum: 1 })),
  frequency_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  presence_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  repetition_penalty: maybe(number('', { exclusiveMinimum: 0, maximum: 2 })),
  seed: maybe(number()),
  stop: maybe(either(FILLED, list(FILLED, '', { minItems: 1, maxItems: 4 }))),
} as const

/** Parameters of chat that the old completions have as well. */
export const SHARED = {
  ...ROUTED,
  ...SAMPLING,
  models: MODELS,
  max_tokens: TOKENS_MAX,
  logit_bias: maybe(narrowed(namedNumbers())),
  n: maybe(whole('Answers, each paid for; 1 if absent.', { minimum: 1, maximum: 10 })),
  stream: maybe(flag('The answer as it is made (wire.md D-3.3).')),
  stream_options: maybe(object({ include_usage: maybe(flag('Usage in a separate chunk.')) })),
  user: USER,
} as const

/** `POST /v1/chat/completions`. The reader is `parse.ts`. */
export const ChatBody = ruled(
  object({
    model: OPTIONAL_MODEL,
    messages: optional(anything('An array of messages, see above; required unless there is a `prompt`.')),
    prompt: optional(anything('In place of `messages`: one message of the user.')),
    ...SHARED,
    max_completion_tokens: TOKENS_MAX,
    logprobs: maybe(flag()),
    top_logprobs: maybe(whole('', { minimum: 0, maximum: 20 })),
    tools: maybe(list(object({ type: only('function'), function: FUNCTION }))),
    tool_choice: maybe(TOOL_CHOICE),
    parallel_tool_calls: maybe(flag()),
    response_format: maybe(ResponseFormat),
    reasoning: maybe(REASONING),
    reasoning_effort: maybe(EFFORT),
    include_reasoning: maybe(flag()),
    modalities: maybe(list(text(), PASSED_ON)),
    metadata: maybe(map(anything(), PASSED_ON)),
    prediction: maybe(map(anything(), PASSED_ON)),
    web_search_options: maybe(map(anything(), PASSED_ON)),
    audio: maybe(map(anything(), PASSED_ON)),
    verbosity: maybe(text(PASSED_ON)),
    service_tier: maybe(text(PASSED_ON)),
    prompt_cache_key: maybe(text(PASSED_ON)),
    safety_identifier: maybe(text(PASSED_ON)),
  }),
  {
    anyOf: [
      { properties: { messages: list(ChatMessage, '', { minItems: 1 }) }, required: ['messages'] },
      {
        properties: {
          messages: { anyOf: [{ type: 'null' }, { type: 'array', maxItems: 0 }] },
          prompt: FILLED,
        },
        required: ['prompt'],
      },
    ],
  },
)

function namedNumbers() {
  return {
    ...map(number(), 'Token number → number.'),
    propertyNames: { pattern: '^\\d{1,9}$' },
  }
}

const FINISH = nullable(oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'error']))

/** The plain answer. A stream has the same in parts: `chat.completion.chunk` with `delta`. */
export const ChatAnswer = object({
  id: text('The generation, as in `X-Generation-Id`.'),
  object: only('chat.completion'),
  created: whole('Unix seconds.'),
  model: text(),
  provider: text(),
  system_fingerprint: nullable(text()),
  choices: list(
    object({
      index: whole(),
      finish_reason: FINISH,
      native_finish_reason: nullable(text("The provider's own word.")),
      logprobs: anything(),
      message: object({
        role: only('assistant'),
        content: anything('Text, or null.'),
        refusal: nullable(text()),
        reasoning: optional(text()),
        reasoning_details: optional(list(anything())),
        tool_calls: optional(list(anything())),
        annotations: optional(list(anything())),
        images: optional(list(anything())),
        audio: optional(anything()),
      }),
    }),
  ),
  usage: TokenUsage,
})
