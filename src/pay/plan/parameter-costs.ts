import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../../kinds/chat/request.ts'
import type { Meter, PriceKey } from '../../tables/meter-table.ts'
import { compare } from '../../base/money.ts'
import { askedWord, PLAIN_TIER, tierNamed } from '../../tables/service-tier-table.ts'
import { PARAMETER_NAMES, PARAMETER_TABLE, type ParameterName } from '../../tables/parameter-table.ts'

/** Prices of which the endpoint needs one for a modality of the answer; null = other tokens pay for it. */
const MODALITY_PRICES: ReadonlyMap<string, readonly PriceKey[] | null> = new Map<string, readonly PriceKey[] | null>([
  ['text', null],
  ['audio', ['audio_output']],
  ['image', ['image_output', 'image_output_tokens']],
])

const COSTS = new Map<string, (typeof PARAMETER_TABLE)[ParameterName]['cost']>(
  PARAMETER_NAMES.map((name) => [name, PARAMETER_TABLE[name].cost]),
)

/** Whether an endpoint may be sent the parameter by its price, whatever its adapter can send. */
export function isPriced({ priced, supportedParameters }: Endpoint, parameter: string): boolean {
  const cost = COSTS.get(parameter)
  if (cost === undefined || cost === 'units' || parameter === 'modalities' || parameter === 'service_tier') return true
  if (cost.price === null || !priced.has(cost.price)) return false
  return supportedParameters === null ? cost.where === 'carried' : true
}

/** The endpoint with its prices replaced by those of a variant. */
export function inVariant(endpoint: Endpoint, variant: string | null): Endpoint {
  const prices = variant === null ? undefined : endpoint.variants?.get(variant)
  return prices === undefined || variant === null ? endpoint : { ...endpoint, ...prices, variant }
}

/** Whether two price keys of an endpoint cost the same; null = the endpoint's own price. */
export function costTheSame(
  endpoint: Endpoint,
  [one, other]: readonly [string | null, string | null],
  meter: Meter,
): boolean {
  const [left, right] = [one, other].map((key) => (key === null ? endpoint : (endpoint.variants?.get(key) ?? endpoint)))
  return (
    left !== undefined &&
    right !== undefined &&
    compare(left.sell[meter], right.sell[meter]) === 0 &&
    compare(left.buy[meter], right.buy[meter]) === 0
  )
}

/** Whether an endpoint has a price for a service tier, for both the client and the provider. */
export function pricesTier({ conditions }: Pick<Endpoint, 'conditions'>, tier: string): boolean {
  return (
    conditions !== undefined &&
    [conditions.sell, conditions.buy].every((groups) => groups.some(({ serviceTier }) => serviceTier === tier))
  )
}

/** The service tier that a request asks for; null = it leaves the choice open, or names the plain tier. */
export function tierWished({ parameters }: ChatRequest): string | null {
  const tier = tierNamed(parameters['service_tier'])
  return tier === PLAIN_TIER ? null : tier
}

/** The requested tier in the endpoint's word, if it has a price there; null = the endpoint is not asked for it. */
export function tierAsked(request: ChatRequest, endpoint: Endpoint): string | null {
  const tier = tierWished(request)
  return tier !== null && pricesTier(endpoint, tier) ? askedWord(endpoint.provider, tier) : null
}

/** The requested tier by our name, if the endpoint is asked for it; null = the endpoint is asked for the plain tier. */
export function tierMet(request: ChatRequest, endpoint: Endpoint): string | null {
  return tierAsked(request, endpoint) === null ? null : tierWished(request)
}

/** The endpoint's word for the tier that is sent: the requested tier, else the plain one; null = none is sent. */
export function tierSent(request: ChatRequest, endpoint: Endpoint): string | null {
  return tierAsked(request, endpoint) ?? endpoint.provider.dialect.plainTier
}

/** The service tiers in which an endpoint may serve a request; undefined = any. */
export function tiersServed(request: ChatRequest, endpoint: Endpoint): readonly string[] | undefined {
  if (endpoint.provider.servesAsAsked !== true) return undefined
  const wished = tierMet(request, endpoint)
  return wished === null ? [PLAIN_TIER] : [PLAIN_TIER, wished]
}

/**
 * The request with the service tier that its endpoint is asked for: the requested tier if it has a price, else the
 * plain tier if the service would choose by itself.
 */
export function withTier(request: ChatRequest, endpoint: Endpoint): ChatRequest {
  const tier = tierSent(request, endpoint) ?? undefined
  if (tier === request.parameters['service_tier']) return request
  const { service_tier: _given, ...others } = request.parameters
  return { ...request, parameters: tier === undefined ? others : { ...others, service_tier: tier } }
}

