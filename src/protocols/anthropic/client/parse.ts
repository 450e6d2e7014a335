import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../../base/errors.ts'
import { inputSize } from '../../../kinds/chat/parts.ts'
import { parseParameters } from '../../../kinds/chat/parameters.ts'
import type { ChatMessage, ChatRequest } from '../../../kinds/chat/request.ts'
import {
  badMessage,
  bodyObject,
  sessionIdOf,
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  numberField,
  objectField,
  quoted,
  stringField,
  type RawObject,
  wordOf,
} from '../../../kinds/fields/body-fields.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { assistantMessages, systemMessage, userMessages } from './blocks.ts'
import { type MessagesRequest, newNotes, type ReadingNotes } from './request.ts'
import { parseToolChoice, parseTools } from './tools.ts'
import type { JsonMember } from '../../../base/json-scan.ts'

const ROLES = ['user', 'assistant', 'system']
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']
const THINKING = ['enabled', 'disabled', 'adaptive', 'between_tools']
/** Fields that are read, or that mean nothing to another provider. */
const READ: ReadonlySet<string> = new Set(
  (
    'model models provider session_id max_tokens messages system tools tool_choice stop_sequences stream ' +
    'temperature top_p top_k thinking metadata service_tier output_config mcp_servers inference_geo output_format'
  ).split(' '),
)
/** Fields that name the operator's account, or refer to answers by ids that are not ours. */
const OF_THE_ACCOUNT = ['container', 'user_profile_id', 'workspace_id', 'diagnostics', 'betas']
/** Fields that make the provider write or answer beyond the request, or with another model, at separate prices. */
const UNPRICED = ['fallbacks', 'fallback_credit_token', 'billing_policy', 'compaction']
/** Fields that are sent to no provider. */
export const WITHHELD: readonly string[] = [...OF_THE_ACCOUNT, ...UNPRICED]
/** How the names of the vendor's headers begin: its version, its list of betas, and those that come. */
const VENDOR = 'anthropic-'

/** Headers that name an account, carry a key, or choose what is billed: those are ours (clients.md D-14.2). */
const OURS = /key|token|auth|cookie|org|project|workspace|account|user|profile|tier|priority|speed/
const HEADER_VALUE = /^[\x20-\x7e]{1,8192}$/
const HEADERS_MAX = 16

/** The vendor's headers that go with a body to a provider that speaks its protocol, known to us or not. */
export function passedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(VENDOR) && !OURS.test(name) && typeof value === 'string' && HEADER_VALUE.test(value)
      ? [[name, value] as const]
      : [],
  )
  return Object.fromEntries(passed.slice(0, HEADERS_MAX))
}

/** The request's facts beside its body. */
export interface MessagesSource {
  readonly headers: IncomingHttpHeaders
  /** Bytes of the body. */
  readonly bytes: number
  /** Its member `safeguards`; null = none, or more than one. */
  readonly safeguards?: JsonMember | null
}

/** Reads the body of a Messages request (clients.md 2): required fields first, then types and ranges. */
export function parseMessages(json: unknown, { headers, bytes, safeguards }: MessagesSource): MessagesRequest {
  const body = bodyObject(json)
  const notes = newNotes()
  const conversation = conversationOf(body, notes)
  const maxTokens = numberField(
    body,
    'max_tokens',
    (value) => Number.isSafeInteger(value) && value >= 1,
    'must be an integer of at least 1',
  )
  if (maxTokens === undefined) throw invalidInput('max_tokens', 'is required')
  const read = readBody(body, notes, conversation)
  return {
    ...read,
    chat: { ...read.chat, maxTokens, textBytes: textBytes(read.chat, bytes, notes) },
    headers: passedHeaders(headers),
    safeguards: safeguards?.bytes ?? null,
  }
}

/** Reads a body for counting tokens: it has no `max_tokens`. */
export function parseCountedMessages(json: unknown): ChatRequest {
  const body = bodyObject(json)
  const notes = newNotes()
  return readBody(body, notes, conversationOf(body, notes)).chat
}

