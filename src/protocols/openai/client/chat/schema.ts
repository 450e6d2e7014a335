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
  ruled,
  text,
  whole,
} from '../../../../base/schema.ts'
import { LOGIT_BIAS, N, PARAMETERS, SAMPLING } from '../../../../kinds/chat/parameters.ts'
import { MODELS, OPTIONAL_MODEL, ROUTED, TokenUsage, USER } from '../../../../kinds/fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
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

/** Parameters of chat that the old completions have as well. */
export const SHARED = {
  ...ROUTED,
  ...SAMPLING,
  models: MODELS,
  max_tokens: TOKENS_MAX,
  logit_bias: LOGIT_BIAS,
  n: maybe(N),
  stream: maybe(flag('The answer as it is made (wire.md D-3.3).')),
  stream_options: maybe(object({ include_usage: maybe(flag('Usage in a separate chunk.')) })),
  user: USER,
} as const

/** `POST /v1/chat/completions`. The reader is `call.ts`. */
export const ChatBody = ruled(
  object({
    model: OPTIONAL_MODEL,
    messages: optional(anything('An array of messages, see above; required unless there is a `prompt`.')),
    prompt: optional(anything('In place of `messages`: one message of the user.')),
    ...SHARED,
    max_completion_tokens: TOKENS_MAX,
    tools: maybe(list(object({ type: only('function'), function: FUNCTION }))),
    tool_choice: maybe(TOOL_CHOICE),
    response_format: maybe(ResponseFormat),
    ...PARAMETERS.fields,
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

const FINISH = nullable(oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'error']))

/** The plain answer. A stream sends the same in parts: `chat.completion.chunk` with `delta`. */
export const ChatAnswer = object({
  id: text('The generation, as in `X-Generation-Id`.'),
  object: only('chat.completion'),
  created: whole('Unix seconds.'),
  model: text(),
  provider: text(),
  service_tier: optional(text('In which the answer was served; absent where the provider does not say.')),
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
