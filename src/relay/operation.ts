import type { ApiError } from '../errors.ts'
import type { ChargedUsage, KeptEnd } from '../kinds/answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../kinds/chat/answer.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import type { EndReason, GenerationRecord } from '../ledger/generation-record.ts'
import type { Clock } from '../lib/clock.ts'
import type { Usage } from '../meters.ts'
import type { Candidate, Plan, PlanInput } from '../plan/plan.ts'
import type { TokenCounter } from '../plan/token-count.ts'
import type { Adapter } from '../providers/ports/adapter.ts'
import type { AttemptFailure } from '../providers/ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../providers/ports/call.ts'

/**
 * One parsed request on its way through the paid path: everything that differs between kinds. The relay knows the
 * order of the steps, the money and the client's end; an operation knows the request and the reader of its answer.
 */
export interface Operation {
  /** In the usage log. */
  readonly type: GenerationRecord['type']
  /** `events` = an event stream; `bytes` = a body sent as it arrives; `whole` = one body at the end. */
  readonly delivery: 'whole' | 'events' | 'bytes'
  /** Its providers answer at once, even where the client gets events: a client that leaves stops no bill. */
  readonly atOnce?: boolean
  /** Media type of a `bytes` body, or of a stream that is no event stream and cannot be resumed; else null. */
  readonly contentType: string | null
  /** What a silent stream sends; absent = a comment of an event stream. */
  readonly keepAlive?: Buffer
  readonly sessionId: string | null
  /** Its later turns begin alike and find their prompt cache where this one went; absent = there are none. */
  readonly conversation?: Pick<ChatRequest, 'model' | 'messages'>
  /** Its output is computed (an omitted max_tokens): a refused hold is planned again within what there is. */
  readonly fitsFunds: boolean
  /** It may cost more than its newest plan says, as with tools that the provider runs. */
  readonly mayExceed?: true | undefined
  /** Who may serve it and the most it may cost. Throws an ApiError. */
  plan(input: PlanInput): Plan
  /** The same plan held for less by an exact count, after its hold was refused; null when it costs no less. */
  recounted(plan: Plan, tokens: PlanInput['tokens']): Plan | null
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
  /** Of the row that names its generation. */
  readonly id: string
  readonly generationId: string
  /** A whole answer as it is kept; null where it is not. */
  encrypt(answer: AnswerBody): Buffer | null
}

/** Keeps the answer of a request for its account. */
export interface AnswerKeeper {
  /** The request lives on without its client, who asks for the answer later. */
  readonly background: boolean
  /** An answer as it is kept, encrypted; null = it is too large. */
  encrypt(generationId: string, answer: Readonly<Record<string, unknown>>): Buffer | null
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

/** One attempt at one provider, and its answer so far. */
export interface Attempt {
  readonly upstreamId: string | null
  /** clock.monotonic() of the first token of the answer; null before it. */
  readonly firstTokenMs: number | null
  readonly finish: EndReason | null
  /** The provider's own word for it. */
  readonly native: string | null
  /** The bytes that it has brought hold something of the answer itself. */
  readonly says: boolean
  readonly call: RunningCall
  /** Parts of the request that its provider was not sent, by their names; absent = none. */
  readonly dropped?: readonly string[]
  /** It ended, and with nothing that anyone would pay for (guarantees.md rule 4). */
  isEmpty(): boolean
  /** What must be done before the answer may be charged, as storing its files; answers why it cannot be. */
  prepare?(): Promise<AttemptFailure | null>
  /** Usage of the whole answer. */
  measured(): MeasuredUsage
  /** Usage of the answer so far: as the provider reported it, else counted by us. */
  delivered(): ReportedUsage
  /** Usage that the provider has reported so far, and therefore bills; null = none. */
  reported(): ReportedUsage | null
  /**
   * The most that the provider may bill for an answer that began and failed before any usage was reported. An answer
   * that comes at once was complete before its head was sent, so this is all of it.
   */
  lost(): Usage
  /** The body of a `whole` answer. */
  body(usage: ChargedUsage): AnswerBody
  /** The answer as it is kept for its account; absent = its format keeps none. May be called more than once. */
  kept?(usage: ChargedUsage, how: KeptEnd): Readonly<Record<string, unknown>> | null
  /** The last bytes of a stream. */
  tail(usage: ChargedUsage): Buffer
  /**
   * The last bytes of a stream that failed after its head; null = it has no words for that, and the connection breaks.
   */
  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer | null
}
