import type { ModelInfo } from '@pydantic/genai-prices'

/** Models that search the web for every answer; their providers bill each search. */
export const SEARCHES_ALWAYS = /search-preview|search-api|deep-research|(^|[/-])sonar|(^|[/-])compound/

/**
 * Fees of the data set that come with every request, each with its price key; a fee without a meter of ours has a key
 * that no row has.
 */
const FEES: Readonly<Record<string, string>> = { requests_kcount: 'request', output_citation_mtok: 'citation' }

/** The price keys of the fees that a provider bills with every request to a model. */
export function constantFees({ prices }: ModelInfo): readonly string[] {
  const sets = Array.isArray(prices) ? prices.map((entry) => entry.prices) : [prices]
  const named = sets.flatMap((set) =>
    Object.entries(set).flatMap(([name, value]) =>
      value === undefined || FEES[name] === undefined ? [] : [FEES[name]],
    ),
  )
  return [...new Set(named)]
}

/** OpenAI's reasoning models: they take `max_completion_tokens` instead of `max_tokens`, and no sampling parameters. */
const THINKING = /^(o\d|gpt-([5-9]|\d\d)(?!.*-chat))/
/** Older ones make one tool call at a time. */
const ONE_CALL = /^o\d/
const THINKING_PARAMETERS = [
  'max_completion_tokens',
  'seed',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
  'reasoning_effort',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'user',
  'developer',
]
const CHATTING = /^gpt-([5-9]|\d\d).*-chat/

/** The parameters of an OpenAI model that does not take all of the protocol's; null = all. */
export function openaiParameters(model: string): readonly string[] | null {
  if (CHATTING.test(model))
    return [
      'max_completion_tokens',
      'temperature',
      'top_p',
      'frequency_penalty',
      'presence_penalty',
      'stop',
      'n',
      ...THINKING_PARAMETERS.slice(1).filter((name) => name !== 'reasoning_effort'),
    ]
  if (!THINKING.test(model)) return null
  return ONE_CALL.test(model) ? THINKING_PARAMETERS : [...THINKING_PARAMETERS, 'n', 'parallel_tool_calls', 'verbosity']
}
