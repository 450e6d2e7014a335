import { asApiError, type ApiError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BillingBasis, GenerationRecord, GenerationStatus } from '../ledger/generation-record.ts'
import { AnswerEnd } from '../kinds/answer-end.ts'
import { eventText, isContent, withoutReasoning, type AnswerEvent } from '../kinds/answer-event.ts'
import { foldAnswer } from '../kinds/answer-fold.ts'
import type { ChunkIdentity, UsageReport } from '../kinds/chat-answer.ts'
import { textAround } from '../kinds/chat-chunk.ts'
import { ChatWriter } from '../kinds/chat-writer.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { renderChatAnswer, streamErrorTail, streamTail, usageBody } from '../kinds/chat-render.ts'
import { chargeMicro } from '../meters.ts'
import type { Micro } from '../money.ts'
import type { Candidate, Plan } from '../plan/plan.ts'
import { inputAtLeast, type TokenCounter } from '../plan/token-count.ts'
import { boundUsage, countedReport } from '../plan/usage-bounds.ts'
import type { AdapterTable, AnswerSink, AttemptFailure, RunningCall } from '../providers/adapter.ts'
import { errorOfAttempts, midStreamError, type FailedAttempt } from './attempt-error.ts'
import { AttemptQueue, type AttemptQueuePorts } from './attempt-queue.ts'
import type { DrainSlots } from './drain-slots.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { Reader } from './reader.ts'
import { TextCounter } from './text-counter.ts'
import { recordOf, type Verdict } from './verdict.ts'

const SILENCE_MS = 10_000
const DRAIN_MS = 120_000
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 500
/** Leading chunks without any text (roles, empty deltas) wait for the first real one, so that fallback stays possible. */
const HEAD_BYTES_MAX = 65_536
const KEEP_ALIVE = Buffer.from(': PROCESSING\n\n')

/** What every generation works with; made once. */
export interface GenerationPorts extends AttemptQueuePorts {
  readonly ledger: Ledger
  readonly adapters: AdapterTable
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly drains: DrainSlots
  readonly tokens: TokenCounter
}

/** One admitted, held request. */
export interface GenerationInput {
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly request: ChatRequest
  readonly plan: Plan
  readonly startedMs: number
  readonly arrivedAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  /** Present for a stream whose client sent X-Request-Id. */
  readonly buffer: EventBuffer | null
  /** Commits the response headers and answers the client's end; called at most once, for streams only. null = the client has left. */
  readonly open: () => Reader | null
}

/** How a generation ended. `error` is for the client when nothing had been sent yet; a broken stream carries it too. */
export interface GenerationResult {
  readonly record: GenerationRecord
  readonly chargedMicro: Micro
  readonly error: ApiError | null
  /** The complete JSON answer of a non-streaming request. */
  readonly body: Record<string, unknown> | null
}

/**
 * One paid answer. It owns the upstream reader, the hold and the client's end, so that a disconnect, a resume,
 * a drain and a cancel are ordinary operations on it and billing never depends on who is still listening.
 */
export class Generation {
  readonly input: GenerationInput
  /** Resolves once, after the hold has ended; never rejects. */
  readonly done: Promise<GenerationResult>
  readonly #ports: GenerationPorts
  readonly #tries: AttemptQueue
  #resolve!: (result: GenerationResult) => void
  #state: 'running' | 'finishing' | 'done' = 'running'
  #identity: ChunkIdentity
  #call: RunningCall | null = null
  #upstreamAnswered = false
  #upstreamId: string | null = null
  #output: TextCounter
  #writer: ChatWriter
  #end = new AnswerEnd()
  /** All of a plain answer; a stream keeps none. */
  #events: AnswerEvent[] = []
  #head: Buffer[] = []
  #headBytes = 0
  #reader: Reader | null = null
  #committed = false
  #contentSent = false
  #clientGone = false
  #draining = false
  #lastSentMs: number
  /** The first token of the attempt that is under way. */
  #firstEventMs: number | null = null
  #stopTimer: (() => void) | null = null
  /** Set while the next attempt waits its moment. */
  #stopWait: (() => void) | null = null
  /** What failed attempts cost us by their own word. */
  #insuredMicro: Micro = 0n

  constructor(ports: GenerationPorts, input: GenerationInput) {
    this.#ports = ports
    this.input = input
    this.#tries = new AttemptQueue(ports, input.plan.candidates)
    this.#identity = this.#identityOf(this.#candidate)
    this.#output = this.#newCounter()
    this.#writer = new ChatWriter(this.#identity)
    this.#lastSentMs = ports.clock.monotonic()
    this.done = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get finished(): boolean {
    return this.#state === 'done'
  }

  get #candidate(): Candidate {
    return this.#tries.candidate
  }

