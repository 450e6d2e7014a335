import { createHash } from 'node:crypto'
import type { Endpoint } from '../../catalog/catalog.ts'
import { type TraitRow, TraitTable } from '../../catalog/trait-table.ts'
import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import { type DataUrl, type MediaUrl, dataOf } from '../../kinds/fields/media.ts'
import { OPTIMIZED_TIER } from '../../tables/service-tier-table.ts'
import { type AnswerFormat, type AnswerMeans, declaredTools, toolWishOf } from '../models/claude-format.ts'
import { TURNS_MARKED, askedFormat, askedThinking, isOn, samplingOf, stopSequences } from '../models/claude-request.ts'
import { CLAUDE_TRAITS, type ModelTraits, UNASKED, signedThoughts } from '../models/claude-traits.ts'
import {
  type Block,
  type BlockForm,
  type ClaudeTurns,
  type Piece,
  claudeTurns,
  unmarked,
} from '../models/claude-turns.ts'
import { type ChatCall, type JsonRequest, UnsendableError, refuseSeveral, takesOf } from '../ports/call.ts'
import { bedrockSignature } from '../wire/aws-signature.ts'
import { listOf, objectOf, textOf } from '../wire/raw-json.ts'

const CACHE_POINT = { cachePoint: { type: 'default' } }
const NOVA_CACHE_MIN = 1_024
const UNKNOWN_TOOL = 'unknown_tool'
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

/** The protocol's format name for each media type. */
const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
])

const VIDEO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/quicktime', 'mov'],
  ['video/x-matroska', 'mkv'],
  ['video/x-flv', 'flv'],
  ['video/mpeg', 'mpeg'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', 'three_gp'],
])

const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
])

const NAME_CHARS_MAX = 200
const NAME_DEFAULT = 'document'

export function bedrockRequest(call: ChatCall, nowMs: number): JsonRequest {
  const { endpoint, request, apiKey } = call
  const path = `/model/${encodedModel(endpoint.upstreamModel)}/${request.stream ? 'converse-stream' : 'converse'}`
  const credentials = credentialHeaders(apiKey, endpoint.provider.baseUrl, path, nowMs)
  const accept = request.stream ? { accept: EVENT_STREAM } : {}
  return {
    path,
    body: bodyOf(call),
    headers:
      typeof credentials === 'function'
        ? (body) => ({ ...accept, ...credentials(body) })
        : { ...accept, ...credentials },
  }
}

/**
 * Model ids contain colons and, as ARNs, slashes. RFC 3986 leaves fewer characters unescaped than `encodeURIComponent`.
 */
