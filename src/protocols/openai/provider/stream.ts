import { tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/finish-reason.ts'
import { Progress } from '../../../kinds/answer/progress.ts'
import type { AnswerSink, ChatCall } from '../../ports/call.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { ContentSplice } from './content-splice.ts'
import { contentEvents } from './delta.ts'
import { openaiUsage } from './usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { SseDecoder } from '../../wire/sse-decoder.ts'
import { ToolCallDeltas } from '../../answers/tool-calls.ts'
import type { AnswerState, StreamProgress } from '../../upstream/response.ts'
import { errorIn } from '../../wire/error-body.ts'
import { eventFailure } from '../../wire/upstream-error.ts'

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
  readonly #sellsSearch: boolean
  readonly #choicesAsked: number
  readonly #sink: AnswerSink
  readonly #decoder: SseDecoder
  readonly #splice: ContentSplice
  readonly #choices = new Map<number, ChoiceState>()
  #events: AnswerEvent[] = []
  /** The number of choices that have their finish_reason. */
  #finished = 0
  #named = false
  #tier: unknown
  #done = false
  #failure: AttemptFailure | null = null
  readonly #progress = new Progress()

  constructor(call: ChatCall, sink: AnswerSink) {
    this.#generationId = call.generationId
    this.#sellsSearch = call.endpoint.priced.has('search')
    this.#choicesAsked = call.request.n
    this.#sink = sink
    this.#splice = new ContentSplice(call.splice)
    this.#decoder = new SseDecoder({
      event: (data) => this.#event(data),
      errorLine: (value) => this.#errorLine(value),
      known: (bytes, start) => this.#known(bytes, start),
    })
  }

  push(bytes: Buffer): StreamProgress {
    if (!this.#decoder.push(bytes)) this.#fail(failure('too_large', null, 'an SSE line or event is longer than 1 MiB'))
    const progressed = this.#progress.isMade(this.#events)
    // Content before an error in the same read still goes to the client.
    const flowing = this.#flush()
    return { failure: this.#failure, flowing, progressed, state: this.#state }
  }

  /** Complete after `[DONE]`, or after a finish_reason for every choice that came. */
  end(): AttemptFailure | null {
    const isComplete = this.#state !== 'open'
    this.#decoder.end()
    this.#flush()
    // Behind the finish half an event may stand.
    if (isComplete) return null
    if (this.#failure !== null) return this.#failure
    return this.#done || (this.#choices.size > 0 && this.#finished === this.#choices.size)
      ? null
      : failure(
          this.#choices.size === 0 ? 'garbage' : 'cut',
          null,
          'the stream ended without [DONE] or a finish_reason',
        )
  }

  get #state(): AnswerState {
    if (this.#done) return 'done'
    return this.#finished >= this.#choicesAsked ? 'finished' : 'open'
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
    return run.end
  }

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null) return
    const spliced = this.#splice.take(data)
    if (spliced !== null) {
      this.#events.push(spliced)
      return
    }
    if (data.equals(DONE)) {
      this.#done = true
      return
    }
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#fail(garbage('not a JSON object', data))
    // Groq's older models report usage in another field.
    const usage = openaiUsage(chunk['usage'], this.#sellsSearch) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage'])
    const error = errorIn(chunk)
    if (error !== null) return this.#fail(billed(eventFailure(error), usage))
    this.#origin(chunk)
    if (usage !== null) this.#events.push({ type: 'usage', usage })
    for (const raw of listOf(chunk['choices'])) this.#choice(objectOf(raw) ?? {})
    this.#splice.learn(data, chunk)
  }

  #origin(chunk: RawJson): void {
    // The first chunks may still repeat the wish.
    const { service_tier: tier } = chunk
    if (tier !== this.#tier) this.#events.push(...tierEvents(tier))
    this.#tier = tier
    const upstreamId = textOf(chunk['id'])
    if (this.#named || upstreamId === null) return
    this.#named = true
    this.#events.push({ type: 'origin', upstreamId, systemFingerprint: textOf(chunk['system_fingerprint']) })
  }

  #choice(raw: RawJson): void {
    const index =
      typeof raw['index'] === 'number' && Number.isSafeInteger(raw['index']) && raw['index'] >= 0 ? raw['index'] : 0
    const state = this.#choiceAt(index)
    if (state === null) return
    const delta = objectOf(raw['delta']) ?? objectOf(raw['message']) ?? {}
    const content = contentEvents(delta, index, raw['logprobs'] ?? null)
    const calls = state.toolCalls.read(delta)
    if (calls === null)
      return this.#fail(failure('garbage', null, 'the stream holds more tool calls than any answer has'))
    for (const event of [...content, ...calls]) this.#events.push(event)
    const native = namedReason(raw['finish_reason'])
    if (native === null) return
    if (!state.finished) this.#finished += 1
    state.finished = true
    this.#events.push({ type: 'finish', choice: index, native })
  }

  /** The first chunk of a choice opens it, even without content. */
  #choiceAt(index: number): ChoiceState | null {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    if (this.#choices.size >= CHOICES_MAX) {
      this.#fail(failure('garbage', null, 'the stream holds more choices than were asked for'))
      return null
    }
    const state = { toolCalls: new ToolCallDeltas(this.#generationId, index), finished: false }
    this.#choices.set(index, state)
    this.#events.push({ type: 'text', choice: index, text: '' })
    return state
  }
}
