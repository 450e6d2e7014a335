import {
  anything,
  either,
  flag,
  list,
  map,
  maybe,
  narrowed,
  number,
  object,
  oneOf,
  readBy,
  said,
  text,
  whole,
  type Static,
} from '../../base/schema.ts'
import {
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  numberField,
  objectField,
  type RawObject,
} from '../fields/body-fields.ts'
import { readFields, readValue } from '../fields/paid-body.ts'
import { USER } from '../fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
const STOPS_MAX = 4
const STOPS = said(
  list(FILLED, '', { minItems: 1, maxItems: STOPS_MAX }),
  `must be a non-empty string or 1 to ${STOPS_MAX} non-empty strings`,
)
const MAX_TOKENS = 'must be an integer of at least 1, or -1 for no limit'
const PASSED_ON = 'Passed on.'
const OBJECT = maybe(readBy<RawObject>(map(anything(), PASSED_ON), copied))
const EFFORT = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const REASONING = object({
  effort: maybe(EFFORT),
  max_tokens: maybe(whole('', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  exclude: maybe(flag('Keeps it out of the answer.')),
  enabled: maybe(flag()),
  summary: maybe(text()),
})

/** Parameters of sampling, which chat, Responses and completions share. */
export const SAMPLING = {
  stop: maybe(
    readBy(either(FILLED, STOPS), (given, path) =>
      typeof given === 'string' && given !== '' ? given : readValue(STOPS, given, path),
    ),
  ),
  temperature: maybe(number('', { minimum: 0, maximum: 2 })),
  top_p: maybe(number('', { exclusiveMinimum: 0, maximum: 1 })),
  top_k: maybe(number('', { minimum: 1 })),
  frequency_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  presence_penalty: maybe(number('', { minimum: -2, maximum: 2 })),
  repetition_penalty: maybe(number('', { exclusiveMinimum: 0, maximum: 2 })),
  min_p: maybe(number('', { minimum: 0, maximum: 1 })),
  top_a: maybe(number('', { minimum: 0, maximum: 1 })),
  seed: maybe(number()),
} as const

/** The number of answers, whose hold covers each of them. */
export const N = whole('Answers, each paid for; 1 if absent.', { minimum: 1, maximum: 10 })
export const LOGIT_BIAS = maybe(
  readBy(
    narrowed({ ...map(number(), 'Token number → number.'), propertyNames: { pattern: '^\\d{1,9}$' } }),
    logitBiasOf,
  ),
)

/** Parameters that an upstream may get unchanged; the adapter drops those that its provider lacks. */
export const PARAMETERS = object({
  ...SAMPLING,
  top_logprobs: maybe(whole('', { minimum: 0, maximum: 20 })),
  logit_bias: LOGIT_BIAS,
  parallel_tool_calls: maybe(flag()),
  logprobs: maybe(flag()),
  include_reasoning: maybe(flag()),
  user: USER,
  service_tier: maybe(text('Asked for where it has a price, else the plain one.')),
  prompt_cache_key: maybe(text(PASSED_ON)),
  safety_identifier: maybe(text(PASSED_ON)),
  verbosity: maybe(text(PASSED_ON)),
  metadata: OBJECT,
  prediction: OBJECT,
  web_search_options: OBJECT,
  audio: OBJECT,
  modalities: maybe(said(list(text(), PASSED_ON), 'must be an array of strings')),
  reasoning: maybe(REASONING),
  reasoning_effort: maybe(EFFORT),
})

/** The parameters of a body, each checked and rebuilt. */
export function parseParameters(body: RawObject): Readonly<Record<string, unknown>> {
  const parameters = readFields(PARAMETERS, body, '')
  const { reasoning, reasoning_effort: effort } = parameters
  if (effort !== undefined && reasoning?.effort && effort !== reasoning.effort)
    throw invalidInput('reasoning_effort', 'must equal reasoning.effort when both are given')
  const switched = reasoning === undefined ? switchOf(body) : undefined
  return switched === undefined ? parameters : { ...parameters, reasoning: switched }
}

/** Whether the request hides the reasoning, in either of the two ways to ask for it. */
export function hidesReasoning({ reasoning, include_reasoning: include }: Readonly<Record<string, unknown>>): boolean {
  return include === false || (isObject(reasoning) && reasoning['exclude'] === true)
}

/** `max_completion_tokens` takes precedence over `max_tokens`; the plan checks the model's limits. null = omitted. */
export function parseMaxTokens(body: RawObject): number | null {
  const allows = (value: number): boolean => Number.isSafeInteger(value) && (value >= 1 || value === -1)
  const preferred = numberField(body, 'max_completion_tokens', allows, MAX_TOKENS)
  const plain = numberField(body, 'max_tokens', allows, MAX_TOKENS)
  return preferred ?? plain ?? null
}

/** The number of answers, which is bounded because the hold covers each of them. */
export function parseN(body: RawObject): number {
  const n = field(body, 'n')
  return n === undefined ? 1 : readValue(N, n, 'n')
}

function copied(given: unknown, path: string): RawObject {
  if (!isObject(given)) throw invalidInput(path, 'must be an object')
  return copyObject(given, path)
}

function logitBiasOf(raw: unknown, path: string): Readonly<Record<string, number>> {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const biases: Record<string, number> = {}
  for (const token of Object.keys(raw)) {
    const bias = raw[token]
    if (!/^\d{1,9}$/.test(token) || typeof bias !== 'number' || !Number.isFinite(bias))
      throw invalidInput(path, 'must map numeric token ids to numbers')
    biases[token] = bias
  }
  return biases
}

/**
 * The preference of a client of another service: Qwen's `enable_thinking` and `thinking_budget`, a template's
 * `enable_thinking` or `thinking`, DeepSeek's `thinking {type}`. Values of another form are ignored like unknown
 * fields.
 */
function switchOf(body: RawObject): Static<typeof REASONING> | undefined {
  if (field(body, 'reasoning_effort') !== undefined) return undefined
  const template = memberOf(body, 'chat_template_kwargs')
  const thinking = memberOf(body, 'thinking')
  const type = field(thinking, 'type')
  const given = [
    field(body, 'enable_thinking'),
    field(template, 'enable_thinking'),
    field(template, 'thinking'),
    type === 'disabled' ? false : type === 'enabled' ? true : undefined,
  ]
  const enabled = given.find((value) => typeof value === 'boolean')
  const budget = [field(body, 'thinking_budget'), field(thinking, 'budget_tokens')].find(
    (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  )
  if (enabled === undefined && budget === undefined) return undefined
  return {
    ...(enabled === undefined ? {} : { enabled }),
    ...(budget === undefined || enabled === false ? {} : { max_tokens: budget }),
  }
}

function memberOf(body: RawObject, name: string): RawObject {
  const value = field(body, name)
  return isObject(value) ? value : {}
}

/** Whether a stream ends with its usage. */
export function includeUsageOf(body: RawObject): boolean {
  const options = objectField(body, 'stream_options')
  return options === undefined
    ? false
    : (booleanField(options, 'include_usage', 'stream_options.include_usage') ?? false)
}
