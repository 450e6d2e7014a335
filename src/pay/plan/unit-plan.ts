import type { Endpoint, Model, Prices } from '../../catalog/catalog.ts'
import { dearestSell, priceAt } from '../../catalog/price-conditions.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import { assert } from '../../base/assert.ts'
import { chargeMicro, exactCost, INPUT_METERS, sumOf, type PriceSheet, type Usage } from '../../tables/meters.ts'
import { REQUEST_TYPE_TABLE, type RequestType } from '../../tables/model-types.ts'
import { orderEndpoints } from './endpoint-order.ts'
import { chooseModels } from './model-choice.ts'
import { type Candidate, type Plan, type PlanInput, servingRoutes } from './plan.ts'
import { INPUT_SLACK } from './usage-bounds.ts'

/** A request whose price does not depend on the length of the answer. */
export interface UnitPlanRequest extends PlanInput {
  readonly request: RoutedRequest
  readonly type: RequestType
  /** Names of the parameters that the client set explicitly. */
  readonly sent: readonly string[]
  /** Throws an ApiError if the model cannot serve the request because of its context, voices or sizes. */
  readonly check: (model: Model) => void
  /** Whether an endpoint serves the kind, and this request. */
  readonly able: (endpoint: Endpoint) => boolean
  /** The endpoint with its prices for this request; absent = the endpoint's own. */
  readonly priced?: (endpoint: Endpoint, model: Model) => Endpoint
  /** The most that the request can use at an endpoint. */
  readonly worstUsage: (model: Model, endpoint: Endpoint) => Usage
  /** Whether an answer may be charged for more than that. */
  readonly mayExceed: (model: Model, endpoint: Endpoint) => boolean
}

/** Prices a request by units (wire.md 10.5): which endpoints may serve it, in order, and the most that it may cost. */
export function planUnits(input: UnitPlanRequest): Plan {
  const {
    request,
    snapshot,
    defaultModel,
    allowedModels,
    type,
    health,
    worstUsage,
    priced = (endpoint) => endpoint,
  } = input
  const { model, fallbackModels } = request
  const chosen = chooseModels({ model, fallbackModels, defaultModel, allowedModels, type }, snapshot)
  const routes = servingRoutes(chosen, health, (choice) => {
    input.check(choice.model)
    const { sent, able, adapters, random, affinity = null } = input
    const sheetOf = (prices: Prices, usage: Usage): PriceSheet =>
      priceAt(prices, 'sell', usage, { atMs: input.atMs, serviceTier: null }).sheet
    const expectedCost = (endpoint: Endpoint): ReturnType<typeof exactCost> => {
      const usage = worstUsage(choice.model, endpoint)
      return exactCost(usage, sheetOf(priced(endpoint, choice.model), usage))
    }
    return {
      model: choice.model,
      endpoints: orderEndpoints({
        model: choice.model,
        request,
        sent,
        able,
        inputTokens: 0,
        maxTokens: null,
        expectedCost,
        met: (endpoint) => sheetOf(endpoint, worstUsage(choice.model, endpoint)),
        adapters,
        calls: REQUEST_TYPE_TABLE[type].modelType,
        sort: choice.sort,
        health,
        random,
        affinity,
      }),
    }
  })
  const candidates = routes.flatMap(({ model: served, endpoints }) =>
    endpoints.map((endpoint): Candidate => ({
      model: served,
      endpoint: priced(endpoint, served),
      sendMaxTokens: null,
    })),
  )
  const mayExceed = candidates.some(({ model: served, endpoint }) => input.mayExceed(served, endpoint))
  return unitPlan(input, candidates, worstUsage, mayExceed)
}

/** The same plan with a smaller hold; null = it costs no less. */
export function recountedUnits(plan: Plan, worstUsage: UnitPlanRequest['worstUsage']): Plan | null {
  const recounted = unitPlan(plan, plan.candidates, worstUsage, plan.mayExceed)
  return recounted.holdMicro < plan.holdMicro ? recounted : null
}

/** The same plan with a hold for the most that may be charged. */
export function boundedUnits(plan: Plan, mostUsage: UnitPlanRequest['worstUsage']): Plan {
  return unitPlan(plan, plan.candidates, mostUsage, false)
}

function unitPlan(
  { snapshot, atMs }: Pick<PlanInput, 'snapshot' | 'atMs'>,
  candidates: readonly Candidate[],
  worstUsage: UnitPlanRequest['worstUsage'],
  mayExceed: boolean,
): Plan {
  assert(candidates.length > 0, 'A plan has at least one candidate.')
  const holdMicro = candidates.reduce((dearest, { model, endpoint }) => {
    const inputTokens = sumOf(worstUsage(model, endpoint), INPUT_METERS) + INPUT_SLACK
    // These kinds ask for no tier, and ignore the tier that a provider reports.
    const reach = { atMs, inputTokens: mayExceed ? Infinity : inputTokens, serviceTiers: [] }
    const sell = dearestSell(endpoint, reach)
    const cost = chargeMicro(worstUsage(model, sell === endpoint.sell ? endpoint : { ...endpoint, sell }), sell)
    return cost > dearest ? cost : dearest
  }, 0n)
  return Object.freeze({
    snapshot,
    atMs,
    candidates,
    holdMicro,
    maxTokens: 0,
    maxTokensComputed: false,
    mayExceed,
    inputTokensBound: 0,
  })
}