  get identity(): ChunkIdentity {
    return this.#identity
  }

  start(): void {
    this.#attempt()
  }

  /** A client takes over the stream; what came before `after` is not sent again. Only for buffered streams. */
  attach(reader: Reader, after: number): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    const previous = this.#reader
    this.#reader = reader
    previous?.reset()
    this.#clientGone = false
    this.#committed = true
    const missed = this.input.buffer?.since(after) ?? Buffer.alloc(0)
    if (this.#state === 'done') {
      this.#reader = null
      reader.end(missed)
      return
    }
    if (missed.length > 0 && !reader.write(missed)) return
    this.#call?.resume()
  }

  /** The client can take more. */
  drained(reader: Reader): void {
    if (reader === this.#reader) this.#call?.resume()
  }

  /** The client's socket closed. A buffered stream waits `graceSeconds` for it to come back (wire.md D-7.8). */
  detached(reader: Reader | null, graceSeconds: number): void {
    if (this.#state !== 'running' || this.#clientGone || reader !== this.#reader) return
    this.#reader = null
    this.#clientGone = true
    this.#call?.resume()
    if (this.input.buffer !== null && !this.input.buffer.overflowed && graceSeconds > 0) {
      this.#stopTimer = this.#ports.clock.after(graceSeconds * 1_000, () => this.#abandon())
      return
    }
    this.#abandon()
  }

  /** The owner cancels the stream: the upstream stops and what was delivered is charged. */
  cancel(): void {
    if (this.#state !== 'running') return
    this.#reader?.reset()
    this.#reader = null
    this.#clientGone = true
    this.#stopTimer?.()
    this.#cutAndCharge()
  }

  /** Shutdown: the stream ends with an error and costs nothing (reliability.md 3.5 rule 15). */
  cut(error: ApiError): void {
    if (this.#state !== 'running') return
    this.#call?.cancel()
    void this.#finishFree(error)
  }

  /** Sends the keep-alive comment after ten seconds without an event. */
  tick(nowMs: number): void {
    if (this.#state !== 'running' || this.#clientGone || !this.input.request.stream || nowMs - this.#lastSentMs < SILENCE_MS) return
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

  #newCounter(): TextCounter {
    return new TextCounter((text) => this.#ports.tokens.countText(text, this.#candidate.model.tokenizer))
  }

  #attempt(): void {
    const apiKey = this.#tries.begin()
    const { endpoint, sendMaxTokens } = this.#candidate
    const adapter = this.#ports.adapters.get(endpoint.provider.adapter)
    if (adapter === undefined) throw new Error(`The catalogue lets only known adapters through, got '${endpoint.provider.adapter}'.`)
    const identity = this.#identityOf(this.#candidate)
    this.#identity = identity
    this.#writer = new ChatWriter(identity)
    this.#end = new AnswerEnd()
    const { request, generationId } = this.input
    const splice = request.stream ? (field: 'content' | 'reasoning') => textAround(identity, field) : null
    this.#call = adapter.chat({ endpoint, apiKey, request, sendMaxTokens, generationId, splice }, this.#sinkOf(this.#tries.attempts))
  }

  /** What a later attempt has overtaken is not heard any more. */
  #sinkOf(attempt: number): AnswerSink {
    const current = (): boolean => attempt === this.#tries.attempts && this.#state === 'running'
    return {
      headers: () => {
        if (current()) this.#upstreamAnswered = true
      },
      push: (events) => !current() || this.#pushed(events),
      end: () => {
        if (current()) this.#answered()
      },
      fail: (failure) => {
        if (current()) this.#attemptFailed(failure)
      },
    }
  }

  #pushed(events: readonly AnswerEvent[]): boolean {
    for (const event of events) this.#end.add(event)
    if (!this.input.request.stream) {
      this.#firstEventMs ??= this.#ports.clock.monotonic()
      this.#events.push(...events)
      return true
    }
    let text = ''
    for (const event of events) text += eventText(event)
    if (text !== '') this.#output.add(text)
    // Some providers open an answer long before its first token.
    if (this.#firstEventMs === null && (text !== '' || events.some(isContent))) this.#firstEventMs = this.#ports.clock.monotonic()
    const visible = this.input.request.hidesReasoning ? withoutReasoning(events) : events
    return this.#stream(this.#writer.write(visible), visible.some(isContent))
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
    this.#call = null
    const { endpoint } = this.#candidate
    const attempt = this.#tries.fail(failure)
    if (this.#contentSent) {
      void this.#brokeMidStream(attempt)
      return
    }
    const { usage } = this.#end.result()
    if (usage !== null) this.#insuredMicro += chargeMicro(this.#bounded(usage).report.usage, endpoint.buy)
    const next = this.#clientGone ? null : this.#tries.next(attempt)
    if (next === null) {
      void this.#finishFree(errorOfAttempts(this.#tries.failed))
      return
    }
    this.#upstreamAnswered = false
    this.#firstEventMs = null
    this.#head = []
    this.#headBytes = 0
    this.#events = []
    this.#output = this.#newCounter()
    // A provider that has just failed is given a moment (reliability.md 5); another one, or its next key, is asked at once.
    if (next.endpoint === endpoint || next.endpoint.provider !== endpoint.provider) return this.#attempt()
    this.#stopWait = this.#ports.clock.after(RETRY_MS_MIN + this.#ports.random() * (RETRY_MS_MAX - RETRY_MS_MIN), () => {
      this.#stopWait = null
      this.#attempt()
    })
  }

  async #brokeMidStream(attempt: FailedAttempt): Promise<void> {
    const error = midStreamError(attempt)
    if (this.#clientGone) return this.#settle(this.#countedVerdict('cancelled', 'counted'), (_charged) => undefined)
    if (this.input.plan.snapshot.settings.midstreamError === 'free') return this.#finishFree(error)
    const verdict: Verdict = { ...this.#countedVerdict('error', 'counted'), error, finish: 'error', native: 'error' }
    return this.#settle(verdict, (charged) => this.#endReader(streamErrorTail({ identity: this.#identity, error, usage: usageBody(verdict.report, charged) })))
  }

  #answered(): void {
    this.#call = null
    const end = this.#end.result()
    this.#upstreamId = end.upstreamId
    const { finish = null, native = null } = end.finishes[0] ?? {}
    if (isEmpty(end.hasContent, end.usage, finish)) {
      this.#attemptFailed('empty')
      return
    }
    const answer = this.input.request.stream ? null : foldAnswer(this.input.request.hidesReasoning ? withoutReasoning(this.#events) : this.#events)
    // A whole answer is counted only where the provider did not.
    if (answer !== null && end.usage === null) for (const event of this.#events) this.#output.add(eventText(event))
    const verdict = this.#completeVerdict(end.usage, finish, native)
    this.#tries.succeed(answer === null ? this.#firstEventMs : null, this.#clientGone ? null : verdict.report.outputTokens)
    if (answer !== null) {
      void this.#settle(verdict, (charged) => renderChatAnswer({ identity: this.#identity, answer, usage: usageBody(verdict.report, charged) }))
      return
    }
    if (!this.#contentSent && this.#head.length > 0) this.#sendHead()
    void this.#settle(verdict, (charged) => {
      this.#commit()
      this.#endReader(
        streamTail({ identity: this.#identity, end, usage: usageBody(verdict.report, charged), includeUsage: this.input.request.includeUsage }),
      )
    })
  }

  #completeVerdict(usage: UsageReport | null, finish: string | null, native: string | null): Verdict {
    const status: GenerationStatus = this.#clientGone ? 'cancelled' : 'completed'
    if (usage === null) return { ...this.#countedVerdict(status, 'counted'), finish, native }
    const { report, flagged } = this.#bounded(usage)
    return { status, basis: this.#draining ? 'drained' : 'provider_usage', report, flagged, error: null, finish, native }
  }

  #bounded(usage: UsageReport): ReturnType<typeof boundUsage> {
    const { plan, request } = this.input
    return boundUsage(usage, { maxTokens: plan.maxTokens * request.n, n: request.n, countInput: () => this.#countInput(), countAtLeast: () => inputAtLeast(request) })
  }

  #countInput(): number {
    return this.#ports.tokens.countChat(this.input.request, this.#candidate.model.tokenizer)
  }

  #countedVerdict(status: GenerationStatus, basis: BillingBasis): Verdict {
    const report = countedReport(this.#countInput(), this.#output.tokens())
    return { status, basis, report, flagged: false, error: null, finish: null, native: null }
  }

  /** The client left for good: stop or drain, as the provider bills (reliability.md 3.5 rules 2, 7, 8). */
  #abandon(): void {
    if (this.#state !== 'running') return
    const { provider } = this.#candidate.endpoint
    const cancelStops = this.input.request.stream && provider.cancelStopsBilling
    // Nobody waits for an attempt that has not begun.
    if (this.#stopWait !== null || cancelStops || !this.#ports.drains.claim(this.input.accountId)) {
      this.#cutAndCharge()
      return
    }
    this.#draining = true
    this.#stopTimer = this.#ports.clock.after(DRAIN_MS, () => this.#cutAndCharge())
  }

  #cutAndCharge(): void {
    if (this.#state !== 'running') return
    this.#call?.cancel()
    this.#call = null
    if (!this.#upstreamAnswered) {
      void this.#finishFree(null)
      return
    }
    void this.#settle(this.#countedVerdict('cancelled', 'counted'), (_charged) => undefined)
  }

  /** Ends the hold with a charge, durably, and only then shows the end of the answer through `show`. */
  async #settle(verdict: Verdict, show: (chargedMicro: Micro) => Record<string, unknown> | undefined | void): Promise<void> {
    this.#leaveRunning()
    const { endpoint } = this.#candidate
    const { usage } = verdict.report
    const record = this.#record(verdict)
    try {
      const outcome = await this.#ports.ledger.settle({
        generationId: this.input.generationId,
        costMicro: chargeMicro(usage, endpoint.sell),
        providerCostMicro: chargeMicro(usage, endpoint.buy),
        record,
      })
      if (outcome.status === 'not_open') throw new Error(`Settle of ${this.input.generationId} met a hold that is ${outcome.state}.`)
      const body = show(outcome.chargedMicro) ?? null
      this.#finish({ record, chargedMicro: outcome.chargedMicro, error: verdict.error, body })
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
    }
  }

  /** Without a durable settle the client must not see the end: it gets an error, and the expiring hold gives the money back. */
  #failedToSettle(record: GenerationRecord, error: ApiError): void {
    if (this.#committed) this.#endReader(streamErrorTail({ identity: this.#identity, error, usage: null }))
    this.#finish({ record: { ...record, status: 'error', errorType: error.errorType }, chargedMicro: 0n, error, body: null })
  }

  /** Ends the hold without a charge. What the provider bills us for it all the same is booked as insured. */
  async #finishFree(error: ApiError | null): Promise<void> {
    this.#leaveRunning()
    const delivered = this.#contentSent ? this.#countedVerdict('error', 'free') : null
    const report = delivered?.report ?? countedReport(0, 0)
    const free = countedReport(0, 0)
    const record = this.#record({ status: error === null ? 'cancelled' : 'error', basis: 'free', report, flagged: false, error, finish: error === null ? null : 'error', native: null })
    try {
      const deliveredMicro = delivered === null ? 0n : chargeMicro(report.usage, this.#candidate.endpoint.buy)
      await this.#ports.ledger.void({ generationId: this.input.generationId, insuredMicro: this.#insuredMicro + deliveredMicro, record })
    } catch (thrown) {
      this.#failedToSettle(record, asApiError(thrown))
      return
    }
    if (error !== null && this.#committed) this.#endReader(streamErrorTail({ identity: this.#identity, error, usage: usageBody(free, 0n) }))
    this.#finish({ record, chargedMicro: 0n, error, body: null })
  }

  #leaveRunning(): void {
    if (this.#state !== 'running') throw new Error(`Generation ${this.input.generationId} ended twice.`)
    this.#state = 'finishing'
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#stopWait?.()
    this.#stopWait = null
    if (this.#draining) this.#ports.drains.release(this.input.accountId)
    this.#tries.release()
  }

  #endReader(tail: Buffer): void {
    const bytes = this.input.buffer === null ? tail : this.input.buffer.add(tail)
    this.#reader?.end(bytes)
    this.#reader = null
  }

  #finish(result: GenerationResult): void {
    this.#state = 'done'
    this.#resolve(result)
  }

  #record(verdict: Verdict): GenerationRecord {
    return recordOf(this.input, verdict, {
      candidate: this.#candidate,
      upstreamId: this.#upstreamId,
      attempts: this.#tries.attempts,
      firstEventMs: this.#firstEventMs,
      endedMs: this.#ports.clock.monotonic(),
    })
  }
}

/** reliability.md 3.5 rule 4: no tokens, nothing said, and no finish that would make it an answer. */
function isEmpty(hasContent: boolean, usage: UsageReport | null, finish: string | null): boolean {
  return !hasContent && (usage === null || usage.outputTokens === 0) && (finish === null || finish === 'error')
}
