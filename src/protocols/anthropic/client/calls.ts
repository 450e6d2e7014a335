import { ApiError } from '../../../base/errors.ts'
import { type JsonMember, movedInto } from '../../../base/json-scan.ts'
import { JsonBytes, jsonParts } from '../../../base/json-text.ts'
import { unlessChanged } from '../../../base/objects.ts'
import { wholeParameter } from '../../../base/query-parameters.ts'
import { isoTime } from '../../../base/time.ts'
import type { Endpoint, Model } from '../../../catalog/catalog.ts'
import { decodeDetails, isEncodedDetails, ownThought } from '../../../kinds/answer/provenance.ts'
import { fittedBudget, thoughtOf } from '../../../kinds/chat/thoughts.ts'
import { type RawObject, field, isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import { withCacheMarks } from '../../models/claude-request.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../../ports/call.ts'
import {
  type ChatOffer,
  type ClientChat,
  type ClientInput,
  type ClientSide,
  type ClientStart,
  type ClientWords,
  type ModelForms,
  type SpecialOffer,
  sessionOf,
} from '../../ports/client-call.ts'
import { WITHHELD, clearsOnly, parseCountedMessages, parseMessages } from './parse.ts'
import type { MessagesRequest, ServerTools } from './request.ts'
import { isWebSearch, usesMax } from './tools.ts'
import { MessagesWriter, PING, UnfilteredMessages, ownedStart } from './writer.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000

const ANTHROPIC_MODELS: ModelForms = {
  types: ['chat'],
  list: anthropicModelList,
  one: anthropicModel,
  paths: [],
}

const WORDS: ClientWords = {
  stop: 'stop_sequences',
  user: 'metadata.user_id',
  reasoning: 'thinking',
  response_format: 'output_config.format',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
}

const BETAS = 'anthropic-beta'
/** Tools that the provider runs and that cost only the tokens of their results. */
const TOKENS_ONLY = /^(?:web_fetch|tool_search_tool)_/

/** The client side of Messages (clients.md 2). */
export const ANTHROPIC: ClientSide = {
  calls: [{ paths: REQUEST_TYPE_TABLE.messages.paths, kind: 'chat', read: readMessages }],
  count: {
    paths: ['/v1/messages/count_tokens'],
    type: 'messages',
    read: ({ json }) => parseCountedMessages(json),
    write: (tokens) => ({ input_tokens: tokens }),
  },
  models: ANTHROPIC_MODELS,
}

function readMessages({ json, jsonMember, headers, sessionId, rawBody, requestId }: ClientInput): ClientChat {
  const request = parseMessages(json, { headers, bytes: rawBody.length, jsonMember })
  const { chat, withheld, untranslated, omitsThinking } = request
  const plain: ChatOffer = {
    hosted: request.serverTools,
    native: (start) => ({
      writer: new UnfilteredMessages({ ...start.identity, requestId }),
      dropped: droppedNatively(request, start),
      searchesMax: request.serverTools?.searchesMax ?? 0,
      ask: (sink) => ask(request, start, sink),
    }),
  }
  return {
    type: 'messages',
    chat,
    words: WORDS,
    session: sessionId ?? sessionOf(headers['x-claude-code-session-id']),
    keepAlive: PING,
    dropped: () => [...withheld, ...untranslated],
    writer: ({ identity, estimateInput }) =>
      new MessagesWriter({ ...identity, requestId }, omitsThinking, chat.stream ? estimateInput() : 0),
    own: {
      // The operator may turn it off for a service that supports only a part of the protocol.
      speaks: ({ nativeMessages = true }, adapter) =>
        nativeMessages && adapter?.messages !== undefined && !request.isMistyped,
      plain,
      special: specialOf(request, plain),
    },
  }
}

function specialOf({ nativeOnly, serverTools }: MessagesRequest, plain: ChatOffer): SpecialOffer | null {
  if (nativeOnly === null) return null
  const { path, type } = nativeOnly
  return {
    ...plain,
    serves: (endpoint, isSpoken) => isSpoken && unpricedTool(serverTools, endpoint) === null,
    absent: ['model_not_found'],
    refusal: ({ model: { id }, endpoint }, isSpoken) => {
      const unpriced = unpricedTool(serverTools, endpoint)
      if (isSpoken && unpriced !== null)
        return new ApiError(
          'invalid_input',
          `tools: '${unpriced}' is not offered with model '${id}': it has no price there. Leave it out, or run such a tool yourself`,
        )
      return new ApiError(
        'invalid_input',
        path.startsWith('tools')
          ? `${path}: '${type}' is not offered with model '${id}'. Only functions of your own are`
          : `${path}: '${type}' is offered only with models of Anthropic's protocol, not with '${id}'`,
      )
    },
  }
}

/** The type of a tool that the provider runs and that has no price at the endpoint; null = none. */
function unpricedTool(tools: ServerTools | null, { priced }: Endpoint): string | null {
  return tools?.types.find((type) => !TOKENS_ONLY.test(type) && !(isWebSearch(type) && priced.has('search'))) ?? null
}

function droppedNatively(request: MessagesRequest, { adapter, candidate, terms }: ClientStart): readonly string[] {
  const { endpoint, sendMaxTokens } = candidate
  return [
    ...request.withheld,
    ...(adapter.messagesFit?.(endpoint, request.body).changed ?? []),
    ...unlistedFields(request.body, endpoint.supportedParameters),
    ...terms.unpriced,
    ...(losesThinking(request, sendMaxTokens) ? ['thinking'] : []),
  ]
}

function ask(request: MessagesRequest, start: ClientStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId, identity, terms } = start
  const { endpoint, sendMaxTokens } = candidate
  const { signer, cacheMin } = adapter.messagesTraits?.(endpoint) ?? { signer: null, cacheMin: 0 }
  const own = nativeBody(request, {
    model: endpoint.upstreamModel,
    maxTokens: sendMaxTokens,
    cacheMarks: !terms.cacheMarks ? 'none' : endpoint.priced.has('input_cache_write_1h') ? 'all' : 'short',
    echoesThoughts: (endpoint.dialect.reasoningEcho ?? 'none') !== 'none',
    signer,
    listed: endpoint.supportedParameters,
    serviceTier: terms.serviceTier,
  })
  const { body: native, betas } = adapter.messagesFit?.(endpoint, own) ?? { body: own, betas: [] }
  return messagesOf(adapter)(
    {
      endpoint,
      apiKey,
      body: bytesOf(request, endpoint.cacheMarks === true ? withCacheMarks(native, cacheMin) : native),
      headers: withBetas(request.headers, betas),
      streaming: request.chat.stream,
      generationId,
      startOf: (event) => ownedStart(event, identity),
    },
    sink,
  )
}

