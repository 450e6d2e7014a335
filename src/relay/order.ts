import type { ApiError } from '../errors.ts'
import type { ChargedUsage } from '../kinds/answer-format.ts'
import type { ChunkIdentity, UsageReport } from '../kinds/chat-answer.ts'
import type { EndReason, GenerationRecord } from '../ledger/generation-record.ts'
import type { Clock } from '../lib/clock.ts'
import type { Candidate, Plan, PlanInput } from '../plan/plan.ts'
import type { TokenCounter } from '../plan/token-count.ts'
import type { Adapter, AttemptFailure } from '../providers/adapter.ts'

/**
 * One parsed request on its way through the paid path: everything that differs between kinds. The relay knows the
 * order of the steps, the money and the client's end; an order knows what is asked and how its answer is read.
 */
export interface Order {
  /** In the usage log. */
  readonly type: GenerationRecord['type']
  /** `events` = an event stream; `bytes` = a body sent as it arrives; `whole` = one body at the end. */
  readonly delivery: 'whole' | 'events' | 'bytes'
  /** Media type of a `bytes` body; null for the other two. */
  readonly contentType: string | null
  readonly sessionId: string | null
  /** Its output is computed (an omitted max_tokens): a refused hold is planned again within what there is. */
  readonly fitsFunds: boolean
  /** It may cost more than its plan says, as with tools that a provider runs by itself. */
  readonly mayExceed?: true
  /** Who may serve it and the most it may cost. Throws an ApiError. */
  plan(input: PlanInput): Plan
  /** The same plan held for less by an exact count, after its hold was refused; null when it costs no less. */
  recounted(plan: Plan, tokens: PlanInput['tokens']): Plan | null
  /** Asks a provider. The sink is called in order, never before `begin` has returned. */
  begin(start: AttemptStart, sink: AttemptSink): Attempt
}

export interface AttemptStart {
  readonly adapter: Adapter
  readonly candidate: Candidate
  /** Chosen from the provider's pool; null when it has none. */
  readonly apiKey: string | null
  readonly plan: Plan
  readonly generationId: string
  readonly accountId: string
  readonly identity: ChunkIdentity
  readonly tokens: TokenCounter
  readonly clock: Clock
}

/** Where an attempt puts what it brings. After `end` or `fail` nothing follows. */
export interface AttemptSink {
  /** The provider answered 200 with headers: from here a cancel may be billed. */
  headers(): void
  /** Bytes for the client; `says` = they hold something of the answer itself. false asks for a pause until `resume`. */
  push(bytes: Buffer, says: boolean): boolean
  end(): void
  fail(failure: AttemptFailure): void
}

/** A body for the client; without a content type it is JSON. */
export interface AnswerBody {
  readonly body: unknown
  readonly contentType?: string
}

/** The Idempotency-Key of a request (reliability.md 4 row 24). */
export interface CallClaim {
  /** Of the row that names its generation. */
  readonly id: string
  readonly generationId: string
  /** A whole answer as it is kept; null where it is not. */
  seal(answer: AnswerBody): Buffer | null
}

/** What a complete answer used. */
export interface MeasuredUsage {
  /** What the customer is asked to pay for. */
  readonly report: UsageReport
  /** What the provider bills us, which is all that it reported. */
  readonly reported: UsageReport
  /** More was reported than there can be, or no number that can be read. */
  readonly flagged: boolean
  readonly basis: 'provider_usage' | 'counted'
}

export type ReportedUsage = Pick<MeasuredUsage, 'report' | 'reported' | 'flagged'>

/** One try at one provider, and what it has brought so far. */
export interface Attempt {
  readonly upstreamId: string | null
  /** clock.monotonic() of the first token of the answer; null before it. */
  readonly firstTokenMs: number | null
  readonly finish: EndReason | null
  /** The provider's own word for it. */
  readonly native: string | null
  cancel(): void
  resume(): void
  /** It ended, and with nothing that anyone would pay for (reliability.md 3.5 rule 4). */
  isEmpty(): boolean
  /** What must be done before the answer may be charged, as storing its files; answers why it cannot be. */
  prepare?(): Promise<AttemptFailure | null>
  /** Usage of the whole answer. */
  measured(): MeasuredUsage
  /** Usage of what came so far: by the provider where it has told, counted by us where not. */
  delivered(): ReportedUsage
  /** What the provider has said so far, and by that what it bills; null = nothing. */
  reported(): ReportedUsage | null
  /** The body of a `whole` answer. */
  body(usage: ChargedUsage): AnswerBody
  /** The last bytes of a stream. */
  tail(usage: ChargedUsage): Buffer
  /** The last bytes of a stream that failed after its head; null = it has no words for that, and the connection breaks. */
  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer | null
}
