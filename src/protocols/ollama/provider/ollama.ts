import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import {
  askEmbeddings,
  dimensionsOf,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
} from '../../upstream/embeddings.ts'
import { askChat, askCompletions, type ChatProtocol, type EventReader } from '../../upstream/events.ts'
import { NdjsonDecoder } from '../../wire/stream-decoders.ts'
import { failure, type AttemptFailure, billed, garbage } from '../../ports/attempt-failure.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { objectOf, textOf, listOf, parseJson, type RawJson } from '../../wire/raw-json.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { bearer } from '../../../base/http-request.ts'
import { SILENT, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { readToolCall } from '../../openai/provider/delta.ts'
import { toolCallId, toolInput } from '../../answers/tool-calls.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import type { ChatRequest, ChatTool, ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import {
  takesOf,
  type ChatCall,
  type CompletionsCall,
  type TakesParameter,
  UnsendableError,
  type JsonRequest,
  refuseSeveral,
} from '../../ports/call.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { dataOf, type MediaUrl } from '../../../kinds/fields/media.ts'

/** Far more calls than any real answer has: a bound on what a broken upstream makes us hold in memory. */
const CALLS_MAX = 256
type Read = readonly AnswerEvent[] | AttemptFailure

interface OllamaView {
  readonly generationId: string
  /** Whether the client asked not to see thinking. */
  readonly hidesReasoning: boolean
}

