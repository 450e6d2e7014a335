import { movedInto } from '../../../base/json-scan.ts'
import { JsonBytes, jsonParts } from '../../../base/json-text.ts'
import type { Endpoint } from '../../../catalog/catalog.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'
import type { Quirks, ReasoningForm } from '../../../catalog/quirks.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { isMarkedText } from '../../../kinds/answer/provenance.ts'
import { rawMessagesOf } from '../../../kinds/chat/messages.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../../../kinds/chat/request.ts'
import { thoughtOf } from '../../../kinds/chat/thoughts.ts'
import { CHAT_PARAMETERS, SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { type Adapter, type AdapterPorts, NO_PARAMETERS, VIDEO_PARAMETERS } from '../../ports/adapter.ts'
import { type AttemptFailure, failure } from '../../ports/attempt-failure.ts'
import {
  type ChatCall,
  type CompletionsCall,
  type JsonRequest,
  type UpstreamRequest,
  takesOf,
} from '../../ports/call.ts'
import { openaiResponses } from '../../responses/provider/responses.ts'
import { askEmbeddings } from '../../upstream/embeddings.ts'
import { type EventReader, askChat, askCompletions, sseMessages } from '../../upstream/events.ts'
import { type ModelListProtocol, askModels, entriesIn, listedModel } from '../../upstream/models.ts'
import { type RerankProtocol, askRerank, readRanking, topNField } from '../../upstream/rerank.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { isErrorBody } from '../../wire/error-body.ts'
import { type RawJson, listOf, objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { asksStream, fittedRequest, functionFields, functionMessages, textContent, thinkingBudget } from './quirks.ts'
import { OPENAI_IMAGE_PARAMETERS, imageEditsOf, openaiImages } from './images.ts'
import { OpenaiReader } from './reader.ts'
import { openaiSpeech, openaiTranscription } from './sound.ts'

const CHAT_PATH = '/chat/completions'
const OPENROUTER = 'openrouter.ai'

/** OpenAI's protocol and every dialect of it. */
export function createOpenai({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat = askChat(openaiChat, transport)
  return {
    name: 'openai',
    parameters: {
      ...NO_PARAMETERS,
      chat: OPENAI_PARAMETERS,
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: OPENAI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'speed', 'instructions', 'stream_format'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
      video: [...VIDEO_PARAMETERS, 'user'],
    },
    chat,
    leaves: (endpoint, request) => [
      ...(Object.keys(openaiReasoning(endpoint, request, null)).length > 0 ? [] : ['reasoning']),
      ...fittedRequest(request, endpoint).changed,
    ],
    chatImages: imagesOverChat(chat, files),
    completions: openaiCompletions(transport),
    responses: openaiResponses(transport),
    embeddings: askEmbeddings(openaiEmbeddings, transport),
    rerank: askRerank(openaiRerank, transport),
    images: openaiImages({ transport, files }),
    imageEdits: imageEditsOf,
    speech: openaiSpeech(transport),
    transcription: openaiTranscription(transport),
    models: askModels(OPENAI_MODELS, jobs),
  }
}

const OPENAI_MODELS: ModelListProtocol = {
  request: (provider, apiKey) => ({
    // OpenRouter's public list would also answer a wrong key, so its list for the key's account is read.
    path: `/models${new URL(provider.baseUrl).host === OPENROUTER ? '/user' : ''}${provider.dialect.query}`,
    headers: keyHeaders(provider.dialect, apiKey),
  }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

/** How a chat is requested, and how its answer is read. */
export const openaiChat = {
  request: (call: ChatCall): UpstreamRequest => ({
    path: CHAT_PATH + call.endpoint.provider.dialect.query,
    body: openaiBytes(call),
    headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
  }),
  reader: ({ generationId, endpoint, request, splice }: ChatCall): EventReader =>
    new OpenaiReader({ generationId, sellsSearch: endpoint.priced.has('search'), choices: request.n, splice }),
  decoder: sseMessages,
  streams: ({ request, endpoint }: ChatCall): boolean => asksStream(request, endpoint.dialect),
}

/** `/rerank` of OpenRouter, Jina, Together, Voyage and others. Documents are not requested back: we have them. */
const openaiRerank: RerankProtocol = {
  request: (call) => {
    const { endpoint, request } = call
    const { dialect } = endpoint.provider
    return {
      path: `/rerank${dialect.query}`,
      body: {
        model: endpoint.upstreamModel,
        query: request.query,
        documents: request.documents,
        ...topNField(call, dialect.names['top_n']),
      },
      headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
    }
  },
  answer: readRanking,
}

const FAILED = 'Error: '

/** Parameters of the OpenAI chat protocol and its dialects, by OpenRouter's names; an endpoint may list fewer. */
export const OPENAI_PARAMETERS: readonly string[] = Object.freeze([...CHAT_PARAMETERS, 'developer'])

/** Fields that are handled by name below, or have other names upstream. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_completion_tokens',
  'n',
  'tools',
  'tool_choice',
  'response_format',
  'developer',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
  'service_tier',
])

/**
 * The upstream's body as bytes. Long messages are copied as the client wrote them unless the service wants them in
 * another form.
 */
export function openaiBytes(call: ChatCall): Buffer {
  const { request: fitted } = fittedRequest(call.request, call.endpoint)
  const raw = takesRaw(call, fitted) ? rawMessagesOf(call.request) : null
  if (raw === null) return Buffer.from(JSON.stringify(bodyOf(call, fitted)))
  const messages = new JsonBytes(raw.bytes)
  return movedInto(jsonParts({ ...bodyOf(call, { ...fitted, messages: [] }), messages }, [messages]), raw)
}

/**
 * The upstream's body: the typed allow-list of this endpoint's parameters, and nothing else from the client (wire.md
 * D-3.6).
 */
export function openaiBody(call: ChatCall): Record<string, unknown> {
  return bodyOf(call, fittedRequest(call.request, call.endpoint).request)
}

/** The body of a request that is already fitted to its endpoint. */
function bodyOf({ endpoint, sendMaxTokens }: ChatCall, request: ChatRequest): Record<string, unknown> {
  const { dialect } = endpoint
  const supported = endpoint.supportedParameters === null ? null : new Set(endpoint.supportedParameters)
  const takes = (name: string): boolean => supported === null || supported.has(name)
  const { tools, system } = dialect
  const plain = plainResults(request.messages)
  const ordered = system === 'first' ? systemFirst(plain) : plain
  const body: Record<string, unknown> = {
    model: endpoint.upstreamModel,
    messages:
      tools === 'functions'
        ? functionMessages(ordered)
        : ordered.map((message) => upstreamMessage(message, supported, dialect)),
  }
  if (asksStream(request, dialect)) {
    body['stream'] = true
    if (dialect.streamUsage) body['stream_options'] = { include_usage: true }
  }
  if (sendMaxTokens !== null)
    body[
      supported !== null && supported.has('max_completion_tokens') && !supported.has('max_tokens')
        ? 'max_completion_tokens'
        : 'max_tokens'
    ] = sendMaxTokens
  if (request.n > 1) body['n'] = request.n
  if (tools === 'functions' && takes('tools')) Object.assign(body, functionFields(request, takes('tool_choice')))
  else if (request.tools !== null && takes('tools')) {
    body['tools'] = request.tools
    if (request.toolChoice !== null && takes('tool_choice')) body['tool_choice'] = request.toolChoice
  }
  if (request.responseFormat !== null && (takes('response_format') || takes('structured_outputs')))
    body['response_format'] = request.responseFormat
  for (const [name, value] of Object.entries(request.parameters)) {
    if (!OWN_FIELDS.has(name) && takes(name)) body[name] = value
  }
  // Only the tier that has a price is sent.
  if (request.parameters['service_tier'] !== undefined) body['service_tier'] = request.parameters['service_tier']
  Object.assign(body, openaiReasoning(endpoint, request, sendMaxTokens))
  for (const [name, value] of Object.entries(dialect.fixed ?? {})) {
    if (value === null) delete body[name]
    else body[name] = value
  }
  return body
}

/** Whether the client's own bytes of the messages can be sent: they contain no words of ours, and no thoughts. */
function takesRaw({ request: { messages }, endpoint }: ChatCall, fitted: ChatRequest): boolean {
  if (fitted.messages !== messages) return false
  const { takesMessages, tools, system } = endpoint.dialect
  const isPlain = tools === 'tools' && system === 'anywhere'
  return takesMessages || (isPlain && !messages.some(({ role }) => role === 'assistant'))
}

/** Joins all instructions into one first message: some services accept only one, and only at the beginning. */
function systemFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const isInstruction = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer'
  const instructions = messages.filter(isInstruction)
  if (instructions.length === 0) return messages
  const content = instructions.map(textContent).join('\n\n')
  return [{ role: 'system', content }, ...messages.filter((message) => !isInstruction(message))]
}

/**
 * A message for the upstream. `developer` is the newer name of `system`: an endpoint that lists its parameters gets it
 * only if the list has it.
 */
function upstreamMessage(
  message: ChatMessage,
  supported: ReadonlySet<string> | null,
  quirks: Quirks,
): Record<string, unknown> {
  const { role, content, name, tool_call_id: toolCallId, tool_calls: toolCalls, refusal, audio } = message
  const thought = role === 'assistant' ? thoughtFields(message, supported, quirks) : {}
  return {
    role: role === 'developer' && (supported === null || !supported.has('developer')) ? 'system' : role,
    // A service that wants thoughts back refuses null.
    content: 'reasoning_content' in thought ? (content ?? '') : content,
    ...(name === undefined ? {} : { name }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
    ...thought,
    ...(refusal === undefined ? {} : { refusal }),
    ...(audio === undefined ? {} : { audio }),
  }
}

/** The thoughts of an earlier turn, in the field in which the service wants them back. */
function thoughtFields(
  message: ChatMessage,
  supported: ReadonlySet<string> | null,
  { reasoningEcho: echo, reasoningBlank: blank }: Quirks,
): Record<string, unknown> {
  const { reasoning, reasoning_details: details } = message
  if (echo === 'none' || (echo === null && supported?.has('reasoning') !== true)) return {}
  if (echo === 'reasoning_content') return { reasoning_content: thoughtOf(message) || blank }
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(details === undefined ? {} : { reasoning_details: details.filter(isUnmarked) }),
  }
}

/** Whether no other provider has signed it (clients.md 2): such a signature is refused here. */
function isUnmarked(raw: unknown): boolean {
  const detail = objectOf(raw)
  return !isMarkedText(detail?.['signature']) && !isMarkedText(detail?.['data'])
}

/** The client's preference for reasoning in the spelling that the service accepts; empty = it accepts none. */
function openaiReasoning(
  endpoint: Endpoint,
  request: ChatRequest,
  maxTokens: number | null,
): Readonly<Record<string, unknown>> {
  const { reasoning_effort: given, reasoning: raw } = request.parameters
  const reasoning = objectOf(raw)
  const effort = given ?? reasoning?.['effort'] ?? (reasoning?.['enabled'] === false ? 'none' : undefined)
  if (reasoning === null && effort === undefined) return {}
  switch (formOf(endpoint, reasoning !== null)) {
    case 'effort':
      return effort === undefined ? {} : { reasoning_effort: effort }
    case 'object':
      return { reasoning: reasoning ?? { effort } }
    case 'enable_thinking':
    case 'template':
    case 'thinking':
      return thinkingSwitch(request, endpoint.dialect, maxTokens)
    case null:
      return {}
  }
}

/** `maxTokens`: the longest answer. It includes the tokens of `thinking`, but not those of Qwen's form. */
function thinkingSwitch(
  { parameters }: ChatRequest,
  dialect: Quirks,
  maxTokens: number | null,
): Readonly<Record<string, unknown>> {
  const { thinks } = reasoningWish(parameters)
  const budget = thinks === true ? thinkingBudget(parameters, dialect) : null
  if (dialect.reasoning === 'thinking') {
    const fitting = budget === null ? 0 : Math.min(budget, (maxTokens ?? Infinity) - 1)
    const type = thinks === false ? 'disabled' : 'enabled'
    return { thinking: { type, ...(fitting > 0 ? { budget_tokens: fitting } : {}) } }
  }
  if (thinks === null) return {}
  if (dialect.reasoning === 'template') return { chat_template_kwargs: { enable_thinking: thinks } }
  return { enable_thinking: thinks, ...(budget === null ? {} : { thinking_budget: budget }) }
}

/** The form of reasoning. An endpoint without a parameter list counts as OpenAI's, whose API refuses `reasoning`. */
function formOf({ dialect, supportedParameters }: Endpoint, asObject: boolean): ReasoningForm | null {
  if (dialect.reasoning !== null) return dialect.reasoning
  if (supportedParameters === null) return 'effort'
  const [object, effort] = [supportedParameters.includes('reasoning'), supportedParameters.includes('reasoning_effort')]
  if (object && (asObject || !effort)) return 'object'
  return effort ? 'effort' : null
}

/**
 * The protocol accepts only text as the result of a tool, and cannot mark a result as failed. So pictures follow the
 * results in a user message, and the text says that the tool failed.
 */
export function plainResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(isRich)) return messages
  const plain: ChatMessage[] = []
  let pictures: ChatPart[] = []
  for (const message of messages) {
    if (message.role !== 'tool') pictures = flushed(plain, pictures)
    if (!isRich(message)) {
      plain.push(message)
      continue
    }
    const parts = partsOf(message)
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const others = parts.filter((part) => part.type !== 'text')
    if (others.length > 0)
      pictures.push({ type: 'text', text: `Result of the call ${message.tool_call_id ?? ''}:` }, ...others)
    const text = texts.length === 0 && others.length > 0 ? 'See the next message.' : texts.join('\n')
    plain.push({ ...message, content: message.is_error === true ? FAILED + text : text })
  }
  flushed(plain, pictures)
  return plain
}

function isRich({ role, content, is_error: failed }: ChatMessage): boolean {
  return (
    role === 'tool' &&
    (failed === true || (Array.isArray(content) && content.some((part: ChatPart) => part.type !== 'text')))
  )
}

function partsOf({ content }: ChatMessage): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

/** Appends waiting pictures as a user message; returns an empty list for the next ones. */
function flushed(plain: ChatMessage[], pictures: ChatPart[]): ChatPart[] {
  if (pictures.length > 0) plain.push({ role: 'user', content: pictures })
  return []
}

const PATH = '/completions'
/** Parameters with the same names in completions and chat. */
const SHARED = [...SAMPLING_PARAMETERS, 'logit_bias', 'user']

/** OpenAI's legacy completions and every dialect of them. */
function openaiCompletions(transport: Transport): NonNullable<Adapter['completions']> {
  return askCompletions(transport, true, {
    request: requestOf,
    reader: ({ request, prompts }) => new CompletionsReader(request.chat.n * prompts.length),
    decoder: sseMessages,
  })
}

function requestOf({ endpoint, apiKey, request, prompts, sendMaxTokens }: CompletionsCall): JsonRequest {
  const { chat, suffix, echo, logprobs, bestOf } = request
  const { upstreamModel, provider } = endpoint
  const takes = takesOf(endpoint)
  const body: Record<string, unknown> = { model: upstreamModel, prompt: prompts.length === 1 ? prompts[0] : prompts }
  if (sendMaxTokens !== null) body['max_tokens'] = sendMaxTokens
  if (chat.n > 1) body['n'] = chat.n
  if (chat.stream) body['stream'] = true
  if (chat.stream && provider.dialect.streamUsage) body['stream_options'] = { include_usage: true }
  for (const name of SHARED) if (chat.parameters[name] !== undefined && takes(name)) body[name] = chat.parameters[name]
  if (suffix !== null) body['suffix'] = suffix
  if (echo) body['echo'] = true
  if (logprobs !== null && takes('logprobs')) body['logprobs'] = logprobs
  if (bestOf !== null) body['best_of'] = bestOf
  return { path: PATH + provider.dialect.query, body, headers: keyHeaders(provider.dialect, apiKey) }
}

/** Reads one answer of the completions protocol as one of chat. */
class CompletionsReader implements EventReader {
  readonly #chat: OpenaiReader

  constructor(choices: number) {
    this.#chat = new OpenaiReader({ generationId: '', sellsSearch: false, choices, splice: null })
  }

  get state(): AnswerState {
    return this.#chat.state
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const chunk = objectOf(parseJson(data))
    return chunk === null ? this.#chat.message(data) : this.#chat.read(asChat(chunk))
  }

  ended(): AttemptFailure | null {
    return this.#chat.ended()
  }

  whole(body: unknown, logprobs?: readonly JsonBytes[]): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    if (answer === null || (!isErrorBody(answer) && !Array.isArray(answer['choices'])))
      return failure('garbage', null, 'the answer is not a completion')
    return this.#chat.whole(asChat(answer), logprobs)
  }
}

function asChat(answer: RawJson): RawJson {
  const choices = listOf(answer['choices']).map((raw, position) => {
    const { index = null, text, ...choice } = objectOf(raw) ?? {}
    return { ...choice, index: index ?? position, message: { content: textOf(text) ?? '' } }
  })
  return { ...answer, choices }
}
