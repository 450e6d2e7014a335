import { eventText, isContent, tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/end.ts'
import { type JsonBytes, jsonTextEnd } from '../../../base/json-text.ts'
import type { ChatCall } from '../../ports/call.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { contentEvents, legacyCall, readToolCall, type CompleteToolCall } from './delta.ts'
import { openaiErrorBody, openaiUsage } from './usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { logprobsOf } from '../../wire/lifted-logprobs.ts'
import { ToolCallDeltas, toolCallId } from '../../answers/tool-calls.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { errorIn, isErrorBody } from '../../wire/error-body.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import type { TextAround } from '../client/chat/writer.ts'
import { decoded, isAt, jsonText, runText, textPlace, textRun, textStart } from '../../wire/text-form.ts'

const DONE = Buffer.from('[DONE]')
/** More choices than a request can ask for: a bound on what a broken upstream makes us hold in memory. */
const CHOICES_MAX = 256

/** The facts of a call that its reader needs. */
interface OpenaiView extends Pick<ChatCall, 'generationId' | 'splice'> {
  /** Searches have a price. */
  readonly sellsSearch: boolean
  /** How many the request asks for. */
  readonly choices: number
}

/** State of one choice of the stream. */
interface ChoiceState {
  readonly toolCalls: ToolCallDeltas
  finished: boolean
}

/**
 * Reads one answer of an OpenAI dialect. Ordinary chunks of text are recognised by their bytes, and spliced if the
 * client reads the same dialect; all others are parsed.
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

  constructor({ generationId, sellsSearch, choices, splice }: OpenaiView) {
    this.#generationId = generationId
    this.#sellsSearch = sellsSearch
    this.#choicesAsked = choices
    this.#splice = new ContentSplice(splice)
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
    const read = this.read(chunk)
    if (!('reason' in read)) this.#splice.learn(data, chunk)
    return read
  }

  /** The same for a parsed message. */
  read(chunk: RawJson): readonly AnswerEvent[] | AttemptFailure {
    // Groq's older models report usage in another field.
    const usage = openaiUsage(chunk['usage'], this.#sellsSearch) ?? openaiUsage(objectOf(chunk['x_groq'])?.['usage'])
    const error = errorIn(chunk)
    if (error !== null) return billed(eventFailure(error), usage)
    const events = [...this.#origin(chunk)]
    if (usage !== null) events.push({ type: 'usage', usage })
    for (const raw of listOf(chunk['choices'])) {
      const read = this.#choice(objectOf(raw) ?? {})
      if ('reason' in read) return billed(read, usage)
      for (const event of read) events.push(event)
    }
    return events
  }

  /** The answer is complete after `[DONE]`, or after a finish_reason for every choice that came. */
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
    // The first chunks may still repeat the requested tier instead of reporting one.
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
  // An answer without content becomes an empty text, unless it has a tool call.
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

const SPACE = 32
const QUOTE = 34
const ASCII_MAX = 127
const BACKSLASH = 92
/** The field of a delta that holds its text, and our name for it. */
const TEXT_FIELDS: ReadonlyMap<string, 'content' | 'reasoning'> = new Map([
  ['content', 'content'],
  ['reasoning', 'reasoning'],
  ['reasoning_content', 'reasoning'],
])
/** Random padding that OpenAI and Mistral add next to the choices, of different length in each chunk. */
const PADDINGS = ['obfuscation', 'p']
const PADDING_BYTES_MAX = 1_024
/** How providers frame an event of a run. An event with another framing is not part of a run. */
const EVENT_START = Buffer.from('data: ')
const EVENT_END = Buffer.from('\n\n')

/** The bytes around the text in one form of chunk, and our replacements. */
interface Form {
  readonly head: Buffer
  readonly tail: Buffer
  /** The bytes after the padding, which follows `tail`; null = a chunk ends with `tail`. */
  readonly end: Buffer | null
  readonly field: 'content' | 'reasoning'
  /** null = the client reads another format. */
  readonly around: TextAround | null
  /** The same, including the framing of the event; null = chunks have padding. */
  readonly framed: { readonly head: Buffer; readonly tail: Buffer } | null
}

/** Consecutive events of the learned form, taken together. */
export interface SplicedRun {
  readonly event: AnswerEvent
  /** The index at which the next event begins. */
  readonly end: number
}

/** The bytes around the text in a client's chunk, by the field of the text; null = the client reads another format. */
type Surroundings = ((field: 'content' | 'reasoning') => TextAround) | null

/**
 * The streaming fast path. The first ordinary chunk of text is parsed, and shows the bytes around the text. Later
 * chunks that differ only in their text are recognised by comparison, and the text is spliced between our own head and
 * tail. So only the JSON text of the upstream passes through. For a client that reads another format, the texts of a
 * run become one event.
 */
export class ContentSplice {
  readonly #around: Surroundings
  #form: Form | null = null

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** The client's chunk for an upstream event of the learned form; null = it has another form. */
  take(data: Buffer): AnswerEvent | null {
    const form = this.#form
    if (form === null) return null
    const { head, tail } = form
    const end = form.end === null ? data.length - tail.length : paddedTextEnd(data, tail, form.end)
    if (end <= head.length || data.compare(head, 0, head.length, 0, head.length) !== 0) return null
    if (form.end === null && data.compare(tail, 0, tail.length, end) !== 0) return null
    const content = data.subarray(head.length, end)
    const text = jsonText(content)
    if (text === null) return null
    const { around, field } = form
    return around === null
      ? saidEvent(field, text)
      : { type: 'spliced', bytes: [around.before, content, around.after], field, text }
  }

  /** The client's chunks for the whole events of the learned form that begin at `start`; null = there are none. */
  run(bytes: Buffer, start: number): SplicedRun | null {
    const form = this.#form
    const framed = form?.framed ?? null
    if (form === null || framed === null) return null
    const { head, tail } = framed
    const run = textRun(bytes, start, head, (read, at) => (isAt(read, at, tail) ? at + tail.length : -1))
    if (run === null) return null
    const { around, field } = form
    const texts = runText(bytes, run.places)
    if (around === null) return { event: saidEvent(field, decoded(texts)), end: run.end }
    const count = run.places.length / 2
    const chunks = Buffer.allocUnsafe((around.before.length + around.after.length) * count + texts.length)
    let written = 0
    let textsAt = 0
    for (let place = 0; place < run.places.length; place += 2) {
      chunks.set(around.before, written)
      written += around.before.length
      const length = (run.places[place + 1] ?? 0) - (run.places[place] ?? 0)
      for (const to = textsAt + length; textsAt < to; textsAt += 1, written += 1) chunks[written] = texts[textsAt] ?? 0
      chunks.set(around.after, written)
      written += around.after.length
    }
    return { event: { type: 'spliced', bytes: [chunks], field, text: decoded(texts) }, end: run.end }
  }

  /** Learns the form of a parsed chunk that has one choice, one text in its delta, and nothing else for the client. */
  learn(data: Buffer, chunk: RawJson): void {
    const field = textField(chunk)
    if (field === null) return
    const place = textPlace(data, field.name, field.text)
    if (place === null) return
    const { start, end: close } = place
    const ours = TEXT_FIELDS.get(field.name) ?? 'content'
    const padding = PADDINGS.find((name) => typeof chunk[name] === 'string')
    const paddingStart = padding === undefined ? -1 : textStart(data, padding)
    // Padding before the text, or padding that cannot be found, makes each head different, so nothing can be learned.
    if (padding !== undefined && paddingStart < close) return
    const paddingEnd = padding === undefined ? -1 : jsonTextEnd(data, paddingStart)
    // Copied, since a slice would keep the whole network read in memory.
    const head = Buffer.from(data.subarray(0, start))
    const tail = Buffer.from(data.subarray(close, padding === undefined ? data.length : paddingStart))
    this.#form = {
      head,
      tail,
      end: padding === undefined ? null : Buffer.from(data.subarray(paddingEnd)),
      field: ours,
      around: this.#around?.(ours) ?? null,
      framed:
        padding === undefined
          ? { head: Buffer.concat([EVENT_START, head]), tail: Buffer.concat([tail, EVENT_END]) }
          : null,
    }
  }
}

/** The event of a parsed chunk with this text. */
function saidEvent(field: 'content' | 'reasoning', text: string): AnswerEvent {
  return { type: field === 'content' ? 'text' : 'reasoning', choice: 0, text }
}

/** The only text of a chunk that could be spliced; null = the chunk has other content. */
function textField(chunk: RawJson): { readonly name: string; readonly text: string } | null {
  const choices = listOf(chunk['choices'])
  const choice = objectOf(choices[0])
  const delta = objectOf(choice?.['delta'])
  if (choices.length !== 1 || choice === null || delta === null || (chunk['usage'] ?? null) !== null) return null
  if ((choice['index'] ?? 0) !== 0 || choice['finish_reason'] || choice['logprobs']) return null
  const said = Object.entries(delta).filter(
    ([name, value]) =>
      name !== 'role' && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  const [name, text] = said[0] ?? []
  return said.length === 1 && name !== undefined && TEXT_FIELDS.has(name) && typeof text === 'string'
    ? { name, text }
    : null
}

/** The end of the text in a chunk with padding after it; -1 = it has another form. */
function paddedTextEnd(data: Buffer, tail: Buffer, end: Buffer): number {
  const at = data.lastIndexOf(tail)
  const from = at + tail.length
  const to = data.length - end.length
  if (at === -1 || to < from || to - from > PADDING_BYTES_MAX || data.compare(end, 0, end.length, to) !== 0) return -1
  for (let index = from; index < to; index += 1) if (!isPadding(data[index] ?? 0)) return -1
  return at
}

/** Whether a byte is a letter, a digit or the like, which cannot end the text and begin another field. */
function isPadding(byte: number): boolean {
  return byte >= SPACE && byte < ASCII_MAX && byte !== QUOTE && byte !== BACKSLASH
}
