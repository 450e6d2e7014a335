import { eventText, isContent, tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/finish-reason.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import type { ChatCall } from '../../ports/call.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { ContentSplice } from './content-splice.ts'
import { contentEvents, legacyCall, readToolCall, type CompleteToolCall } from './delta.ts'
import { openaiErrorBody, openaiUsage } from './usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { logprobsOf } from '../../wire/lifted-logprobs.ts'
import { ToolCallDeltas, toolCallId } from '../../answers/tool-calls.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { errorIn, isErrorBody } from '../../wire/error-body.ts'
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
 * Reads one answer of an OpenAI dialect. Ordinary chunks of text are known by their bytes, and spliced where the client
 * reads the same dialect; all others are parsed.
 */
export class OpenaiReader implements EventReader {
  readonly notJson = 'the answer is not a chat completion'
  readonly #generationId: string
  readonly #sellsSearch: boolean
  readonly #choicesAsked: number
  readonly #splice: ContentSplice
  readonly #choices = new Map<number, ChoiceState>()
  /** The number of choices that have their finish_reason. */
  #finished = 0
  #named = false
  #tier: unknown
  #done = false

  constructor(call: ChatCall) {
    this.#generationId = call.generationId
    this.#sellsSearch = call.endpoint.priced.has('search')
    this.#choicesAsked = call.request.n
    this.#splice = new ContentSplice(call.splice)
  }

  get state(): AnswerState {
    if (this.#done) return 'done'
    return this.#finished >= this.#choicesAsked ? 'finished' : 'open'
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const run = this.#splice.run(bytes, start)
    return run === null ? null : { read: [run.event], end: run.end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const spliced = this.#splice.take(data)
    if (spliced !== null) return [spliced]
    if (data.equals(DONE)) {
      this.#done = true
      return []
    }
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return garbage('not a JSON object', data)
    // Groq's older models report usage in another field.
    const usage = openaiUsage(chunk['usage'], this.#sellsSearch) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage'])
    const error = errorIn(chunk)
    if (error !== null) return billed(eventFailure(error), usage)
    const events = [...this.#origin(chunk)]
    if (usage !== null) events.push({ type: 'usage', usage })
    for (const raw of listOf(chunk['choices'])) {
      const read = this.#choice(objectOf(raw) ?? {})
      if ('reason' in read) return read
      for (const event of read) events.push(event)
    }
    this.#splice.learn(data, chunk)
    return events
  }

  /** Complete after `[DONE]`, or after a finish_reason for every choice that came. */
  ended(): AttemptFailure | null {
    if (this.#done || (this.#choices.size > 0 && this.#finished === this.#choices.size)) return null
    const reason = this.#choices.size === 0 ? 'garbage' : 'cut'
    return failure(reason, null, 'the stream ended without [DONE] or a finish_reason')
  }

  whole(body: unknown, logprobs: readonly JsonBytes[] = []): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    if (isErrorBody(answer)) return openaiErrorBody(answer)
    if (answer === null || !Array.isArray(answer['choices'])) return failure('garbage', null, this.notJson)
    const events: AnswerEvent[] = [
      { type: 'origin', upstreamId: textOf(answer['id']), systemFingerprint: textOf(answer['system_fingerprint']) },
      ...tierEvents(answer['service_tier']),
    ]
    for (const [position, raw] of listOf(answer['choices']).entries())
      for (const event of readChoice(objectOf(raw) ?? {}, position, logprobs, this.#generationId)) events.push(event)
    const usage = openaiUsage(answer['usage'], this.#sellsSearch)
    if (usage !== null) events.push({ type: 'usage', usage })
    return events
  }

  #origin(chunk: RawJson): readonly AnswerEvent[] {
    // The first chunks may still repeat the wish.
    const { service_tier: tier } = chunk
    const tiers = tier === this.#tier ? [] : tierEvents(tier)
    this.#tier = tier
    const upstreamId = textOf(chunk['id'])
    if (this.#named || upstreamId === null) return tiers
    this.#named = true
    return [...tiers, { type: 'origin', upstreamId, systemFingerprint: textOf(chunk['system_fingerprint']) }]
  }

  #choice(raw: RawJson): readonly AnswerEvent[] | AttemptFailure {
    const index =
      typeof raw['index'] === 'number' && Number.isSafeInteger(raw['index']) && raw['index'] >= 0 ? raw['index'] : 0
    const events: AnswerEvent[] = []
    let state = this.#choices.get(index)
    if (state === undefined) {
      if (this.#choices.size >= CHOICES_MAX)
        return failure('garbage', null, 'the stream holds more choices than were asked for')
      state = { toolCalls: new ToolCallDeltas(this.#generationId, index), finished: false }
      this.#choices.set(index, state)
      // The first chunk of a choice opens it, even without content.
      events.push({ type: 'text', choice: index, text: '' })
    }
    const delta = objectOf(raw['delta']) ?? objectOf(raw['message']) ?? {}
    const content = contentEvents(delta, index, raw['logprobs'] ?? null)
    const calls = state.toolCalls.read(delta)
    if (calls === null) return failure('garbage', null, 'the stream holds more tool calls than any answer has')
    events.push(...content, ...calls)
    const native = namedReason(raw['finish_reason'])
    if (native === null) return events
    if (!state.finished) this.#finished += 1
    state.finished = true
    events.push({ type: 'finish', choice: index, native })
    return events
  }
}

function readChoice(
  object: RawJson,
  position: number,
  logprobs: readonly JsonBytes[],
  generationId: string,
): readonly AnswerEvent[] {
  const message = objectOf(object['message']) ?? {}
  const choice = typeof object['index'] === 'number' ? object['index'] : position
  const events = [...contentEvents(message, choice, logprobsOf(object['logprobs'], logprobs))]
  const calls: CompleteToolCall[] = listOf(message['tool_calls']).flatMap((call, place) => {
    const read = readToolCall(call, toolCallId(generationId, choice, place))
    return read === null ? [] : [read]
  })
  const legacy = calls.length === 0 ? legacyCall(message) : null
  if (legacy !== null && legacy.name !== '')
    calls.push({ ...legacy, id: toolCallId(generationId, choice, 0, legacy.state) })
  // An answer without content is the empty text, unless it has a tool call.
  if (
    message['content'] === '' &&
    calls.length === 0 &&
    !events.some((event) => isContent(event) && eventText(event) !== '')
  )
    events.push({ type: 'text', choice, text: '' })
  for (const [index, { id, name, arguments: text }] of calls.entries()) {
    events.push({ type: 'tool_call', choice, index, id, name })
    if (text !== '') events.push({ type: 'tool_arguments', choice, index, text })
  }
  events.push({ type: 'finish', choice, native: namedReason(object['finish_reason']) })
  return events
}
