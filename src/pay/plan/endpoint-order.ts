import { ApiError } from '../../base/errors.ts'
import { type Decimal, compare, parseDecimal, shift } from '../../base/money.ts'
import { attraction, textHash } from '../../base/rendezvous.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { textsOf } from '../../kinds/chat/parts.ts'
import type { ChatMessage, ChatRequest } from '../../kinds/chat/request.ts'
import type { ProviderPreferences, RoutedRequest } from '../../kinds/fields/routed-request.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import type { ModelType } from '../../tables/model-types.ts'
import { isPriced } from './parameter-costs.ts'

/** The most attempts of a request; each endpoint is tried at most once (wire.md D-8.3). */
const ATTEMPTS_MAX = 4

/** Measured state of the endpoints; null = nothing is known. */
export interface EndpointHealth {
  /** Whether it is no candidate now, unless nothing else is left. */
  ejected(endpointId: string): boolean
  /** Whether its latest attempt failed less than 30 s ago. */
  unhealthy(endpointId: string): boolean
  /** Median of the output tokens per second. */
  throughput(endpointId: string): number | null
  /** Median time to the first token, ms. */
  latency(endpointId: string): number | null
}

export interface OrderRequest extends EndpointNeeds {
  /** The probable cost of the request at an endpoint, for comparing endpoints. */
  readonly expectedCost: (endpoint: Endpoint) => Decimal
  /** The routing suffix of the model's name; it overrides the request's own sort. */
  readonly sort: ProviderPreferences['sort']
  readonly health: EndpointHealth
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Endpoints that come before all others except the listed ones; absent = none. */
  readonly prefers?: (endpoint: Endpoint) => boolean
  /** Absent = the request belongs to no conversation unless it names a session. */
  readonly affinity?: Affinity | null
}

interface Priced {
  readonly endpoint: Endpoint
  /** The output tokens expected of this request. */
  readonly cost: Decimal
}

/** The endpoints of one model that may serve a request, in the order to try them (wire.md D-8.1); never empty. */
export function orderEndpoints(wish: OrderRequest): readonly Endpoint[] {
  const { order, allowFallbacks } = wish.request.provider
  const eligible = inService(eligibleEndpoints(wish), wish.health)
  // This is the usual case, and pricing is most of the work of ordering.
  if (eligible.length === 1) return eligible
  const priced = eligible.map((endpoint) => ({ endpoint, cost: wish.expectedCost(endpoint) }))
  const listed = priced
    .filter(({ endpoint }) => isNamed(endpoint, order))
    .toSorted((left, right) => rank(left, order) - rank(right, order) || byCost(left, right))
  const others = sorted(
    priced.filter((candidate) => !listed.includes(candidate)),
    wish,
  )
  const { prefers } = wish
  const preferred =
    prefers === undefined
      ? others
      : others.toSorted((left, right) => Number(prefers(right.endpoint)) - Number(prefers(left.endpoint)))
  const ordered = [...listed, ...preferred].map(({ endpoint }) => endpoint)
  return ordered.slice(0, !allowFallbacks && order.length === 0 ? 1 : ATTEMPTS_MAX)
}

/** The last candidate is never removed: an attempt may succeed, but no attempt cannot. */
function inService(endpoints: readonly Endpoint[], health: EndpointHealth): readonly Endpoint[] {
  if (endpoints.length === 1) return endpoints
  const left = endpoints.filter(({ id }) => !health.ejected(id))
  return left.length > 0 ? left : endpoints
}

function rank({ endpoint }: Priced, order: readonly string[]): number {
  return order.findIndex((name) => isNamed(endpoint, [name]))
}

function byCost(left: Priced, right: Priced): number {
  return compare(left.cost, right.cost)
}

function sorted(candidates: readonly Priced[], wish: OrderRequest): readonly Priced[] {
  const sort = wish.sort ?? wish.request.provider.sort
  switch (sort) {
    case 'price':
      return candidates.toSorted(byCost)
    case 'throughput':
      return byMetric(candidates, ({ endpoint }) => negative(wish.health.throughput(endpoint.id)))
    case 'latency':
      return byMetric(candidates, ({ endpoint }) => wish.health.latency(endpoint.id))
    case null:
      return balanced(candidates, wish)
  }
}

function negative(value: number | null): number | null {
  return value === null ? null : -value
}

/** Ascending, unknown values last, ties by cost. Each metric is read once, because it changes while requests end. */
function byMetric(candidates: readonly Priced[], metricOf: (candidate: Priced) => number | null): readonly Priced[] {
  return candidates
    .map((candidate) => ({ candidate, metric: metricOf(candidate) ?? Number.MAX_VALUE }))
    .toSorted((left, right) => left.metric - right.metric || byCost(left.candidate, right.candidate))
    .map(({ candidate }) => candidate)
}

