import type { Weekday } from '../base/time.ts'
import type { BalanceApi } from './provider-feeds.ts'
import { compare, parseDecimal } from '../base/money.ts'
import { warningOf, type CatalogWarning } from './catalog-warning.ts'
import { endpointId, type CatalogDocument, type EndpointEntry, type ModelEntry, type TieredPrice } from './document.ts'

/** A provider that the bundled catalogue can reach. */
export interface KnownProvider {
  /** Its slug here and its name in the price data set. */
  readonly slug: string
  readonly name: string
  readonly adapter: string
  readonly baseUrl: string
  /** Its models are on while one of these variables is set; its key is in the first one that is set. */
  readonly keyVariables: readonly string[]
  readonly cancelStopsBilling: boolean
  /** The author of models whose names have none; null = it serves models of other authors. */
  readonly author: string | null
  /** The API that reports the balance of a key; absent = it does not. */
  readonly balanceApi?: BalanceApi
  /** The days on which its hours with another price begin, which the price data set does not say; absent = all days. */
  readonly hourDays?: readonly Weekday[]
}

/** In the order in which a model lists its endpoints. A provider without an adapter in this version stays off. */
export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  {
    slug: 'openai',
    name: 'OpenAI',
    adapter: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
    cancelStopsBilling: true,
    author: 'openai',
  },
  {
    slug: 'anthropic',
    name: 'Anthropic',
    adapter: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariables: ['ANTHROPIC_API_KEY'],
    cancelStopsBilling: false,
    author: 'anthropic',
  },
  {
    slug: 'google',
    name: 'Google',
    adapter: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    cancelStopsBilling: false,
    author: 'google',
  },
  {
    slug: 'mistral',
    name: 'Mistral',
    adapter: 'openai',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariables: ['MISTRAL_API_KEY'],
    cancelStopsBilling: false,
    author: 'mistralai',
  },
  {
    slug: 'deepseek',
    name: 'DeepSeek',
    adapter: 'openai',
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariables: ['DEEPSEEK_API_KEY'],
    cancelStopsBilling: false,
    author: 'deepseek',
    balanceApi: 'deepseek',
    // https://api-docs.deepseek.com/quick_start/pricing, by texts of October 2026 that cite it. Chinese public
    // holidays, which have no such hours either, are not known here.
    hourDays: ['mon', 'tue', 'wed', 'thu', 'fri'],
  },
  {
    slug: 'x-ai',
    name: 'xAI',
    adapter: 'openai',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    cancelStopsBilling: false,
    author: 'x-ai',
  },
  {
    slug: 'cohere',
    name: 'Cohere',
    adapter: 'cohere',
    baseUrl: 'https://api.cohere.com',
    keyVariables: ['COHERE_API_KEY', 'CO_API_KEY'],
    cancelStopsBilling: false,
    author: 'cohere',
  },
  {
    slug: 'perplexity',
    name: 'Perplexity',
    adapter: 'openai',
    baseUrl: 'https://api.perplexity.ai',
    keyVariables: ['PERPLEXITY_API_KEY'],
    cancelStopsBilling: false,
    author: 'perplexity',
  },
  {
    slug: 'groq',
    name: 'Groq',
    adapter: 'openai',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariables: ['GROQ_API_KEY'],
    cancelStopsBilling: false,
    author: null,
  },
  {
    slug: 'fireworks',
    name: 'Fireworks',
    adapter: 'openai',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariables: ['FIREWORKS_API_KEY'],
    cancelStopsBilling: false,
    author: null,
  },
  {
    slug: 'openrouter',
    name: 'OpenRouter',
    adapter: 'openai',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    cancelStopsBilling: false,
    author: null,
    balanceApi: 'openrouter',
  },
  // It has no permanent keys, so the operator writes its row, with an `auth`.
  {
    slug: 'gigachat',
    name: 'GigaChat',
    adapter: 'gigachat',
    baseUrl: 'https://gigachat.devices.sberbank.ru/api/v1',
    keyVariables: [],
    cancelStopsBilling: false,
    author: 'sber',
  },
]

/**
 * Warnings for rows with one price for a model whose known price has a step: its long prompts would be sold below their
 * cost. A row whose window ends at the step, or whose price is the one above the step, is right. `known`: models with
 * known prices.
 */
export function missingSteps(
  { models }: Pick<CatalogDocument, 'models'>,
  known: readonly ModelEntry[],
): readonly CatalogWarning[] {
  const stepped = known.flatMap(({ id, endpoints }) =>
    endpoints.flatMap((endpoint) => (endpoint.price.tiers === undefined ? [] : [{ id, endpoint }])),
  )
  const byId = Map.groupBy(stepped, ({ id }) => id)
  const byName = Map.groupBy(stepped, ({ endpoint }) => endpoint.model)
  return models.flatMap((model) =>
    model.endpoints.flatMap((endpoint) => {
      const like = [...(byName.get(endpoint.model) ?? []), ...(byId.get(model.id) ?? [])]
      const found = like.find((one) => one.endpoint.provider === endpoint.provider) ?? like[0]
      return found === undefined ? [] : warningsOf(model, endpoint, found.endpoint)
    }),
  )
}

function warningsOf(model: ModelEntry, endpoint: EndpointEntry, known: EndpointEntry): readonly CatalogWarning[] {
  const { price } = endpoint
  const context = endpoint.context_length ?? model.context_length ?? Infinity
  const step = known.price.tiers?.find(({ above }) => above < context)
  if (endpoint.force === true || step === undefined || promptAbove(price, step.above) !== price.prompt) return []
  const [own, listed] = [price.prompt, step.prompt].map((text) =>
    typeof text === 'string' ? parseDecimal(text) : null,
  )
  if (own === null || own === undefined || listed === null || listed === undefined) return []
  if (price.currency === known.price.currency && compare(own, listed) >= 0) return []
  const params = {
    model: model.id,
    endpoint: endpointId(endpoint),
    above: step.above,
    prompt: String(step.prompt),
    currency: known.price.currency,
  }
  return [
    warningOf(
      'steps_missing',
      params,
      `${params.model} at ${params.endpoint}: one price for every length, but ${endpointId(known)} is known to cost ${params.prompt} ${params.currency} for a million input tokens in a request with more than ${params.above} of them: add price.tiers, or set context_length to ${params.above}`,
    ),
  ]
}

/** The `prompt` price of a request with more input tokens than `tokens`. */
function promptAbove({ prompt, tiers = [] }: TieredPrice, tokens: number): TieredPrice['prompt'] {
  return tiers.findLast(({ above, prompt: other }) => above <= tokens && other !== undefined)?.prompt ?? prompt
}
