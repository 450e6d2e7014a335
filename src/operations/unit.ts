import type { RoutedRequest } from '../kinds/fields/routed-request.ts'
import { planUnits, recountedUnits } from '../pay/plan/unit-plan.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { UnitAttempt } from '../pay/operations/unit.ts'
import type { UnitKind } from '../pay/operations/unit-kind.ts'

/** The operation of a kind with a single result. */
export function unitOperation<Request extends RoutedRequest, Result>(
  request: Request,
  kind: UnitKind<Request, Result>,
): Operation {
  const { type } = kind
  return {
    type,
    delivery: kind.streams?.(request) === true ? 'events' : 'whole',
    atOnce: true,
    contentType: null,
    sessionId: request.sessionId,
    fitsFunds: false,
    plan: (input) =>
      planUnits({
        ...input,
        request,
        type,
        sent: kind.sent(request),
        check: (model) => kind.check(request, model, input.tokens),
        able: (endpoint) => kind.able(request, endpoint),
        priced: (endpoint, model) => kind.priced?.(request, model, endpoint) ?? endpoint,
        worstUsage: (model, endpoint) => kind.worstUsage(request, model, endpoint, null),
      }),
    recounted: (plan, tokens) =>
      recountedUnits(plan, (model, endpoint) => kind.worstUsage(request, model, endpoint, tokens)),
    begin: (start, sink) => new UnitAttempt(request, kind, start, sink),
  }
}