/**
 * Healthy endpoints come first: one is drawn with a weight of 1/price², the others follow by price. Unhealthy ones come
 * last.
 */
function balanced(candidates: readonly Priced[], wish: OrderRequest): readonly Priced[] {
  const { health, random } = wish
  const byPrice = candidates.toSorted(byCost)
  const healthy = byPrice.filter(({ endpoint }) => !health.unhealthy(endpoint.id))
  const unhealthy = byPrice.filter((candidate) => !healthy.includes(candidate))
  const first = drawn(healthy, affinityOf(wish), random)
  return first === null ? unhealthy : [first, ...healthy.filter((candidate) => candidate !== first), ...unhealthy]
}

/** `candidates` are in the order of cost. Free ones share the draw among themselves, as their weight is infinite. */
function drawn(candidates: readonly Priced[], affinity: Affinity | null, random: () => number): Priced | null {
  const free = candidates.filter(({ cost }) => cost.digits === 0n)
  const pool = free.length > 0 ? free : candidates
  const weights = pool.map(({ cost }) => weightOf(cost, pool[0]?.cost ?? cost))
  if (affinity !== null) return warmest(pool, weights, affinity())
  let left = random() * weights.reduce((total, weight) => total + weight, 0)
  for (const [index, candidate] of pool.entries()) {
    left -= weights[index] ?? 0
    if (left < 0) return candidate
  }
  return pool.at(-1) ?? null
}

/** Without stored state, each endpoint gets its share of conversations, and keeps it when others come and go. */
function warmest(pool: readonly Priced[], weights: readonly number[], affinity: number): Priced | null {
  const pulls = pool.map(
    ({ endpoint }, index) => -Math.log(attraction(affinity, endpoint.id)) / (weights[index] ?? Number.MIN_VALUE),
  )
  return pool[pulls.indexOf(Math.min(...pulls))] ?? null
}

function affinityOf({ affinity = null, request: { sessionId } }: OrderRequest): Affinity | null {
  return affinity ?? (sessionId === null ? null : sessionAffinity('', sessionId))
}

/**
 * 1/price², relative to the cheapest, so that no price overflows or underflows. A float is enough for a weight, which
 * is no money.
 */
function weightOf(cost: Decimal, cheapest: Decimal): number {
  if (cost.digits === 0n) return 1
  return (asNumber(cheapest) / asNumber(cost)) ** 2
}

function asNumber({ digits, scale }: Decimal): number {
  return Number(digits) / 10 ** scale
}

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
interface EndpointNeeds extends AskedCalls {
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
function eligibleEndpoints(needs: EndpointNeeds): readonly Endpoint[] {
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
function isNamed({ provider, id }: Endpoint, names: readonly string[]): boolean {
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

/**
 * A number that all turns of one conversation share, so that they return to the endpoint and key whose prompt cache
 * they have filled (clients.md D-14.7). It is calculated once, when there is something to choose.
 */
export type Affinity = () => number

/** Enough texts to tell conversations apart, and only microseconds of work whatever the prompt's size. */
const TEXTS_MAX = 4
const HEAD_CHARACTERS = 512
/** Only the end of a long text is read: agents put the same text before every question. */
const TAIL_CHARACTERS = 256

export function sessionAffinity(accountId: string, session: string): Affinity {
  return once(() => textHash(session, textHash(accountId)))
}

/** Calculates the number from parts that no later turn changes: the model, the instructions and the first question. */
export function conversationAffinity(
  accountId: string,
  conversation: () => Pick<ChatRequest, 'model' | 'messages'>,
): Affinity {
  return once(() => {
    const { model, messages } = conversation()
    const question = messages.find(({ role }) => role === 'user')
    const hash = textHash(model ?? '', textHash(accountId))
    return openingHash(question === undefined ? [] : [question], openingHash(instructions(messages), hash))
  })
}

/** The instructions before the first question: some clients add others between later turns. */
function instructions(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const end = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  return end === -1 ? messages : messages.slice(0, end)
}

function openingHash(messages: readonly ChatMessage[], seed: number): number {
  let hash = seed
  let texts = 0
  for (const text of textsOf(messages)) {
    if ((texts += 1) > TEXTS_MAX) break
    const tail = text.slice(Math.max(HEAD_CHARACTERS, text.length - TAIL_CHARACTERS))
    hash = textHash(tail, textHash(text, textHash(String(text.length), hash), HEAD_CHARACTERS))
  }
  return hash
}

function once(work: () => number): Affinity {
  let known: number | null = null
  return () => (known ??= work())
}
