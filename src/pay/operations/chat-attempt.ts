import type { ApiError } from '../../base/errors.ts'
import { CallArguments } from '../../kinds/answer/call-arguments.ts'
import { AnswerEnd } from '../../kinds/answer/end.ts'
import { eventText, isContent, withoutReasoning, type AnswerEvent } from '../../kinds/answer/event.ts'
import { foldAnswer } from '../../kinds/answer/fold.ts'
import type { AnswerWriter, ChargedUsage, KeptEnd } from '../../kinds/answer/writer.ts'
import type { FinishReason, StreamEnd, UsageReport } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { JSON_TYPE, JsonBytes, jsonParts } from '../../base/json-text.ts'
import type { Endpoint } from '../../catalog/catalog.ts'
import type { Usage } from '../../tables/meters.ts'
import { dearestTier } from '../../catalog/price-conditions.ts'
import { contextOf } from '../plan/context-check.ts'
import { predictedTokens, searches } from '../plan/parameter-costs.ts'
import { textBound } from '../plan/token-count.ts'
import { countedReport, measureUsage } from '../plan/usage-bounds.ts'
import { fixedUsage } from '../plan/worst-price.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'
import { badEnd, type AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { AnswerBody, Attempt, AttemptStart, MeasuredUsage, ReportedUsage } from '../relay/operation.ts'
import { GrownText } from '../../kinds/answer/grown-text.ts'

/**
 * The most characters that wait to be counted. This bounds the memory of a long answer; an ordinary answer is never
 * counted.
 */
const PENDING_CHARS_MAX = 32_768

/**
 * Counts the tokens of a text that arrives in pieces, in O(1) memory; nothing is tokenised unless the count is asked
 * for or the text is long.
 */
class TextCounter {
  readonly #count: (text: string) => number
  #pending = new GrownText()
  #counted = 0

  constructor(count: (text: string) => number) {
    this.#count = count
  }

  add(text: string): void {
    this.#pending.add(text)
    if (this.#pending.length > PENDING_CHARS_MAX) this.#fold()
  }

  /** Tokens of everything added so far. */
  tokens(): number {
    this.#fold()
    return this.#counted
  }

  #fold(): void {
    if (this.#pending.length === 0) return
    this.#counted += this.#count(this.#pending.toString())
    this.#pending = new GrownText()
  }
}

/** The most searches of one answer that are accepted if the request sets no limit. */
const SEARCHES_MAX = 128
/**
 * The most characters of an answer, as long as a plain answer may be in bytes. A writer may hold all of a stream in
 * memory, so an endless stream must end.
 */
const TEXT_CHARS_MAX = 32 * 1_048_576

/** What an answer is measured by: its request itself is kept only where it can be read again. */
export interface AskedChat extends Pick<ChatRequest, 'stream' | 'hidesReasoning' | 'n'> {
  /** The most output tokens that are billed for a prediction. */
  readonly predicted: number
  readonly searches: boolean
  /** An upper bound of the tokens of its text. */
  readonly textMax: number
  /** Whether it has input other than text. */
  readonly hasMedia: boolean
  /** The usage that does not depend on the answer. */
  readonly fixed: Usage
  /** Counts its tokens by the model's tokenizer. */
  readonly countInput: () => number
}

export function askedOf(chat: ChatRequest, endpoint: Endpoint, inputs: number, countInput: () => number): AskedChat {
  const { stream, hidesReasoning, n, inputModalities } = chat
  return {
    stream,
    hidesReasoning,
    n,
    predicted: predictedTokens(chat, endpoint),
    searches: searches(chat, endpoint),
    textMax: textBound(chat),
    hasMedia: inputModalities.size > 0,
    fixed: fixedUsage(chat, endpoint, inputs),
    countInput,
  }
}

export interface ChatAttemptParts {
  readonly asked: AskedChat
  readonly writer: AnswerWriter
  /** The number of inputs, of at most the request's size, that are answered together. */
  readonly inputs: number
  /** The number of answers that the provider writes for each input; absent = the requested number. */
  readonly written?: number
  /** How often the model may read its whole context: once, and after each call of a tool that the provider runs. */
  readonly readings?: number
  /** The most web searches that the request allows; absent = those of `web_search_options`. */
  readonly searchesMax?: number
  readonly start: AttemptStart
  readonly sink: AnswerSink<Buffer>
  /**
   * If there are several calls, the service tier of each; null = its provider reports none. Absent or empty = there is
   * one call.
   */
  readonly tiers?: readonly (string | null)[]
  /** Parts of the request that were not sent to this provider. */
  readonly dropped?: readonly string[]
}

/** One provider's answer as events, which are measured and written for the client as they come. */
export class ChatAttempt implements Attempt, AnswerSink {
  says = false
  readonly #parts: ChatAttemptParts
  readonly call: RunningCall
  readonly #output: TextCounter
  readonly #end = new AnswerEnd()
  readonly #arguments = new CallArguments()
  /** All events of a plain answer; a stream stores none. */
  readonly #events: AnswerEvent[] = []
  #countedEvents = 0
  #firstTokenMs: number | null = null
  #textChars = 0
  /** No provider reports how many pictures it made, but each may have a price. */
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

  get serviceTier(): string | null {
    const { tiers = [], start } = this.#parts
    const { candidate, plan } = start
    if (tiers.every((tier) => tier === this.#end.serviceTier)) return this.#end.serviceTier
    // The log row has one tier for all of its usage (guarantees.md 3.5).
    return dearestTier(candidate.endpoint, this.measured().report.usage, plan.atMs, tiers)
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

  push(given: readonly AnswerEvent[]): boolean {
    const events = this.#arguments.mended(given)
    const { asked, writer, start, sink } = this.#parts
    for (const event of events) {
      this.#end.add(event)
      if (event.type === 'extra' && event.field === 'images' && Array.isArray(event.value))
        this.#pictures += event.value.length
    }
    if (!asked.stream) {
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
    const visible = asked.hidesReasoning ? withoutReasoning(events) : events
    this.says ||= visible.some(isContent)
    return sink.push(writer.write(visible))
  }

  end(): void {
    const rest = this.#arguments.rest()
    if (rest.length > 0) this.push(rest)
    this.#parts.sink.end()
  }

  fail(failure: AttemptFailure): void {
    if (failure.billed !== undefined) this.#end.add({ type: 'usage', usage: failure.billed })
    this.#parts.sink.fail(failure)
  }

  /** Whether there are no tokens, no content, and no finish reason that makes it an answer. */
  isEmpty(): boolean {
    const { hasContent, usage, isReasoned } = this.#ended()
    return !hasContent && (usage === null || usage.outputTokens === 0) && (!isReasoned || this.finish === 'error')
  }

  badEnd(): AttemptFailure | null {
    const { finishes } = this.#ended()
    return finishes.every(({ finish }) => finish === 'error') ? badEnd(this.native) : null
  }

  measured(): MeasuredUsage {
    const { usage } = this.#end
    return usage === null ? this.delivered() : this.#measure(usage)
  }

  /**
   * A provider that reports usage during the stream has reported the input, but more output may have come since that
   * report.
   */
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
    const { asked, writer } = this.#parts
    const visible = asked.hidesReasoning ? withoutReasoning(this.#events) : this.#events
    const answer = foldAnswer(visible)
    const lifted = answer.choices.flatMap(({ logprobs }) => (logprobs instanceof JsonBytes ? [logprobs] : []))
    const body = writer.whole(answer, usage, visible)
    return lifted.length === 0 ? { body } : { body: jsonParts(body, lifted), contentType: JSON_TYPE }
  }

  kept(usage: ChargedUsage, how: KeptEnd): Record<string, unknown> | null {
    const { asked, writer } = this.#parts
    // A plain answer has not been written yet.
    if (!asked.stream && !this.#isWritten) {
      this.#isWritten = true
      writer.write(asked.hidesReasoning ? withoutReasoning(this.#events) : this.#events)
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

  /** The end in its current state; calling this ends the answer. */
  #ended(): StreamEnd {
    this.#result ??= this.#end.result()
    return this.#result
  }

  #measure(usage: UsageReport): MeasuredUsage {
    const { asked, inputs, written = asked.n, start } = this.#parts
    const { report, reported, flagged, basis } = measureUsage(usage, {
      inputMax: () => this.#inputMax(),
      outputMax: (start.plan.maxTokens + asked.predicted) * written * inputs,
      count: () => countedReport(this.#countInput(), this.#countOutput()),
    })
    // More searches than the request allows are impossible, so the customer does not pay for them.
    const { searchesMax = asked.searches ? SEARCHES_MAX * written * inputs : 0 } = this.#parts
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

  /** The most input tokens: a byte of text is at most one token; other input is bounded only by the model's context. */
  #inputMax(): number {
    const { asked, inputs, readings, start } = this.#parts
    const { model, endpoint } = start.candidate
    const { textMax, hasMedia } = asked
    const readsMore = hasMedia || readings !== undefined || asked.searches
    return (readsMore ? Math.max(textMax, contextOf(model, endpoint) * (readings ?? 1)) : textMax) * inputs
  }

  #withFixed(report: UsageReport): UsageReport {
    const { fixed } = this.#parts.asked
    const pictures = this.#pictures === 0 ? {} : { image_output: this.#pictures }
    const { search, ...told } = report.usage
    const usage = {
      ...told,
      ...fixed,
      // A service that counts searches counts none in an answer that could not search.
      ...(search === undefined || (search === 0 && fixed.search === undefined) ? {} : { search }),
      ...pictures,
    }
    return { ...report, usage }
  }

  /** A plain answer is counted only if the provider did not count it. */
  #countOutput(): number {
    for (const event of this.#events.slice(this.#countedEvents)) this.#output.add(eventText(event))
    this.#countedEvents = this.#events.length
    return this.#output.tokens()
  }

  #countInput(): number {
    const { asked, inputs } = this.#parts
    return asked.countInput() * inputs
  }
}
