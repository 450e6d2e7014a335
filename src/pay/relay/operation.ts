import type { ApiError } from '../../base/errors.ts'
import type { ChargedUsage, KeptEnd, KeptStream } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { EndReason, GenerationRecord } from '../../ledger/generation-record.ts'
import type { Clock } from '../../base/clock.ts'
import type { Usage } from '../../tables/meters.ts'
import type { Candidate, Plan, PlanInput } from '../plan/plan.ts'
import type { TokenCounter } from '../plan/token-count.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'

/**
 * One parsed request on the paid path: everything that differs between kinds. The relay knows the order of the steps,
 * the money and the client's end; an operation knows the request and the reader of its answer.
 */
export interface Operation {
  /** Its type in the usage log. */
  readonly type: GenerationRecord['type']
  /** `events` = an event stream; `bytes` = a body sent as it arrives; `whole` = one body at the end. */
  readonly delivery: 'whole' | 'events' | 'bytes'
  /** Its providers answer with a single result even if the client gets events: a client that leaves stops no bill. */
  readonly atOnce?: boolean
  /** Media type of a `bytes` body, or of a stream other than server-sent events, which cannot be resumed; else null. */
  readonly contentType: string | null
  /** Sent by a silent stream; absent = a comment of an event stream. */
  readonly keepAlive?: Buffer
  readonly sessionId: string | null
  /**
   * Its later turns begin alike and find their prompt cache where this one was served; absent = it has no later turns.
   */
  readonly conversation?: Pick<ChatRequest, 'model' | 'messages'>
  /**
   * Its output is computed (an omitted max_tokens): after a refused hold it is planned again within the available
   * funds.
   */
  readonly fitsFunds: boolean
  /** Plans who may serve it, and the most it may cost. Throws an ApiError. */
  plan(input: PlanInput): Plan
  /** The same plan with a smaller hold by an exact count, after its hold was refused; null when it costs no less. */
  recounted(plan: Plan, tokens: PlanInput['tokens']): Plan | null
  /**
   * The same plan, held for by the most that may be charged, for an account whose hour is used up (guarantees.md rule
   * 20); null or absent = there is no such bound.
   */
  bounded?(plan: Plan): Plan | null
  /** Its answer for a separate request; `known` = null: before the answer. Absent = nobody can ask for it. */
  retrieved?(identity: ChunkIdentity, known: KeptStream | null): Readonly<Record<string, unknown>>
  /** Asks a provider; the sink gets the bytes for the client. */
  begin(start: AttemptStart, sink: AnswerSink<Buffer>): Attempt
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

/** A body for the client; without a content type it is JSON. */
export interface AnswerBody {
  readonly body: unknown
  readonly contentType?: string
}

/** The Idempotency-Key of a request (guarantees.md requirement 24). */
export interface CallClaim {
  /** The id of the row that names its generation. */
  readonly id: string
  readonly generationId: string
  /** The encrypted answer to keep, of status 200 where none is given; null if it is not kept. */
  encrypt(answer: AnswerBody, status?: number): Buffer | null
}

/** The usage of a complete answer. */
export interface MeasuredUsage {
  /** The usage that the customer pays for. */
  readonly report: UsageReport
  /** The usage that the provider bills: everything it reported. */
  readonly reported: UsageReport
  /** Whether the report was impossible, or not readable as numbers. */
  readonly flagged: boolean
  readonly basis: 'provider_usage' | 'counted'
}

export type ReportedUsage = Pick<MeasuredUsage, 'report' | 'reported' | 'flagged'>

/** One attempt at one provider, and its answer so far. */
export interface Attempt {
  readonly upstreamId: string | null
  /** The service tier that its provider says it serves it in, which may have a price of its own; absent or null = none. */
  readonly serviceTier?: string | null
  /** clock.monotonic() of the first token of the answer; null before it. */
  readonly firstTokenMs: number | null
  readonly finish: EndReason | null
  /** The provider's own reason for the end. */
  readonly native: string | null
  /** Whether it has delivered content of the answer. */
  readonly says: boolean
  readonly call: RunningCall
  /** Parts of the request that were not sent to its provider, by their names; absent = none. */
  readonly dropped?: readonly string[]
  /** Whether it ended with nothing that anyone would pay for (guarantees.md rule 4). */
  isEmpty(): boolean
  /** Its own end says that it failed; absent or null = it did not. */
  badEnd?(): AttemptFailure | null
  /** Work before the answer may be charged, such as storing its files. Throws an ApiError. */
  prepare?(): Promise<void>
  /** Usage of the whole answer. */
  measured(): MeasuredUsage
  /** Usage of the answer so far: reported by the provider, else counted by us. */
  delivered(): ReportedUsage
  /** Usage that the provider has reported so far, and therefore bills; null = none. */
  reported(): ReportedUsage | null
  /**
   * The most that the provider may bill for an answer that began and failed before any usage was reported. An answer
   * with a single result was complete before its head was sent, so this is all of it.
   */
  lost(): Usage
  /** The body of a `whole` answer. */
  body(usage: ChargedUsage): AnswerBody
  /** The answer as it is kept for its account; absent = its format keeps none. May be called more than once. */
  kept?(usage: ChargedUsage, how: KeptEnd): Readonly<Record<string, unknown>> | null
  /** The last bytes of a stream. */
  tail(usage: ChargedUsage): Buffer
  /**
   * The last bytes of a stream that failed after its head; null = it has no form for an error, and the connection is
   * broken.
   */
  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer | null
}
