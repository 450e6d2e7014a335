import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { UNSIGNED } from '../../../kinds/chat/thoughts.ts'
import { type DataUrl, type MediaUrl, dataOf } from '../../../kinds/fields/media.ts'
import { type AnswerFormat, type AnswerMeans, declaredTools, toolWishOf } from '../../models/claude-format.ts'
import {
  MAX_TOKENS_LEAST,
  askedFormat,
  askedThinking,
  isOn,
  samplingOf,
  stopSequences,
  withCacheMarks,
} from '../../models/claude-request.ts'
import { type ModelTraits, signedThoughts, signerOf, traitsOf } from '../../models/claude-traits.ts'
import { type Block, type BlockForm, type ClaudeTurns, type Piece, claudeTurns } from '../../models/claude-turns.ts'
import { type ChatCall, type JsonRequest, UnsendableError, refuseSeveral, takesOf } from '../../ports/call.ts'
import { type RawJson, listOf, objectOf, textOf } from '../../wire/raw-json.ts'

export const MESSAGES_PATH = '/messages'
const BETAS = 'anthropic-beta'
export const ANTHROPIC_VERSION = '2023-06-01'

export function anthropicRequest(call: ChatCall): JsonRequest {
  const { body, betas } = bodyOf(call)
  const headers = { ...anthropicCredentials(call.apiKey), ...(betas.length === 0 ? {} : { [BETAS]: betas.join(',') }) }
  return { path: MESSAGES_PATH, body, headers }
}

export function anthropicCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(apiKey === null ? {} : { 'x-api-key': apiKey }) }
}

export function meansOf({ constrains, forcesTools }: ModelTraits): AnswerMeans {
  return { decodes: constrains ? 'closed' : 'none', forcesTools }
}

function bodyOf(call: ChatCall): Pick<JsonRequest, 'body'> & { readonly betas: readonly string[] } {
  const { endpoint, request } = call
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  const traits = traitsOf(endpoint.upstreamModel)
  const conversation = claudeTurns(request.messages, blockForm(signerOf(endpoint)), traits.takesPrefill)
  const turns = conversation.turns.map(({ role, parts }) => ({ role, content: parts.map(written) }))
  const format = askedFormat(call, meansOf(traits))
  const tools = toolFields(call, format, conversation, traits)
  const wished = askedThinking(call, traits, conversation, tools.isForced)
  const { effort } = wished
  const { thinking, messages, betas } = bindingOf(wished.thinking, turns, traits)
  const { temperature, topP, topK } = samplingOf(request.parameters, takes, traits.samplingParameters, isOn(wished))
  const stop = takes('stop') ? stopSequences(request.parameters['stop'], true) : null
  const words = [...(format.kind === 'words' ? [format.text] : []), ...(tools.words === null ? [] : [tools.words])]
  const system = [...conversation.system.map(written), ...words.map((text) => ({ type: 'text', text }))]
  const output = {
    ...(effort === null ? {} : { effort }),
    ...(format.kind === 'decoding' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
  const body = {
    model: endpoint.upstreamModel,
    max_tokens: call.sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_LEAST,
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...tools.fields,
    ...(thinking === null ? {} : { thinking }),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(topK === null ? {} : { top_k: topK }),
    ...(stop === null ? {} : { stop_sequences: stop }),
    ...(takes('user') ? userFields(request.parameters['user']) : {}),
    // Only the tier that has a price is sent.
    ...(request.parameters['service_tier'] === undefined ? {} : { service_tier: request.parameters['service_tier'] }),
    ...(request.stream ? { stream: true } : {}),
  }
  return { body: endpoint.cacheMarks === true ? withCacheMarks(body, traits.cacheMin) : body, betas }
}

interface ToolFields {
  readonly fields: Readonly<Record<string, unknown>>
  /** Whether the answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
  /** Words for the system text; null = none. */
  readonly words: string | null
}

function toolFields(
  call: ChatCall,
  format: AnswerFormat,
  { calledTools }: ClaudeTurns,
  traits: ModelTraits,
): ToolFields {
  const { request } = call
  const takes = takesOf(call.endpoint)
  const tools = request.tools !== null && takes('tools') ? toolsOf(request.tools, traits) : []
  const { choice, words } = toolWishOf(takes('tool_choice') ? request.toolChoice : null, traits)
  const single =
    request.parameters['parallel_tool_calls'] === false && takes('parallel_tool_calls')
      ? { disable_parallel_tool_use: true }
      : {}
  if (format.kind === 'tool') {
    const tool = { name: format.name, description: format.description, input_schema: format.schema }
    const forced =
      tools.length === 0 || choice === 'none'
        ? { type: 'tool', name: tool.name }
        : choiceOf(choice === 'auto' || choice === null ? 'required' : choice)
    return {
      fields: { tools: [...tools, tool], tool_choice: { ...forced, disable_parallel_tool_use: true } },
      isForced: true,
      words: null,
    }
  }
  const free = { isForced: false, words: null }
  if (tools.length === 0) {
    // Calls in the history need definitions, which the request no longer has.
    const known = [...calledTools].map((name) => ({ name, input_schema: { type: 'object' } }))
    return { fields: known.length === 0 ? {} : { tools: known, tool_choice: { type: 'none' } }, ...free }
  }
  if (choice === 'none') return { fields: { tools, tool_choice: { type: 'none' } }, ...free }
  if (choice === null && Object.keys(single).length === 0) return { fields: { tools }, ...free }
  return {
    fields: { tools, tool_choice: { ...choiceOf(choice ?? 'auto'), ...single } },
    isForced: choice !== null && choice !== 'auto',
    words,
  }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): Block {
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name }
  return { type: choice === 'required' ? 'any' : choice }
}

function toolsOf(tools: NonNullable<ChatRequest['tools']>, traits: ModelTraits): Block[] {
  return declaredTools(tools, meansOf(traits)).map(({ name, description, schema, strict }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: schema,
    ...(strict ? { strict } : {}),
  }))
}

