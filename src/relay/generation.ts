import { ApiError, asApiError } from '../errors.ts'
import type { GenerationRecord, GenerationStatus } from '../ledger/generation-record.ts'
import type { GuardedCharge } from '../ledger/ledger-store.ts'
import type { ChargedUsage } from '../kinds/answer-format.ts'
import type { ChunkIdentity } from '../kinds/chat-answer.ts'
import { chargeMicro, providerCostMicro } from '../meters.ts'
import type { Micro } from '../money.ts'
import type { Candidate } from '../plan/plan.ts'
import { countedReport } from '../plan/usage-bounds.ts'
import type { AttemptFailure } from '../providers/adapter.ts'
import { errorOfAttempts, failureNotes, isGivenUp, midStreamError, type FailedAttempt } from './attempt-error.ts'
import { AttemptQueue } from './attempt-queue.ts'
import type { GenerationInput, GenerationPorts, GenerationResult } from './generation-input.ts'
import type { AnswerBody, Attempt, AttemptSink, ReportedUsage } from './order.ts'
import { ProviderPlace, SATURATED } from './provider-slots.ts'
import type { Reader } from './reader.ts'
import { recordOf, restMicro, type Verdict } from './verdict.ts'

const SILENCE_MS = 10_000
const DRAIN_MS = 120_000
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 500
/** Leading chunks without any text (roles, empty deltas) wait for the first real one, so that fallback stays possible. */
const HEAD_BYTES_MAX = 65_536
const KEEP_ALIVE = Buffer.from(': PROCESSING\n\n')

/**
 * One paid answer. It owns the upstream reader, the hold and the client's end, so that a disconnect, a resume,
 * a drain and a cancel are ordinary operations on it and billing never depends on who is still listening.
 */
export class Generation {
  readonly input: GenerationInput
  /** Resolves once, after the hold has ended; never rejects. */
  readonly done: Promise<GenerationResult>
  /** By its owner. */
  cancelled = false
  readonly #ports: GenerationPorts
  readonly #tries: AttemptQueue
  readonly #place: ProviderPlace
  #resolve!: (result: GenerationResult) => void
  #state: 'running' | 'finishing' | 'done' = 'running'
  /** The one under way, or the last; null before the first. */
  #attempt: Attempt | null = null
  /** It can still be cancelled. */
  #asking = false
  #upstreamAnswered = false
  #head: Buffer[] = []
  #headBytes = 0
  #reader: Reader | null = null
  #committed = false
  #contentSent = false
  #clientGone = false
  #draining = false
  #lastSentMs: number
  #stopTimer: (() => void) | null = null
  /** Set while the next attempt waits its moment. */
  #stopWait: (() => void) | null = null
  /** What failed attempts cost us by their own word. */
  #insuredMicro: Micro = 0n

  constructor(ports: GenerationPorts, input: GenerationInput) {
    this.#ports = ports
    this.input = input
    this.#tries = new AttemptQueue(ports, input.plan.candidates)
    this.#place = new ProviderPlace(ports.slots)
    this.#lastSentMs = ports.clock.monotonic()
    this.done = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get finished(): boolean {
    return this.#state === 'done'
  }

  /** Someone reads the stream, or may come to read it. */
  get #shows(): boolean {
    return this.#committed || this.input.buffer !== null
  }

