import type { FinishReason, StreamEnd, UsageReport } from '../kinds/chat-answer.ts'
import { finishReasonOf } from '../kinds/finish-reason.ts'
import type { AttemptFailure, ChatCall, StreamSink } from './adapter.ts'
import { chunkBytes } from './chat-chunk.ts'
import { readContent } from './openai-delta.ts'
import { openaiUsage } from './openai-usage.ts'
import { ContentSplice } from './content-splice.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from './raw-json.ts'
import { SseDecoder } from './sse-decoder.ts'
import { ToolCallDeltas } from './tool-call-deltas.ts'
import { failure } from './transport.ts'
import { eventFailure } from './upstream-error.ts'

const DONE = Buffer.from('[DONE]')
/** More answers than a request can ask for; it bounds what a broken upstream can make us keep. */
const CHOICES_MAX = 128

/** What one choice of the stream has said so far. */
interface ChoiceState {
  readonly toolCalls: ToolCallDeltas
  finish: string | null
  said: boolean
}

/** What a network read led to. `flowing` = the client keeps up; `progressed` = an event that moves the answer on was among it. */
interface PushResult {
  readonly failure: AttemptFailure | null
  readonly flowing: boolean
  readonly progressed: boolean
}

/**
 * An OpenAI-dialect stream on its way to the client. Ordinary chunks of text are spliced, everything else is parsed
 * and rebuilt from the allow-list; one call of the sink a network read.
 */
export class OpenaiStream {
  readonly #call: ChatCall
  readonly #sink: StreamSink
  readonly #decoder: SseDecoder
  readonly #splice: ContentSplice
  readonly #choices = new Map<number, ChoiceState>()
  #out: Buffer[] = []
  #events = 0
  #text = ''
  #usage: UsageReport | null = null
  #upstreamId: string | null = null
  #done = false
  #failure: AttemptFailure | null = null
  #hasContent = false
  #progressed = false

  constructor(call: ChatCall, sink: StreamSink) {
    this.#call = call
    this.#sink = sink
    this.#splice = new ContentSplice(call.identity)
    this.#decoder = new SseDecoder({ event: (data) => this.#event(data), errorLine: (value) => this.#errorLine(value) })
  }

  push(bytes: Buffer): PushResult {
    this.#progressed = false
    if (!this.#decoder.push(bytes)) this.#fail(failure('too_large', null, 'an SSE line or event is longer than 1 MiB'))
    // What came before an error in the same read is still the client's.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed: this.#progressed }
  }

  /** The body is over: the answer's end if a terminal marker was seen, else the failure. */
  end(): { readonly end: StreamEnd } | { readonly failure: AttemptFailure } {
    this.#decoder.end()
    this.#flush()
    if (this.#failure !== null) return { failure: this.#failure }
    const choices = [...this.#choices].toSorted(([left], [right]) => left - right)
    const finished = choices.length > 0 && choices.every(([, { finish }]) => finish !== null)
    if (!this.#done && !finished) return { failure: failure(choices.length === 0 ? 'garbage' : 'cut', null, 'the stream ended without [DONE] or a finish_reason') }
    const finishes = choices.map(([index, choice]) => ({ index, finish: finishOf(choice), native: choice.finish }))
    return { end: { finishes: finishes.length === 0 ? [{ index: 0, finish: null, native: null }] : finishes, usage: this.#usage, upstreamId: this.#upstreamId, hasContent: this.#hasContent } }
  }

  /** `[DONE]` came: nothing after it matters. */
  get done(): boolean {
    return this.#done
  }

  #flush(): boolean {
    const first = this.#out[0]
    if (first === undefined) return true
    const bytes = this.#out.length === 1 ? first : Buffer.concat(this.#out)
    const events = this.#events
    const text = this.#text
    this.#out = []
    this.#events = 0
    this.#text = ''
    return this.#sink.chunk(bytes, events, text)
  }

  #fail(found: AttemptFailure): void {
    this.#failure ??= found
  }

  #errorLine(value: Buffer): void {
    if (!this.#done) this.#fail(eventFailure(parseJson(value) ?? value.toString('utf8')))
  }

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null) return
    const spliced = this.#splice.take(data, this.#out)
    if (spliced !== null) {
      this.#events += 1
      this.#text += spliced
      this.#progressed = true
      return
    }
    if (data.equals(DONE)) {
      this.#done = this.#progressed = true
      return
    }
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#fail(failure('garbage', null, `not a JSON object: ${data.subarray(0, 200).toString('utf8')}`))
    const error = chunk['error'] ?? (chunk['object'] === 'error' ? chunk : null)
    if (error !== null) return this.#fail(eventFailure(error))
    this.#upstreamId ??= textOf(chunk['id'])
    // Growing numbers and repeats: the last usage counts, never the sum. Groq's older models say it under a name of its own.
    this.#usage = openaiUsage(chunk['usage']) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage']) ?? this.#usage
    for (const raw of listOf(chunk['choices'])) this.#choice(objectOf(raw) ?? {})
    this.#splice.learn(data, chunk)
  }

  #choice(raw: RawJson): void {
    const index = typeof raw['index'] === 'number' && Number.isSafeInteger(raw['index']) && raw['index'] >= 0 ? raw['index'] : 0
    const state = this.#state(index)
    if (state === null) return
    const delta = objectOf(raw['delta']) ?? objectOf(raw['message']) ?? {}
    const { fields, text } = readContent(delta)
    const calls = state.toolCalls.read(delta)
    const logprobs = raw['logprobs'] ?? null
    if (calls === null) return this.#fail(failure('garbage', null, 'the stream holds more tool calls than any answer has'))
    if (Object.keys(fields).length > 0) {
      this.#hasContent = state.said = true
      this.#emit(index, fields, text, logprobs)
    } else if (logprobs !== null && calls.length === 0) this.#emit(index, { content: '' }, '', logprobs)
    for (const call of calls) {
      this.#hasContent = state.said = true
      this.#emit(index, { tool_calls: [call.delta] }, call.text)
    }
    const native = textOf(raw['finish_reason'])
    if (native === null || native === '') return
    state.finish = native
    this.#progressed = true
  }

  /** The first sight of a choice sends its role. */
  #state(index: number): ChoiceState | null {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    if (this.#choices.size >= CHOICES_MAX) {
      this.#fail(failure('garbage', null, 'the stream holds more choices than were asked for'))
      return null
    }
    const state = { toolCalls: new ToolCallDeltas(this.#call.identity.id, index), finish: null, said: false }
    this.#choices.set(index, state)
    this.#emit(index, { role: 'assistant', content: '' }, '')
    return state
  }

  #emit(index: number, delta: Readonly<Record<string, unknown>>, text: string, logprobs: unknown = null): void {
    this.#out.push(chunkBytes(this.#call.identity, index, delta, logprobs))
    this.#events += 1
    this.#text += text
    this.#progressed = true
  }
}

/** A clean end with content and no reason given is `stop` (wire.md D-3.2). */
function finishOf(choice: ChoiceState): FinishReason | null {
  return finishReasonOf(choice.finish, choice.toolCalls.count > 0) ?? (choice.said ? 'stop' : null)
}
