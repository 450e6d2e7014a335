import type { ApiError } from '../errors.ts'
import { AnswerEnd } from '../kinds/answer-end.ts'
import { eventText, isContent, withoutReasoning, type AnswerEvent } from '../kinds/answer-event.ts'
import { foldAnswer } from '../kinds/answer-fold.ts'
import type { AnswerWriter, ChargedUsage } from '../kinds/answer-format.ts'
import type { StreamEnd, UsageReport } from '../kinds/chat-answer.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { inputAtLeast } from '../plan/token-count.ts'
import { boundUsage, countedReport } from '../plan/usage-bounds.ts'
import { fixedUsage } from '../plan/worst-price.ts'
import type { AnswerSink, AttemptFailure, RunningCall } from '../providers/adapter.ts'
import type { AnswerBody, Attempt, AttemptSink, AttemptStart, MeasuredUsage } from '../relay/order.ts'
import { TextCounter } from './text-counter.ts'

/** As long as a whole answer may be in bytes. A writer may keep all of a stream, so that an endless one must end. */
const TEXT_CHARS_MAX = 32 * 1_048_576

export interface ChatAttemptParts {
  readonly request: ChatRequest
  readonly writer: AnswerWriter
  /** Inputs of at most the request's size that are answered together. */
  readonly inputs: number
  /** Input tokens that an honest provider may report beyond what the request shows, as of pages that its own tools have read; 0 where it has none. */
  readonly unseenInputTokens?: number
  readonly start: AttemptStart
  readonly sink: AttemptSink
}

/** One provider's answer in events: written for the client as they come, and measured. */
export class ChatAttempt implements Attempt, AnswerSink {
  readonly #parts: ChatAttemptParts
  readonly #call: RunningCall
  readonly #output: TextCounter
  readonly #end = new AnswerEnd()
  /** All of a plain answer; a stream keeps none. */
  readonly #events: AnswerEvent[] = []
  #firstTokenMs: number | null = null
  #textChars = 0
  #result: StreamEnd | null = null

  constructor(parts: ChatAttemptParts, ask: (sink: AnswerSink) => RunningCall) {
    this.#parts = parts
    const { tokens, candidate } = parts.start
    this.#output = new TextCounter((text) => tokens.countText(text, candidate.model.tokenizer))
    this.#call = ask(this)
  }

  get upstreamId(): string | null {
    return this.#end.upstreamId
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs
  }

  get finish(): string | null {
    return this.#ended().finishes[0]?.finish ?? null
  }

  get native(): string | null {
    return this.#ended().finishes[0]?.native ?? null
  }

  cancel(): void {
    this.#call.cancel()
  }

  resume(): void {
    this.#call.resume()
  }

  headers(): void {
    this.#parts.sink.headers()
  }

  push(events: readonly AnswerEvent[]): boolean {
    const { request, writer, start, sink } = this.#parts
    for (const event of events) this.#end.add(event)
    if (!request.stream) {
      this.#firstTokenMs ??= start.clock.monotonic()
      this.#events.push(...events)
      return true
    }
    let text = ''
    for (const event of events) text += eventText(event)
    if (text !== '') this.#output.add(text)
    this.#textChars += text.length
    if (this.#textChars > TEXT_CHARS_MAX) return this.#giveUp()
    // Some providers open an answer long before its first token.
    if (this.#firstTokenMs === null && (text !== '' || events.some(isContent))) this.#firstTokenMs = start.clock.monotonic()
    const visible = request.hidesReasoning ? withoutReasoning(events) : events
    return sink.push(writer.write(visible), visible.some(isContent))
  }

  end(): void {
    this.#parts.sink.end()
  }

  fail(failure: AttemptFailure): void {
    this.#parts.sink.fail(failure)
  }

  /** No tokens, nothing said, and no finish that would make it an answer. */
  isEmpty(): boolean {
    const { hasContent, usage } = this.#ended()
    return !hasContent && (usage === null || usage.outputTokens === 0) && (this.finish === null || this.finish === 'error')
  }

  measured(): MeasuredUsage {
    const { usage } = this.#end
    if (usage !== null) return { ...this.#bounded(usage), basis: 'provider_usage' }
    // A whole answer is counted only where the provider did not.
    for (const event of this.#events) this.#output.add(eventText(event))
    return { report: this.delivered(), flagged: false, basis: 'counted' }
  }

  delivered(): UsageReport {
    return this.#withFixed(countedReport(this.#countInput(), this.#output.tokens()))
  }

  reported(): UsageReport | null {
    const { usage } = this.#end
    return usage === null ? null : this.#bounded(usage).report
  }

  body(usage: ChargedUsage): AnswerBody {
    const { request, writer } = this.#parts
    const visible = request.hidesReasoning ? withoutReasoning(this.#events) : this.#events
    return { body: writer.whole(foldAnswer(visible), usage, visible) }
  }

  tail(usage: ChargedUsage): Buffer {
    return this.#parts.writer.end(this.#ended(), usage)
  }

  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer {
    return this.#parts.writer.fail(error, usage)
  }

  #giveUp(): true {
    this.#call.cancel()
    this.#parts.sink.fail({ reason: 'too_large', status: null, publicMessage: null, refusal: null, retryAfterSeconds: null, detail: `the answer is longer than ${TEXT_CHARS_MAX} characters` })
    return true
  }

  /** The end as it stands; once it is asked for, it is over. */
  #ended(): StreamEnd {
    this.#result ??= this.#end.result()
    return this.#result
  }

  #bounded(usage: UsageReport): ReturnType<typeof boundUsage> {
    const { request, inputs, unseenInputTokens = 0, start } = this.#parts
    const n = request.n * inputs
    const { report, flagged } = boundUsage(usage, { maxTokens: start.plan.maxTokens * n, n, countInput: () => this.#countInput(), countAtLeast: () => inputAtLeast(request) + unseenInputTokens })
    return { report: this.#withFixed(report), flagged }
  }

  #withFixed(report: UsageReport): UsageReport {
    const { request, inputs } = this.#parts
    return { ...report, usage: { ...report.usage, ...fixedUsage(request, inputs) } }
  }

  #countInput(): number {
    const { request, inputs, start } = this.#parts
    return start.tokens.countChat(request, start.candidate.model.tokenizer) * inputs
  }
}
