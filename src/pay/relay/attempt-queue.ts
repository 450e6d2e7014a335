import type { Endpoint } from '../../catalog/catalog.ts'
import type { Affinity } from '../plan/endpoint-order.ts'
import type { Candidate } from '../plan/plan.ts'
import type { Clock } from '../../base/clock.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import { withoutSecretsOf } from '../../protocols/wire/upstream-error.ts'
import {
  type FailedAttempt,
  type RequestWords,
  isClosed,
  isUnhealthy,
  mayRotateKey,
  mayServeNext,
  pauseSeconds,
  providerWords,
  refusedParameters,
  windowOf,
  withoutEcho,
} from './attempt-error.ts'
import type { Trial, EndpointHealthBook } from './endpoint-health.ts'
import type { KeyPools } from './key-pools.ts'

const ATTEMPTS_MAX = 4
/** Answers shorter than this do not show the speed. */
const SPEED_SECONDS_MIN = 0.05

export interface AttemptQueuePorts {
  readonly clock: Clock
  readonly health: EndpointHealthBook
  readonly keyPools: KeyPools
  readonly retries: RetryBudget
}

/** One attempt, for traces. Times are those of clock.monotonic(), in ms. */
export interface AttemptSpan {
  readonly endpoint: Endpoint
  readonly startedMs: number
  endedMs: number | null
  failure: string | null
}

/** The order of a request's attempts: the current candidate with its key, and the next one. */
export class AttemptQueue {
  /** Failed attempts in the order of their failures. */
  readonly failed: FailedAttempt[] = []
  /** All attempts, in order. */
  readonly spans: AttemptSpan[] = []
  readonly #ports: AttemptQueuePorts
  readonly #affinity: Affinity | null
  #queue: Candidate[]
  #candidate: Candidate
  #attempts = 0
  #apiKey: string | null = null
  #keysTried = 1
  /** The running attempt; null if there is none, or it has reported its result. */
  #trial: Trial | null = null
  /** Whether a slot of the retry budget is taken. */
  #retrying = false

  constructor(ports: AttemptQueuePorts, candidates: readonly Candidate[], affinity: Affinity | null = null) {
    const [first] = candidates
    if (first === undefined) throw new Error('A plan has at least one candidate.')
    this.#ports = ports
    this.#affinity = affinity
    this.#candidate = first
    this.#queue = [...candidates]
  }

  get candidate(): Candidate {
    return this.#candidate
  }

  /** Attempts begun so far. */
  get attempts(): number {
    return this.#attempts
  }

