import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import { compare, parseDecimal, shift, type Decimal } from '../../base/money.ts'
import type { ModelType } from '../../tables/model-types.ts'
import { isPriced } from './parameter-costs.ts'

/**
 * Names of the parameters that an adapter can send in each of its calls, for endpoints whose catalogue row does not
 * list them.
 */
export type AdapterParameters = ReadonlyMap<
  string,
  { readonly parameters: Readonly<Record<ModelType, readonly string[]>> }
>

/** The request's call and its type of model, each with its own parameters. */
interface AskedCalls {
  readonly adapters: AdapterParameters
  readonly calls: ModelType
}

/** The parts of a request that decide which endpoints of a model can serve it. */
export interface EndpointNeeds extends AskedCalls {
  readonly model: Model
  readonly request: RoutedRequest
  /** Names of the parameters that the client set explicitly, as `supportedParameters` spells them. */
  readonly sent: readonly string[]
  /** Whether an endpoint serves this kind at all. */
  readonly able: (endpoint: Endpoint) => boolean
  readonly inputTokens: number
  /** The client's price at an endpoint under the conditions of the request. */
  readonly met: (endpoint: Endpoint) => PriceSheet
  /** null = computed later. */
  readonly maxTokens: number | null
}

/** Preferences that may exclude every endpoint, in the order in which they are applied. */
export type Preference = 'only' | 'ignore' | 'max_price' | 'require_parameters' | 'order'

const SOFT_PARAMETERS = ['tools', 'response_format', 'verbosity', 'web_search_options', 'audio']
/** Two names for the same ability. */
const SAME_ABILITY: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['reasoning_effort', 'reasoning'],
  ['reasoning', 'reasoning_effort'],
])

/**
 * The endpoints that can serve the request and satisfy its preferences (wire.md D-8.1); throws D-8.2 if none is left.
 */
export function eligibleEndpoints(needs: EndpointNeeds): readonly Endpoint[] {
  const { model, request, sent } = needs
  const able = capableEndpoints(needs)
  const excludedBy: Preference[] = []
  const keep = (
    endpoints: readonly Endpoint[],
    preference: Preference,
    keeps: (endpoint: Endpoint) => boolean,
  ): readonly Endpoint[] => {
    const kept = endpoints.filter(keeps)
    if (kept.length < endpoints.length) excludedBy.push(preference)
    return kept
  }
  const { only, ignore, maxPrice, requireParameters, order, allowFallbacks } = request.provider
  let left = able
  if (only !== null) left = keep(left, 'only', (endpoint) => isNamed(endpoint, only))
  if (ignore.length > 0) left = keep(left, 'ignore', (endpoint) => !isNamed(endpoint, ignore))
  if (Object.keys(maxPrice).length > 0)
    left = keep(left, 'max_price', (endpoint) => withinMaxPrice(needs.met(endpoint), maxPrice))
  if (requireParameters)
    left = keep(left, 'require_parameters', (endpoint) => sent.every((name) => supports(endpoint, name, needs)))
  // This preference restricts like `only`, so it comes before the soft preferences, which choose among the rest.
  if (order.length > 0 && !allowFallbacks) left = keep(left, 'order', (endpoint) => isNamed(endpoint, order))
  if (left.length === 0) throw noneLeft(model.id, excludedBy)
  if (!requireParameters) left = preferSupporting(left, sent, needs)
  // Only text output has a cap that can be sent.
  if (model.type !== 'chat') return left
  // The hold for an endpoint whose output cannot be capped covers its maximum, so it is used only if the request names
  // it or nothing better is left.
  return someOf(left, (endpoint) => canCapOutput(endpoint, needs) || isNamed(endpoint, order))
}

/**
 * Endpoints that can take `n`, the input and the requested output; the last two exclude an endpoint only if another one
 * can take them.
 */
function capableEndpoints(needs: EndpointNeeds): readonly Endpoint[] {
  const { model, request, able: isAble, inputTokens, maxTokens } = needs
  const speaking = model.endpoints.filter(isAble)
  if (speaking.length === 0) throw new ApiError('model_not_found', `Model '${model.id}' not found or inactive`)
  const able = request.n === 1 ? speaking : speaking.filter((endpoint) => supports(endpoint, 'n', needs))
  if (able.length === 0)
    throw new ApiError('invalid_input', `n: must be 1, no provider of model '${model.id}' supports more`)
  const fitting = someOf(
    able,
    ({ contextLength }) => contextLength === null || inputTokens + (maxTokens ?? 1) <= contextLength,
  )
  return someOf(
    fitting,
    ({ maxCompletionTokens }) => maxTokens === null || maxCompletionTokens === null || maxTokens <= maxCompletionTokens,
  )
}

function someOf(endpoints: readonly Endpoint[], keeps: (endpoint: Endpoint) => boolean): readonly Endpoint[] {
  const kept = endpoints.filter(keeps)
  return kept.length > 0 ? kept : endpoints
}

/** Whether an endpoint takes an output cap under one of its two names. */
export function canCapOutput(endpoint: Endpoint, asked: AskedCalls): boolean {
  return supports(endpoint, 'max_tokens', asked)
}

function supports(endpoint: Endpoint, parameter: string, { adapters, calls }: AskedCalls): boolean {
  if (!isPriced(endpoint, parameter)) return false
  const names = endpoint.supportedParameters ?? adapters.get(endpoint.provider.adapter)?.parameters[calls]
  return names === undefined || names.includes(parameter) || names.includes(SAME_ABILITY.get(parameter) ?? parameter)
}

/**
 * Whether a list of slugs or display names, lower-cased, names the endpoint's provider; `google-vertex` also names
 * `google-vertex/us-east5`.
 */
export function isNamed({ provider, id }: Endpoint, names: readonly string[]): boolean {
  return names.some((name) =>
    namesProvider(name, provider.slug.toLowerCase(), provider.name.toLowerCase(), id.toLowerCase()),
  )
}

function namesProvider(name: string, slug: string, displayName: string, id: string): boolean {
  return name === slug || name === displayName || name === id || slug.startsWith(`${name}/`)
}

function withinMaxPrice(sell: PriceSheet, maxPrice: RoutedRequest['provider']['maxPrice']): boolean {
  // RUB per 1M tokens and micro-rubles per token are the same number.
  return (
    within(sell.input, maxPrice.prompt, 0) &&
    within(sell.output, maxPrice.completion, 0) &&
    within(sell.request, maxPrice.request, 6) &&
    within(sell.image_input, maxPrice.image, 6)
  )
}

function within(price: Decimal, limit: string | undefined, places: number): boolean {
  const max = limit === undefined ? null : parseDecimal(limit)
  return max === null || compare(price, shift(max, places)) <= 0
}

/** Parameters that change how the answer can be used: if some endpoints support one, the others are excluded. */
function preferSupporting(
  endpoints: readonly Endpoint[],
  sent: readonly string[],
  asked: AskedCalls,
): readonly Endpoint[] {
  let left = endpoints
  for (const name of SOFT_PARAMETERS) {
    if (sent.includes(name)) left = someOf(left, (endpoint) => supports(endpoint, name, asked))
  }
  return left
}

function noneLeft(modelId: string, excludedBy: readonly Preference[]): ApiError {
  const message = `No providers of model '${modelId}' match your routing preferences (${excludedBy.join(', ')}). Relax them or choose another model`
  return new ApiError('no_available_provider', message, { metadata: { excluded_by: excludedBy } })
}
