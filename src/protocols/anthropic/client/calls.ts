import type { Endpoint, Model } from '../../../catalog/catalog.ts'
import { ApiError } from '../../../base/errors.ts'
import { JsonBytes, jsonParts } from '../../../base/json-text.ts'
import { isObject } from '../../../kinds/fields/body-fields.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../../ports/call.ts'
import {
  sessionOf,
  type ChatOffer,
  type ClientChat,
  type ClientInput,
  type ClientSide,
  type ClientStart,
  type ClientWords,
  type SpecialOffer,
  type ModelForms,
} from '../../ports/client-call.ts'
import { withCacheMarks } from '../../models/claude-request.ts'
import { losesThinking, nativeBody, unlistedFields } from './native-body.ts'
import { parseCountedMessages, parseMessages } from './parse.ts'
import type { MessagesRequest, ServerTools } from './request.ts'
import { isWebSearch } from './tools.ts'
import { ownedStart, UnfilteredMessages, MessagesWriter, PING } from './writer.ts'
import { wholeParameter } from '../../../base/query-parameters.ts'
import { isoTime } from '../../../base/time.ts'

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
  const safeguards = isObject(json) && Object.hasOwn(json, 'safeguards') ? jsonMember('safeguards') : null
  const request = parseMessages(json, { headers, bytes: rawBody.length, safeguards })
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
    writer: ({ identity, countInput }) => new MessagesWriter({ ...identity, requestId }, omitsThinking, countInput),
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

/** `safeguards` is passed on byte for byte: reading and writing JSON may change numbers, escapes or order. */
function bytesOf({ safeguards }: MessagesRequest, body: Readonly<Record<string, unknown>>): Buffer {
  if (safeguards === null || body['safeguards'] === undefined) return Buffer.from(JSON.stringify(body))
  const raw = new JsonBytes(safeguards)
  return Buffer.concat(jsonParts({ ...body, safeguards: raw }, [raw]))
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