/** Our names of parameters that go into `options` unchanged. */
const NUMBERS: readonly (readonly [ours: string, theirs: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['min_p', 'min_p'],
  ['repetition_penalty', 'repeat_penalty'],
  ['frequency_penalty', 'frequency_penalty'],
  ['presence_penalty', 'presence_penalty'],
]

/** Levels for models that have levels; other models read any level as yes. */
const EFFORT_LEVELS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

/**
 * Reads one answer of `/api/chat`, or of `/api/generate`, whose text is in `response`. A plain answer is a stream of
 * one line.
 */
class OllamaReader implements EventReader {
  readonly #view: OllamaView
  #callCount = 0
  #started = false
  #said = false
  #done = false

  constructor(view: OllamaView) {
    this.#view = view
  }

  get state(): AnswerState {
    return this.#done ? 'done' : 'open'
  }

  message(data: Buffer): Read {
    const line = objectOf(parseJson(data))
    return line === null ? garbage('not a JSON object', data) : this.#read(line)
  }

  ended(): AttemptFailure | null {
    if (this.#done) return null
    return failure(this.#started ? 'cut' : 'garbage', null, 'the stream ended without a line that is done')
  }

  whole(body: unknown): Read {
    const answer = objectOf(body)
    if (answer === null) return failure('garbage', null, 'the answer is not a JSON object')
    const read = this.#read(answer)
    return 'reason' in read ? read : (this.ended() ?? read)
  }

  #read(line: RawJson): Read {
    const error = line['error'] ?? null
    if (error !== null) return billed(eventFailure(error), ollamaUsage(line, this.#said))
    const message = objectOf(line['message']) ?? { content: line['response'], thinking: line['thinking'] }
    const text = textOf(message['content']) ?? ''
    const thinking = textOf(message['thinking']) ?? ''
    const isShown = thinking !== '' && !this.#view.hidesReasoning
    const calls = this.#toolCalls(message)
    if (calls === null) return failure('garbage', null, 'the answer holds more tool calls than any answer has')
    this.#started = true
    this.#said ||= text !== '' || isShown || calls.length > 0
    return [
      ...(thinking === '' ? [] : [isShown ? { type: 'reasoning' as const, choice: 0, text: thinking } : SILENT]),
      ...(text === '' ? [] : [{ type: 'text' as const, choice: 0, text }]),
      ...calls,
      ...(line['done'] === true ? this.#end(line) : []),
    ]
  }

  /** Each call comes whole, with an object as its arguments; older versions give it no id. */
  #toolCalls(message: RawJson): readonly AnswerEvent[] | null {
    const events: AnswerEvent[] = []
    for (const raw of listOf(message['tool_calls'])) {
      const index = this.#callCount
      const call = readToolCall(raw, toolCallId(this.#view.generationId, 0, index))
      if (call === null) continue
      this.#callCount += 1
      if (this.#callCount > CALLS_MAX) return null
      events.push({ type: 'tool_call', choice: 0, index, id: call.id, name: call.name })
      if (call.arguments !== '') events.push({ type: 'tool_arguments', choice: 0, index, text: call.arguments })
    }
    return events
  }

  #end(line: RawJson): readonly AnswerEvent[] {
    this.#done = true
    const usage = ollamaUsage(line, this.#said)
    return [
      // An answer without content becomes an empty text.
      ...(this.#said ? [] : [{ type: 'text' as const, choice: 0, text: '' }]),
      ...(usage === null ? [] : [{ type: 'usage' as const, usage }]),
      { type: 'finish', choice: 0, native: textOf(line['done_reason']) || null },
    ]
  }
}

/**
 * The counts in the last line of an answer as disjoint meters; null = it has none. Ollama leaves out counts of zero. So
 * a prompt without a count was cached completely; but an answer with content cannot have zero output, so we count it.
 * Thinking is part of the output and has no separate count.
 */
export function ollamaUsage(line: RawJson, hasSaid: boolean): UsageReport | null {
  if ((line['prompt_eval_count'] ?? null) === null && (line['eval_count'] ?? null) === null) return null
  const tokens = new TokenReader()
  const input = tokens.added('input', line, 'prompt_eval_count')
  const output = hasSaid ? tokens.count('output', line, 'eval_count') : tokens.added('output', line, 'eval_count')
  return tokens.report({
    usage: { input, output },
    inputTokens: input,
    outputTokens: output,
  })
}

/** Parameters of Ollama's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters(
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
)

/** Ollama's own chat and embed, and its `/api/generate` for completions. */
export function createOllama({ transport, files, jobs }: AdapterPorts): Adapter {
  const protocol = ollamaProtocol
  const chat = askChat(protocol, transport)
  return {
    name: 'ollama',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    completions: askCompletions(transport, false, {
      request: generateRequest,
      reader: () => new OllamaReader({ generationId: '', hidesReasoning: true }),
      decoder: protocol.decoder,
    }),
    embeddings: askEmbeddings(ollamaEmbed, transport),
    models: askModels(OLLAMA_MODELS, jobs),
  }
}

const OLLAMA_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({
    path: '/api/tags',
    headers: bearer(apiKey),
  }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['name'])),
}

export const ollamaProtocol: ChatProtocol = {
  request: ollamaRequest,
  reader: ({ generationId, request }) =>
    new OllamaReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }),
  decoder: ({ message }) => new NdjsonDecoder(message),
}

/** Ollama's own `/api/embed`. Without `truncate: false` it would silently cut a text that exceeds its context. */
export const ollamaEmbed: EmbeddingsProtocol = {
  batchMax: () => Infinity,
  request: (call, input) => {
    const dimensions = dimensionsOf(call)
    return {
      path: '/api/embed',
      body: {
        model: call.endpoint.upstreamModel,
        input: textsOf(input),
        truncate: false,
        ...(dimensions === null ? {} : { dimensions }),
      },
      headers: bearer(call.apiKey),
    }
  },
  page: readPage,
}

/** The page of an answer of `/api/embed`, or of `/api/embeddings`, which has one vector. */
function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json) ?? {}
  const error = body['error'] ?? null
  if (error !== null) return eventFailure(error)
  const { embedding, embeddings } = body
  if (embedding === undefined && !Array.isArray(embeddings))
    return failure('garbage', null, 'the answer holds no embeddings')
  const vectors = vectorList(answer, Array.isArray(embeddings) ? embeddings : [embedding])
  return isFailure(vectors) ? vectors : { vectors, usage: tokensUsage(body, 'prompt_eval_count'), upstreamId: null }
}

function ollamaRequest(call: ChatCall): JsonRequest {
  return {
    path: '/api/chat',
    body: bodyOf(call),
    headers: bearer(call.apiKey),
  }
}

/** The request with one prompt, unchanged. */
function generateRequest({
  endpoint,
  apiKey,
  request: { chat, suffix },
  prompts,
  sendMaxTokens,
}: CompletionsCall): JsonRequest {
  refuseSeveral(chat)
  const takes = takesOf(endpoint)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(chat.parameters, takes),
  }
  const body = {
    model: endpoint.upstreamModel,
    prompt: prompts[0] ?? '',
    stream: chat.stream,
    ...(suffix === null ? {} : { suffix }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
  return { path: '/api/generate', body, headers: bearer(apiKey) }
}

function bodyOf({ endpoint, request, sendMaxTokens }: ChatCall): JsonObject {
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(request.parameters, takes),
  }
  return {
    model: endpoint.upstreamModel,
    messages: ollamaMessages(request.messages, endpoint.supportedParameters?.includes('reasoning') === true),
    // The default of the service is true.
    stream: request.stream,
    ...(takes('tools') ? toolFields(request) : {}),
    ...(takes('response_format') || takes('structured_outputs') ? formatFields(request.responseFormat) : {}),
    ...(takes('reasoning') || takes('reasoning_effort') ? thinkFields(request.parameters) : {}),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
}

/** Ollama has no choice of tools. `none` is expressed by sending no tools, a named tool by sending only that one. */
function toolFields({ tools, toolChoice }: ChatRequest): JsonObject {
  if (tools === null || toolChoice === 'none') return {}
  const named = toolChoice !== null && typeof toolChoice !== 'string' ? toolChoice.function.name : null
  const offered = named === null ? tools : tools.filter(({ function: { name } }) => name === named)
  if (offered.length === 0) throw new UnsendableError('tool_choice: names none of the tools')
  return { tools: offered.map(toolOf) }
}

function toolOf({ function: { name, description, parameters = {} } }: ChatTool): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters,
    },
  }
}