  get #candidate(): Candidate {
    return this.#tries.candidate
  }

  start(): void {
    this.#begin()
  }

  /** A client takes over the stream; what came before `after` is not sent again. Only for buffered streams. */
  attach(reader: Reader, after: number): void {
    // What is read on is for the bill alone.
    if (this.cancelled && this.#state === 'running') return reader.reset()
    this.#stopTimer?.()
    this.#stopTimer = null
    const previous = this.#reader
    this.#reader = reader
    previous?.reset()
    this.#clientGone = false
    this.#releaseDrain()
    this.#committed = true
    const missed = this.input.buffer?.since(after) ?? Buffer.alloc(0)
    if (this.#state === 'done') {
      this.#reader = null
      if (this.input.buffer?.whole === true) return reader.end(missed)
      // It was cancelled: nobody may take what there is for a whole answer.
      reader.write(missed)
      return reader.reset()
    }
    if (missed.length > 0 && !reader.write(missed)) return
    this.#attempt?.resume()
  }

  /** The client can take more. */
  drained(reader: Reader): void {
    if (reader === this.#reader) this.#attempt?.resume()
  }

  /** The client's socket closed. A buffered stream waits `graceSeconds` for it to come back (wire.md D-7.8). */
  detached(reader: Reader | null, graceSeconds: number): void {
    // A timer runs from the first notice on: the grace of a buffered stream, or the drain.
    if (this.#state !== 'running' || this.#stopTimer !== null || reader !== this.#reader) return
    this.#reader = null
    this.#clientGone = true
    this.#attempt?.resume()
    if (this.input.buffer !== null && !this.input.buffer.overflowed && graceSeconds > 0) {
      this.#stopTimer = this.#ports.clock.after(graceSeconds * 1_000, () => this.#abandon())
      return
    }
    this.#abandon()
  }

  /**
   * Its owner wants no more of it, which is as if he had left for good. Resolves when it is settled, or at once where
   * it is read on for the bill alone; never rejects.
   */
  cancel(): Promise<unknown> {
    if (this.#state === 'running' && !this.cancelled) {
      this.cancelled = true
      this.#reader?.reset()
      this.#reader = null
      this.#clientGone = true
      this.#attempt?.resume()
      this.#abandon()
    }
    return this.#draining ? Promise.resolve() : this.done
  }

  /** Shutdown: the stream ends with an error and costs nothing (reliability.md 3.5 rule 15). */
  cut(error: ApiError): void {
    if (this.#state !== 'running') return
    // What was sent of it is booked with its end.
    const billed = this.#asking && !this.#contentSent ? this.#billedFor(this.#attempt) : null
    if (billed !== null) this.#insuredMicro += providerCostMicro(billed.reported.usage, this.#candidate.endpoint.buy)
    this.#stopAsking()
    void this.#finishFree(error)
  }

  /** Sends the keep-alive comment after ten seconds without an event. */
  tick(nowMs: number): void {
    if (
      this.#state !== 'running' ||
      this.#clientGone ||
      this.input.order.delivery !== 'events' ||
      nowMs - this.#lastSentMs < SILENCE_MS
    )
      return
    this.#commit()
    this.#lastSentMs = nowMs
    this.#reader?.write(KEEP_ALIVE)
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
    const { order, plan, generationId, accountId } = this.input
    const { tokens, clock } = this.#ports
    this.#asking = true
    this.#attempt = order.begin(
      {
        adapter,
        candidate,
        apiKey,
        plan,
        generationId,
        accountId,
        identity: this.#identityOf(candidate),
        tokens,
        clock,
      },
      this.#sinkOf(this.#tries.attempts),
    )
  }

  /** What a later attempt has overtaken is not heard any more. */
  #sinkOf(attempt: number): AttemptSink {
    const current = (): boolean => attempt === this.#tries.attempts && this.#state === 'running'
    return {
      headers: () => {
        if (current()) this.#upstreamAnswered = true
      },
      push: (bytes, says) => !current() || this.#stream(bytes, says),
      end: () => {
        if (current()) void this.#answered(attempt)
      },
      fail: (failure) => {
        if (current()) this.#attemptFailed(failure)
      },
    }
  }

  #stream(bytes: Buffer, says: boolean): boolean {
    if (this.#contentSent) return bytes.length === 0 || this.#send(bytes)
    this.#head.push(bytes)
    this.#headBytes += bytes.length
    if (!says && this.#headBytes < HEAD_BYTES_MAX) return true
    return this.#sendHead()
  }

  #sendHead(): boolean {
    this.#contentSent = true
    this.#tries.answers()
    const head = this.#head.length === 1 && this.#head[0] !== undefined ? this.#head[0] : Buffer.concat(this.#head)
    this.#head = []
    return head.length === 0 || this.#send(head)
  }

  #send(bytes: Buffer): boolean {
    const numbered = this.input.buffer === null ? bytes : this.input.buffer.add(bytes)
    if (this.#clientGone) return true
    this.#commit()
    this.#lastSentMs = this.#ports.clock.monotonic()
    return this.#reader === null || this.#reader.write(numbered)
  }

  #commit(): void {
    if (this.#committed) return
    this.#committed = true
    this.#reader = this.input.open()
    if (this.#reader === null) this.#clientGone = true
  }

  #attemptFailed(failure: AttemptFailure | 'empty'): void {
    this.#asked()
    const { endpoint } = this.#candidate
    const attempt = this.#tries.fail(failure)
    if (this.#contentSent) return void this.#brokeMidStream(attempt, failure)
    // Where nothing was sent, the attempt at hand is an earlier one.
    const billed = failure === SATURATED ? null : this.#billedFor(this.#attempt)
    if (billed !== null) this.#insuredMicro += providerCostMicro(billed.reported.usage, endpoint.buy)
    if (this.#draining && billed === null && isGivenUp(failure)) this.#insuredMicro += this.input.plan.holdMicro
    const next = this.#draining ? null : this.#tries.next(attempt)
    if (next === null) {
      void this.#finishFree(errorOfAttempts(this.#tries.failed), failure === 'empty' ? billed : null)
      return
    }
    this.#upstreamAnswered = false
    this.#head = []
    this.#headBytes = 0
    // A provider that has just failed is given a moment (reliability.md 5); another one, or its next key, is asked at once.
    if (next.endpoint === endpoint || next.endpoint.provider !== endpoint.provider) return this.#begin()
    this.#stopWait = this.#ports.clock.after(
      RETRY_MS_MIN + this.#ports.random() * (RETRY_MS_MAX - RETRY_MS_MIN),
      () => {
        this.#stopWait = null
        this.#begin()
      },
    )
  }

  /**
   * What a failed attempt may cost us (reliability.md 5): by the provider's own word, else what it had taken and sent
   * once it had answered.
   */
  #billedFor(attempt: Attempt | null): ReportedUsage | null {
    if (attempt === null) return null
    return attempt.reported() ?? (this.#upstreamAnswered ? attempt.delivered() : null)
  }

  async #brokeMidStream(attempt: FailedAttempt, failure: AttemptFailure | 'empty'): Promise<void> {
    const error = midStreamError(attempt)
    const left = this.#countedVerdict('cancelled')
    if (this.#draining && isGivenUp(failure))
      this.#insuredMicro += restMicro(this.input.plan.holdMicro, left, this.#candidate.endpoint)
    // Who may still come back has not left: the answer broke, and that is free.
    if (this.#draining) return this.#settle(left, (_usage) => undefined)
    if (this.input.plan.snapshot.settings.midstreamError === 'free')
      return this.#finishFree(error, this.#running().delivered())
    const verdict: Verdict = { ...this.#countedVerdict('error'), error, finish: 'error', native: 'error' }
    return this.#settle(verdict, (usage) => this.#endWithError(error, usage))
  }

  async #answered(number: number): Promise<void> {
    const attempt = this.#running()
    this.#asked()
    if (attempt.isEmpty()) return this.#attemptFailed('empty')
    if (attempt.prepare !== undefined && !(await this.#prepared(attempt, number))) return
    const verdict = this.#completeVerdict(attempt)
    const whole = this.input.order.delivery === 'whole'
    const spoken = this.#clientGone || verdict.report.outputTokens === 0 ? null : verdict.report.outputTokens
    this.#tries.succeed(whole ? null : attempt.firstTokenMs, spoken)
    if (whole) return this.#settle(verdict, (usage) => attempt.body(usage))
    if (!this.#contentSent && this.#head.length > 0) this.#sendHead()
    return this.#settle(verdict, (usage) => {
      this.#commit()
      this.#endReader(attempt.tail(usage))
    })
  }

  /** false: the attempt has failed after all, or the generation has ended meanwhile. */
  async #prepared(attempt: Attempt, number: number): Promise<boolean> {
    let failure: AttemptFailure | null = null
    let fault: ApiError | null = null
    try {
      failure = (await attempt.prepare?.()) ?? null
    } catch (thrown) {
      fault = asApiError(thrown)
    }
    if (number !== this.#tries.attempts || this.#state !== 'running') return false
    if (fault !== null) void this.#finishFree(fault)
    else if (failure !== null) this.#attemptFailed(failure)
    return fault === null && failure === null
  }

  #running(): Attempt {
    if (this.#attempt === null) throw new Error(`Generation ${this.input.generationId} has not begun.`)
    return this.#attempt
  }

  #completeVerdict(attempt: Attempt): Verdict {
    const { report, reported, flagged, basis } = attempt.measured()
    const { finish, native } = attempt
    return {
      status: this.#clientGone ? 'cancelled' : 'completed',
      basis: this.#draining && basis === 'provider_usage' ? 'drained' : basis,
      report,
      reported,
      flagged,
      error: null,
      finish,
      native,
    }
  }

  #countedVerdict(status: GenerationStatus): Verdict {
    return { status, ...this.#running().delivered(), basis: 'counted', error: null, finish: null, native: null }
  }

  /** The client left for good: stop or drain, as the provider bills (reliability.md 3.5 rules 2, 7, 8). */
  #abandon(): void {
    if (this.#state !== 'running' || this.#draining) return
    this.#stopTimer?.()
    // Nobody waits for an attempt that has not begun.
    if (this.#attempt === null || this.#stopWait !== null || this.#place.waits || !this.#keepsBilling) {
      this.#cutAndCharge()
      return
    }
    this.#draining = true
    this.#ports.drains.begin()
    this.#stopTimer = this.#ports.clock.after(DRAIN_MS, () => this.#cutAndCharge())
  }

  /** Whether the provider bills an answer that nobody reads on. */
  get #keepsBilling(): boolean {
    return this.input.order.delivery === 'whole' || !this.#candidate.endpoint.provider.cancelStopsBilling
  }

  #cutAndCharge(): void {
    if (this.#state !== 'running') return
    const asked = this.#asking
    this.#stopAsking()
    const verdict = this.#upstreamAnswered ? this.#countedVerdict('cancelled') : null
    if (asked && this.#keepsBilling)
      this.#insuredMicro += restMicro(this.input.plan.holdMicro, verdict, this.#candidate.endpoint)
    void (verdict === null ? this.#finishFree(null) : this.#settle(verdict, (_usage) => undefined))
  }

  #stopAsking(): void {
    if (this.#asking) this.#attempt?.cancel()
    this.#asked()
  }

  /** The upstream's part is over. */
  #asked(): void {
    this.#asking = false
    this.#place.release()
  }

  /** Ends the hold with a charge, durably, and only then shows the end of the answer through `show`. */
  async #settle(verdict: Verdict, show: (usage: ChargedUsage) => AnswerBody | undefined | void): Promise<void> {
    this.#leaveRunning()
    const { endpoint } = this.#candidate
    const { usage } = verdict.report
    const record = this.#record(verdict)
    const { generationId, claim, order } = this.input
    const billedMicro = providerCostMicro(verdict.reported.usage, endpoint.buy)
    // A whole body is only made by `show`, so that it may be made for the store first.
    const kept = (chargedMicro: Micro): AnswerBody | null =>
      order.delivery === 'whole' ? (show({ report: verdict.report, chargedMicro }) ?? null) : null
    const answer = (chargedMicro: Micro): Buffer | null => {
      const body = kept(chargedMicro)
      return body === null ? null : (claim?.seal(body) ?? null)
    }
    try {
      const outcome = await this.#ports.ledger.settle({
        generationId,
        costMicro: chargeMicro(usage, endpoint.sell),
        providerCostMicro: billedMicro,
        insuredMicro: this.#insuredMicro,
        record,
        ...(claim === null ? {} : { claim: { id: claim.id, answer } }),
      })
      if (outcome.status === 'not_open' && outcome.state === 'claim_lost') return await this.#lostClaim(billedMicro)
      if (outcome.status === 'not_open')
        throw new Error(`Settle of ${this.input.generationId} met a hold that is ${outcome.state}.`)
      this.#ports.watch.settled(record, outcome.shortfallMicro)
      const body = show({ report: verdict.report, chargedMicro: outcome.chargedMicro }) ?? null
      this.#finish({ record, chargedMicro: outcome.chargedMicro, error: verdict.error, body })
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
    }
  }

  /**
   * Without a durable settle the client must not see the end: it gets an error, and the expiring hold gives the money
   * back.
   */
  #failedToSettle(record: GenerationRecord, error: ApiError): void {
    if (this.#shows) this.#endWithError(error, null)
    this.#finish({
      record: { ...record, status: 'error', errorType: error.errorType },
      chargedMicro: 0n,
      error,
      body: null,
    })
  }

  /**
   * Ends the hold without a charge. What the provider bills us for it all the same is booked as insured; `guarded`, a
   * part of that, is charged at its price where the account has used up what is free in this hour (reliability.md 3.5
   * row 20).
   */
  #finishFree(error: ApiError | null, guarded: ReportedUsage | null = null): Promise<void> {
    this.#leaveRunning()
    return this.#giveBack(error, guarded)
  }

  /** This process was taken for dead, and another request has been let in under the same key: only that one is charged. */
  #lostClaim(billedMicro: Micro): Promise<void> {
    if (!this.#contentSent) this.#insuredMicro += billedMicro
    return this.#giveBack(new ApiError('idempotency_conflict', 'A request with this Idempotency-Key is still running'))
  }

  async #giveBack(error: ApiError | null, guarded: ReportedUsage | null = null): Promise<void> {
    const delivered = this.#contentSent ? this.#running().delivered() : null
    const free = countedReport(0, 0)
    const verdict: Verdict = {
      status: error === null ? 'cancelled' : 'error',
      ...(delivered ?? { report: free, reported: free, flagged: false }),
      basis: 'free',
      error,
      finish: error === null ? null : 'error',
      native: null,
    }
    const record = this.#record(verdict)
    const charge = guarded === null ? null : this.#guardedCharge(verdict, guarded)
    let chargedMicro = 0n
    try {
      const deliveredMicro =
        delivered === null ? 0n : providerCostMicro(delivered.reported.usage, this.#candidate.endpoint.buy)
      const outcome = await this.#ports.ledger.void({
        generationId: this.input.generationId,
        insuredMicro: this.#insuredMicro + deliveredMicro,
        record,
        ...(charge === null ? {} : { guarded: charge }),
      })
      if (outcome.status === 'charged') chargedMicro = outcome.chargedMicro
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
      return
    }
    const charged = chargedMicro > 0n && charge !== null && guarded !== null
    if (error !== null && this.#shows)
      this.#endWithError(error, { report: charged ? guarded.report : free, chargedMicro })
    this.#finish({ record: charged ? charge.record : record, chargedMicro, error, body: null })
  }

  /** At the provider's price; null where that is nothing. */
  #guardedCharge(verdict: Verdict, guarded: ReportedUsage): GuardedCharge | null {
    const { buy } = this.#candidate.endpoint
    const costMicro = chargeMicro(guarded.report.usage, buy)
    const { claim } = this.input
    if (costMicro === 0n) return null
    return {
      costMicro,
      providerCostMicro: providerCostMicro(guarded.reported.usage, buy),
      record: this.#record({ ...verdict, ...guarded, basis: 'provider_cost' }),
      ...(claim === null ? {} : { claim: { id: claim.id, answer: () => null } }),
    }
  }

  #leaveRunning(): void {
    if (this.#state !== 'running') throw new Error(`Generation ${this.input.generationId} ended twice.`)
    this.#state = 'finishing'
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#stopWait?.()
    this.#stopWait = null
    this.#releaseDrain()
    this.#tries.release()
    this.#asked()
  }

  #releaseDrain(): void {
    if (this.#draining) this.#ports.drains.end()
    this.#draining = false
  }

  /** A stream that has no words for an error is broken off, so that nobody takes it for a whole one. */
  #endWithError(error: ApiError, usage: ChargedUsage | null): void {
    const tail = this.#attempt?.errorTail(error, usage) ?? null
    if (tail !== null) return this.#endReader(tail)
    this.#reader?.reset()
    this.#reader = null
  }

  #endReader(tail: Buffer): void {
    const bytes = this.input.buffer === null ? tail : this.input.buffer.finish(tail)
    this.#reader?.end(bytes)
    this.#reader = null
  }

  #finish(result: Omit<GenerationResult, 'failed' | 'passages'>): void {
    this.#state = 'done'
    // Who came back while a cancelled answer was being settled has nothing to wait for.
    this.#reader?.reset()
    this.#reader = null
    this.#resolve({ ...result, failed: this.#tries.failed, passages: this.#tries.passages })
  }

  #record(verdict: Verdict): GenerationRecord {
    return recordOf(this.input, verdict, {
      candidate: this.#candidate,
      upstreamId: this.#attempt?.upstreamId ?? null,
      attempts: this.#tries.attempts,
      failedAttempts: failureNotes(this.#tries.failed),
      firstTokenMs: this.#attempt?.firstTokenMs ?? null,
      endedMs: this.#ports.clock.monotonic(),
    })
  }
}