function readBody(
  body: RawObject,
  notes: ReadingNotes,
  messages: readonly ChatMessage[],
): Omit<MessagesRequest, 'headers' | 'safeguards'> {
  const model = stringField(body, 'model')
  const stream = booleanField(body, 'stream') ?? false
  const tools = parseTools(body, notes)
  const { choice, parallel } = parseToolChoice(body, notes)
  const thinking = thinkingOf(body, notes)
  const output = outputOf(body, notes)
  const parameters = {
    ...parametersOf(body),
    ...reasoningOf(thinking, output),
    ...(parallel === null || tools.functions === null ? {} : { parallel_tool_calls: parallel }),
  }
  withhold(body, notes)
  const { mistyped, nativeOnly } = notes
  // Its own words would say something else than what is held for, and nobody else knows its words.
  if (mistyped !== null && nativeOnly !== null) throw badMessage(mistyped, 'must hold a file of the type that it names')
  const chat: ChatRequest = {
    model: model === undefined || model === '' ? null : model,
    fallbackModels: fallbackModelsOf(body),
    messages,
    stream,
    includeUsage: false,
    maxTokens: null,
    n: 1,
    tools: tools.functions,
    toolChoice: tools.functions === null ? null : choice,
    responseFormat: output.format,
    parameters,
    hidesReasoning: false,
    provider: parseProviderPreferences(body),
    sessionId: sessionIdOf(body),
    ...inputSize(messages, tools.functions, output.format),
  }
  return {
    chat,
    body,
    // Only the provider knows the tokens of files that we do not read.
    serverTools: tools.server ?? (notes.copiesFiles ? { callsMax: 0, searchesMax: 0, types: [] } : null),
    nativeOnly,
    isMistyped: mistyped !== null,
    untranslated: [...notes.untranslated, ...unreadFields(body)],
    withheld: [...notes.withheld],
    omitsThinking: thinking.isOmitted,
  }
}

function conversationOf(body: RawObject, notes: ReadingNotes): readonly ChatMessage[] {
  const list = field(body, 'messages')
  if (list === undefined || (Array.isArray(list) && list.length === 0))
    throw new ApiError('missing_messages', "Parameter 'messages' is required")
  if (!Array.isArray(list)) throw badMessage('messages', 'must be an array')
  const system = field(body, 'system')
  const messages = [
    ...(system === undefined ? [] : systemMessage(system, 'system', notes)),
    ...list.flatMap((raw: unknown, index) => messageOf(raw, `messages[${index}]`, notes)),
  ]
  if (messages.length === 0) throw new ApiError('missing_messages', 'messages: none of them has any content')
  return messages
}

function messageOf(raw: unknown, path: string, notes: ReadingNotes): readonly ChatMessage[] {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  const role = field(raw, 'role')
  if (typeof role !== 'string') throw badMessage(path, 'role must be a string')
  const content = field(raw, 'content')
  switch (role) {
    case 'user':
      return userMessages(content, `${path}.content`, notes)
    case 'assistant':
      return assistantMessages(content, `${path}.content`, notes)
    case 'system':
      return systemMessage(content, `${path}.content`, notes)
    default:
      throw new ApiError(
        'invalid_message_role',
        `${path}.role '${quoted(role)}' is not allowed. Allowed: ${ROLES.join(', ')}`,
      )
  }
}

function parametersOf(body: RawObject): Record<string, unknown> {
  const shared: Record<string, unknown> = {}
  const topP = field(body, 'top_p')
  const topK = numberField(
    body,
    'top_k',
    (value) => Number.isSafeInteger(value) && value >= 0,
    'must be an integer of at least 0',
  )
  shared['temperature'] = field(body, 'temperature')
  shared['service_tier'] = field(body, 'service_tier')
  // Zero means only the most likely token, as a top_k of 1 does elsewhere.
  shared['top_p'] = topP === 0 ? undefined : topP
  shared['top_k'] = topP === 0 ? 1 : topK === 0 ? undefined : topK
  const metadata = objectField(body, 'metadata')
  const user = metadata === undefined ? undefined : stringField(metadata, 'user_id', 'metadata.user_id')
  const stop = stopOf(body)
  return {
    ...parseParameters(shared),
    ...(stop.length === 0 ? {} : { stop }),
    ...(user === undefined ? {} : { user }),
  }
}

function stopOf(body: RawObject): readonly string[] {
  const list = field(body, 'stop_sequences') ?? []
  if (!Array.isArray(list)) throw invalidInput('stop_sequences', 'must be an array of non-empty strings')
  return list.map((text: unknown) => {
    if (typeof text !== 'string' || text === '')
      throw invalidInput('stop_sequences', 'must be an array of non-empty strings')
    return text
  })
}

interface ReadThinking {
  readonly reasoning: Readonly<Record<string, unknown>> | null
  readonly isOmitted: boolean
}

