import type { Candidate } from '../plan/plan.ts'
import type { AttemptFailure } from '../providers/adapter.ts'
import { isUnhealthy, mayFallBack, mayRotateKey, type FailedAttempt } from './attempt-error.ts'
import type { EndpointHealthBook } from './endpoint-health.ts'
import type { KeyPools } from './key-pools.ts'
import type { RetryBudget } from './retry-budget.ts'

const ATTEMPTS_MAX = 4

export interface AttemptQueuePorts {
  readonly health: EndpointHealthBook
  readonly keyPools: KeyPools
  readonly retries: RetryBudget
}

/** Which candidate of a request is tried now, with which credential, and which after it. */
export class AttemptQueue {
  /** In the order they failed. */
  readonly failed: FailedAttempt[] = []
  readonly #ports: AttemptQueuePorts
  readonly #queue: Candidate[]
  #candidate: Candidate
  #attempts = 0
  #apiKey: string | null = null
  #keysTried = 1
  /** This request is the one that finds out whether an ejected endpoint is back. */
  #isProbe = false
  /** A slot of the retry budget is taken. */
  #retrying = false

  constructor(ports: AttemptQueuePorts, candidates: readonly Candidate[]) {
    const [first, ...rest] = candidates
    if (first === undefined) throw new Error('A plan has at least one candidate.')
    this.#ports = ports
    this.#candidate = first
    this.#queue = rest
  }

  get candidate(): Candidate {
    return this.#candidate
  }

  /** Attempts begun so far. */
  get attempts(): number {
    return this.#attempts
  }

  /** Begins an attempt at the candidate and answers the credential for it; null when the provider needs none. */
  begin(): string | null {
    if (this.#attempts === 0) this.#skipProbed()
    this.#attempts += 1
    this.#apiKey = this.#ports.keyPools.pick(this.#candidate.endpoint.provider)
    return this.#apiKey
  }

  /** Notes how the attempt ended, for this request and for those after it. */
  fail(failure: AttemptFailure | 'empty'): FailedAttempt {
    const { model, endpoint } = this.#candidate
    const attempt: FailedAttempt = { failure, providerName: endpoint.provider.name, modelId: model.id }
    this.failed.push(attempt)
    if (isUnhealthy(attempt)) this.#ports.health.failed(endpoint.id)
    else this.#releaseProbe()
    if (failure !== 'empty' && mayRotateKey(attempt)) this.#ports.keyPools.failed(endpoint.provider, this.#apiKey, failure)
    return attempt
  }

  /** Moves on to what is worth a try after a failed attempt, within the retry budget; null when nothing is. */
  next(attempt: FailedAttempt): Candidate | null {
    if (!mayFallBack(attempt) || this.#attempts >= ATTEMPTS_MAX) return null
    const { provider } = this.#candidate.endpoint
    const rotates = mayRotateKey(attempt) && this.#keysTried < provider.apiKeys.length && this.#ports.keyPools.hasFree(provider)
    const next = rotates ? this.#candidate : this.#queue[0]
    if (next === undefined || (!this.#retrying && !this.#ports.retries.claim())) return null
    this.#retrying = true
    if (rotates) {
      this.#keysTried += 1
      return next
    }
    this.#queue.shift()
    this.#keysTried = 1
    this.#candidate = next
    this.#skipProbed()
    return this.#candidate
  }

  /** The request is over. */
  release(): void {
    if (this.#retrying) this.#ports.retries.release()
    this.#retrying = false
    this.#releaseProbe()
  }

  /** Passes over endpoints that another request is just trying out, as long as there is one after them. */
  #skipProbed(): void {
    for (;;) {
      const leave = this.#ports.health.begin(this.#candidate.endpoint.id)
      this.#isProbe = leave === 'probe'
      if (leave !== 'no') return
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#candidate = next
    }
  }

  #releaseProbe(): void {
    if (this.#isProbe) this.#ports.health.released(this.#candidate.endpoint.id)
    this.#isProbe = false
  }
}