function messagesOf({ name, messages }: Adapter): NonNullable<Adapter['messages']> {
  if (messages === undefined) throw new Error(`Adapter '${name}' has no messages: only those that have are asked so.`)
  return messages
}

function withBetas(headers: MessagesRequest['headers'], betas: readonly string[]): MessagesRequest['headers'] {
  const given = headers[BETAS]
  return betas.length === 0
    ? headers
    : { ...headers, [BETAS]: [...(given === undefined ? [] : [given]), ...betas].join(',') }
}

/** A field that is passed on byte for byte: reading and writing JSON may change numbers, escapes or order. */
const EXACT = 'safeguards'
/** Fields that may be long, and are not written again if nothing in them has changed. */
const LONG: readonly string[] = ['messages', 'system', 'tools']
/** A shorter field is written again as quickly. */
const LONG_BYTES_MIN = 4_096

function bytesOf(request: MessagesRequest, body: RawObject): Buffer {
  const members = Object.keys(body).flatMap((name) => {
    const member = passedMember(request, name, body[name])
    return member === null ? [] : [{ name, member, raw: new JsonBytes(member.bytes) }]
  })
  if (members.length === 0) return Buffer.from(JSON.stringify(body))
  const lifted = Object.fromEntries(members.map(({ name, raw }) => [name, raw]))
  const parts = jsonParts(
    { ...body, ...lifted },
    members.map(({ raw }) => raw),
  )
  const [longest] = members
    .map(({ member }) => member)
    .toSorted((left, right) => right.bytes.length - left.bytes.length)
  return movedInto(parts, longest ?? null)
}

/** null = the field is written again: it is short, or differs from the client's bytes. */
function passedMember({ body, member }: MessagesRequest, name: string, value: unknown): JsonMember | null {
  if (name === EXACT) return member(name)
  if (!LONG.includes(name) || value !== body[name]) return null
  const found = member(name)
  // A name that comes twice in an object counts once here: its provider might read the other value.
  return found !== null && found.bytes.length >= LONG_BYTES_MIN && keysIn(value) === found.keys ? found : null
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return inner.reduce<number>((sum, each) => sum + keysIn(each), Array.isArray(value) ? 0 : inner.length)
}

