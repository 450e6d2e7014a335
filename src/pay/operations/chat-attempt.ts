import type { ApiError } from '../../base/errors.ts'
import { AnswerEnd } from '../../kinds/answer/end.ts'
import { eventText, isContent, withoutReasoning, type AnswerEvent } from '../../kinds/answer/event.ts'
import { foldAnswer } from '../../kinds/answer/fold.ts'
import type { AnswerWriter, ChargedUsage, KeptEnd } from '../../kinds/answer/writer.ts'
import type { FinishReason, StreamEnd, UsageReport } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { JSON_TYPE, JsonBytes, jsonParts } from '../../base/json-text.ts'
import type { Usage } from '../../tables/meters.ts'
import { contextOf } from '../plan/context-check.ts'
import { predictedTokens, searches } from '../plan/parameter-costs.ts'
import { textBound } from '../plan/token-count.ts'
import { countedReport, measureUsage } from '../plan/usage-bounds.ts'
import { fixedUsage } from '../plan/worst-price.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'
import type { AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import type { AnswerBody, Attempt, AttemptStart, MeasuredUsage, ReportedUsage } from '../relay/operation.ts'
import { TextCounter } from '../../operations/text-counter.ts'

/** As long as a whole answer may be in bytes. A writer may keep all of a stream, so an endless one must end. */
const TEXT_CHARS_MAX = 32 * 1_048_576

export interface ChatAttemptParts {
  readonly request: ChatRequest
  readonly writer: AnswerWriter
  /** Inputs of at most the request's size that are answered together. */
  readonly inputs: number
  /** Answers that the provider writes for each; absent = the requested number. */
  readonly written?: number
  /** How often the model may read its whole context: once, and again after each call of a provider-run tool. */
  readonly readings?: number
  /** The most web searches that the request allows; absent = those of `web_search_options`, which have no limit. */
  readonly searchesMax?: number
  readonly start: AttemptStart
  readonly sink: AnswerSink<Buffer>
  /** Parts of the request that were not sent to this provider. */
  readonly dropped?: readonly string[]
}

/** One provider's answer as events: written for the client as they come, and measured. */
export class ChatAttempt implements Attempt, AnswerSink {
  says = false
  readonly #parts: ChatAttemptParts
  readonly call: RunningCall
  readonly #output: TextCounter
  readonly #end = new AnswerEnd()
  /** All of a plain answer; a stream keeps none. */
  readonly #events: AnswerEvent[] = []
  #countedEvents = 0
  #firstTokenMs: number | null = null
  #textChars = 0
  /** No provider reports how many pictures it made, and each may have a price. */
  #pictures = 0
  #result: StreamEnd | null = null
  #isWritten = false

  constructor(parts: ChatAttemptParts, ask: (sink: AnswerSink) => RunningCall) {
    this.#parts = parts
    const { tokens, candidate } = parts.start
    this.#output = new TextCounter((text) => tokens.countText(text, candidate.model.tokenizer))
    this.call = ask(this)
  }

  get dropped(): readonly string[] {
    return this.#parts.dropped ?? []
  }

  get upstreamId(): string | null {
    return this.#end.upstreamId
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs
  }

  get finish(): FinishReason | null {
    return this.#ended().finishes[0]?.finish ?? null
  }

  get native(): string | null {
    return this.#ended().finishes[0]?.native ?? null
  }

  headers(): void {
    this.#parts.sink.headers()
  }

  push(events: readonly AnswerEvent[]): boolean {
    const { request, writer, start, sink } = this.#parts
    for (const event of events) {
      this.#end.add(event)
      if (event.type === 'extra' && event.field === 'images' && Array.isArray(event.value))
        this.#pictures += event.value.length
    }
    if (!request.stream) {
      this.#firstTokenMs ??= start.clock.monotonic()
      for (const event of events) this.#events.push(event)
      return true
    }
    let text = ''
    for (const event of events) text += eventText(event)
    if (text !== '') this.#output.add(text)
    this.#textChars += text.length
    if (this.#textChars > TEXT_CHARS_MAX) return this.#giveUp()
    // Some providers open an answer long before its first token.
    if (this.#firstTokenMs === null && (text !== '' || events.some(isContent)))
      this.#firstTokenMs = start.clock.monotonic()
    const visible = request.hidesReasoning ? withoutReasoning(events) : events
    this.says ||= visible.some(isContent)
    return sink.push(writer.write(visible))
  }

  end(): void {
    this.#parts.sink.end()
  }

  fail(failure: AttemptFailure): void {
    this.#parts.sink.fail(failure)
  }

  /** No tokens, no content, and no finish reason that makes it an answer. */
  isEmpty(): boolean {
    const { hasContent, usage, isReasoned } = this.#ended()
    return !hasContent && (usage === null || usage.outputTokens === 0) && (!isReasoned || this.finish === 'error')
  }

  measured(): MeasuredUsage {
    const { usage } = this.#end
    return usage === null ? this.delivered() : this.#measure(usage)
  }

  /** A provider that reports usage during the stream has reported the input, but more output may have come since. */
  delivered(): MeasuredUsage {
    const usage = this.#end.usage ?? { ...countedReport(0, 0), missing: ['input'] }
    return this.#measure({ ...usage, missing: [...(usage.missing ?? []), 'output'] })
  }

  reported(): ReportedUsage | null {
    const { usage } = this.#end
    return usage === null ? null : this.#measure(usage)
  }

  lost(): Usage {
    return this.delivered().reported.usage
  }

  body(usage: ChargedUsage): AnswerBody {
    const { request, writer } = this.#parts
    const visible = request.hidesReasoning ? withoutReasoning(this.#events) : this.#events
    const answer = foldAnswer(visible)
    const lifted = answer.choices.flatMap(({ logprobs }) => (logprobs instanceof JsonBytes ? [logprobs] : []))
    const body = writer.whole(answer, usage, visible)
    return lifted.length === 0 ? { body } : { body: jsonParts(body, lifted), contentType: JSON_TYPE }
  }

  kept(usage: ChargedUsage, how: KeptEnd): Record<string, unknown> | null {
    const { request, writer } = this.#parts
    // An answer that is not streamed has not been written yet.
    if (!request.stream && !this.#isWritten) {
      this.#isWritten = true
      writer.write(request.hidesReasoning ? withoutReasoning(this.#events) : this.#events)
    }
    return writer.kept?.(this.#ended(), usage, how) ?? null
  }

  tail(usage: ChargedUsage): Buffer {
    return this.#parts.writer.end(this.#ended(), usage)
  }

  errorTail(error: ApiError, usage: ChargedUsage | null): Buffer {
    return this.#parts.writer.fail(error, usage)
  }

  #giveUp(): true {
    this.call.cancel()
    this.#parts.sink.fail({
      reason: 'too_large',
      status: null,
      publicMessage: null,
      said: null,
      refusal: null,
      retryAfterSeconds: null,
      detail: `the answer is longer than ${TEXT_CHARS_MAX} characters`,
    })
    return true
  }

  /** The current end; asking for it ends the answer. */
  #ended(): StreamEnd {
    this.#result ??= this.#end.result()
    return this.#result
  }

  #measure(usage: UsageReport): MeasuredUsage {
    const { request, inputs, written = request.n, start } = this.#parts
    const { endpoint } = start.candidate
    const { report, reported, flagged, basis } = measureUsage(usage, {
      inputMax: () => this.#inputMax(),
      outputMax: (start.plan.maxTokens + predictedTokens(request, endpoint)) * written * inputs,
      count: () => countedReport(this.#countInput(), this.#countOutput()),
    })
    // More searches than the request allows are impossible: the customer does not pay for them.
    const { searchesMax = searches(request, endpoint) ? Infinity : 0 } = this.#parts
    const isBeyond = (report.usage.search ?? 0) > searchesMax
    const possible = isBeyond ? { ...report, usage: { ...report.usage, search: searchesMax } } : report
    const billed = this.#withFixed(possible)
    return {
      report: billed,
      reported: reported === possible ? billed : this.#withFixed(reported),
      flagged: flagged || isBeyond,
      basis,
    }
  }

  /** A byte of text is at most one token; other input is bounded only by the model's context. */
  #inputMax(): number {
    const { request, inputs, readings, start } = this.#parts
    const { model, endpoint } = start.candidate
    const text = textBound(request)
    const readsMore = request.inputModalities.size > 0 || readings !== undefined || searches(request, endpoint)
    return (readsMore ? Math.max(text, contextOf(model, endpoint) * (readings ?? 1)) : text) * inputs
  }

  #withFixed(report: UsageReport): UsageReport {
    const { request, inputs, start } = this.#parts
    const pictures = this.#pictures === 0 ? {} : { image_output: this.#pictures }
    const { search } = report.usage
    const usage = {
      ...report.usage,
      ...fixedUsage(request, start.candidate.endpoint, inputs),
      ...(search === undefined ? {} : { search }),
      ...pictures,
    }
    return { ...report, usage }
  }

  /** A whole answer is counted only if the provider did not count it. */
  #countOutput(): number {
    for (const event of this.#events.slice(this.#countedEvents)) this.#output.add(eventText(event))
    this.#countedEvents = this.#events.length
    return this.#output.tokens()
  }

  #countInput(): number {
    const { request, inputs, start } = this.#parts
    return start.tokens.countChat(request, start.candidate.model.tokenizer) * inputs
  }
}
