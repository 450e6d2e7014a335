import { billMicro, rowPrices } from '../../catalog/price-conditions.ts'
import { ApiError, asApiError } from '../../base/errors.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import { chargeMicro, providerCostMicro, type Usage } from '../../tables/meters.ts'
import type { Micro } from '../../base/money.ts'
import type { Candidate } from '../plan/plan.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import {
  type FailedAttempt,
  errorOfAttempts,
  failureNotes,
  isGivenUp,
  isProviderFault,
  midStreamError,
} from './attempt-error.ts'
import { AttemptQueue } from './attempt-queue.ts'
import { ClientEnd, type ClientStream, type OpenStream } from './client-end.ts'
import type { GenerationInput, GenerationPorts, GenerationResult } from './generation-input.ts'
import { askedOf, mayBecome, type Asked, type GenerationState } from './generation-state.ts'
import type { Attempt, ReportedUsage } from './operation.ts'
import {
  countedOutcome,
  emptyUsage,
  freeOutcome,
  guardedCharge,
  identityOf,
  isUnheard,
  isUnkeepable,
  keptAnswer,
  lostUsage,
  Losses,
  NOTHING_USED,
  recordOf,
  restMicro,
  servedOf,
  unkeepable,
  type Ending,
  type Outcome,
} from './outcome.ts'
import { ProviderPlace, SATURATED } from './provider-slots.ts'

const DRAIN_MS = 120_000
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 500
const showNothing = (): void => undefined
/** Chunks without content (roles, empty deltas) wait for one with content: until then another provider can be asked. */
const HEAD_BYTES_MAX = 65_536

