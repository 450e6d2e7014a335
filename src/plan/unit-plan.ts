import type { Endpoint, Model } from '../catalog/catalog.ts'
import type { RoutedRequest } from '../kinds/routed-request.ts'
import { assert } from '../lib/assert.ts'
import { chargeMicro, exactCost, type Usage } from '../meters.ts'
import { orderEndpoints } from './endpoint-order.ts'
import { chooseModels } from './model-choice.ts'
import type { Candidate, Plan, PlanInput } from './plan.ts'
import { servingRoutes } from './serving-routes.ts'

/** A request whose price does not depend on how much the model will say. */
export interface UnitPlanRequest extends PlanInput {
  readonly request: RoutedRequest
  readonly modelType: Model['type']
  /** Models of other types that serve the request too. */
  readonly alsoServes?: (model: Model) => boolean
  /** Without `/v1/`, for messages. */
  readonly endpointName: string
  /** Names of the parameters that the client sent and means. */
  readonly sent: readonly string[]
  /** Throws an ApiError where the model cannot serve the request: its context, its voices, its sizes. */
  readonly check: (model: Model) => void
  /** Whether an endpoint speaks the kind, and this request of it. */
  readonly able: (endpoint: Endpoint) => boolean
  /** The endpoint with the prices that this request has there; absent = its own. */
  readonly priced?: (endpoint: Endpoint, model: Model) => Endpoint
  /** The most the request can use at an endpoint. */
  readonly worstUsage: (model: Model, endpoint: Endpoint) => Usage
}

/**
 * Prices a request of units (wire.md 10, "Other kinds' reservation"): who may serve it, in order, and the most it may
 * cost.
 */
export function planUnits(input: UnitPlanRequest): Plan {
  const {
    request,
    snapshot,
    defaultModel,
    allowedModels,
    modelType,
    endpointName,
    health,
    worstUsage,
    priced = (endpoint) => endpoint,
  } = input
  const { model, fallbackModels } = request
  const { alsoServes = () => false } = input
  const chosen = chooseModels(
    { model, fallbackModels, defaultModel, allowedModels, modelType, alsoServes, endpointName },
    snapshot,
  )
  const routes = servingRoutes(chosen, health, (choice) => {
    input.check(choice.model)
    const { sent, able, adapters, random } = input
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
        sort: choice.sort,
        health,
        random,
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

/** The same plan held for less; null when it costs no less. */
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