  /** Begins an attempt at the candidate; returns the provider key to use, or null if the provider needs none. */
  begin(): string | null {
    if (this.#attempts === 0) {
      this.#ports.retries.earn()
      this.#advance()
    }
    this.#attempts += 1
    const { endpoint } = this.#candidate
    this.#trial = this.#ports.health.begin(endpoint.id)
    this.spans.push({ endpoint, startedMs: this.#ports.clock.monotonic(), endedMs: null, failure: null })
    this.#apiKey = this.#ports.keyPools.pick(endpoint.provider, this.#affinity)
    return this.#apiKey
  }

  /** The attempt is answering, perhaps for minutes: it no longer counts as a retry. */
  answers(): void {
    if (this.#retrying) this.#ports.retries.release()
    this.#retrying = false
  }

  /**
   * The attempt ended with an answer. `firstTokenMs` (clock.monotonic()) is measured only for streams; null = not
   * measured.
   */
  succeed(firstTokenMs: number | null, outputTokens: number | null): void {
    const trial = this.#trial
    this.#trial = null
    if (trial === null) throw new Error('Only an attempt that runs can succeed.')
    const seconds = firstTokenMs === null ? 0 : (this.#ports.clock.monotonic() - firstTokenMs) / 1_000
    const speed = outputTokens !== null && seconds > SPEED_SECONDS_MIN ? outputTokens / seconds : null
    this.#ports.health.succeeded(trial, firstTokenMs === null ? null : firstTokenMs - trial.startedMs, speed)
    this.#ports.keyPools.worked(this.#candidate.endpoint.provider, this.#apiKey)
  }

  /**
   * Records the failure, for this request and for the endpoint's health. The request's words are given, so that they
   * are not repeated.
   */
  fail(found: AttemptFailure | 'empty', { sent, earlier }: RequestWords): FailedAttempt {
    const words = (): unknown => [sent(), earlier]
    const failure = withoutEcho(found, words)
    const { health, keyPools } = this.#ports
    const { model, endpoint } = this.#candidate
    const attempt: FailedAttempt = {
      failure: failure === 'empty' ? failure : withoutSecretsOf(endpoint.provider, failure),
      providerName: endpoint.provider.name,
      modelId: model.id,
      contextLength: endpoint.contextLength,
    }
    this.failed.push(attempt)
    const refused = refusedParameters(attempt.failure, sent)
    if (refused.length > 0) {
      const [said = null] = providerWords([attempt], words)
      health.refused(endpoint.id, refused, said)
    }
    this.#endSpan(attempt.failure === 'empty' ? 'empty' : attempt.failure.reason)
    if (attempt.failure !== 'empty' && mayRotateKey(attempt))
      keyPools.failed(endpoint.provider, this.#apiKey, attempt.failure)
    // If another key may still work, the fault is only this key's.
    if (!isUnhealthy(attempt) || this.#otherKeyHelps(attempt)) this.#releaseTrial()
    else if (this.#trial !== null) {
      health.failed(this.#trial, isClosed(attempt))
      health.pause(endpoint.id, pauseSeconds(attempt))
    }
    this.#trial = null
    return attempt
  }

  /** Moves on to the next candidate or key after a failed attempt, within the retry budget; null = there is none. */
  next(attempt: FailedAttempt): Candidate | null {
    if (this.#attempts >= ATTEMPTS_MAX) return null
    this.#queue = this.#queue.filter((candidate) => this.#maySucceed(candidate, attempt))
    const rotates = this.#otherKeyHelps(attempt) && this.#keysTried < this.#candidate.endpoint.provider.apiKeys.length
    if (!rotates && this.#queue.length === 0) return null
    if (!this.#retrying && !this.#ports.retries.claim()) return null
    this.#retrying = true
    if (rotates) this.#keysTried += 1
    else this.#advance()
    return this.#candidate
  }

  /** Other models of `models[]` may accept a request that all providers of this one refuse (wire.md 3.2). */
  #maySucceed({ model, endpoint }: Candidate, attempt: FailedAttempt): boolean {
    if (model.id !== attempt.modelId) return true
    switch (mayServeNext(attempt)) {
      case 'all':
        return true
      case 'none':
        return false
      case 'larger': {
        const window = windowOf(attempt)
        return window !== null && (endpoint.contextLength ?? Infinity) > window
      }
      case 'others': {
        const first = this.failed.find((failed) => failed.modelId === model.id && mayServeNext(failed) === 'others')
        return first === attempt && endpoint.provider.slug !== this.#candidate.endpoint.provider.slug
      }
    }
  }

  /** The request is over. */
  release(): void {
    this.answers()
    this.#releaseTrial()
    if (this.spans.at(-1)?.endedMs === null) this.#endSpan(null)
  }

  #endSpan(failure: string | null): void {
    const span = this.spans.at(-1)
    if (span === undefined) return
    span.endedMs = this.#ports.clock.monotonic()
    span.failure = failure
  }

  #otherKeyHelps(attempt: FailedAttempt): boolean {
    const { provider } = this.#candidate.endpoint
    return mayRotateKey(attempt) && provider.apiKeys.length > 1 && this.#ports.keyPools.hasFree(provider)
  }

  /**
   * Moves to the first candidate in service with a key; if there is none, to the first candidate: an attempt may fail,
   * but no attempt always does.
   */
  #advance(): void {
    const { health, keyPools } = this.#ports
    this.#keysTried = 1
    let index = this.#queue.findIndex(
      ({ endpoint }) => !health.ejected(endpoint.id) && keyPools.hasFree(endpoint.provider),
    )
    if (index === -1) index = 0
    const [taken] = this.#queue.splice(index, 1)
    if (taken === undefined) throw new Error('Only a queue that holds a candidate is advanced.')
    this.#candidate = taken
  }

  #releaseTrial(): void {
    if (this.#trial !== null) this.#ports.health.released(this.#trial)
    this.#trial = null
  }
}

const SHARE = 0.2
const RUNNING_MIN = 20
const WINDOW_SECONDS = 10
/** Retries that every window allows: Finagle's ten a second. */
const WINDOW_MIN = 100

interface BudgetSecond {
  /** Whole seconds of clock.monotonic(). */
  at: number
  requests: number
  retries: number
}

/**
 * Prevents that failing providers get twice the load (guarantees.md 5): attempts beyond the first are limited to a
 * fifth of the running requests, or of those of the last ten seconds. The second rule is for the moment in which a
 * provider dies: all its requests fail at once, and a fifth of the running ones would turn most of them into errors.
 */
export class RetryBudget {
  readonly #clock: Clock
  readonly #activeRequests: () => number
  readonly #seconds: BudgetSecond[] = Array.from({ length: WINDOW_SECONDS }, () => ({
    at: -1,
    requests: 0,
    retries: 0,
  }))
  #running = 0

  constructor(clock: Clock, activeRequests: () => number) {
    this.#clock = clock
    this.#activeRequests = activeRequests
  }

  /** A request begins, and earns a fifth of a retry. */
  earn(): void {
    this.#now().requests += 1
  }

  claim(): boolean {
    if (this.#running >= Math.max(RUNNING_MIN, SHARE * this.#activeRequests()) && this.#credit() < 1) return false
    this.#now().retries += 1
    this.#running += 1
    return true
  }

  release(): void {
    this.#running -= 1
  }

  #credit(): number {
    const { at } = this.#now()
    let credit = WINDOW_MIN
    for (const second of this.#seconds)
      if (second.at > at - WINDOW_SECONDS) credit += SHARE * second.requests - second.retries
    return credit
  }

  #now(): BudgetSecond {
    const at = Math.floor(this.#clock.monotonic() / 1_000)
    // The remainder of a whole number is a valid index of the array.
    const second = this.#seconds[at % WINDOW_SECONDS] as BudgetSecond
    if (second.at !== at) Object.assign(second, { at, requests: 0, retries: 0 })
    return second
  }
}