function thinkingOf(body: RawObject, notes: ReadingNotes): ReadThinking {
  const raw = objectField(body, 'thinking')
  if (raw === undefined) return { reasoning: null, isOmitted: false }
  const type = field(raw, 'type')
  if (typeof type !== 'string') throw invalidInput('thinking.type', `must be one of ${THINKING.join(', ')}`)
  if (!THINKING.includes(type)) notes.nativeOnly ??= { path: 'thinking.type', type: quoted(type) }
  const budget = numberField(
    raw,
    'budget_tokens',
    (value) => Number.isSafeInteger(value) && value >= 1,
    'must be an integer of at least 1',
    'thinking.budget_tokens',
  )
  const display = stringField(raw, 'display', 'thinking.display')
  if (type === 'disabled') return { reasoning: { enabled: false }, isOmitted: true }
  return {
    reasoning: { enabled: true, ...(budget === undefined ? {} : { max_tokens: budget }) },
    isOmitted: display === 'omitted',
  }
}

function reasoningOf({ reasoning }: ReadThinking, { effort }: ReadOutput): { reasoning?: RawObject } {
  if (reasoning === null && effort === null) return {}
  return { reasoning: { ...reasoning, ...(effort === null || reasoning?.['enabled'] === false ? {} : { effort }) } }
}

interface ReadOutput {
  readonly effort: string | null
  readonly format: ChatRequest['responseFormat']
}

function outputOf(body: RawObject, notes: ReadingNotes): ReadOutput {
  const raw = objectField(body, 'output_config')
  // The field's name in an earlier version.
  const given = objectField(body, 'output_format')
  const older = given === undefined ? null : formatOf(given, 'output_format')
  if (raw === undefined) return { effort: null, format: older }
  const effort = stringField(raw, 'effort', 'output_config.effort')
  const isKnown = effort === undefined || EFFORTS.includes(effort)
  if (!isKnown) notes.nativeOnly ??= { path: 'output_config.effort', type: quoted(effort) }
  const format = objectField(raw, 'format', 'output_config.format')
  return {
    effort: isKnown ? (effort ?? null) : null,
    format: format === undefined ? older : formatOf(format, 'output_config.format'),
  }
}

function formatOf(format: RawObject, path: string): Readonly<Record<string, unknown>> {
  if (field(format, 'type') !== 'json_schema') throw invalidInput(`${path}.type`, "must be 'json_schema'")
  const schema = objectField(format, 'schema', `${path}.schema`)
  if (schema === undefined) throw invalidInput(`${path}.schema`, 'is required')
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: copyObject(schema, `${path}.schema`), strict: true },
  }
}

/**
 * Fields that cost money without a price, or name an account, are sent to no provider; they are dropped where the
 * answer stays correct without them.
 */
function withhold(body: RawObject, notes: ReadingNotes): void {
  const geo = field(body, 'inference_geo')
  if (geo !== undefined && geo !== 'global')
    throw invalidInput('inference_geo', "only 'global' is offered: other places have a price of their own")
  const servers = field(body, 'mcp_servers')
  if (servers !== undefined && !(Array.isArray(servers) && servers.length === 0))
    throw invalidInput('mcp_servers', 'is not offered: call such tools from the client')
  if (field(body, 'thread') !== undefined)
    throw invalidInput('thread', 'conversations are not stored here, send all messages instead')
  const speed = field(body, 'speed')
  if (speed !== undefined && speed !== 'standard') notes.withheld.add('speed')
  for (const name of WITHHELD) if (field(body, name) !== undefined) notes.withheld.add(name)
  const management = field(body, 'context_management')
  if (management !== undefined && pricedEdits(management)) notes.withheld.add('context_management')
}

/** Only edits that clear parts of a prompt are free: others make the model write. */
function pricedEdits(management: unknown): boolean {
  const edits = isObject(management) ? field(management, 'edits') : undefined
  return !Array.isArray(edits) || !edits.every(clearsOnly)
}

export function clearsOnly(edit: unknown): boolean {
  return isObject(edit) && wordOf(field(edit, 'type')).startsWith('clear_')
}

/** Fields that a translated request leaves out. */
function unreadFields(body: RawObject): readonly string[] {
  return Object.keys(body).filter((name) => !READ.has(name) && field(body, name) !== undefined)
}

/** A byte is at most one token, so the body's size bounds the input of a provider of the protocol. */
function textBytes(chat: ChatRequest, bytes: number, notes: ReadingNotes): number {
  return Math.max(chat.textBytes, bytes - notes.mediaBytes) + notes.toolTokens
}
