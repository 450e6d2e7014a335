import {
  booleanField,
  copyJson,
  copyObject,
  field,
  invalidInput,
  isObject,
  numberField,
  objectField,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'

interface NumberRule {
  readonly name: string
  readonly allows: (value: number) => boolean
  readonly what: string
}

const between = (name: string, low: number, high: number): NumberRule => ({
  name,
  allows: (value) => value >= low && value <= high,
  what: `must be between ${low} and ${high}`,
})
const above = (name: string, low: number, high: number): NumberRule => ({
  name,
  allows: (value) => value > low && value <= high,
  what: `must be greater than ${low} and at most ${high}`,
})

/** The ranges of api.md POST /v1/chat/completions. */
const NUMBERS: readonly NumberRule[] = [
  between('temperature', 0, 2),
  above('top_p', 0, 1),
  { name: 'top_k', allows: (value) => value >= 1, what: 'must be at least 1' },
  between('frequency_penalty', -2, 2),
  between('presence_penalty', -2, 2),
  above('repetition_penalty', 0, 2),
  between('min_p', 0, 1),
  between('top_a', 0, 1),
  { name: 'seed', allows: () => true, what: 'must be a number' },
  {
    name: 'top_logprobs',
    allows: (value) => Number.isInteger(value) && value >= 0 && value <= 20,
    what: 'must be an integer between 0 and 20',
  },
]
const BOOLEANS = ['parallel_tool_calls', 'logprobs', 'include_reasoning']
const STRINGS = ['user', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'verbosity']
const OBJECTS = ['metadata', 'prediction', 'web_search_options', 'audio']
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const STOPS_MAX = 4
const STOP = `must be a non-empty string or 1 to ${STOPS_MAX} non-empty strings`
const MAX_TOKENS = 'must be an integer of at least 1, or -1 for no limit'

/**
 * The parameters that an upstream may get unchanged, each checked and rebuilt; the adapter drops those that its
 * provider lacks.
 */
export function parseParameters(body: RawObject): Readonly<Record<string, unknown>> {
  const parameters: Record<string, unknown> = {}
  const put = (name: string, value: unknown): void => {
    if (value !== undefined) parameters[name] = value
  }
  put('stop', stopOf(body))
  for (const { name, allows, what } of NUMBERS) put(name, numberField(body, name, allows, what))
  put('logit_bias', logitBiasOf(body))
  for (const name of BOOLEANS) put(name, booleanField(body, name))
  for (const name of STRINGS) put(name, stringField(body, name))
  for (const name of OBJECTS) {
    const value = objectField(body, name)
    if (value !== undefined) put(name, copyObject(value, name))
  }
  put('modalities', modalitiesOf(body))
  const reasoning = reasoningOf(body)
  const effort = effortOf(body, 'reasoning_effort', 'reasoning_effort')
  const inner = reasoning?.['effort']
  if (effort !== undefined && inner !== undefined && effort !== inner)
    throw invalidInput('reasoning_effort', 'must equal reasoning.effort when both are given')
  put('reasoning', reasoning)
  put('reasoning_effort', effort)
  return parameters
}

/** Both ways to ask that reasoning be hidden. */
export function hidesReasoning({ reasoning, include_reasoning: include }: Readonly<Record<string, unknown>>): boolean {
  return include === false || (isObject(reasoning) && reasoning['exclude'] === true)
}

/** `max_completion_tokens` wins over `max_tokens`; the model's own limits are checked by the plan. null = omitted. */
export function parseMaxTokens(body: RawObject): number | null {
  const allows = (value: number): boolean => Number.isSafeInteger(value) && (value >= 1 || value === -1)
  const preferred = numberField(body, 'max_completion_tokens', allows, MAX_TOKENS)
  const plain = numberField(body, 'max_tokens', allows, MAX_TOKENS)
  return preferred ?? plain ?? null
}

/** The number of answers; it is bounded because each of them is held for. */
export function parseN(body: RawObject): number {
  return (
    numberField(
      body,
      'n',
      (value) => Number.isInteger(value) && value >= 1 && value <= 10,
      'must be an integer between 1 and 10',
    ) ?? 1
  )
}

function stopOf(body: RawObject): string | readonly string[] | undefined {
  const stop = field(body, 'stop')
  if (stop === undefined) return undefined
  if (typeof stop === 'string' && stop !== '') return stop
  if (!Array.isArray(stop) || stop.length === 0 || stop.length > STOPS_MAX) throw invalidInput('stop', STOP)
  return stop.map((item: unknown) => {
    if (typeof item !== 'string' || item === '') throw invalidInput('stop', STOP)
    return item
  })
}

function logitBiasOf(body: RawObject): Record<string, number> | undefined {
  const raw = objectField(body, 'logit_bias')
  if (raw === undefined) return undefined
  const biases: Record<string, number> = {}
  for (const token of Object.keys(raw)) {
    const bias = raw[token]
    if (!/^\d{1,9}$/.test(token) || typeof bias !== 'number' || !Number.isFinite(bias))
      throw invalidInput('logit_bias', 'must map numeric token ids to numbers')
    biases[token] = bias
  }
  return biases
}

function modalitiesOf(body: RawObject): readonly string[] | undefined {
  const raw = field(body, 'modalities')
  if (raw === undefined) return undefined
  if (!Array.isArray(raw)) throw invalidInput('modalities', 'must be an array of strings')
  return raw.map((item: unknown) => {
    if (typeof item !== 'string') throw invalidInput('modalities', 'must be an array of strings')
    return item
  })
}

function reasoningOf(body: RawObject): Record<string, unknown> | undefined {
  const raw = field(body, 'reasoning')
  if (raw === undefined) return undefined
  if (!isObject(raw)) throw invalidInput('reasoning', 'must be an object')
  const reasoning: Record<string, unknown> = {}
  const put = (name: string, value: unknown): void => {
    if (value !== undefined) reasoning[name] = copyJson(value, `reasoning.${name}`)
  }
  put('effort', effortOf(raw, 'effort', 'reasoning.effort'))
  put(
    'max_tokens',
    numberField(
      raw,
      'max_tokens',
      (value) => Number.isSafeInteger(value) && value >= 0,
      'must be an integer of at least 0',
      'reasoning.max_tokens',
    ),
  )
  put('exclude', booleanField(raw, 'exclude', 'reasoning.exclude'))
  put('enabled', booleanField(raw, 'enabled', 'reasoning.enabled'))
  put('summary', stringField(raw, 'summary', 'reasoning.summary'))
  return reasoning
}

function effortOf(object: RawObject, name: string, path: string): string | undefined {
  const effort = field(object, name)
  if (effort === undefined) return undefined
  if (typeof effort !== 'string' || !EFFORTS.includes(effort))
    throw invalidInput(path, `must be one of ${EFFORTS.join(', ')}`)
  return effort
}