function encodedModel(model: string): string {
  return encodeURIComponent(model).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function bodyOf(call: ChatCall): Record<string, unknown> {
  const { endpoint, request, sendMaxTokens } = call
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  const model = bedrockModelOf(endpoint.upstreamModel)
  const conversation = conversationOf(request, model)
  const format = askedFormat(call, model.means)
  const tools = takes('tools') ? (request.tools ?? []) : []
  const wish = toolWishOf(takes('tool_choice') ? request.toolChoice : null, model.claude ?? { forcesTools: true })
  const { toolConfig, isForced } = toolConfigOf(tools, wish.choice, format, conversation, model)
  const { claude } = model
  const thought = claude === null ? UNASKED : askedThinking(call, claude, conversation, isForced)
  const { thinking, effort } = thought
  const sampling = samplingOf(request.parameters, takes, claude?.samplingParameters ?? 2, isOn(thought))
  const inferenceConfig = {
    ...present('maxTokens', sendMaxTokens),
    ...present('temperature', sampling.temperature),
    ...present('topP', sampling.topP),
    ...present('stopSequences', takes('stop') ? stopSequences(request.parameters['stop'], claude !== null) : null),
  }
  // Claude's own fields, which the protocol passes on.
  const additional = {
    ...present('thinking', thinking),
    ...present('output_config', effort === null ? null : { effort }),
    ...present('top_k', claude === null ? null : sampling.topK),
  }
  const words = [
    ...(format.kind === 'words' ? [format.text] : []),
    ...(wish.words === null || tools.length === 0 ? [] : [wish.words]),
  ]
  const system = [...conversation.system, ...words.map((text) => ({ text }))]
  const body = {
    messages: conversation.messages,
    ...present('system', system.length === 0 ? null : system),
    ...present('inferenceConfig', filled(inferenceConfig)),
    ...present('toolConfig', toolConfig),
    ...present('additionalModelRequestFields', filled(additional)),
    ...tierFields(request.parameters['service_tier']),
    ...present('outputConfig', format.kind === 'decoding' ? { textFormat: textFormatOf(format) } : null),
  }
  return endpoint.cacheMarks === true && model.caches ? withCachePoints(body, model) : body
}

/** Only the tier that has a price is sent. */
function tierFields(tier: unknown): Block {
  if (tier === OPTIMIZED_TIER) return { performanceConfig: { latency: tier } }
  return typeof tier === 'string' ? { serviceTier: { type: tier } } : {}
}

/** Adds cache points like `withCacheMarks`: after the tools, the system text and the last two turns of the user. */
function withCachePoints(body: Block, { claude }: BedrockModel): Block {
  const { system, toolConfig } = body
  const text = JSON.stringify(body)
  if (text.length < (claude?.cacheMin ?? NOVA_CACHE_MIN) || text.includes('"cachePoint":{')) return body
  const pointed = (list: unknown): readonly unknown[] => [...listOf(list), CACHE_POINT]
  const messages = listOf(body['messages']).map((raw) => objectOf(raw) ?? {})
  const turns = messages.filter(({ role }) => role === 'user').slice(-TURNS_MARKED)
  const config = objectOf(toolConfig)
  return {
    ...body,
    messages: messages.map((turn) => (turns.includes(turn) ? { ...turn, content: pointed(turn['content']) } : turn)),
    ...(system === undefined ? {} : { system: pointed(system) }),
    // Only Claude caches tools.
    ...(config === null || claude === null ? {} : { toolConfig: { ...config, tools: pointed(config['tools']) } }),
  }
}

function present(name: string, value: unknown): Block {
  return value === null ? {} : { [name]: value }
}

function filled(fields: Block): Block | null {
  return Object.keys(fields).length === 0 ? null : fields
}

interface ToolConfig {
  /** null = the request has no tools. */
  readonly toolConfig: Block | null
  /** Whether the answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
}

/** `tools` and `choice` are the client's, as far as the endpoint accepts them. */
function toolConfigOf(
  tools: readonly ChatTool[],
  choice: ChatRequest['toolChoice'],
  format: AnswerFormat,
  conversation: BedrockConversation,
  model: BedrockModel,
): ToolConfig {
  // The protocol has no choice `none`, so tools that must not be called are left out unless the history needs them.
  const isNone = choice === 'none'
  const specs = isNone && !conversation.holdsToolBlocks ? [] : toolSpecs(tools, model)
  const known = specs.length === 0 && conversation.holdsToolBlocks ? historySpecs(conversation.calledTools) : specs
  if (format.kind === 'tool') {
    const mayCallOthers = !isNone && tools.length > 0
    const toolChoice = mayCallOthers
      ? choiceOf(choice === null || choice === 'auto' ? 'required' : choice)
      : { tool: { name: format.name } }
    const { name, description, schema } = format
    const toolSpec = { name, description, inputSchema: { json: schema } }
    return { toolConfig: { tools: [...known, { toolSpec }], toolChoice }, isForced: true }
  }
  if (known.length === 0) return { toolConfig: null, isForced: false }
  if (choice === null || isNone || specs.length === 0) return { toolConfig: { tools: known }, isForced: false }
  return { toolConfig: { tools: known, toolChoice: choiceOf(choice) }, isForced: choice !== 'auto' }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): Block {
  if (typeof choice === 'object') return { tool: { name: choice.function.name } }
  return choice === 'required' ? { any: {} } : { auto: {} }
}

function toolSpecs(tools: readonly ChatTool[], { means }: BedrockModel): Block[] {
  return declaredTools(tools, means).map(({ name, description = '', schema, strict }) => ({
    toolSpec: {
      name,
      ...(description === '' ? {} : { description }),
      inputSchema: { json: schema },
      ...(strict ? { strict } : {}),
    },
  }))
}

/** The schema is sent as a string within the JSON. */
function textFormatOf({ name, description, schema }: Extract<AnswerFormat, { readonly kind: 'decoding' }>): Block {
  const jsonSchema = {
    name: name.replaceAll(/[^a-zA-Z0-9_-]/g, '_'),
    ...(description === '' ? {} : { description }),
    schema: JSON.stringify(schema),
  }
  return { type: 'json_schema', structure: { jsonSchema } }
}

/** Calls and results in the history need definitions, even if the client no longer sends any. */
function historySpecs(calledTools: ReadonlySet<string>): Block[] {
  const names = calledTools.size === 0 ? [UNKNOWN_TOOL] : [...calledTools]
  return names.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }))
}

