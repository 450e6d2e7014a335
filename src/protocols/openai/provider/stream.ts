import { isContent, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerSink, ChatCall } from '../../ports/call.ts'
import { failure, garbage, type AttemptFailure } from '../../../providers/ports/attempt-failure.ts'
import { ContentSplice } from './content-splice.ts'
import { contentEvents } from './delta.ts'
import { openaiUsage } from '../../../providers/openai/usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { SseDecoder } from '../../wire/sse-decoder.ts'
import { ToolCallDeltas } from '../../answers/tool-calls.ts'
import type { StreamProgress } from '../../upstream/response.ts'
import { eventFailure } from '../../../providers/wire/upstream-error.ts'

const DONE = Buffer.from('[DONE]')
/** More choices than a request can ask for: a bound on what a broken upstream makes us keep. */
const CHOICES_MAX = 128

/** State of one choice of the stream. */
interface ChoiceState {
  readonly toolCalls: ToolCallDeltas
  finished: boolean
}

/**
 * A stream of an OpenAI dialect. Ordinary chunks of text are known by their bytes, and spliced where the client reads
 * the same dialect; all others are parsed.
 */
export class OpenaiStream {
  readonly #generationId: string
  readonly #sink: AnswerSink
  readonly #decoder: SseDecoder
  readonly #splice: ContentSplice
  readonly #choices = new Map<number, ChoiceState>()
  #events: AnswerEvent[] = []
  #named = false
  #done = false
  #failure: AttemptFailure | null = null
  #progressed = false

  constructor(call: ChatCall, sink: AnswerSink) {
    this.#generationId = call.generationId
    this.#sink = sink
    this.#splice = new ContentSplice(call.splice)
    this.#decoder = new SseDecoder({
      event: (data) => this.#event(data),
      errorLine: (value) => this.#errorLine(value),
      known: (bytes, start) => this.#known(bytes, start),
    })
  }

  push(bytes: Buffer): StreamProgress {
    this.#progressed = false
    if (!this.#decoder.push(bytes)) this.#fail(failure('too_large', null, 'an SSE line or event is longer than 1 MiB'))
    // Content before an error in the same read still goes to the client.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed: this.#progressed, done: this.#done }
  }

  /** Complete after `[DONE]`, or after a finish_reason for every choice. */
  end(): AttemptFailure | null {
    this.#decoder.end()
    this.#flush()
    if (this.#failure !== null) return this.#failure
    const finished = this.#choices.size > 0 && [...this.#choices.values()].every((choice) => choice.finished)
    return this.#done || finished
      ? null
      : failure(
          this.#choices.size === 0 ? 'garbage' : 'cut',
          null,
          'the stream ended without [DONE] or a finish_reason',
        )
  }

  #flush(): boolean {
    if (this.#events.length === 0) return true
    const events = this.#events
    this.#events = []
    return this.#sink.push(events)
  }

  #fail(found: AttemptFailure): void {
    this.#failure ??= found
  }

  #errorLine(value: Buffer): void {
    if (!this.#done) this.#fail(eventFailure(parseJson(value) ?? value.toString('utf8')))
  }

  #known(bytes: Buffer, start: number): number {
    if (this.#done || this.#failure !== null) return start
    const run = this.#splice.run(bytes, start)
    if (run === null) return start
    this.#events.push(run.event)
    this.#progressed = true
    return run.end
  }

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null) return
    const spliced = this.#splice.take(data)
    if (spliced !== null) {
      this.#events.push(spliced)
      this.#progressed = true
      return
    }
    if (data.equals(DONE)) {
      this.#done = this.#progressed = true
      return
    }
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#fail(garbage('not a JSON object', data))
    const error = chunk['error'] ?? (chunk['object'] === 'error' ? chunk : null)
    if (error !== null) return this.#fail(eventFailure(error))
    this.#origin(chunk)
    // Groq's older models report usage in another field.
    const usage = openaiUsage(chunk['usage']) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage'])
    if (usage !== null) this.#events.push({ type: 'usage', usage })
    for (const raw of listOf(chunk['choices'])) this.#choice(objectOf(raw) ?? {})
    this.#splice.learn(data, chunk)
  }

  #origin(chunk: RawJson): void {
    const upstreamId = textOf(chunk['id'])
    if (this.#named || upstreamId === null) return
    this.#named = true
    this.#events.push({ type: 'origin', upstreamId, systemFingerprint: textOf(chunk['system_fingerprint']) })
  }

  #choice(raw: RawJson): void {
    const index =
      typeof raw['index'] === 'number' && Number.isSafeInteger(raw['index']) && raw['index'] >= 0 ? raw['index'] : 0
    const state = this.#state(index)
    if (state === null) return
    const delta = objectOf(raw['delta']) ?? objectOf(raw['message']) ?? {}
    const content = contentEvents(delta, index, raw['logprobs'] ?? null)
    const calls = state.toolCalls.read(delta)
    if (calls === null)
      return this.#fail(failure('garbage', null, 'the stream holds more tool calls than any answer has'))
    for (const event of [...content, ...calls]) this.#events.push(event)
    if (content.some(isContent) || calls.length > 0) this.#progressed = true
    const native = textOf(raw['finish_reason'])
    if (native === null || native === '') return
    state.finished = this.#progressed = true
    this.#events.push({ type: 'finish', choice: index, native })
  }

  /** The first chunk of a choice opens it, even without content. */
  #state(index: number): ChoiceState | null {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    if (this.#choices.size >= CHOICES_MAX) {
      this.#fail(failure('garbage', null, 'the stream holds more choices than were asked for'))
      return null
    }
    const state = { toolCalls: new ToolCallDeltas(this.#generationId, index), finished: false }
    this.#choices.set(index, state)
    this.#events.push({ type: 'text', choice: index, text: '' })
    this.#progressed = true
    return state
  }
}
