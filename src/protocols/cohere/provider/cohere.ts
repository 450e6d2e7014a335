import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf, listOf, objectOf, parseJson, type RawJson } from '../../wire/raw-json.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../../upstream/rerank.ts'
import { askEmbeddings, type EmbeddingsProtocol, textsOf } from '../../upstream/embeddings.ts'
import { askChat, type ChatProtocol, type EventReader, type MessageDecoder } from '../../upstream/events.ts'
import { COHERE_TEXTS_MAX, cohereEmbedFields, cohereEmbedPage } from '../../models/cohere-vectors.ts'
import { cohereRequest, toolPlanEvents } from './request.ts'
import { bearer } from '../../../base/http-request.ts'
import { SILENT, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { FinishReason, UsageReport } from '../../../kinds/chat/answer.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { ToolCallDeltas } from '../../answers/tool-calls.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { NdjsonDecoder, SseDecoder } from '../../wire/stream-decoders.ts'
import { argumentsText } from '../../openai/provider/delta.ts'
import { TokenReader } from '../../answers/token-reader.ts'

/** Parameters of Cohere's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'tool_choice')

/** Cohere's own reasons for a bad end; the common ones are in wire.md D-3.2. */
const BAD_ENDS: ReadonlyMap<string, FinishReason> = new Map([
  ['ERROR', 'error'],
  ['TIMEOUT', 'error'],
  ['USER_CANCEL', 'error'],
  ['ERROR_TOXIC', 'content_filter'],
  ['ERROR_LIMIT', 'length'],
])

const BRACE = 0x7b
const DONE = Buffer.from('[DONE]')
const PLAN_LENGTH_MAX = 1_048_576
type Read = readonly AnswerEvent[] | AttemptFailure

interface CohereView {
  readonly generationId: string
  /** Whether the client asked not to see thinking and plans. */
  readonly hidesReasoning: boolean
}

/**
 * Cohere's v2 chat, embed and rerank. Every model that still runs has the newer chat protocol, so requests are never
 * written in the first one; answers in the first one can still be read.
 */
export function createCohere({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat = askChat(cohereProtocol, transport)
  return {
    name: 'cohere',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions', 'input_type'], rerank: ['top_n'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    embeddings: askEmbeddings(cohereEmbed, transport),
    rerank: askRerank(cohereRerank, transport),
    models: askModels(COHERE_MODELS, jobs),
  }
}

const COHERE_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({
    path: '/v1/models?page_size=1000',
    headers: bearer(apiKey),
  }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['name'])),
}

export const cohereProtocol: ChatProtocol = {
  request: cohereRequest,
  reader: ({ generationId, request }) =>
    new CohereReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }),
  decoder: (events) => new CohereDecoder(events),
}

/** Cohere's v2 `embed`. */
export const cohereEmbed: EmbeddingsProtocol = {
  batchMax: () => COHERE_TEXTS_MAX,
  request: (call, input) => ({
    path: '/v2/embed',
    body: { model: call.endpoint.upstreamModel, ...cohereEmbedFields(call, textsOf(input)), truncate: 'NONE' },
    headers: bearer(call.apiKey),
  }),
  page: (answer) => cohereEmbedPage(answer),
}

/** Cohere's v2 `rerank`. */
export const cohereRerank: RerankProtocol = {
  request: (call) => ({
    path: '/v2/rerank',
    body: {
      model: call.endpoint.upstreamModel,
      query: call.request.query,
      documents: call.request.documents,
      ...topNField(call),
    },
    headers: bearer(call.apiKey),
  }),
  answer: readRanking,
}

/** Reads one answer of Cohere's v2 chat protocol, or of the first one. */
class CohereReader implements EventReader {
  readonly #hidesReasoning: boolean
  readonly #calls: ToolCallDeltas
  #plan = ''
  #started = false
  #said = false
  #done = false

  constructor({ generationId, hidesReasoning }: CohereView) {
    this.#hidesReasoning = hidesReasoning
    this.#calls = new ToolCallDeltas(generationId, 0)
  }

  get state(): AnswerState {
    return this.#done ? 'done' : 'open'
  }

  message(data: Buffer): Read {
    // `[DONE]` follows the last message; it does not complete an answer that has none.
    if (data.equals(DONE)) return []
    const message = objectOf(parseJson(data))
    if (message === null) return garbage('not a JSON object', data)
    if (isError(message)) return failed(message['error'] ?? message, message)
    this.#started = true
    return message['event_type'] === undefined ? this.#step(message) : this.#older(message)
  }