/** The request without parameters that an endpoint would bill and that nobody pays for; most requests have none. */
export function pricedRequest(asked: ChatRequest, endpoint: Endpoint): ChatRequest {
  const request = withTier(asked, endpoint)
  const parameters = pricedParameters(request.parameters, endpoint)
  const messages = isMarked(request.messages)
    ? request.messages.map((message) => pricedMessage(message, endpoint))
    : request.messages
  return parameters === request.parameters && messages === request.messages
    ? request
    : { ...request, parameters, messages }
}

/** Whether pictures may be in the answer, whose number only the answer shows. */
export function answersPictures(model: Model, request: ChatRequest): boolean {
  return model.outputModalities.includes('image') || asksModality(request, 'image')
}

/** Whether a request asks for the modality. */
export function asksModality({ parameters: { modalities } }: ChatRequest, name: string): boolean {
  return Array.isArray(modalities) && modalities.includes(name)
}

/** Whether the request makes the endpoint search the web, which is billed with every answer. */
export function searches({ parameters }: ChatRequest, endpoint: Endpoint): boolean {
  return (
    parameters['web_search_options'] !== undefined &&
    isSent(endpoint, 'web_search_options') &&
    endpoint.provider.searchesMax > 0
  )
}

/**
 * The most output tokens that are billed for a prediction in addition to the answer: the predicted tokens that the
 * answer does not use.
 */
export function predictedTokens({ parameters }: ChatRequest, endpoint: Endpoint): number {
  const { prediction } = parameters
  return prediction === undefined || !isSent(endpoint, 'prediction') ? 0 : Buffer.byteLength(JSON.stringify(prediction))
}

function isSent(endpoint: Endpoint, parameter: string): boolean {
  return (
    isPriced(endpoint, parameter) &&
    (endpoint.supportedParameters === null || endpoint.supportedParameters.includes(parameter))
  )
}

function pricedParameters(parameters: ChatRequest['parameters'], endpoint: Endpoint): ChatRequest['parameters'] {
  const { modalities } = parameters
  const kept = Array.isArray(modalities) ? modalities.filter((name: unknown) => isPricedModality(endpoint, name)) : []
  const isWhole = !Array.isArray(modalities) || kept.length === modalities.length
  const unpriced = Object.keys(parameters).filter((name) => !isPriced(endpoint, name))
  const search = parameters['web_search_options']
  if (unpriced.length === 0 && isWhole && search === undefined) return parameters
  const entries = Object.entries(parameters)
    .filter(([name]) => !unpriced.includes(name) && name !== 'modalities')
    .map(([name, value]) => [name, name === 'web_search_options' ? pricedSearch(value, endpoint) : value])
  return Object.fromEntries(kept.length === 0 ? entries : [...entries, ['modalities', kept]])
}

/**
 * The options of a search without those that make it dearer than the row's price: how much it reads, and options of one
 * provider only, such as a search in several steps.
 */
function pricedSearch(options: unknown, endpoint: Endpoint): Record<string, unknown> {
  // The reader of requests accepts only objects.
  const { user_location: place, search_context_size: level } = options as Readonly<Record<string, unknown>>
  return {
    ...(place === undefined ? {} : { user_location: place }),
    ...(level === undefined || !isSent(endpoint, 'search_context_size') ? {} : { search_context_size: level }),
  }
}

function isPricedModality({ priced }: Endpoint, name: unknown): boolean {
  const price = typeof name === 'string' ? MODALITY_PRICES.get(name) : undefined
  return price === null || (price !== undefined && price.some((key) => priced.has(key)))
}

/** Whether a part of a message has a cache mark. */
export function isMarked(messages: readonly ChatMessage[]): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some((part: ChatPart) => 'cache_control' in part),
  )
}

function pricedMessage(message: ChatMessage, endpoint: Endpoint): ChatMessage {
  return Array.isArray(message.content)
    ? { ...message, content: message.content.map((part: ChatPart) => pricedPart(part, endpoint)) }
    : message
}

/** A cache mark of one hour costs more than one of minutes; if only minutes have a price, it becomes one of minutes. */
function pricedPart(part: ChatPart, endpoint: Endpoint): ChatPart {
  if (part.type !== 'text' && part.type !== 'image_url') return part
  const { cache_control: mark, ...plain } = part
  if (mark === undefined || !isPriced(endpoint, 'cache_control')) return plain
  const isLong = typeof mark === 'object' && mark !== null && 'ttl' in mark && mark.ttl === '1h'
  return isLong && !endpoint.priced.has('input_cache_write_1h')
    ? { ...plain, cache_control: { type: 'ephemeral' } }
    : part
}