/** One paid answer: the upstream reader, the hold and the client's end. The bill never depends on who still listens. */
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
  /**
   * The client has left: it is within its grace period, or it is gone and the answer is drained because the provider
   * continues to bill.
   */
  #leave: { readonly as: 'grace' | 'drain'; readonly stop: () => void } | null = null
  /** The reported or possible costs of failed attempts. */
  readonly #losses = new Losses()

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

  /** Whether its end is decided, and its charge is being written: others may already read the row of the log. */
  get ending(): boolean {
    return this.#state.at === 'ending'
  }

  /** Whether its owner cancelled it. */
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
    // A cancelled answer is drained only for its bill, so nobody may read it.
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
    // Only the first leaving starts a timer: the grace period of a buffered stream, or the drain.
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

  /** Ends it from our side: at a shutdown, or if its files cannot be stored. It is free (guarantees.md rule 15). */
  cut(error: ApiError): void {
    if (!this.#isLive) return
    const asked = askedOf(this.#state)
    // If a part was sent, its cost is booked at the end.
    if (asked !== null && asked.heard !== 'content') this.#insure(lostUsage(asked, null), true)
    this.#stopAsking()
    void this.#end({ as: 'free', error })
  }

  /** Called about once a second: sends a keep-alive to a stream that has been silent for some time. */
  tick(nowMs: number): void {
    if (this.#state.at === 'admitted' || !this.#isLive || this.input.operation.delivery !== 'events') return
    this.#client.keepAlive(nowMs)
  }

  #become(next: GenerationState): void {
    if (!mayBecome(this.#state, next))
      throw new Error(`Generation ${this.input.generationId} cannot go from ${this.#state.at} to ${next.at}.`)
    this.#state = next
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
      identity: identityOf(this.input, candidate),
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

  /** Whether the attempt is the current one; others are ignored. */
  #isAsking(asked: Asked): boolean {
    return this.#state.at === 'asking' && this.#state.asked === asked
  }

  #stream(asked: Asked, bytes: Buffer): boolean {
    if (asked.heard === 'content') return bytes.length === 0 || this.#client.send(bytes)
    asked.head.push(bytes)
    asked.headBytes += bytes.length
    return (!asked.attempt.says && asked.headBytes < HEAD_BYTES_MAX) || this.#sendHead(asked)
  }

  #sendHead(asked: Asked): boolean {
    asked.heard = 'content'
    this.#tries.answers()
    const head = asked.head.length === 1 && asked.head[0] !== undefined ? asked.head[0] : Buffer.concat(asked.head)
    asked.head = []
    return head.length === 0 || this.#client.send(head)
  }

  #attemptFailed(failure: AttemptFailure | 'empty'): void {
    // Without a place at the provider, nothing was asked of it.
    const asked = askedOf(this.#state)
    this.#place.release()
    const { endpoint } = this.#candidate
    const attempt = this.#tries.fail(failure, this.input)
    if (asked?.heard === 'content') return void this.#end(this.#brokenEnd(asked, attempt, failure))
    const lost = asked === null ? null : lostUsage(asked, failure)
    this.#insure(lost, this.#isBlameless(asked, failure))
    if (this.#draining && lost === null && isGivenUp(failure)) this.#losses.add(this.input.plan.holdMicro)
    const next = this.#draining ? null : this.#tries.next(attempt)
    if (next === null) {
      const error = errorOfAttempts(this.#tries.failed)
      return void this.#end({ as: 'free', error, guarded: emptyUsage(asked, failure) })
    }
    // The same provider is asked again only after a moment (guarantees.md 5); another provider, or the next key, at
    // once.
    if (next.endpoint === endpoint || next.endpoint.provider !== endpoint.provider) return this.#begin()
    const delayMs = RETRY_MS_MIN + this.#ports.random() * (RETRY_MS_MAX - RETRY_MS_MIN)
    this.#become({ at: 'paused', stop: this.#ports.clock.after(delayMs, () => this.#begin()) })
  }

  #brokenEnd(asked: Asked, attempt: FailedAttempt, failure: AttemptFailure | 'empty'): Ending {
    const error = midStreamError(attempt)
    const left = countedOutcome(asked.attempt, 'cancelled')
    const { plan } = this.input
    if (this.#draining && isGivenUp(failure)) this.#loseRest(left)
    // A client that may still return has not left: so this is a broken answer, which is free.
    if (this.#draining) return { as: 'charged', outcome: left, show: showNothing }
    const guarded = this.#isBlameless(asked, failure) ? null : asked.attempt.delivered()
    if (plan.snapshot.settings.midstreamError === 'free') return { as: 'free', error, guarded }
    const outcome: Outcome = { ...countedOutcome(asked.attempt, 'error'), error, finish: 'error', native: 'error' }
    return { as: 'charged', outcome, show: (usage) => this.#client.fail(asked.attempt.errorTail(error, usage)) }
  }

  async #answered(asked: Asked): Promise<void> {
    const { attempt } = asked
    this.#become({ at: 'answered', asked })
    this.#place.release()
    const bad = attempt.isEmpty() ? 'empty' : (attempt.badEnd?.() ?? null)
    if (bad !== null) return this.#attemptFailed(bad)
    if (attempt.prepare !== undefined && !(await this.#prepared(asked))) return
    const outcome = this.#completeOutcome(attempt)
    if (isUnkeepable(this.input, attempt, outcome)) {
      this.#insure(outcome.reported.usage, false)
      return this.#end({ as: 'free', error: unkeepable(), guarded: outcome })
    }
    const whole = this.input.operation.delivery === 'whole'
    const spoken = this.#client.isGone || outcome.report.outputTokens === 0 ? null : outcome.report.outputTokens
    this.#tries.succeed(whole ? null : attempt.firstTokenMs, spoken)
    if (whole) return this.#end({ as: 'charged', outcome, show: (usage) => attempt.body(usage) })
    if (asked.heard !== 'content' && asked.head.length > 0) this.#sendHead(asked)
    return this.#end({ as: 'charged', outcome, show: (usage) => this.#client.end(attempt.tail(usage)) })
  }

  /** false = it could not be prepared, or the generation has ended meanwhile. */
  async #prepared(asked: Asked): Promise<boolean> {
    let fault: ApiError | null = null
    try {
      await asked.attempt.prepare?.()
    } catch (thrown) {
      fault = asApiError(thrown)
    }
    if (askedOf(this.#state) !== asked) return false
    if (fault !== null) this.cut(fault)
    return fault === null
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

  /**
   * The client will not return: the answer is stopped or drained, depending on what the provider bills (guarantees.md
   * rules 2, 7, 8).
   */
  #abandon(): void {
    if (!this.#isLive || this.#draining) return
    this.#leave?.stop()
    // Nothing is drained if no attempt is under way.
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
    if (stopped && this.#keepsBilling) this.#loseRest(outcome)
    void this.#end(outcome === null ? { as: 'free', error: null } : { as: 'charged', outcome, show: showNothing })
  }

  /** Returns whether a provider was working on it. */
  #stopAsking(): boolean {
    const { at } = this.#state
    if (this.#state.at === 'asking') this.#state.asked.attempt.call.cancel()
    this.#place.release()
    return at === 'asking'
  }

  /** Adds the cost of a failed attempt to the operator's loss. */
  #insure(lost: Usage | null, isBlameless: boolean): void {
    if (lost !== null)
      this.#losses.add(billMicro(this.#candidate.endpoint, lost, servedOf(this.input, this.#asked)), isBlameless)
  }

  #loseRest(outcome: Outcome | null): void {
    this.#losses.add(restMicro(this.input, this.#asked, outcome, this.#candidate.endpoint))
  }

  /** Whether the provider failed while the client waited, which no account can abuse. */
  #isBlameless(asked: Asked | null, failure: AttemptFailure | 'empty'): boolean {
    return !this.#draining && !this.#client.isSlow && isProviderFault(failure, asked)
  }

  /** Ends the hold durably, and only after that the answer. Nothing else may end it after this call. */
  #end(ending: Ending): Promise<void> {
    if (this.#state.at === 'paused') this.#state.stop()
    this.#become({ at: 'ending' })
    this.#stopLeaving()
    this.#tries.release()
    this.#place.release()
    return this.#write(ending)
  }

  async #write(ending: Ending): Promise<void> {
    const asked = this.#asked
    const delivered = (): ReportedUsage | null => (asked?.heard === 'content' ? asked.attempt.delivered() : null)
    const outcome = ending.as === 'charged' ? ending.outcome : freeOutcome(ending.error, delivered())
    const record = this.#record(outcome)
    try {
      if (ending.as === 'charged') await this.#settle(ending, record)
      else await this.#void(ending, outcome, record)
    } catch (thrown) {
      // Without a durable end the client gets an error; the hold expires, which gives the money back.
      const error = asApiError(thrown)
      this.#showError(error, null)
      const failed = { ...record, status: 'error', errorType: error.errorType } as const
      this.#finish({ record: failed, chargedMicro: 0n, error, body: null })
    }
  }

  async #settle({ outcome, show }: Extract<Ending, { as: 'charged' }>, record: GenerationRecord): Promise<void> {
    const { report } = outcome
    const { charged, billed } = rowPrices(this.#candidate.endpoint, record)
    const { generationId, claim, operation } = this.input
    const billedMicro = providerCostMicro(outcome.reported.usage, billed.sheet)
    const answer = (chargedMicro: Micro): Buffer | null => {
      // Only `show` makes the body of a plain answer, so it may be called for the store first.
      const body = operation.delivery === 'whole' ? (show({ report, chargedMicro }) ?? null) : null
      return body === null ? null : (claim?.encrypt(body) ?? null)
    }
    const settled = await this.#ports.ledger.settle({
      generationId,
      costMicro: chargeMicro(report.usage, charged.sheet),
      providerCostMicro: billedMicro,
      ...this.#losses.booked,
      record,
      ...(claim === null ? {} : { claim: { id: claim.id, answer } }),
      ...keptAnswer(this.input, this.#asked, outcome, this.#cancelled),
    })
    if (settled.status === 'not_open' && settled.state === 'claim_lost') {
      // Other processes considered this one dead, and another request has the Idempotency-Key now: only that one is
      // charged.
      if (this.#asked?.heard !== 'content') this.#losses.add(billedMicro, true)
      const lost = 'A request with this Idempotency-Key is still running'
      return this.#write({ as: 'free', error: new ApiError('idempotency_conflict', lost) })
    }
    if (settled.status === 'not_open') throw new Error(`Settle of ${generationId} met a hold that is ${settled.state}.`)
    this.#ports.watch.settled(record, settled.shortfallMicro, this.#candidate.endpoint)
    const body = show({ report, chargedMicro: settled.chargedMicro }) ?? null
    this.#finish({ record, chargedMicro: settled.chargedMicro, error: outcome.error, body })
  }

  async #void(
    { error, guarded = null }: Extract<Ending, { as: 'free' }>,
    outcome: Outcome,
    record: GenerationRecord,
  ): Promise<void> {
    const { endpoint } = this.#candidate
    const charge = guardedCharge(this.input, guarded, endpoint, (used) => this.#record({ ...outcome, ...used }))
    // If a part was sent and the end is not guarded, the provider or this service caused the break.
    this.#insure(this.#asked?.heard === 'content' ? outcome.reported.usage : null, guarded === null)
    const voided = await this.#ports.ledger.void({
      generationId: this.input.generationId,
      ...this.#losses.booked,
      record,
      ...(charge === null ? {} : { guarded: charge }),
    })
    const chargedMicro = voided.status === 'charged' ? voided.chargedMicro : 0n
    const charged = chargedMicro > 0n && charge !== null && guarded !== null
    if (error !== null) this.#showError(error, { report: charged ? guarded.report : NOTHING_USED, chargedMicro })
    this.#finish({ record: charged ? charge.record : record, chargedMicro, error, body: null })
  }

  #stopLeaving(): void {
    this.#leave?.stop()
    if (this.#draining) this.#ports.drains.end()
    this.#leave = null
  }

  /** If the stream has no form for an error, it is broken off, so that it does not look complete. */
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
    const { sent, earlier } = this.input
    return recordOf(this.input, outcome, {
      candidate: this.#candidate,
      upstreamId: this.#asked?.attempt.upstreamId ?? null,
      serviceTier: this.#asked?.attempt.serviceTier ?? null,
      dropped: this.dropped,
      attempts: this.#tries.attempts,
      failedAttempts: failureNotes(this.#tries.failed, () => [sent(), earlier]),
      firstTokenMs: this.#asked?.attempt.firstTokenMs ?? null,
      endedMs: this.#ports.clock.monotonic(),
    })
  }
}