/** A model in the form of Anthropic's protocol (clients.md 2). */
function anthropicModel({ id, name, created, contextLength, maxCompletionTokens }: Model): Record<string, unknown> {
  return {
    type: 'model',
    id,
    display_name: name,
    created_at: isoTime(created * 1_000),
    max_input_tokens: contextLength,
    max_tokens: maxCompletionTokens,
  }
}

/** A page of the list of models: those after one model, or those before one. */
function anthropicModelList(models: readonly Model[], query: URLSearchParams): Record<string, unknown> {
  const limit = wholeParameter(query, 'limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT
  const after = placeOf(models, query, 'after_id')
  const before = placeOf(models, query, 'before_id')
  const start = before === null ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const end = before ?? Math.min(models.length, start + limit)
  const page = models.slice(start, end)
  return {
    data: page.map(anthropicModel),
    has_more: before === null ? end < models.length : start > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

function placeOf(models: readonly Model[], query: URLSearchParams, name: string): number | null {
  const id = query.get(name)
  if (id === null) return null
  const place = models.findIndex((model) => model.id === id)
  if (place === -1)
    throw new ApiError('invalid_input', `${name}: must be the id of a listed model, got '${id.slice(0, 100)}'`)
  return place
}

/** Facts of an endpoint that change a body. */
export interface NativeTerms {
  readonly model: string
  readonly maxTokens: number | null
  /** The cache marks that have a price at the endpoint. */
  readonly cacheMarks: 'all' | 'short' | 'none'
  /** Whether the endpoint takes its thoughts back without a signature. */
  readonly echoesThoughts: boolean
  /** The signer of the endpoint's thoughts, for `ownThought`. */
  readonly signer: string | null
  /** The parameters that the endpoint lists; null or absent = it takes all. */
  readonly listed?: readonly string[] | null
  /** The endpoint's word for the tier that is asked for; null or absent = none is sent unless the client names one. */
  readonly serviceTier?: string | null
}

/** Our own fields, fields of the operator's account, and a name that would add inherited fields. */
const REMOVED: ReadonlySet<string> = new Set(['__proto__', 'models', 'provider', 'session_id', ...WITHHELD])

/** Fields that an endpoint with a list of parameters takes only if the list has them. */
const SAMPLING: readonly string[] = ['temperature', 'top_p', 'top_k']

/** Blocks with thoughts, and the member of each that only their provider reads. */
const THOUGHTS: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
])

/**
 * The client's own body for a provider of the protocol (clients.md D-14.2): every field stays, known or unknown, except
 * those that cost money or name an account.
 */
export function nativeBody(
  { body, chat: { maxTokens: asked, stream } }: MessagesRequest,
  { model, maxTokens, cacheMarks, serviceTier = null, listed = null, ...reader }: NativeTerms,
): Record<string, unknown> {
  const native: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) if (!REMOVED.has(name)) native[name] = value
  for (const name of unlistedFields(body, listed)) delete native[name]
  native['model'] = model
  native['max_tokens'] = maxTokens ?? asked
  const thinking = fittingThinking(body['thinking'], asked, maxTokens)
  if (thinking === null) delete native['thinking']
  else if (thinking !== undefined) native['thinking'] = thinking
  native['stream'] = stream
  // Priority is the provider's default, and may have a separate price.
  if (serviceTier !== null || native['service_tier'] !== undefined)
    native['service_tier'] = serviceTier ?? 'standard_only'
  if (native['speed'] !== 'standard') delete native['speed']
  const management = clearingOnly(native['context_management'])
  if (management === null) delete native['context_management']
  else native['context_management'] = management
  const { tools, messages } = native
  if (Array.isArray(tools)) native['tools'] = unlessChanged<unknown>(tools, tools.map(boundedTool))
  if (Array.isArray(messages))
    native['messages'] = unlessChanged<unknown>(
      messages,
      messages.flatMap((message: unknown) => ownMessage(message, reader)),
    )
  return cacheMarks === 'all' ? native : markedBody(native, cacheMarks)
}

/** Fields of the client's body that the endpoint's list of parameters lacks. */
function unlistedFields(body: RawObject, listed: readonly string[] | null): readonly string[] {
  return listed === null ? [] : SAMPLING.filter((name) => body[name] !== undefined && !listed.includes(name))
}

/** `thinking` with a budget that fits a lowered `max_tokens`; null = it is left out. */
function fittingThinking(thinking: unknown, asked: number | null, maxTokens: number | null): unknown {
  const budget = isObject(thinking) ? thinking['budget_tokens'] : undefined
  if (!isObject(thinking) || typeof budget !== 'number') return thinking
  const fitted = fittedBudget(budget, asked, maxTokens)
  if (fitted === null) return null
  return fitted === budget ? thinking : { ...thinking, budget_tokens: fitted }
}

