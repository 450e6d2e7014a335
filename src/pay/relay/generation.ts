import { ApiError, asApiError } from '../../base/errors.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { GuardedCharge } from '../../ledger/ledger-store.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import { chargeMicro, providerCostMicro, type Usage } from '../../tables/meters.ts'
import type { Micro } from '../../base/money.ts'
import type { Candidate } from '../../plan/plan.ts'
import type { AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import { errorOfAttempts, isGivenUp, midStreamError, type FailedAttempt } from '../../relay/attempt-error.ts'
import { AttemptQueue } from './attempt-queue.ts'
import { ClientEnd, type ClientStream, type OpenStream } from './client-end.ts'
import { failureNotes } from '../../relay/provider-words.ts'
import type { GenerationInput, GenerationPorts, GenerationResult } from './generation-input.ts'
import { askedOf, mayBecome, type Asked, type GenerationState } from './generation-state.ts'
import type { AnswerBody, Attempt, ReportedUsage } from './operation.ts'
import {
  countedOutcome,
  emptyUsage,
  freeOutcome,
  isUnheard,
  keptAnswer,
  lostUsage,
  NOTHING_USED,
  recordOf,
  restMicro,
  type Outcome,
} from '../../relay/outcome.ts'
import { ProviderPlace, SATURATED } from './provider-slots.ts'

const DRAIN_MS = 120_000
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 500
/** Chunks without content (roles, empty deltas) wait for the first one with content: until then fallback is possible. */
const HEAD_BYTES_MAX = 65_536

/**
 * One paid answer: the upstream reader, the hold and the client's end. Billing never depends on who still listens.
 */
export class Generation {
  bagPlace = 0
  readonly input: GenerationInput
  readonly #ports: GenerationPorts
  readonly #tries: AttemptQueue
  readonly #place: ProviderPlace
  readonly #client: ClientEnd
  readonly #result = Promise.withResolvers<GenerationResult>()
  #state: GenerationState = { at: 'admitted' }
  #cancelled = false
  /** The newest attempt and its progress; null before the first. */
  #asked: Asked | null = null
  /** The client has left: within its grace period, or finally while the provider goes on billing. */
  #leave: { readonly as: 'grace' | 'drain'; readonly stop: () => void } | null = null
  /** The reported or possible cost of failed attempts. */
  #insuredMicro: Micro = 0n

  constructor(ports: GenerationPorts, input: GenerationInput) {
    this.#ports = ports
    this.input = input
    this.#tries = new AttemptQueue(ports, input.plan.candidates, input.affinity)
    this.#place = new ProviderPlace(ports.slots)
    this.#client = new ClientEnd(input.buffer, ports.clock, input.operation.keepAlive)
  }

  /** Resolves once, after the hold has ended; never rejects. */
  get done(): Promise<GenerationResult> {
    return this.#result.promise
  }

  get finished(): boolean {
    return this.#state.at === 'done'
  }

  /** Cancelled by its owner. */
  get cancelled(): boolean {
    return this.#cancelled
  }

  /** Parts of the request that the newest attempt left out. */
  get dropped(): readonly string[] {
    return this.#asked?.attempt.dropped ?? []
  }

  /** Whether its end is still undecided. */
  get #isLive(): boolean {
    return this.#state.at !== 'ending' && this.#state.at !== 'done'
  }

  get #draining(): boolean {
    return this.#leave?.as === 'drain'
  }

  get #candidate(): Candidate {
    return this.#tries.candidate
  }

  /** Asks the first provider. A generation that was cancelled or cut since its admission stays as it is. */
  start(open: OpenStream): void {
    if (!this.#isLive) return
    if (this.#state.at !== 'admitted') throw new Error(`Generation ${this.input.generationId} was started twice.`)
    this.#client.wait(open)
    this.#begin()
  }

  /** A client takes over the stream; events up to number `after` are not sent again. Only for buffered streams. */
  attach(stream: ClientStream, after: number): void {
    // A cancelled answer is drained only for its bill.
    if (this.#cancelled && this.#isLive) return stream.reset()
    this.#stopLeaving()
    if (this.#state.at === 'done') return this.#client.replay(stream, after)
    if (this.#client.attach(stream, after)) askedOf(this.#state)?.attempt.call.resume()
  }

  /** The client can take more. */
  drained(stream: ClientStream): void {
    if (this.#client.isReading(stream)) askedOf(this.#state)?.attempt.call.resume()
  }

  /** The client's socket closed. A buffered stream waits for it to come back (wire.md D-7.8). */
  detached(stream: ClientStream | null): void {
    // Only the first notice starts a timer: the grace period of a buffered stream, or the drain.
    if (!this.#isLive || this.#leave !== null || !this.#client.isReading(stream)) return
    this.#client.leave()
    askedOf(this.#state)?.attempt.call.resume()
    const { buffer, plan, keeper } = this.input
    if (keeper?.background === true) return
    const graceSeconds = plan.snapshot.settings.streamResume.grace
    if (buffer === null || buffer.overflowed || graceSeconds <= 0) return this.#abandon()
    this.#leave = { as: 'grace', stop: this.#ports.clock.after(graceSeconds * 1_000, () => this.#abandon()) }
  }

  /**
   * Cancels it for its owner. Resolves when it is settled, or at once if it is only drained for its bill; never
   * rejects.
   */
  cancel(): Promise<unknown> {
    if (this.#isLive && !this.#cancelled) {
      this.#cancelled = true
      this.#client.dismiss()
      askedOf(this.#state)?.attempt.call.resume()
      this.#abandon()
    }
    return this.#draining ? Promise.resolve() : this.done
  }

  /** We end it: at a shutdown, or when its files cannot be stored. It costs nothing (guarantees.md rule 15). */
  cut(error: ApiError): void {
    if (!this.#isLive) return
    const asked = askedOf(this.#state)
    // The part that was sent is booked at its end.
    if (asked !== null && asked.heard !== 'content') this.#insure(lostUsage(asked, null))
    this.#stopAsking()
    void this.#finishFree(error)
  }

  /** Called about once a second: sends a keep-alive to a stream that has been silent for long. */
  tick(nowMs: number): void {
    if (this.#state.at === 'admitted' || !this.#isLive || this.input.operation.delivery !== 'events') return
    this.#client.keepAlive(nowMs)
  }

  #become(next: GenerationState): void {
    if (!mayBecome(this.#state, next))
      throw new Error(`Generation ${this.input.generationId} cannot go from ${this.#state.at} to ${next.at}.`)
    this.#state = next
  }

  #identityOf(candidate: Candidate): ChunkIdentity {
    return {
      id: this.input.generationId,
      created: Math.floor(this.input.arrivedAtMs / 1_000),
      model: candidate.model.id,
      provider: candidate.endpoint.provider.name,
    }
  }

  #begin(): void {
    this.#become({ at: 'queued' })
    const apiKey = this.#tries.begin()
    this.#place.take(this.#candidate.endpoint.provider.slug, (granted) => {
      if (granted) this.#ask(apiKey)
      else this.#attemptFailed(SATURATED)
    })
  }

  #ask(apiKey: string | null): void {
    const candidate = this.#candidate
    const name = candidate.endpoint.provider.adapter
    const adapter = this.#ports.adapters.get(name)
    if (adapter === undefined) throw new Error(`The catalogue lets only known adapters through, got '${name}'.`)
    const { operation, plan, generationId, principal } = this.input
    const { tokens, clock } = this.#ports
    const start = {
      adapter,
      candidate,
      apiKey,
      plan,
      generationId,
      accountId: principal.accountId,
      identity: this.#identityOf(candidate),
      tokens,
      clock,
    }
    // The sink is not called before `begin` has returned.
    const attempt = operation.begin(start, {
      headers: () => {
        if (this.#isAsking(asked) && asked.heard === 'nothing') asked.heard = 'headers'
      },
      push: (bytes) => !this.#isAsking(asked) || this.#stream(asked, bytes),
      end: () => {
        if (this.#isAsking(asked)) void this.#answered(asked)
      },
      fail: (failure) => {
        if (this.#isAsking(asked)) this.#attemptFailed(failure)
      },
    })
    const asked: Asked = { attempt, heard: 'nothing', head: [], headBytes: 0 }
    this.#asked = asked
    this.#become({ at: 'asking', asked })
  }

  /** Only the current attempt is listened to. */
  #isAsking(asked: Asked): boolean {
    return this.#state.at === 'asking' && this.#state.asked === asked
  }

  #stream(asked: Asked, bytes: Buffer): boolean {
    if (asked.heard === 'content') return bytes.length === 0 || this.#client.send(bytes)
    asked.head.push(bytes)
    asked.headBytes += bytes.length
    if (!asked.attempt.says && asked.headBytes < HEAD_BYTES_MAX) return true
    return this.#sendHead(asked)
  }

  #sendHead(asked: Asked): boolean {
    asked.heard = 'content'
    this.#tries.answers()
    const head = asked.head.length === 1 && asked.head[0] !== undefined ? asked.head[0] : Buffer.concat(asked.head)
    asked.head = []
    return head.length === 0 || this.#client.send(head)
  }

  #attemptFailed(failure: AttemptFailure | 'empty'): void {
    // Without a place at the provider nothing was asked.
    const asked = askedOf(this.#state)
    this.#place.release()
    const { endpoint } = this.#candidate
    const attempt = this.#tries.fail(failure)
    if (asked?.heard === 'content') return void this.#brokeMidStream(asked, attempt, failure)
    const lost = asked === null ? null : lostUsage(asked, failure)
    this.#insure(lost)
    if (this.#draining && lost === null && isGivenUp(failure)) this.#insuredMicro += this.input.plan.holdMicro
    const next = this.#draining ? null : this.#tries.next(attempt)
    if (next === null) return void this.#finishFree(errorOfAttempts(this.#tries.failed), emptyUsage(asked, failure))
    // A provider that has just failed is asked again after a moment (guarantees.md 5); another provider, or the next
    // key, at once.
    if (next.endpoint === endpoint || next.endpoint.provider !== endpoint.provider) return this.#begin()
    const delayMs = RETRY_MS_MIN + this.#ports.random() * (RETRY_MS_MAX - RETRY_MS_MIN)
    this.#become({ at: 'paused', stop: this.#ports.clock.after(delayMs, () => this.#begin()) })
  }

  async #brokeMidStream(asked: Asked, attempt: FailedAttempt, failure: AttemptFailure | 'empty'): Promise<void> {
    const error = midStreamError(attempt)
    const left = countedOutcome(asked.attempt, 'cancelled')
    const { plan } = this.input
    if (this.#draining && isGivenUp(failure))
      this.#insuredMicro += restMicro(plan.holdMicro, left, this.#candidate.endpoint)
    // A client that may still return has not left: the answer broke, which is free.
    if (this.#draining) return this.#settle(left, (_usage) => undefined)
    if (plan.snapshot.settings.midstreamError === 'free') return this.#finishFree(error, asked.attempt.delivered())
    const outcome: Outcome = { ...countedOutcome(asked.attempt, 'error'), error, finish: 'error', native: 'error' }
    return this.#settle(outcome, (usage) => this.#client.fail(asked.attempt.errorTail(error, usage)))
  }

  async #answered(asked: Asked): Promise<void> {
    const { attempt } = asked
    this.#become({ at: 'answered', asked })
    this.#place.release()
    if (attempt.isEmpty()) return this.#attemptFailed('empty')
    if (attempt.prepare !== undefined && !(await this.#prepared(asked))) return
    const outcome = this.#completeOutcome(attempt)
    const whole = this.input.operation.delivery === 'whole'
    const spoken = this.#client.isGone || outcome.report.outputTokens === 0 ? null : outcome.report.outputTokens
    this.#tries.succeed(whole ? null : attempt.firstTokenMs, spoken)
    if (whole) return this.#settle(outcome, (usage) => attempt.body(usage))
    if (asked.heard !== 'content' && asked.head.length > 0) this.#sendHead(asked)
    return this.#settle(outcome, (usage) => this.#client.end(attempt.tail(usage)))
  }

  /** false: the attempt failed after all, or the generation has ended meanwhile. */
  async #prepared(asked: Asked): Promise<boolean> {
    let failure: AttemptFailure | null = null
    let fault: ApiError | null = null
    try {
      failure = (await asked.attempt.prepare?.()) ?? null
    } catch (thrown) {
      fault = asApiError(thrown)
    }
    if (askedOf(this.#state) !== asked) return false
    if (fault !== null) this.cut(fault)
    else if (failure !== null) this.#attemptFailed(failure)
    return fault === null && failure === null
  }

  #completeOutcome(attempt: Attempt): Outcome {
    const { report, reported, flagged, basis } = attempt.measured()
    const { finish, native } = attempt
    return {
      status: isUnheard(this.input, this.#client.isGone, this.#cancelled) ? 'cancelled' : 'completed',
      basis: this.#draining && basis === 'provider_usage' ? 'drained' : basis,
      report,
      reported,
      flagged,
      error: null,
      finish,
      native,
    }
  }

  /** The client will not return: stop or drain, depending on what the provider bills (guarantees.md rules 2, 7, 8). */
  #abandon(): void {
    if (!this.#isLive || this.#draining) return
    this.#leave?.stop()
    // Nobody waits for an attempt that has not begun.
    if (askedOf(this.#state) === null || !this.#keepsBilling) {
      this.#cutAndCharge()
      return
    }
    this.#ports.drains.begin()
    this.#leave = { as: 'drain', stop: this.#ports.clock.after(DRAIN_MS, () => this.#cutAndCharge()) }
  }

  /** Whether the provider bills an answer that nobody reads to its end. */
  get #keepsBilling(): boolean {
    const { delivery, atOnce = delivery === 'whole' } = this.input.operation
    return atOnce || !this.#candidate.endpoint.provider.cancelStopsBilling
  }

  #cutAndCharge(): void {
    if (!this.#isLive) return
    const asked = askedOf(this.#state)
    const stopped = this.#stopAsking()
    const outcome = asked === null || asked.heard === 'nothing' ? null : countedOutcome(asked.attempt, 'cancelled')
    if (stopped && this.#keepsBilling)
      this.#insuredMicro += restMicro(this.input.plan.holdMicro, outcome, this.#candidate.endpoint)
    void (outcome === null ? this.#finishFree(null) : this.#settle(outcome, (_usage) => undefined))
  }

  /** Answers whether a provider was working on it. */
  #stopAsking(): boolean {
    const { at } = this.#state
    if (this.#state.at === 'asking') this.#state.asked.attempt.call.cancel()
    this.#place.release()
    return at === 'asking'
  }

  /** The cost of a failed attempt is the operator's loss. */
  #insure(lost: Usage | null): void {
    if (lost !== null) this.#insuredMicro += providerCostMicro(lost, this.#candidate.endpoint.buy)
  }

  /** Ends the hold with a charge, durably, and only then sends the end of the answer through `show`. */
  async #settle(outcome: Outcome, show: (usage: ChargedUsage) => AnswerBody | undefined | void): Promise<void> {
    this.#decided()
    const { endpoint } = this.#candidate
    const { report } = outcome
    const record = this.#record(outcome)
    const { generationId, claim, operation } = this.input
    const billedMicro = providerCostMicro(outcome.reported.usage, endpoint.buy)
    // Only `show` makes a whole body, so it may be called for the store first.
    const kept = (chargedMicro: Micro): AnswerBody | null =>
      operation.delivery === 'whole' ? (show({ report, chargedMicro }) ?? null) : null
    const answer = (chargedMicro: Micro): Buffer | null => {
      const body = kept(chargedMicro)
      return body === null ? null : (claim?.encrypt(body) ?? null)
    }
    try {
      const settled = await this.#ports.ledger.settle({
        generationId,
        costMicro: chargeMicro(report.usage, endpoint.sell),
        providerCostMicro: billedMicro,
        insuredMicro: this.#insuredMicro,
        record,
        ...(claim === null ? {} : { claim: { id: claim.id, answer } }),
        ...keptAnswer(this.input, this.#asked, outcome, this.#cancelled),
      })
      if (settled.status === 'not_open' && settled.state === 'claim_lost') return await this.#lostClaim(billedMicro)
      if (settled.status === 'not_open')
        throw new Error(`Settle of ${this.input.generationId} met a hold that is ${settled.state}.`)
      this.#ports.watch.settled(record, settled.shortfallMicro)
      const body = show({ report, chargedMicro: settled.chargedMicro }) ?? null
      this.#finish({ record, chargedMicro: settled.chargedMicro, error: outcome.error, body })
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
    }
  }

  /** Without a durable settle the client gets an error, not the end; the expiring hold gives the money back. */
  #failedToSettle(record: GenerationRecord, error: ApiError): void {
    this.#showError(error, null)
    this.#finish({
      record: { ...record, status: 'error', errorType: error.errorType },
      chargedMicro: 0n,
      error,
      body: null,
    })
  }

  /**
   * Ends the hold without a charge. Costs that the provider still bills are booked as insured. `guarded`, a part of
   * them, is charged at the provider's price if the account has used up its free hour (guarantees.md rule 20).
   */
  #finishFree(error: ApiError | null, guarded: ReportedUsage | null = null): Promise<void> {
    this.#decided()
    return this.#giveBack(error, guarded)
  }

  /** Other processes took this one for dead, and another request has the key now: only that one is charged. */
  #lostClaim(billedMicro: Micro): Promise<void> {
    if (this.#asked?.heard !== 'content') this.#insuredMicro += billedMicro
    return this.#giveBack(new ApiError('idempotency_conflict', 'A request with this Idempotency-Key is still running'))
  }

  async #giveBack(error: ApiError | null, guarded: ReportedUsage | null = null): Promise<void> {
    const { endpoint } = this.#candidate
    const delivered = this.#asked?.heard === 'content' ? this.#asked.attempt.delivered() : null
    const outcome = freeOutcome(error, delivered)
    const record = this.#record(outcome)
    const charge = guarded === null ? null : this.#guardedCharge(outcome, guarded)
    let chargedMicro = 0n
    try {
      const deliveredMicro = delivered === null ? 0n : providerCostMicro(delivered.reported.usage, endpoint.buy)
      const voided = await this.#ports.ledger.void({
        generationId: this.input.generationId,
        insuredMicro: this.#insuredMicro + deliveredMicro,
        record,
        ...(charge === null ? {} : { guarded: charge }),
      })
      if (voided.status === 'charged') chargedMicro = voided.chargedMicro
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
      return
    }
    const charged = chargedMicro > 0n && charge !== null && guarded !== null
    if (error !== null) this.#showError(error, { report: charged ? guarded.report : NOTHING_USED, chargedMicro })
    this.#finish({ record: charged ? charge.record : record, chargedMicro, error, body: null })
  }

  /** At the provider's price; null if that is 0. */
  #guardedCharge(outcome: Outcome, guarded: ReportedUsage): GuardedCharge | null {
    const { buy } = this.#candidate.endpoint
    const costMicro = chargeMicro(guarded.report.usage, buy)
    const { claim } = this.input
    if (costMicro === 0n) return null
    return {
      costMicro,
      providerCostMicro: providerCostMicro(guarded.reported.usage, buy),
      record: this.#record({ ...outcome, ...guarded, basis: 'provider_cost' }),
      ...(claim === null ? {} : { claim: { id: claim.id, answer: () => null } }),
    }
  }

  /** Marks its end as decided: nothing else may end it. */
  #decided(): void {
    if (this.#state.at === 'paused') this.#state.stop()
    this.#become({ at: 'ending' })
    this.#stopLeaving()
    this.#tries.release()
    this.#place.release()
  }

  #stopLeaving(): void {
    this.#leave?.stop()
    if (this.#draining) this.#ports.drains.end()
    this.#leave = null
  }

  /** A stream without a form for an error is broken off, so that nobody takes it for a complete one. */
  #showError(error: ApiError, usage: ChargedUsage | null): void {
    if (this.#client.isShown) this.#client.fail(this.#asked?.attempt.errorTail(error, usage) ?? null)
  }

  #finish(result: Omit<GenerationResult, 'failed' | 'spans'>): void {
    this.#become({ at: 'done' })
    // A client that returned while a cancelled answer was being settled has nothing to wait for.
    this.#client.break()
    this.#result.resolve({ ...result, failed: this.#tries.failed, spans: this.#tries.spans })
  }

  #record(outcome: Outcome): GenerationRecord {
    return recordOf(this.input, outcome, {
      candidate: this.#candidate,
      upstreamId: this.#asked?.attempt.upstreamId ?? null,
      attempts: this.#tries.attempts,
      failedAttempts: failureNotes(this.#tries.failed, this.input.sent),
      firstTokenMs: this.#asked?.attempt.firstTokenMs ?? null,
      endedMs: this.#ports.clock.monotonic(),
    })
  }
}
