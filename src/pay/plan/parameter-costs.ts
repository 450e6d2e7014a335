import type { Endpoint } from '../../catalog/catalog.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../../kinds/chat/request.ts'
import type { VideoOperation } from '../../kinds/video.ts'
import type { PriceKey } from '../../tables/meter-table.ts'
import { PARAMETER_NAMES, PARAMETER_TABLE, type ParameterName } from '../../tables/parameter-table.ts'

/** The price that a modality of the answer needs; 0 = its tokens pay for it. */
const MODALITY_PRICES: ReadonlyMap<string, PriceKey | null> = new Map([
  ['text', null],
  ['audio', 'audio_output'],
  ['image', 'image_output'],
])

const COSTS = new Map<string, (typeof PARAMETER_TABLE)[ParameterName]['cost']>(
  PARAMETER_NAMES.map((name) => [name, PARAMETER_TABLE[name].cost]),
)

/** Whether an endpoint may be sent the parameter at all, whatever its adapter can carry. */
export function isPriced({ priced, supportedParameters }: Endpoint, parameter: string): boolean {
  const cost = COSTS.get(parameter)
  if (cost === undefined || cost === 'units' || parameter === 'modalities') return true
  if (cost.price === null || !priced.has(cost.price)) return false
  return supportedParameters === null ? cost.where === 'carried' : true
}

/** The request without parameters that an endpoint would bill and that nobody pays for; most requests have none. */
export function pricedRequest(request: ChatRequest, endpoint: Endpoint): ChatRequest {
  const parameters = pricedParameters(request.parameters, endpoint)
  const messages = isMarked(request.messages)
    ? request.messages.map((message) => pricedMessage(message, endpoint))
    : request.messages
  return parameters === request.parameters && messages === request.messages
    ? request
    : { ...request, parameters, messages }
}

/** The same for a video. */
export function pricedVideo(operation: VideoOperation, endpoint: Endpoint): VideoOperation {
  return operation.generateAudio === null || isPriced(endpoint, 'generate_audio')
    ? operation
    : { ...operation, generateAudio: null }
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
 * The most output tokens that a prediction is billed for in addition to the answer: those that the answer does not use.
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
 * How a search is to be done, without what makes it dearer than the row's price of one: how much it reads, and what
 * only one provider knows, such as a search in several steps.
 */
function pricedSearch(options: unknown, endpoint: Endpoint): Record<string, unknown> {
  // Only objects pass the reader of requests.
  const { user_location: place, search_context_size: level } = options as Readonly<Record<string, unknown>>
  return {
    ...(place === undefined ? {} : { user_location: place }),
    ...(level === undefined || !isSent(endpoint, 'search_context_size') ? {} : { search_context_size: level }),
  }
}

function isPricedModality({ priced }: Endpoint, name: unknown): boolean {
  const price = typeof name === 'string' ? MODALITY_PRICES.get(name) : undefined
  return price === null || (price !== undefined && priced.has(price))
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

/** A one-hour cache mark costs more than one for minutes; the price for minutes is used where it is the only one. */
function pricedPart(part: ChatPart, endpoint: Endpoint): ChatPart {
  if (part.type !== 'text' && part.type !== 'image_url') return part
  const { cache_control: mark, ...plain } = part
  if (mark === undefined || !isPriced(endpoint, 'cache_control')) return plain
  const isLong = typeof mark === 'object' && mark !== null && 'ttl' in mark && mark.ttl === '1h'
  return isLong && !endpoint.priced.has('input_cache_write_1h')
    ? { ...plain, cache_control: { type: 'ephemeral' } }
    : part
}