/** A call of InvokeModel, whose request and answer have the model's own form. */
export function invokeModel(
  { endpoint, apiKey }: { readonly endpoint: Endpoint; readonly apiKey: string | null },
  body: JsonRequest['body'],
  nowMs: number,
): JsonRequest {
  const path = `/model/${encodedModel(endpoint.upstreamModel)}/invoke`
  return { path, body, headers: credentialHeaders(apiKey, endpoint.provider.baseUrl, path, nowMs) }
}

/**
 * The headers that authenticate a request: a Bedrock API key, or a signature with
 * `ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN]`. `path` follows the provider's base address, encoded as it is sent.
 */
function credentialHeaders(
  apiKey: string | null,
  baseUrl: string,
  path: string,
  nowMs: number,
): JsonRequest['headers'] {
  if (apiKey === null) return {}
  // A key without a colon is a Bedrock API key.
  if (!/^[^:]+:[^:]/.test(apiKey)) return { authorization: `Bearer ${apiKey}` }
  return (body) => bedrockSignature(apiKey, baseUrl, path, body, nowMs)
}

const TOOL_ID_CHARS_MAX = 64

interface BedrockConversation extends Pick<ClaudeTurns, 'calledTools' | 'isPrefilled' | 'continuesWithoutThinking'> {
  readonly system: readonly Block[]
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[]
  /** Whether there are tool calls or results, which the protocol accepts only with tool definitions. */
  readonly holdsToolBlocks: boolean
}

function conversationOf({ messages }: ChatRequest, model: BedrockModel): BedrockConversation {
  const { system, turns, ...conversation } = claudeTurns(messages, blockForm(model), model.claude?.takesPrefill ?? true)
  const written = (pieces: readonly Piece[]): Block[] => pieces.flatMap((piece) => blocksOf(piece, model))
  return {
    ...conversation,
    system: written(system),
    holdsToolBlocks: turns.some(({ parts }) => parts.some(({ kind }) => kind === 'call' || kind === 'result')),
    messages: turns.map(({ role, parts }) => ({ role, content: written(withWords(parts)) })),
  }
}

function blockForm({ claude }: BedrockModel): BlockForm {
  /** Used so far: the protocol refuses duplicates. */
  const documentNames = new Set<string>()
  return {
    text: (text) => ({ text }),
    media: (part, path) => mediaBlock(part, path, documentNames),
    thoughts: (details) => (claude === null ? [] : thinkingBlocks(details)),
    call: (id, name, input) => ({ toolUse: { toolUseId: toolUseId(id), name, input } }),
    result: (id, content, isFailed) => ({
      toolResult: {
        toolUseId: toolUseId(id),
        content: content.length === 0 ? [{ text: '(no output)' }] : content,
        ...(isFailed ? { status: 'error' } : {}),
      },
    }),
  }
}

/** A block in wire form, and its cache point, which is dropped where the model has no cache: the answer is the same. */
function blocksOf({ block, ttl }: Piece, { caches, namesCacheTime }: BedrockModel): Block[] {
  if (ttl === undefined || !caches) return [block]
  return [block, { cachePoint: ttl === null || !namesCacheTime ? { type: 'default' } : { type: 'default', ttl } }]
}

function thinkingBlocks(details: readonly unknown[]): Block[] {
  return signedThoughts(details, null).map((thought) =>
    'encrypted' in thought
      ? { reasoningContent: { redactedContent: thought.encrypted } }
      : { reasoningContent: { reasoningText: thought } },
  )
}