function userFields(user: unknown): { metadata?: Block } {
  return typeof user === 'string' && user !== '' ? { metadata: { user_id: user } } : {}
}

/** `signer`: whose thoughts of earlier turns can be read again. */
function blockForm(signer: string | null): BlockForm {
  return {
    text: (text) => ({ type: 'text', text }),
    media: mediaBlock,
    thoughts: (details) => thinkingBlocks(details, signer),
    call: (id, name, input) => ({ type: 'tool_use', id: toolUseId(id), name, input }),
    result: (id, content, isFailed) => ({
      type: 'tool_result',
      tool_use_id: toolUseId(id),
      ...(content.length === 0 ? {} : { content }),
      ...(isFailed ? { is_error: true } : {}),
    }),
  }
}

function written({ block, ttl }: Piece): Block {
  if (ttl === undefined) return block
  return { ...block, cache_control: ttl === null ? { type: 'ephemeral' } : { type: 'ephemeral', ttl } }
}

function thinkingBlocks(details: readonly unknown[], signer: string | null): Block[] {
  const [first] = details.map(objectOf)
  if (first?.['format'] === UNSIGNED)
    return [{ type: 'thinking', thinking: textOf(first['text']) ?? '', signature: '' }]
  return signedThoughts(details, signer).map((thought) =>
    'encrypted' in thought
      ? { type: 'redacted_thinking', data: thought.encrypted }
      : { type: 'thinking', thinking: thought.text, signature: thought.signature },
  )
}

/** An id that the protocol accepts: those of other providers may contain characters that it refuses. */
function toolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

const mediaBlock: BlockForm['media'] = (part, path) => {
  if (part.type === 'image_url')
    return { type: 'image', source: imageSource(part.image_url.url, `${path}.image_url.url`) }
  if (part.type === 'file') return documentBlock(part.file, `${path}.file.file_data`)
  throw new UnsendableError(`${path}: this provider takes no ${part.type === 'video_url' ? 'video' : 'audio'}`)
}

function imageSource(url: MediaUrl<'image'>, path: string): Block {
  if (isWebUrl(url)) return { type: 'url', url }
  const { mediaType, data } = dataUrl(url, path)
  if (!IMAGE_TYPES.has(mediaType)) throw new UnsendableError(`${path}: must be a JPEG, PNG, GIF or WebP image`)
  return { type: 'base64', media_type: mediaType, data }
}

function documentBlock(
  { filename, file_data: file }: { readonly filename?: string; readonly file_data: string },
  path: string,
): Block {
  const title = filename === undefined || filename === '' ? {} : { title: filename }
  if (isWebUrl(file)) return { type: 'document', source: { type: 'url', url: file }, ...title }
  const { mediaType, data } = dataUrl(file, path)
  if (mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title }
  if (mediaType === 'text/plain')
    return {
      type: 'document',
      source: { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString('utf8') },
      ...title,
    }
  throw new UnsendableError(`${path}: must be a PDF or plain text`)
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** The image's data as base64, however it was written. */
function dataUrl<Kind extends string>(url: MediaUrl<Kind>, path: string): DataUrl<`${Kind}/${string}`>
function dataUrl(url: string, path: string): DataUrl
function dataUrl(url: string, path: string): DataUrl {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}: ${url.startsWith('data:') ? 'the data URL must be in base64' : 'must be an http or https address or a data URL'}`,
    )
  return found
}

/**
 * The beta with which a request may ask that thoughts are dropped, instead of refused, if the text before them has
 * changed.
 */
export const BINDING_BETA = 'thinking-binding-controls-2026-08-01'
const DROP = { prefix_mismatch_behavior: 'drop_block' }
const THOUGHTS: readonly unknown[] = ['thinking', 'redacted_thinking']

export interface Binding<Message> {
  /** null = no `thinking` is sent. */
  readonly thinking: RawJson | null
  readonly messages: readonly Message[]
  readonly betas: readonly string[]
}

/**
 * Newer models refuse an earlier thought if a text before it has changed: the system text, tools or messages
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, 2026-11-27). The provider is
 * asked to drop such thoughts. A request whose `thinking` is not adaptive cannot ask for that, so its thoughts are
 * removed here.
 */
export function bindingOf<Message>(
  thinking: RawJson | null,
  messages: readonly Message[],
  { bindsThinking }: Pick<ModelTraits, 'bindsThinking'>,
): Binding<Message> {
  const same = { thinking, messages, betas: [] }
  if (!bindsThinking || !messages.some(thinks) || thinking?.['block_binding'] !== undefined) return same
  const { type = 'adaptive', ...others } = thinking ?? {}
  if (type === 'adaptive') return { ...same, thinking: { type, ...others, block_binding: DROP }, betas: [BINDING_BETA] }
  return { ...same, messages: messages.flatMap(withoutThoughts) }
}

function thinks(message: unknown): boolean {
  return listOf(objectOf(message)?.['content']).some(isThought)
}

function isThought(block: unknown): boolean {
  return THOUGHTS.includes(objectOf(block)?.['type'])
}

function withoutThoughts<Message>(message: Message): readonly Message[] {
  if (!thinks(message)) return [message]
  const content = listOf(objectOf(message)?.['content']).filter((block) => !isThought(block))
  return content.length === 0 ? [] : [{ ...message, content }]
}
