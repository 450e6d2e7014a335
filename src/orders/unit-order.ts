import type { Endpoint, Model } from '../catalog/catalog.ts'
import type { ChargedUsage } from '../kinds/answer-format.ts'
import type { ChunkIdentity } from '../kinds/chat-answer.ts'
import type { RoutedRequest } from '../kinds/routed-request.ts'
import type { Usage } from '../meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import { planUnits, recountedUnits } from '../plan/unit-plan.ts'
import type { Adapter, AttemptFailure, ResultSink, RunningCall, UnitCall } from '../providers/adapter.ts'
import type { AnswerBody, AttemptStart, MeasuredUsage, Order } from '../relay/order.ts'
import { UnitAttempt } from './unit-attempt.ts'

/** A kind that answers at once, and whose price does not depend on how much the model will say. */
export interface UnitKind<Request extends RoutedRequest, Result> {
  readonly type: Order['type']
  readonly modelType: Model['type']
  /** Models of other types that serve the kind too. */
  alsoServes?(model: Model): boolean
  /** Without `/v1/`. */
  readonly endpointName: string
  /** What the calls of the kind carry, by adapter. */
  readonly adapters: PlanInput['adapters']
  /** Names of the parameters that the client sent and means. */
  sent(request: Request): readonly string[]
  /** Throws an ApiError where the model cannot serve the request. */
  check(request: Request, model: Model, tokens: PlanInput['tokens']): void
  /** Whether an endpoint speaks the kind, and this request of it. */
  able(request: Request, endpoint: Endpoint): boolean
  /** The most the request can use at an endpoint: by a bound that costs nothing, or by a count where `tokens` are given. */
  worstUsage(request: Request, model: Model, endpoint: Endpoint, tokens: PlanInput['tokens'] | null): Usage
  /** The endpoint with the prices that this request has there; absent = its own. */
  priced?(request: Request, model: Model, endpoint: Endpoint): Endpoint
  ask(adapter: Adapter, call: UnitCall<Request>, sink: ResultSink<Result>, start: AttemptStart): RunningCall
  /** Nothing in it that anyone would pay for (reliability.md 3.5 rule 4). */
  isEmpty(result: Result): boolean
  upstreamId(result: Result): string | null
  measured(request: Request, result: Result, start: AttemptStart): MeasuredUsage
  /** What must be done before the answer may be charged, as storing its files. */
  prepare?(request: Request, result: Result, start: AttemptStart): Promise<AttemptFailure | null>
  body(request: Request, result: Result, identity: ChunkIdentity, usage: ChargedUsage): AnswerBody
}

/** A request of such a kind on its way through the paid path. */
export function unitOrder<Request extends RoutedRequest, Result>(
  request: Request,
  kind: UnitKind<Request, Result>,
): Order {
  const { type, modelType, endpointName } = kind
  return {
    type,
    delivery: 'whole',
    contentType: null,
    sessionId: request.sessionId,
    fitsFunds: false,
    plan: (input) =>
      planUnits({
        ...input,
        request,
        modelType,
        alsoServes: (model) => kind.alsoServes?.(model) ?? false,
        endpointName,
        adapters: kind.adapters,
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
