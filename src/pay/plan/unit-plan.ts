import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import { assert } from '../../base/assert.ts'
import { chargeMicro, exactCost, type Usage } from '../../tables/meters.ts'
import { REQUEST_TYPE_TABLE, type RequestType } from '../../tables/model-types.ts'
import { orderEndpoints } from './endpoint-order.ts'
import { chooseModels } from './model-choice.ts'
import type { Candidate, Plan, PlanInput } from '../../plan/plan.ts'
import { servingRoutes } from '../../plan/serving-routes.ts'

/** A request whose price does not depend on the length of the answer. */
export interface UnitPlanRequest extends PlanInput {
  readonly request: RoutedRequest
  readonly type: RequestType
  /** Names of the parameters that the client sent on purpose. */
  readonly sent: readonly string[]
  /** Throws an ApiError where the model cannot serve the request: its context, its voices, its sizes. */
  readonly check: (model: Model) => void
  /** Whether an endpoint serves the kind, and this request of it. */
  readonly able: (endpoint: Endpoint) => boolean
  /** The endpoint with its prices for this request; absent = the endpoint's own. */
  readonly priced?: (endpoint: Endpoint, model: Model) => Endpoint
  /** The most that the request can use at an endpoint. */
  readonly worstUsage: (model: Model, endpoint: Endpoint) => Usage
}

/** Prices a request of units (wire.md 10.5): who may serve it, in order, and the most it may cost. */
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
    const expectedCost = (endpoint: Endpoint): ReturnType<typeof exactCost> =>
      exactCost(worstUsage(choice.model, endpoint), priced(endpoint, choice.model).sell)
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
  return unitPlan(snapshot, candidates, worstUsage)
}

/** The same plan with a smaller hold; null when it costs no less. */
export function recountedUnits(plan: Plan, worstUsage: UnitPlanRequest['worstUsage']): Plan | null {
  const recounted = unitPlan(plan.snapshot, plan.candidates, worstUsage)
  return recounted.holdMicro < plan.holdMicro ? recounted : null
}

function unitPlan(
  snapshot: Plan['snapshot'],
  candidates: readonly Candidate[],
  worstUsage: UnitPlanRequest['worstUsage'],
): Plan {
  assert(candidates.length > 0, 'A plan has at least one candidate.')
  const holdMicro = candidates.reduce((dearest, { model, endpoint }) => {
    const cost = chargeMicro(worstUsage(model, endpoint), endpoint.sell)
    return cost > dearest ? cost : dearest
  }, 0n)
  return Object.freeze({ snapshot, candidates, holdMicro, maxTokens: 0, maxTokensComputed: false, inputTokensBound: 0 })
}