  ended(): AttemptFailure | null {
    if (this.#done) return null
    return failure(this.#started ? 'cut' : 'garbage', null, 'the stream ended without message-end')
  }

  whole(body: unknown): Read {
    const answer = objectOf(body)
    if (answer === null) return failure('garbage', null, 'the answer is not a JSON object')
    if (isError(answer)) return failed(answer['error'] ?? answer, answer)
    const message = objectOf(answer['message'])
    if (message === null)
      return textOf(answer['text']) === null
        ? failure('garbage', null, 'the answer holds no message')
        : this.whole(newerAnswer(answer))
    const { content } = message
    const said =
      typeof content === 'string'
        ? this.#block({ text: content })
        : listOf(content).flatMap((block) => this.#block(objectOf(block)))
    const planned = this.#planned(textOf(message['tool_plan']) ?? '')
    const calls = this.#read(listOf(message['tool_calls']).map(indexedCall))
    if (calls === null) return tooManyCalls()
    return [origin(answer), ...said, ...planned, ...calls, ...this.#end(answer)]
  }

  /** A line of the first protocol's stream. */
  #older(line: RawJson): Read {
    const events: AnswerEvent[] = []
    for (const step of newerSteps(line)) {
      const read = this.#step(step)
      if ('reason' in read) return read
      events.push(...read)
    }
    return events
  }

  #step(message: RawJson): Read {
    const delta = objectOf(message['delta'])
    const said = objectOf(delta?.['message'])
    switch (message['type']) {
      case 'message-start':
        return [origin(message)]
      case 'content-start':
      case 'content-delta':
        return [...this.#planned(), ...this.#block(objectOf(said?.['content']))]
      case 'tool-plan-delta':
        return this.#addToPlan(textOf(said?.['tool_plan']) ?? '')
      case 'tool-call-start':
      case 'tool-call-delta': {
        const planned = this.#planned()
        const calls = this.#read([indexedCall(said?.['tool_calls'], message['index'])])
        return calls === null ? tooManyCalls() : [...planned, ...calls]
      }
      case 'message-end': {
        const error = textOf(delta?.['error']) ?? ''
        if (error !== '') return failed(error, delta)
        this.#done = true
        return [...this.#planned(), ...this.#end(delta ?? {})]
      }
      default:
        // Ends of blocks, citations, and unknown events. A citation names the result of a tool, and no address that a
        // client could follow.
        return []
    }
  }

  #read(calls: readonly RawJson[]): readonly AnswerEvent[] | null {
    const events = this.#calls.read({ tool_calls: calls })
    if (this.#calls.count > 0) this.#said = true
    return events
  }

  #block(block: RawJson | null): readonly AnswerEvent[] {
    const text = textOf(block?.['text'])
    const thinking = textOf(block?.['thinking']) ?? ''
    const isShown = thinking !== '' && !this.#hidesReasoning
    if (text !== null || isShown) this.#said = true
    return [
      ...(thinking === '' ? [] : [isShown ? { type: 'reasoning' as const, choice: 0, text: thinking } : SILENT]),
      ...(text === null ? [] : [{ type: 'text' as const, choice: 0, text }]),
    ]
  }

  #addToPlan(text: string): Read {
    this.#plan += text
    if (this.#plan.length > PLAN_LENGTH_MAX)
      return failure('too_large', null, 'the plan of tool calls is longer than any honest one')
    return text === '' ? [] : [SILENT]
  }

  /** The plan ends when other content comes. It is sent whole, so that a stream equals a plain answer. */
  #planned(plan = this.#plan): readonly AnswerEvent[] {
    this.#plan = ''
    return this.#hidesReasoning ? [] : toolPlanEvents(plan)
  }

  #end(end: RawJson): readonly AnswerEvent[] {
    const usage = cohereUsage(end['usage'])
    return [
      // An answer without content becomes an empty text.
      ...(this.#said ? [] : [{ type: 'text' as const, choice: 0, text: '' }]),
      ...(usage === null ? [] : [{ type: 'usage' as const, usage }]),
      cohereFinish(end['finish_reason']),
    ]
  }
}

/** A call with its index: by position in plain answers, by the message's index in streams. */
function indexedCall(raw: unknown, index: unknown): RawJson {
  const call = objectOf(raw)
  return { index, id: call?.['id'], function: call?.['function'] }
}

function origin(message: RawJson): AnswerEvent {
  return { type: 'origin', upstreamId: textOf(message['id']), systemFingerprint: null }
}

/** Whether it is an error: the `message` is a string in an error and an object in an answer. */
function isError(message: RawJson): boolean {
  return message['type'] === 'error' || (message['error'] ?? null) !== null || typeof message['message'] === 'string'
}

function failed(error: unknown, told: RawJson | null): AttemptFailure {
  return billed(eventFailure(error), cohereUsage(told?.['usage'] ?? told?.['meta']))
}

function tooManyCalls(): AttemptFailure {
  return failure('garbage', null, 'the answer holds more tool calls than any answer has')
}

/**
 * Decodes server-sent events, or the JSON lines of the older protocol: these begin with a brace, and no event field
 * does.
 */
class CohereDecoder implements MessageDecoder {
  readonly #events: { readonly message: (data: Buffer) => void; readonly error: (data: Buffer) => void }
  #chosen: MessageDecoder | null = null

  constructor(events: { readonly message: (data: Buffer) => void; readonly error: (data: Buffer) => void }) {
    this.#events = events
  }

  push(bytes: Buffer): boolean {
    if (bytes.length === 0) return true
    const { message, error } = this.#events
    this.#chosen ??=
      bytes[0] === BRACE ? new NdjsonDecoder(message) : new SseDecoder({ event: message, errorLine: error })
    return this.#chosen.push(bytes)
  }

  end(): void {
    this.#chosen?.end()
  }
}

/** A plain answer of the first chat protocol, which has `text` and no `message`, in the newer one's form. */
function newerAnswer(older: RawJson): RawJson {
  return {
    id: older['response_id'] ?? older['generation_id'],
    message: { content: older['text'], tool_calls: newerCalls(older) },
    finish_reason: older['finish_reason'],
    usage: older['meta'],
  }
}

/** The same for a line of its stream. Searches and citations are dropped, as in the newer protocol. */
function newerSteps(line: RawJson): readonly RawJson[] {
  const { event_type: type, text, finish_reason: reason } = line
  if (type === 'text-generation') return [{ type: 'content-delta', delta: { message: { content: { text } } } }]
  if (type !== 'stream-end') return []
  const { message, ...end } = newerAnswer(objectOf(line['response']) ?? {})
  const calls = listOf(objectOf(message)?.['tool_calls'])
  return [
    { ...end, type: 'message-start' },
    ...calls.map((call, index) => ({ type: 'tool-call-start', index, delta: { message: { tool_calls: call } } })),
    { type: 'message-end', delta: { ...end, finish_reason: reason ?? end['finish_reason'] } },
  ]
}

/** Calls of the first protocol, which have no ids, and objects as arguments. */
function newerCalls(older: RawJson): readonly RawJson[] {
  return listOf(older['tool_calls']).map((raw) => {
    const call = objectOf(raw)
    return { function: { name: call?.['name'], arguments: argumentsText(call?.['parameters']) } }
  })
}

function cohereFinish(raw: unknown): AnswerEvent {
  const native = textOf(raw) || null
  const finish = BAD_ENDS.get(native ?? '')
  return { type: 'finish', choice: 0, native, ...(finish === undefined ? {} : { finish }) }
}

/**
 * The `usage` of an answer, or the `meta` of an older one, as disjoint meters; null = it has no counts. `tokens` counts
 * everything that the model read and wrote, including cached and thinking tokens. `billed_units`, the smaller numbers
 * on the operator's bill, are used only if `tokens` is missing.
 */
export function cohereUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  const counts =
    [objectOf(usage?.['tokens']), objectOf(usage?.['billed_units'])].find(
      (candidate) => candidate !== null && isCounted(candidate),
    ) ?? null
  if (counts === null) return null
  const tokens = new TokenReader()
  const prompt = tokens.count('input', counts, 'input_tokens')
  const output = tokens.count('output', counts, 'output_tokens')
  const cached = Math.min(prompt, tokens.part(usage, 'cached_tokens'))
  return tokens.report({
    usage: { input: prompt - cached, output, ...(cached > 0 ? { cache_read: cached } : {}) },
    inputTokens: prompt,
    outputTokens: output,
    cachedTokens: cached,
  })
}

function isCounted(counts: RawJson): boolean {
  return ['input_tokens', 'output_tokens'].some((name) => (counts[name] ?? null) !== null)
}
