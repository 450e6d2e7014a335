import type { FinishReason, StreamEnd, UsageReport } from '../kinds/chat-answer.ts'
import { finishReasonOf } from '../kinds/finish-reason.ts'
import type { AttemptFailure, ChatCall, StreamSink } from './adapter.ts'
import { chunkBytes } from './chat-chunk.ts'
import { argumentsText, legacyCall, readContent } from './openai-delta.ts'
import { openaiUsage } from './openai-usage.ts'
import { ContentSplice } from './content-splice.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from './raw-json.ts'
import { SseDecoder } from './sse-decoder.ts'
import { failure } from './transport.ts'
import { eventFailure } from './upstream-error.ts'

const DONE = Buffer.from('[DONE]')

/** What one choice of the stream has said so far. */
class ChoiceState {
  finish: string | null = null
  toolCalls = new Map<number, { readonly index: number; named: boolean }>()
  said = false
  roleSent = false
}

/**
 * An OpenAI-dialect stream on its way to the client. Ordinary content chunks are spliced, everything else is parsed
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

  constructor(call: ChatCall, sink: StreamSink) {
    this.#call = call
    this.#sink = sink
    this.#splice = new ContentSplice(call.identity)
    this.#decoder = new SseDecoder({ event: (data) => this.#event(data), errorLine: (value) => this.#fail(eventFailure(parseJson(value) ?? value.toString('utf8'))) })
  }

  /** Takes a network read; answers whether the client keeps up. */
  push(bytes: Buffer): { readonly failure: AttemptFailure | null; readonly flowing: boolean; readonly progressed: boolean } {
    if (!this.#decoder.push(bytes)) this.#fail(failure('too_large', null, 'an SSE line is longer than 1 MiB'))
    const progressed = this.#events > 0 || this.#done
    // What came before an error in the same read is still the client's.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed }
  }

  /** The body is over: the answer's end if a terminal marker was seen, else the failure. */
  end(): { readonly end: StreamEnd } | { readonly failure: AttemptFailure } {
    this.#decoder.end()
    this.#flush()
    if (this.#failure !== null) return { failure: this.#failure }
    const finished = [...this.#choices.values()].some(({ finish }) => finish !== null)
    if (!this.#done && !finished) return { failure: failure(this.#choices.size === 0 ? 'garbage' : 'cut', null, 'the stream ended without [DONE] or a finish_reason') }
    const finishes = [...this.#choices].toSorted(([left], [right]) => left - right).map(([index, choice]) => ({ index, finish: finishOf(choice), native: choice.finish }))
    return { end: { finishes: finishes.length === 0 ? [{ index: 0, finish: null, native: null }] : finishes, usage: this.#usage, upstreamId: this.#upstreamId, hasContent: this.#hasContent } }
  }

  /** `[DONE]` came: nothing after it matters. */
  get done(): boolean {
    return this.#done
  }

  #flush(): boolean {
    const [first, ...more] = this.#out
    if (first === undefined) return true
    const bytes = more.length === 0 ? first : Buffer.concat(this.#out)
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

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null) return
    const spliced = this.#splice.take(data)
    if (spliced !== null) {
      this.#out.push(...spliced.bytes)
      this.#events += 1
      this.#text += spliced.text
      return
    }
    if (data.equals(DONE)) {
      this.#done = true
      return
    }
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#fail(failure('garbage', null, `not a JSON object: ${data.subarray(0, 200).toString('utf8')}`))
    if (chunk['error'] !== undefined && chunk['error'] !== null) return this.#fail(eventFailure(chunk['error']))
    this.#upstreamId ??= textOf(chunk['id'])
    // Growing numbers and repeats: the last usage counts, never the sum.
    // Groq's older models say it under a name of its own.
    this.#usage = openaiUsage(chunk['usage']) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage']) ?? this.#usage
    for (const raw of listOf(chunk['choices'])) this.#choice(objectOf(raw) ?? {})
    if (this.#hasContent) this.#splice.learn(data, chunk)
  }

  #choice(raw: RawJson): void {
    const index = typeof raw['index'] === 'number' ? raw['index'] : 0
    const state = this.#state(index)
    const delta = objectOf(raw['delta']) ?? objectOf(raw['message']) ?? {}
    if (!state.roleSent) {
      state.roleSent = true
      this.#emit(index, { role: 'assistant', content: '' }, '')
    }
    const { fields, text } = readContent(delta)
    const calls = [...this.#toolDeltas(state, listOf(delta['tool_calls'])), ...this.#legacyDelta(state, delta)]
    if (Object.keys(fields).length > 0) {
      this.#hasContent = state.said = true
      this.#emit(index, fields, text, raw['logprobs'] ?? null)
    }
    for (const call of calls) {
      this.#hasContent = state.said = true
      this.#emit(index, { tool_calls: [call.delta] }, call.text)
    }
    const native = textOf(raw['finish_reason'])
    if (native !== null && native !== '') state.finish = native
  }

  #state(index: number): ChoiceState {
    let state = this.#choices.get(index)
    if (state === undefined) {
      state = new ChoiceState()
      this.#choices.set(index, state)
    }
    return state
  }

  #emit(index: number, delta: Record<string, unknown>, text: string, logprobs: unknown = null): void {
    this.#out.push(chunkBytes(this.#call.identity, index, delta, logprobs))
    this.#events += 1
    this.#text += text
  }

  /** First a delta with id and name and empty arguments, then arguments alone; indexes start at 0 whatever the upstream counts from. */
  #toolDeltas(state: ChoiceState, calls: readonly unknown[]): { readonly delta: Record<string, unknown>; readonly text: string }[] {
    return calls.flatMap((raw, position) => {
      const call = objectOf(raw) ?? {}
      const called = objectOf(call['function']) ?? {}
      const upstreamIndex = typeof call['index'] === 'number' ? call['index'] : state.toolCalls.size + (textOf(call['id']) ? 0 : -1) + (state.toolCalls.size === 0 && !textOf(call['id']) ? 1 + position : 0)
      const known = state.toolCalls.get(upstreamIndex)
      return this.#callDeltas(state, upstreamIndex, known, textOf(call['id']) ?? '', textOf(called['name']) ?? '', argumentsText(called['arguments']))
    })
  }

  #legacyDelta(state: ChoiceState, delta: RawJson): { readonly delta: Record<string, unknown>; readonly text: string }[] {
    const call = legacyCall(delta)
    return call === null ? [] : this.#callDeltas(state, 0, state.toolCalls.get(0), 'call_0', call.name, call.arguments)
  }

  #callDeltas(state: ChoiceState, upstreamIndex: number, known: { readonly index: number; named: boolean } | undefined, id: string, name: string, text: string): { readonly delta: Record<string, unknown>; readonly text: string }[] {
    const entry = known ?? { index: state.toolCalls.size, named: false }
    if (known === undefined) state.toolCalls.set(upstreamIndex, entry)
    const deltas: { delta: Record<string, unknown>; text: string }[] = []
    if (!entry.named && name !== '') {
      entry.named = true
      deltas.push({ delta: { index: entry.index, id: id === '' ? `call_${entry.index}` : id, type: 'function', function: { name, arguments: '' } }, text: name })
    }
    if (text !== '') deltas.push({ delta: { index: entry.index, function: { arguments: text } }, text })
    return deltas
  }
}

/** A clean end with content and no reason given is `stop` (wire.md D-3.2). */
function finishOf(choice: ChoiceState): FinishReason | null {
  return finishReasonOf(choice.finish, choice.toolCalls.size > 0) ?? (choice.said ? 'stop' : null)
}
