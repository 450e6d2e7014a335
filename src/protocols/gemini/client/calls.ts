import { ApiError } from '../../../base/errors.ts'
import { wholeParameter } from '../../../base/query-parameters.ts'
import type { Model } from '../../../catalog/catalog.ts'
import { type RawObject, isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../../ports/call.ts'
import type {
  ChatOffer,
  ChatTerms,
  ClientCall,
  ClientChat,
  ClientInput,
  ClientSide,
  ClientStart,
  ClientWords,
  ModelForms,
  SpecialOffer,
} from '../../ports/client-call.ts'
import { member, spellings } from '../members.ts'
import { ownSignature } from '../signed-parts.ts'
import { embedBody, parseBatchEmbed, parseEmbedContent } from './embed.ts'
import { parseCountTokens, parseGenerateContent } from './parse.ts'
import { type GenerateContentRequest, WITHHELD, WITHHELD_CONFIG } from './request.ts'
import { isSearch } from './tools.ts'
import { GeminiWriter, UnfilteredGemini, ownedChunk } from './writer.ts'

const PAGE_DEFAULT = 50
const PAGE_MAX = 1_000

/** Methods of the protocol, by the type of models that serve them. */
const METHODS: ReadonlyMap<Model['type'], readonly string[]> = new Map([
  ['chat', ['generateContent', 'streamGenerateContent', 'countTokens']],
  ['embeddings', ['embedContent', 'batchEmbedContents']],
])

const GEMINI_MODELS: ModelForms = {
  types: [...METHODS.keys()],
  list: geminiModelList,
  one: geminiModel,
  paths: ['/v1beta/models', '/v1alpha/models'],
}

/** Events have no numbers, since not every client of the protocol ignores further fields of an event. */
const TYPES = { sse: 'text/event-stream; charset=utf-8', array: 'application/json; charset=utf-8' } as const

const WORDS: ClientWords = {
  n: 'generationConfig.candidateCount',
  temperature: 'generationConfig.temperature',
  top_p: 'generationConfig.topP',
  top_k: 'generationConfig.topK',
  presence_penalty: 'generationConfig.presencePenalty',
  frequency_penalty: 'generationConfig.frequencyPenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  reasoning: 'generationConfig.thinkingConfig',
  response_format: 'generationConfig.responseSchema',
  modalities: 'generationConfig.responseModalities',
  audio: 'generationConfig.speechConfig',
  tool_choice: 'toolConfig',
  service_tier: 'serviceTier',
}

/** Some of these clients take a comment of an event stream for an answer; all ignore an empty line. */
const EMPTY_LINE = Buffer.from('\r\n')

/** The calls of the protocol (clients.md 4). */
const CALLS: readonly ClientCall[] = [
  { ...pathsOf('generateContent'), kind: 'chat', read: (input) => readContent(input, false) },
  { ...pathsOf('streamGenerateContent'), kind: 'chat', read: (input) => readContent(input, true) },
  {
    ...pathsOf('embedContent'),
    kind: 'embeddings',
    read: ({ json, params }) => parseEmbedContent(json, params['model'] ?? ''),
    write: embedBody(false),
  },
  {
    ...pathsOf('batchEmbedContents'),
    kind: 'embeddings',
    read: ({ json, params }) => parseBatchEmbed(json, params['model'] ?? ''),
    write: embedBody(true),
  },
]

function pathsOf(word: string): Pick<ClientCall, 'paths'> & { readonly protocol: 'gemini' } {
  const { paths } = REQUEST_TYPE_TABLE.generate_content
  return { protocol: 'gemini', paths: paths.map((path) => path.replace('generateContent', word)) }
}

export const GEMINI: ClientSide = {
  calls: CALLS,
  count: {
    ...pathsOf('countTokens'),
    type: 'generate_content',
    read: ({ json, params }) => parseCountTokens(json, params['model'] ?? ''),
    write: (totalTokens) => ({ totalTokens }),
  },
  models: GEMINI_MODELS,
}

function readContent({ json, params, query }: ClientInput, stream: boolean): ClientChat {
  // A stream without `alt=sse` is one JSON array, whose items are the chunks.
  const framing = query().get('alt') === 'sse' ? 'sse' : 'array'
  const request = parseGenerateContent(json, { model: params['model'] ?? '', stream, framing })
  const plain: ChatOffer = {
    hosted: null,
    native: (start) => {
      const { body, changed } = nativeOf(request, start)
      return {
        writer: new UnfilteredGemini(start.identity, request),
        dropped: [...dropped(request, start.terms), ...changed, ...start.terms.unpriced],
        ask: (sink) => ask(request, body, start, sink),
      }
    },
  }
  return {
    type: 'generate_content',
    chat: request.chat,
    words: WORDS,
    contentType: TYPES[framing],
    keepAlive: EMPTY_LINE,
    dropped: (terms) => [...dropped(request, terms), ...request.untranslated],
    writer: ({ identity }) => new GeminiWriter(identity, request),
    own: {
      speaks: (_endpoint, adapter) => adapter?.generateContent !== undefined && !request.isMistyped,
      plain,
      special: specialOf(request, plain),
    },
  }
}

function dropped({ withheld, search }: GenerateContentRequest, { searches }: ChatTerms): readonly string[] {
  return search === null || searches ? withheld : [...withheld, `tools.${search}`]
}

function specialOf({ needsSearch, nativeOnly, search }: GenerateContentRequest, plain: ChatOffer): SpecialOffer | null {
  if (!needsSearch && nativeOnly === null) return null
  return {
    ...plain,
    serves: (_endpoint, isSpoken, { searches }) => (!needsSearch || searches) && (nativeOnly === null || isSpoken),
    absent: ['model_not_found'],
    refusal: ({ model: { id } }) =>
      new ApiError(
        'invalid_input',
        nativeOnly !== null
          ? `${nativeOnly.path}: '${nativeOnly.value}' is offered only with models of Gemini's protocol, not with '${id}'`
          : `tools: '${search ?? ''}' is not offered with model '${id}': it has no price there. Only functions of your own are`,
      ),
  }
}

type ContentFit = ReturnType<NonNullable<Adapter['contentFit']>>

/** The client's own body within our limits, in the form that the endpoint's model accepts. */
function nativeOf(request: GenerateContentRequest, { adapter, candidate, terms }: ClientStart): ContentFit {
  const { endpoint, sendMaxTokens } = candidate
  const body = nativeBody(request, {
    maxTokens: sendMaxTokens,
    searches: terms.searches,
    signer: adapter.contentSigner?.(endpoint) ?? null,
    modalities: terms.modalities ?? ['text'],
  })
  return adapter.contentFit?.(endpoint, body) ?? { body, changed: [] }
}

function ask(
  { chat }: GenerateContentRequest,
  body: ContentFit['body'],
  { adapter, candidate: { endpoint }, apiKey, generationId, identity, terms }: ClientStart,
  sink: AnswerSink,
): RunningCall {
  if (adapter.generateContent === undefined)
    throw new Error(`Adapter '${adapter.name}' has no generateContent: only those that have are asked so.`)
  return adapter.generateContent(
    {
      endpoint,
      apiKey,
      body,
      streaming: chat.stream,
      serviceTier: terms.serviceTier,
      candidates: chat.n,
      searches: terms.searches,
      generationId,
      owned: (chunk) => ownedChunk(chunk, identity),
    },
    sink,
  )
}

/** A model in the form of Gemini's protocol (clients.md 4). */
function geminiModel(model: Model): Record<string, unknown> {
  const { id, name, description, contextLength, maxCompletionTokens, type } = model
  const outputMax = maxCompletionTokens ?? contextLength
  return {
    name: `models/${id}`,
    version: '1',
    displayName: name,
    description: description ?? '',
    ...(contextLength === null ? {} : { inputTokenLimit: contextLength }),
    ...(outputMax === null ? {} : { outputTokenLimit: outputMax }),
    supportedGenerationMethods: METHODS.get(type) ?? [],
  }
}

/** A page of the list of models. Its token is the position of the next page. */
function geminiModelList(models: readonly Model[], query: URLSearchParams): Record<string, unknown> {
  const size = Math.min(wholeParameter(query, 'pageSize', 0, Number.MAX_SAFE_INTEGER) || PAGE_DEFAULT, PAGE_MAX)
  const token = query.get('pageToken') ?? ''
  if (!/^\d{0,9}$/.test(token))
    throw new ApiError('invalid_input', `pageToken: must be one of a page before, got '${token.slice(0, 100)}'`)
  const start = Number(token)
  const end = start + size
  return {
    models: models.slice(start, end).map(geminiModel),
    ...(end < models.length ? { nextPageToken: String(end) } : {}),
  }
}

/** Facts of an endpoint that change a body. */
export interface NativeTerms {
  readonly maxTokens: number | null
  /** Whether searches have a price at the endpoint. */
  readonly searches: boolean
  /** Kinds of output that have a price at the endpoint; null = as requested. */
  readonly modalities: readonly string[] | null
  /** The signer of the endpoint's signatures; null = the Gemini API, whose own signatures have no mark. */
  readonly signer: string | null
}

/** Our own fields, fields of the operator's account, and fields with a separate price. */
const REMOVED: ReadonlySet<string> = new Set([
  'model',
  'models',
  'provider',
  'session_id',
  'sessionId',
  ...[...WITHHELD, 'serviceTier'].flatMap(spellings),
])
const REMOVED_CONFIG: ReadonlySet<string> = new Set(WITHHELD_CONFIG.flatMap(spellings))

/**
 * The client's own body for a provider of the protocol (clients.md D-14.2): every field stays, known or unknown, except
 * those that cost money or name an account.
 */
export function nativeBody({ body }: GenerateContentRequest, terms: NativeTerms): Record<string, unknown> {
  const native: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) if (!REMOVED.has(name)) native[name] = value
  const config = configOf(member(body, 'generationConfig'), terms)
  delete native['generation_config']
  if (Object.keys(config).length > 0) native['generationConfig'] = config
  const tools = toolsOf(native['tools'], terms)
  if (tools.length > 0) native['tools'] = tools
  else {
    delete native['tools']
    delete native['toolConfig']
    delete native['tool_config']
  }
  const contents = native['contents']
  if (Array.isArray(contents))
    native['contents'] = contents.map((content: unknown) => ownContent(content, terms.signer))
  else if (isObject(contents)) native['contents'] = [ownContent(contents, terms.signer)]
  return native
}

