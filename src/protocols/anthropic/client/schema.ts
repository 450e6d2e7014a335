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
  open,
  optional,
  readBy,
  said,
  text,
  whole,
} from '../../../base/schema.ts'
import { copyObject, field, invalidInput, isObject, objectField } from '../../../kinds/fields/body-fields.ts'
import { SAMPLING } from '../../../kinds/chat/parameters.ts'
import { COST, MODELS, OPTIONAL_MODEL, ROUTED } from '../../../kinds/fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
const Block = object(
  { type: text('`text`, `image`, `document`, `thinking`, `tool_use`, `tool_result`, …') },
  'Its other fields are those of its type.',
)
const CONTENT = either(text(), list(Block))
const Message = object({ role: oneOf(['user', 'assistant', 'system']), content: CONTENT })
const SYSTEM = maybe(either(text(), list(object({ type: only('text'), text: text() }))))
const TOOLS = maybe(
  list(
    either(
      object({
        type: maybe(only('custom')),
        name: FILLED,
        description: maybe(text()),
        input_schema: map(anything(), 'A JSON Schema.'),
        strict: maybe(flag()),
      }),
      object({ type: text('A tool that the provider knows.', { pattern: '^(?!custom$)' }) }),
    ),
  ),
)
const TOOL_CHOICE = maybe(
  either(
    object({
      type: text('`auto`, `any`, `none`, or a word that only the provider knows.', { pattern: '^(?!tool$)' }),
      disable_parallel_tool_use: maybe(flag()),
    }),
    object({ type: only('tool'), name: FILLED, disable_parallel_tool_use: maybe(flag()) }),
  ),
)

function formatOf(given: unknown, path: string): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw invalidInput(path, 'must be an object')
  if (field(given, 'type') !== 'json_schema') throw invalidInput(`${path}.type`, "must be 'json_schema'")
  const schema = objectField(given, 'schema', `${path}.schema`)
  if (schema === undefined) throw invalidInput(`${path}.schema`, 'is required')
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: copyObject(schema, `${path}.schema`), strict: true },
  }
}

export const THINKING = ['enabled', 'disabled', 'adaptive', 'between_tools']
const SAFE = Number.MAX_SAFE_INTEGER
const ANSWER_FIELDS = {
  thinking: maybe(
    object({
      type: said(
        text('`enabled`, `disabled`, `adaptive`, `between_tools`, or a word that only the provider knows.'),
        `must be one of ${THINKING.join(', ')}`,
      ),
      budget_tokens: maybe(whole('', { minimum: 1, maximum: SAFE })),
      display: maybe(text('`omitted`: without its text.')),
    }),
  ),
  output_config: maybe(
    object({
      effort: maybe(text('`low`, `medium`, `high`, `xhigh`, `max`, or a word that only the provider knows.')),
      format: maybe(readBy(object({ type: only('json_schema'), schema: map(anything(), 'A JSON Schema.') }), formatOf)),
    }),
  ),
  output_format: maybe(
    readBy(object({ type: only('json_schema'), schema: map(anything()) }, 'As `output_config.format`.'), formatOf),
  ),
} as const
const OWN_FIELDS = {
  top_k: maybe(whole('', { minimum: 0, maximum: SAFE })),
  metadata: maybe(object({ user_id: maybe(text('A label.')) })),
  stop_sequences: maybe(said(list(FILLED), 'must be an array of non-empty strings')),
} as const
/** Fields that are read by this schema. */
export const MessagesFields = object({ ...ANSWER_FIELDS, ...OWN_FIELDS })
export const MAX_TOKENS = whole('', { minimum: 1, maximum: SAFE })
const COUNTED = {
  ...ROUTED,
  model: OPTIONAL_MODEL,
  models: MODELS,
  messages: list(Message, '', { minItems: 1 }),
  system: SYSTEM,
  tools: TOOLS,
  tool_choice: TOOL_CHOICE,
  ...ANSWER_FIELDS,
  thread: maybe(narrowed<null>({ type: 'null' })),
  inference_geo: maybe(only('global')),
  mcp_servers: maybe(list(anything(), 'Not offered.', { maxItems: 0 })),
} as const

/** `POST /v1/messages`. The reader is `parse.ts`; fields beyond these reach providers of the protocol unchanged. */
export const MessagesBody = object({
  ...COUNTED,
  max_tokens: MAX_TOKENS,
  stream: maybe(flag()),
  temperature: SAMPLING.temperature,
  top_p: maybe(number('', { minimum: 0, maximum: 1 })),
  ...OWN_FIELDS,
})

/** `POST /v1/messages/count_tokens`: the same without a limit. */
export const CountedMessagesBody = object(COUNTED)
export const CountedMessages = object({
  input_tokens: whole('By our own count: another than the provider’s, but close.'),
})

/** Fields that only the provider knows. */
const OTHERS = anything('As the provider of the protocol sent it.')
const MessageUsage = open(
  {
    input_tokens: whole('Without those of the cache.'),
    cache_read_input_tokens: whole(),
    cache_creation_input_tokens: whole(),
    cache_creation: object({ ephemeral_5m_input_tokens: whole(), ephemeral_1h_input_tokens: whole() }),
    output_tokens: whole(),
    output_tokens_details: object({ thinking_tokens: whole() }),
    server_tool_use: optional(object({ web_search_requests: whole() })),
    service_tier: optional(text('In which the answer was served; absent where the provider does not say.')),
    ...COST,
  },
  OTHERS,
)

/** The plain answer. */
export const MessagesAnswer = open(
  {
    id: text('`msg_` and the generation, as in `X-Generation-Id`.'),
    type: only('message'),
    role: only('assistant'),
    model: text(),
    content: list(anything('A block of `text`, `thinking`, `tool_use`, ….')),
    stop_reason: text(
      '`end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `pause_turn`, `refusal` or `model_context_window_exceeded`.',
    ),
    stop_sequence: nullable(text()),
    usage: MessageUsage,
  },
  OTHERS,
)