/** An id that the protocol accepts: those of other providers may be too long or contain characters that it refuses. */
function toolUseId(id: string): string {
  return id.length > TOOL_ID_CHARS_MAX
    ? `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`
    : id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

/** Adds a text if there is none: the protocol refuses a document without text. */
function withWords(pieces: readonly Piece[]): readonly Piece[] {
  const document = pieces.map(({ block }) => objectOf(block['document'])).find((found) => found !== null) ?? null
  if (document === null || pieces.some(({ kind }) => kind === 'text')) return pieces
  return [...pieces, unmarked('text', { text: textOf(document['name']) ?? '' })]
}

function mediaBlock(part: Parameters<BlockForm['media']>[0], path: string, names: Set<string>): Block {
  switch (part.type) {
    case 'image_url':
      return sourceBlock('image', part.image_url.url, IMAGE_FORMATS, `${path}.image_url.url`)
    case 'video_url':
      return sourceBlock('video', part.video_url.url, VIDEO_FORMATS, `${path}.video_url.url`)
    case 'file':
      return documentBlock(part.file, `${path}.file.file_data`, names)
    case 'input_audio':
    case 'audio_url':
      throw new UnsendableError(`${path}: this provider takes no audio`)
  }
}

function sourceBlock<Kind extends 'image' | 'video'>(
  kind: Kind,
  url: MediaUrl<Kind>,
  formats: ReadonlyMap<string, string>,
  path: string,
): Block {
  const { mediaType, data } = dataUrl(url, path)
  const format = formats.get(mediaType)
  if (format === undefined)
    throw new UnsendableError(
      `${path}: must be ${kind === 'image' ? 'an image' : 'a video'} of one of the types ${[...formats.keys()].join(', ')}`,
    )
  return { [kind]: { format, source: { bytes: data } } }
}

function documentBlock(
  { filename = '', file_data: file }: { readonly filename?: string; readonly file_data: string },
  path: string,
  names: Set<string>,
): Block {
  const { mediaType, data } = dataUrl(file, path)
  const format = DOCUMENT_FORMATS.get(mediaType)
  if (format === undefined)
    throw new UnsendableError(`${path}: must be a PDF, CSV, Word, Excel, HTML, Markdown or plain text document`)
  return { document: { format, name: documentName(filename, names), source: { bytes: data } } }
}

/** The data as base64: an address is not fetched. */
function dataUrl(url: string, path: string): DataUrl {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}: this provider fetches no addresses, send the data itself as a data URL in base64`,
    )
  return found
}

/** A name in characters that the protocol accepts, unique in the request; it is added to `names`. */
function documentName(filename: string, names: Set<string>): string {
  const plain = filename
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replaceAll(/[^a-zA-Z0-9()[\]-]+/g, ' ')
    .trim()
  // Leaves room for a number after a repeated name.
  const base = plain.slice(0, NAME_CHARS_MAX - 10).trimEnd() || NAME_DEFAULT
  let name = base
  for (let count = 2; names.has(name); count += 1) name = `${base} (${count})`
  names.add(name)
  return name
}

/**
 * Abilities of a model. Converse is one protocol for models of many makers, and refuses with 400 what a model does not
 * accept.
 */
interface BedrockModel {
  /** null = the model is not one of Anthropic's. */
  readonly claude: ModelTraits | null
  /** Whether it accepts cache points. */
  readonly caches: boolean
  /** Whether cache points may name their lifetime. */
  readonly namesCacheTime: boolean
  /** How the model can be held to a form of its answer. */
  readonly means: AnswerMeans
}

type OtherMaker = Omit<BedrockModel, 'claude' | 'namesCacheTime'>

const FORMATS = {
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html',
  date: '2026-11-27',
}
/** Documented to decode by a schema. A tool for the answer would have to be forced, which these models refuse. */
const DECODES: OtherMaker = { caches: false, means: { decodes: 'all', forcesTools: false } }
const PLAIN: OtherMaker = { caches: false, means: { decodes: 'none', forcesTools: false } }
const MAKERS = ['qwen', 'deepseek', 'mistral', 'google', 'nvidia', 'minimax', 'minimaxai', 'moonshot', 'moonshotai']

/** Models of other makers, by the maker's word in the name. */
export const BEDROCK_TRAITS = new TraitTable<OtherMaker>([
  {
    of: 'amazon nova',
    traits: { caches: true, means: { decodes: 'none', forcesTools: true } },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    date: '2026-11-27',
  },
  ...[...MAKERS, 'openai', 'zai'].map((of): TraitRow<OtherMaker> => ({ of, traits: DECODES, ...FORMATS })),
])

const INVOKE = {
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html',
  date: '2026-11-27',
}

/**
 * The form of the body that InvokeModel takes for vectors and rankings; Titan's models and those of other makers have
 * no row.
 */
export const INVOKE_TRAITS = new TraitTable<'cohere' | 'nova'>([
  { of: 'cohere', traits: 'cohere', ...INVOKE },
  { of: 'nova', traits: 'nova', ...INVOKE },
])

/** The abilities by the model's name, since the protocol does not report them. */
export function bedrockModelOf(upstreamModel: string): BedrockModel {
  const claude = CLAUDE_TRAITS.of(upstreamModel)
  if (claude === null) return { claude, namesCacheTime: false, ...(BEDROCK_TRAITS.of(upstreamModel) ?? PLAIN) }
  const { constrainsAtBedrock, forcesTools } = claude
  return {
    claude,
    caches: true,
    namesCacheTime: claude.constrains,
    means: { decodes: constrainsAtBedrock ? 'closed' : 'none', forcesTools },
  }
}
