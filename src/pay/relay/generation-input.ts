import type { Principal } from '../../access/principal.ts'
import type { ApiError } from '../../base/errors.ts'
import type { AnswerBody, CallClaim, Operation } from './operation.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { FailedAttempt, RequestWords } from './attempt-error.ts'
import type { AttemptQueuePorts, AttemptSpan } from './attempt-queue.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Micro } from '../../base/money.ts'
import type { Affinity } from '../plan/endpoint-order.ts'
import type { Plan } from '../plan/plan.ts'
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
export interface PaidCall extends RequestWords {
  readonly principal: Principal
  readonly operation: Operation
  readonly requestId: string
  /** The client sent X-Request-Id itself, so its stream is numbered and can be resumed. */
  readonly requestIdGiven: boolean
  readonly startedMs: number
  readonly arrivedAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  /** The client's own user; null = it names none. */
  readonly endUser: string | null
  /** The claim that ends together with the charge; null = the request may be repeated, and each repeat is charged. */
  readonly claim: CallClaim | null
  /** Stores the answer in the commit that charges it; null = it is only sent. */
  readonly keeper: AnswerKeeper | null
  /** The client's name for the conversation, other than `session_id`; null = none. */
  readonly session: string | null
}

/** Stores the answer of a request for its account. */
export interface AnswerKeeper {
  /** Whether the request continues without its client, who asks for the answer later. */
  readonly background: boolean
  /** Makes the place for the answer before a provider is asked. Throws an ApiError. */
  begin(answer: RunningAnswer): Promise<void>
  /** Whether the answer is small enough to be kept. */
  fits(answer: Readonly<Record<string, unknown>>): boolean
  /** The answer in its stored form, encrypted, for the commit of its charge; null = it is too large. */
  encrypt(generationId: string, answer: Readonly<Record<string, unknown>>): Buffer | null
  /** Called when the answer has ended, with or without a charge. */
  end(answer: RunningAnswer, result: GenerationResult): void
}

/** A generation as seen by those who wait for its end. */
export interface RunningAnswer {
  readonly input: GenerationInput
  /** Resolves once, after the hold has ended; never rejects. */
  readonly done: Promise<GenerationResult>
  /** Whether its owner cancelled it. */
  readonly cancelled: boolean
  cancel(): Promise<unknown>
}

/** An admitted paid request, whose price is held. */
export interface GenerationInput extends PaidCall {
  readonly generationId: string
  readonly plan: Plan
  /** null = no endpoint or key is preferred. */
  readonly affinity: Affinity | null
  /** Present for a stream whose client sent X-Request-Id. */
  readonly buffer: EventBuffer | null
  /** Headers about the limits of the key; null = the key has none. */
  readonly limitHeaders: Readonly<Record<string, string>> | null
}

/** How a generation ended. `error` is for the client if nothing had been sent yet; a broken stream has it too. */
export interface GenerationResult {
  readonly record: GenerationRecord
  readonly chargedMicro: Micro
  readonly error: ApiError | null
  /** Failed attempts: all before the last one, or all of them. The providers' words in them may repeat the prompt. */
  readonly failed: readonly FailedAttempt[]
  /** Every attempt, for traces. */
  readonly spans: readonly AttemptSpan[]
  /** The complete answer of a request that is not streamed. */
  readonly body: AnswerBody | null
}

/**
 * Counts answers that are drained after their client left. They have no bound of their own: each keeps its place among
 * the running requests of its key, account and node, so that clients that leave early have fewer places left.
 */
export class DrainCount {
  #running = 0

  get running(): number {
    return this.#running
  }

  begin(): void {
    this.#running += 1
  }

  end(): void {
    this.#running -= 1
  }
}
