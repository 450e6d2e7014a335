import type { Principal } from '../../access/principal.ts'
import type { ApiError } from '../../base/errors.ts'
import type { AnswerBody, AnswerKeeper, CallClaim, Operation } from './operation.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { FailedAttempt } from '../../relay/attempt-error.ts'
import type { AttemptQueuePorts, AttemptSpan } from './attempt-queue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { DrainCount } from './drain-count.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Micro } from '../../base/money.ts'
import type { Affinity } from '../plan/affinity.ts'
import type { Plan } from '../../plan/plan.ts'
import type { ProviderSlots } from './provider-slots.ts'
import type { UsageWatch } from './usage-watch.ts'
import type { TokenCounter } from '../plan/token-count.ts'

/** The parts that all generations share. */
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

/** A parsed paid request with the facts from the HTTP server and access. */
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
  /** Ended together with the charge; null = the request may be repeated, and each repeat is charged. */
  readonly claim: CallClaim | null
  /** Stores the answer in the commit that charges it; null = it is only sent. */
  readonly keeper: AnswerKeeper | null
  /** The client's name for the conversation, other than `session_id`; null = none. */
  readonly session: string | null
  /** The parsed JSON of the request: providers' words that repeat it are not stored. undefined = a form. */
  readonly sent: unknown
}

/** An admitted paid request: its price is held. */
export interface GenerationInput extends PaidCall {
  readonly generationId: string
  readonly plan: Plan
  /** null = no endpoint or key is preferred. */
  readonly affinity: Affinity | null
  /** Present for a stream whose client sent X-Request-Id. */
  readonly buffer: EventBuffer | null
  /** Headers about the limits of the key; null = it has none. */
  readonly limitHeaders: Readonly<Record<string, string>> | null
}

/** How a generation ended. `error` is for the client when nothing had been sent yet; a broken stream carries it too. */
export interface GenerationResult {
  readonly record: GenerationRecord
  readonly chargedMicro: Micro
  readonly error: ApiError | null
  /** Failed attempts: those before the last, or all of them. The providers' words in them may repeat the prompt. */
  readonly failed: readonly FailedAttempt[]
  /** Every attempt, for traces. */
  readonly spans: readonly AttemptSpan[]
  /** The complete answer of a request that is not streamed. */
  readonly body: AnswerBody | null
}
