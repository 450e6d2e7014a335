import type { Endpoint } from '../../catalog/catalog.ts'
import type { ProviderPreferences } from '../../kinds/fields/routed-request.ts'
import { attraction } from '../../base/rendezvous.ts'
import { compare, type Decimal } from '../../base/money.ts'
import { sessionAffinity, type Affinity } from './affinity.ts'
import { eligibleEndpoints, isNamed, type EndpointNeeds } from './endpoint-filter.ts'

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
