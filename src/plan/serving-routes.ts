import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError } from '../base/errors.ts'
import type { EndpointHealth } from '../pay/plan/endpoint-order.ts'
import type { ChosenModel } from '../pay/plan/model-choice.ts'

/**
 * The models that can serve the request, in order. A fallback model that cannot is left out; where none can, the first
 * model's refusal is the answer.
 */
export function servingRoutes<Route extends { readonly endpoints: readonly Endpoint[] }>(
  chosen: readonly ChosenModel[],
  health: EndpointHealth,
  routeOf: (choice: ChosenModel) => Route,
): readonly Route[] {
  const routes: Route[] = []
  let refusal: ApiError | null = null
  for (const choice of chosen) {
    try {
      routes.push(routeOf(choice))
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      refusal ??= thrown
    }
  }
  if (routes.length === 0 && refusal !== null) throw refusal
  // An ejected endpoint is not a candidate (guarantees.md 5) while another model of the request can answer.
  const isOut = ({ endpoints }: Route): boolean => endpoints.every(({ id }) => health.ejected(id))
  return routes.length === 1 ? routes : [...routes.filter((route) => !isOut(route)), ...routes.filter(isOut)]
}
