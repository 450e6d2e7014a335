import type { ApiError } from '../errors.ts'
import type { AnswerBody, CallClaim, Order } from './order.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { FailedAttempt } from './attempt-error.ts'
import type { AttemptQueuePorts, Passage } from './attempt-queue.ts'
import type { Clock } from '../lib/clock.ts'
import type { DrainCount } from './drain-count.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { GenerationRecord } from '../ledger/generation-record.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Micro } from '../money.ts'
import type { Plan } from '../plan/plan.ts'
import type { ProviderSlots } from './provider-slots.ts'
import type { Reader } from './reader.ts'
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

/** One admitted, held request. */
export interface GenerationInput {
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly order: Order
  readonly plan: Plan
  readonly startedMs: number
  readonly arrivedAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  /** Ended with the charge. */
  readonly claim: CallClaim | null
  /** Present for a stream whose client sent X-Request-Id. */
  readonly buffer: EventBuffer | null
  /**
   * Commits the response headers and answers the client's end; called at most once, for streams only. null = the client
   * has left.
   */
  readonly open: () => Reader | null
}

/** How a generation ended. `error` is for the client when nothing had been sent yet; a broken stream carries it too. */
export interface GenerationResult {
  readonly record: GenerationRecord
  readonly chargedMicro: Micro
  readonly error: ApiError | null
  /** Attempts before the last that failed, or all of them; what the providers said of them may repeat the prompt. */
  readonly failed: readonly FailedAttempt[]
  /** Every attempt, for traces. */
  readonly passages: readonly Passage[]
  /** The complete answer of a request that is not answered as it arrives. */
  readonly body: AnswerBody | null
}
