import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import type { Usage } from '../../tables/meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import type { ResultSink, RunningCall, UnitCall } from '../../protocols/ports/call.ts'
import type { AnswerBody, AttemptStart, MeasuredUsage, Operation } from '../relay/operation.ts'

/** An event of OpenAI's streams other than chat; its type is also its name. */
export interface NamedEvent {
  readonly type: string
}

/** A kind with a single result, whose price does not depend on the length of an answer. */
export interface UnitKind<Request extends RoutedRequest, Result> {
  readonly type: Operation['type']
  /** Names of the parameters that the client set on purpose. */
  sent(request: Request): readonly string[]
  /** Names of those that this provider is not sent; absent = none is named. */
  dropped?(request: Request, start: AttemptStart): readonly string[]
  /** Throws an ApiError where the model cannot serve the request. */
  check(request: Request, model: Model, tokens: PlanInput['tokens']): void
  /** Whether an endpoint can serve the kind, and this request of it. */
  able(request: Request, endpoint: Endpoint): boolean
  /** The most usage at an endpoint: by a bound that costs nothing, or by a count if `tokens` are given. */
  worstUsage(request: Request, model: Model, endpoint: Endpoint, tokens: PlanInput['tokens'] | null): Usage
  /** Whether an answer may be charged for more than that: it rests on an estimate. */
  mayExceed(request: Request, model: Model, endpoint: Endpoint): boolean
  /** The most that is charged for, whatever the provider reports; absent = there is no such bound. */
  mostUsage?(request: Request, model: Model, endpoint: Endpoint): Usage
  /** The endpoint with its prices for this request; absent = its own. */
  priced?(request: Request, model: Model, endpoint: Endpoint): Endpoint
  ask(adapter: Adapter, call: UnitCall<Request>, sink: ResultSink<Result>, start: AttemptStart): RunningCall
  /** Whether it holds nothing that anyone would pay for (guarantees.md rule 4). */
  isEmpty(result: Result): boolean
  upstreamId(result: Result): string | null
  measured(request: Request, result: Result, start: AttemptStart): MeasuredUsage
  /** Work before the answer may be charged, such as storing its files; answers the result with what it made. */
  prepare?(request: Request, result: Result, start: AttemptStart): Promise<Result>
  body(request: Request, result: Result, identity: ChunkIdentity, usage: ChargedUsage): AnswerBody
  /** Whether the client wants events; absent = the kind has none. */
  streams?(request: Request): boolean
  /** The answer as events of a stream, which are sent when it is charged. */
  events?(request: Request, result: Result, identity: ChunkIdentity, usage: ChargedUsage): readonly NamedEvent[]
}