function configOf(given: unknown, { maxTokens, modalities }: NativeTerms): Record<string, unknown> {
  const config: Record<string, unknown> = {}
  if (isObject(given))
    for (const [name, value] of Object.entries(given)) if (!REMOVED_CONFIG.has(name)) config[name] = value
  delete config['max_output_tokens']
  if (maxTokens === null) delete config['maxOutputTokens']
  else config['maxOutputTokens'] = maxTokens
  const asked = member(config, 'responseModalities')
  if (!Array.isArray(asked) || modalities === null) return config
  delete config['response_modalities']
  const kept = asked.filter((name: unknown) => modalities.includes(wordOf(name).toLowerCase()))
  if (kept.length === 0) delete config['responseModalities']
  else config['responseModalities'] = kept
  return config
}

/** The client's functions, and searches if they have a price. */
function toolsOf(tools: unknown, { searches }: NativeTerms): readonly RawObject[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => {
    if (!isObject(tool)) return []
    const kept = Object.entries(tool).filter(
      ([name]) => name === 'functionDeclarations' || name === 'function_declarations' || (searches && isSearch(name)),
    )
    return kept.length === 0 ? [] : [Object.fromEntries(kept)]
  })
}

/**
 * The content without signatures of other models and providers, which would be refused, and without the mark on the
 * provider's own.
 */
function ownContent(content: unknown, signer: string | null): unknown {
  const parts = isObject(content) ? content['parts'] : null
  if (!isObject(content) || !Array.isArray(parts)) return content
  return { ...content, parts: parts.map((part: unknown) => ownPart(part, signer)) }
}

function ownPart(part: unknown, signer: string | null): unknown {
  const signature = isObject(part) ? member(part, 'thoughtSignature') : undefined
  if (!isObject(part) || typeof signature !== 'string') return part
  const own = ownSignature(signature, signer)
  if (own === signature) return part
  const { thoughtSignature: _own, thought_signature: _python, ...rest } = part
  return own === null ? rest : { ...rest, thoughtSignature: own }
}
