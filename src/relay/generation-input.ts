import type { Principal } from '../access/principal.ts'
import type { ApiError } from '../errors.ts'
import type { AnswerBody, AnswerKeeper, CallClaim, Operation } from './operation.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { FailedAttempt } from './attempt-error.ts'
import type { AttemptQueuePorts, AttemptSpan } from './attempt-queue.ts'
import type { Clock } from '../lib/clock.ts'
import type { DrainCount } from './drain-count.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { GenerationRecord } from '../ledger/generation-record.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Micro } from '../money.ts'
import type { Affinity } from '../plan/affinity.ts'
import type { Plan } from '../plan/plan.ts'
import type { ProviderSlots } from './provider-slots.ts'
import type { UsageWatch } from './usage-watch.ts'
import type { TokenCounter } from '../plan/token-count.ts'

/** What every generation works with; made once. */
export interface GenerationPorts extends AttemptQueuePorts {
  readonly ledger: Ledger
  readonly adapters: AdapterTable
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly drains: DrainCount
  readonly slots: ProviderSlots
  readonly watch: UsageWatch
  readonly tokens: TokenCounter
}

/** A parsed paid request with what the HTTP server and access know of it. */
export interface PaidCall {
  readonly principal: Principal
  readonly operation: Operation
  readonly requestId: string
  /** The client sent X-Request-Id itself: its stream is numbered and resumable. */
  readonly requestIdGiven: boolean
  readonly startedMs: number
  readonly arrivedAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  /** Ended with the charge; null = the request may be repeated as often as one likes, and is charged each time. */
  readonly claim: CallClaim | null
  /** Keeps the answer in the commit that charges it; null = it is only sent. */
  readonly keeper: AnswerKeeper | null
  /** What the client calls the conversation where `session_id` does not say it; null = nothing. */
  readonly session: string | null
}

/** A paid request that was admitted: its price is held. */
export interface GenerationInput extends PaidCall {
  readonly generationId: string
  readonly plan: Plan
  /** null = any endpoint and key are as good. */
  readonly affinity: Affinity | null
  /** Present for a stream whose client sent X-Request-Id. */
  readonly buffer: EventBuffer | null
  /** What the answer says of the limits of its key; null = it has none. */
  readonly limitHeaders: Readonly<Record<string, string>> | null
}

/** How a generation ended. `error` is for the client when nothing had been sent yet; a broken stream carries it too. */
export interface GenerationResult {
  readonly record: GenerationRecord
  readonly chargedMicro: Micro
  readonly error: ApiError | null
  /** Attempts before the last that failed, or all of them; what the providers said of them may repeat the prompt. */
  readonly failed: readonly FailedAttempt[]
  /** Every attempt, for traces. */
  readonly spans: readonly AttemptSpan[]
  /** The complete answer of a request that is not answered as it arrives. */
  readonly body: AnswerBody | null
}
