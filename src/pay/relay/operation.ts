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
  /**
   * Its providers answer with a single result even if the client gets events, so the bill stays the same if the client
   * leaves.
   */
  readonly atOnce?: boolean
  /** Media type of a `bytes` body, or of a stream other than server-sent events, which cannot be resumed; else null. */
  readonly contentType: string | null
  /** Bytes sent during silence; absent = a comment of an event stream. */
  readonly keepAlive?: Buffer
  readonly sessionId: string | null
  /**
   * The part with which its later turns also begin, so that they find their prompt cache where this one was served;
   * absent = it has no later turns.
   */
  readonly conversation?: () => Pick<ChatRequest, 'model' | 'messages'>
  /**
   * Its output is computed (an omitted max_tokens), so after a refused hold it is planned again within the available
   * funds.
   */
  readonly fitsFunds: boolean
  /** Plans which endpoints may serve the request, and the most that it may cost. Throws an ApiError. */
  plan(input: PlanInput): Plan
  /** The same plan with a smaller hold by an exact count, after its hold was refused; null = it costs no less. */
  recounted(plan: Plan, tokens: PlanInput['tokens']): Plan | null
  /**
   * The same plan with a hold for the most that may be charged, for an account whose free hour is used up
   * (guarantees.md rule 20); null or absent = there is no such bound.
   */
  bounded?(plan: Plan): Plan | null
  /** Its answer to a separate request for it; `known` = null: it has not begun. Absent = it cannot be retrieved. */
  retrieved?(identity: ChunkIdentity, known: KeptStream | null): Readonly<Record<string, unknown>>
  /** Asks a provider; the sink gets the bytes for the client. */
  begin(start: AttemptStart, sink: AnswerSink<Buffer>): Attempt
}

export interface AttemptStart {
  readonly adapter: Adapter
  readonly candidate: Candidate
  /** A key of the provider's pool; null = the provider has none. */
  readonly apiKey: string | null
  readonly plan: Plan
  readonly generationId: string
  readonly accountId: string
  readonly identity: ChunkIdentity
  readonly tokens: TokenCounter
  readonly clock: Clock
}

/** A body for the client; without a content type, it is JSON. */
export interface AnswerBody {
  readonly body: unknown
  readonly contentType?: string
}

/** The Idempotency-Key of a request (guarantees.md requirement 24). */
export interface CallClaim {
  /** The id of the claim's row, which names the generation. */
  readonly id: string
  readonly generationId: string
  /** The encrypted answer to keep, of status 200 if none is given; null = it is not kept. */
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
  /** The service tier that its provider reports, which may have a price of its own; absent or null = none. */
  readonly serviceTier?: string | null
  /** clock.monotonic() of the first token of the answer; null = none has come. */
  readonly firstTokenMs: number | null
  readonly finish: EndReason | null
  /** The provider's own reason for the end. */
  readonly native: string | null
  /** Whether it has delivered content of the answer. */
  readonly says: boolean
  readonly call: RunningCall
  /** Parts of the request that were not sent to its provider, by their names; absent = none. */
  readonly dropped?: readonly string[]
  /** Whether it ended without anything that anyone would pay for (guarantees.md rule 4). */
  isEmpty(): boolean
  /** The failure that its own end reports; absent or null = none. */
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
   * with a single result was complete before its head was sent, so for such an answer this is all of it.
   */
  lost(): Usage
  /** The body of a `whole` answer. */
  body(usage: ChargedUsage): AnswerBody
  /**
   * The answer in the form in which it is kept for its account; absent = answers of this format are not kept. May be
   * called more than once.
   */
  kept?(usage: ChargedUsage, how: KeptEnd): Readonly<Record<string, unknown>> | null
  /** The last bytes of a stream. */
  tail(usage: ChargedUsage): Buffer
  /**
   * The last bytes of a stream that failed after its head; null = the stream has no form for an error, and the
   * connection is broken.
   */
  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer | null
}