function formatFields(format: ChatRequest['responseFormat']): JsonObject {
  return format === null ? {} : { format: objectOf(objectOf(format['json_schema'])?.['schema']) ?? 'json' }
}

function thinkFields(parameters: ChatRequest['parameters']): JsonObject {
  const { thinks, effort } = reasoningWish(parameters)
  return thinks === null ? {} : { think: thinks ? (EFFORT_LEVELS.get(effort ?? '') ?? true) : false }
}

function optionFields(parameters: ChatRequest['parameters'], takes: TakesParameter): JsonObject {
  const options: Record<string, unknown> = {}
  for (const [ours, theirs] of NUMBERS) {
    const value = parameters[ours]
    if (typeof value === 'number' && takes(ours)) options[theirs] = value
  }
  const { top_k: topK, seed, stop } = parameters
  if (typeof topK === 'number' && takes('top_k')) options['top_k'] = Math.round(topK)
  // Other seeds would be refused, and no answer depends on a seed.
  if (Number.isSafeInteger(seed) && takes('seed')) options['seed'] = seed
  if (stop !== undefined && takes('stop')) options['stop'] = Array.isArray(stop) ? stop : [stop]
  return options
}

interface OllamaContent {
  readonly content: string
  readonly images?: readonly string[]
}

/**
 * The conversation in Ollama's form, in which text and images are separate. `takesReasoning`: whether the model reads
 * its earlier thinking.
 */
function ollamaMessages(messages: readonly ChatMessage[], takesReasoning: boolean): readonly JsonObject[] {
  const toolNames = new Map<string, string>()
  return messages.map((message, index) => {
    const path = `messages[${index}]`
    const said = contentOf(message.content, path)
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', ...said }
      case 'user':
        return { role: 'user', ...said }
      case 'tool':
        return { role: 'tool', ...said, ...toolReference(message, toolNames) }
      case 'assistant':
        for (const {
          id,
          function: { name },
        } of message.tool_calls ?? [])
          toolNames.set(id, name)
        return assistantMessage(message, said, path, takesReasoning)
    }
  })
}

/** Templates identify a result by the name of its tool; only newer ones know the id of the call. */
function toolReference(
  { tool_call_id: id = '', name: given }: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
): JsonObject {
  const name = toolNames.get(id) ?? given
  return { ...(name === undefined ? {} : { tool_name: name }), tool_call_id: id }
}

function assistantMessage(
  { refusal = '', reasoning = '', tool_calls: calls = [] }: ChatMessage,
  said: OllamaContent,
  path: string,
  takesReasoning: boolean,
): JsonObject {
  return {
    role: 'assistant',
    ...said,
    ...(said.content === '' && refusal !== '' ? { content: refusal } : {}),
    ...(takesReasoning && reasoning !== '' ? { thinking: reasoning } : {}),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, function: called }, index) => ({
            id,
            function: {
              name: called.name,
              arguments: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
            },
          })),
        }),
  }
}

function contentOf(content: ChatMessage['content'], path: string): OllamaContent {
  if (content === null || typeof content === 'string') return { content: content ?? '' }
  const texts: string[] = []
  const images: string[] = []
  for (const [index, part] of content.entries()) addPart(part, `${path}.content[${index}]`, texts, images)
  return { content: texts.join('\n'), ...(images.length === 0 ? {} : { images }) }
}

function addPart(part: ChatPart, path: string, texts: string[], images: string[]): void {
  switch (part.type) {
    case 'text':
      texts.push(part.text)
      return
    case 'refusal':
      texts.push(part.refusal)
      return
    case 'image_url':
      images.push(imageBytes(part.image_url.url, path))
      return
    case 'input_audio':
    case 'audio_url':
    case 'file':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no part of type ${part.type}`)
  }
}

/** The base64 data of a data URL, after its comma: Ollama accepts nothing else. */
function imageBytes(url: MediaUrl<'image'>, path: string): string {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}.image_url.url: this provider fetches no addresses. Send the image as a data URL in base64`,
    )
  return found.data
}