/** Whether an answer of `maxTokens` has no room for the thinking that the client asked for. */
export function losesThinking({ body, chat }: MessagesRequest, maxTokens: number | null): boolean {
  const thinking = body['thinking']
  return isObject(thinking) && fittingThinking(thinking, chat.maxTokens, maxTokens) === null
}

/**
 * The edits that only clear parts of the prompt: others make the model write, which would cost tokens that no answer
 * reports. null = no edit is left.
 */
function clearingOnly(management: unknown): RawObject | null {
  const edits = isObject(management) ? field(management, 'edits') : undefined
  if (!isObject(management) || !Array.isArray(edits)) return null
  return edits.every(clearsOnly) ? management : { ...management, edits: edits.filter(clearsOnly) }
}

function boundedTool(tool: unknown): unknown {
  const most = isObject(tool) ? usesMax(tool) : null
  return most === null || !isObject(tool) ? tool : { ...tool, max_uses: most }
}

type ThoughtReader = Pick<NativeTerms, 'signer' | 'echoesThoughts'>

/** The message without thoughts that the provider would refuse, and without the mark on the provider's own thoughts. */
function ownMessage(message: unknown, reader: ThoughtReader): readonly unknown[] {
  if (!isObject(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) return [message]
  const given: readonly unknown[] = message['content']
  const content = unlessChanged(
    given,
    given.flatMap((block) => ownBlock(block, reader)),
  )
  if (content === given) return [message]
  return content.length === 0 ? [] : [{ ...message, content }]
}

function ownBlock(block: unknown, { signer, echoesThoughts }: ThoughtReader): readonly unknown[] {
  const name = isObject(block) ? THOUGHTS.get(wordOf(block['type'])) : undefined
  if (!isObject(block) || name === undefined) return [block]
  const own = ownThought(block[name], signer)
  if (own === null) return echoesThoughts && isUnsigned(block) ? [unsigned(block)] : []
  return own === block[name] ? [block] : [{ ...block, [name]: own }]
}

/** Whether no provider of this protocol signed the thought. */
function isUnsigned({ type, signature }: RawObject): boolean {
  return type === 'thinking' && (typeof signature !== 'string' || signature === '' || isEncodedDetails(signature))
}

/**
 * A thought as its provider gave it. A signature that we made is no signature, and may contain text that the client was
 * not shown.
 */
function unsigned(block: RawObject): RawObject {
  const { signature, thinking } = block
  const details = typeof signature === 'string' ? decodeDetails(signature) : null
  const reasoning = typeof thinking === 'string' ? thinking : ''
  const thought = thoughtOf({ role: 'assistant', content: null, reasoning, reasoning_details: details ?? [] })
  return { ...block, thinking: thought, signature: '' }
}

/** Places that may have a cache mark: the body, tools, system, blocks, and blocks of results. */
function markedBody(body: Record<string, unknown>, marks: 'short' | 'none'): Record<string, unknown> {
  const marked = { ...markedOf(body, marks) }
  for (const name of ['tools', 'system']) marked[name] = markedList(marked[name], marks)
  for (const name of ['tools', 'system']) if (marked[name] === undefined) delete marked[name]
  const { messages } = marked
  if (Array.isArray(messages))
    marked['messages'] = unlessChanged<unknown>(
      messages,
      messages.map((message: unknown) => (isObject(message) ? withMarkedContent(message, marks) : message)),
    )
  return marked
}

function markedList(list: unknown, marks: 'short' | 'none'): unknown {
  if (!Array.isArray(list)) return list
  return unlessChanged<unknown>(
    list,
    list.map((item: unknown) => (isObject(item) ? withMarkedContent(markedOf(item, marks), marks) : item)),
  )
}

function withMarkedContent(holder: RawObject, marks: 'short' | 'none'): RawObject {
  const { content } = holder
  const marked = markedList(content, marks)
  return marked === content ? holder : { ...holder, content: marked }
}

function markedOf(holder: RawObject, marks: 'short' | 'none'): RawObject {
  if (!('cache_control' in holder)) return holder
  const { cache_control: mark, ...rest } = holder
  if (mark === undefined || mark === null || marks === 'none') return rest
  const isLong = isObject(mark) && mark['ttl'] === '1h'
  return isLong ? { ...rest, cache_control: { type: 'ephemeral' } } : holder
}
