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
  field,
  invalidInput,
  isObject,
  quoted,
  stringField,
  type RawObject,
  wordOf,
} from '../../../kinds/fields/body-fields.ts'
import { readFields, readValue, type Read } from '../../../kinds/fields/paid-body.ts'
import { MAX_TOKENS, MessagesBody, MessagesFields, THINKING } from './schema.ts'
import { given } from '../../../base/objects.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { assistantMessages, systemMessage, userMessages } from './blocks.ts'
import { type MessagesRequest, newNotes, type ReadingNotes } from './request.ts'
import { parseToolChoice, parseTools } from './tools.ts'
import type { JsonMember } from '../../../base/json-scan.ts'

const ROLES = ['user', 'assistant', 'system']
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']
/** Fields that are read, or that mean nothing to another provider. */
const READ: ReadonlySet<string> = new Set([...Object.keys(MessagesBody.properties), 'session_id', 'service_tier'])
/** Fields that name the operator's account, or refer to answers by ids that are not ours. */
const OF_THE_ACCOUNT = ['container', 'user_profile_id', 'workspace_id', 'diagnostics', 'betas']
/** Fields that make the provider answer beyond the request, or with another model, each at a separate price. */
const UNPRICED = ['fallbacks', 'fallback_credit_token', 'billing_policy', 'compaction']
/** Fields that are sent to no provider. */
export const WITHHELD: readonly string[] = [...OF_THE_ACCOUNT, ...UNPRICED]
/** The prefix of the vendor's headers: its version, its list of betas, and headers of the future. */
const VENDOR = 'anthropic-'

/** Headers that name an account, carry a key, or choose what is billed: we set these ourselves (clients.md D-14.2). */
const OURS = /key|token|auth|cookie|org|project|workspace|account|user|profile|tier|priority|speed/
const HEADER_VALUE = /^[\x20-\x7e]{1,8192}$/
const HEADERS_MAX = 16

/** The vendor's headers sent with a body to a provider that speaks its protocol, whether we know them or not. */
export function passedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(VENDOR) && !OURS.test(name) && typeof value === 'string' && HEADER_VALUE.test(value)
      ? [[name, value] as const]
      : [],
  )
  return Object.fromEntries(passed.slice(0, HEADERS_MAX))
}

/** The parts of the request besides its body. */
export interface MessagesSource {
  readonly headers: IncomingHttpHeaders
  /** The length of the body. */
  readonly bytes: number
  /** A member of the body as its bytes; null = it occurs not at all or more than once. */
  readonly jsonMember?: (name: string) => JsonMember | null
}

/** Reads the body of a Messages request (clients.md 2): required fields first, then types and ranges. */
export function parseMessages(
  json: unknown,
  { headers, bytes, jsonMember = () => null }: MessagesSource,
): MessagesRequest {
  const body = bodyObject(json)
  const notes = newNotes()
  const conversation = conversationOf(body, notes)
  const limit = field(body, 'max_tokens')
  if (limit === undefined) throw invalidInput('max_tokens', 'is required')
  const maxTokens = readValue(MAX_TOKENS, limit, 'max_tokens')
  const read = readBody(body, notes, conversation)
  return {
    ...read,
    chat: { ...read.chat, maxTokens, textBytes: textBytes(read.chat, bytes, notes) },
    headers: passedHeaders(headers),
    member: jsonMember,
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
): Omit<MessagesRequest, 'headers' | 'member'> {
  const model = stringField(body, 'model')
  const stream = booleanField(body, 'stream') ?? false
  const tools = parseTools(body, notes)
  const { choice, parallel } = parseToolChoice(body, notes)
  const fields = readFields(MessagesFields, body, '')
  const thinking = thinkingOf(fields, notes)
  const output = outputOf(fields, notes)
  const parameters = {
    ...parametersOf(body, fields),
    ...reasoningOf(thinking, output),
    ...(parallel === null || tools.functions === null ? {} : { parallel_tool_calls: parallel }),
  }
  withhold(body, notes)
  const { mistyped, nativeOnly } = notes
  // The client's own words name another type than the one that is held for, but only a provider of the protocol
  // understands them.
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
    // Only the provider knows the tokens of files that are not read here.
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

type Fields = Read<typeof MessagesFields>

function parametersOf(
  body: RawObject,
  { top_k: topK, metadata, stop_sequences: stop = [] }: Fields,
): Record<string, unknown> {
  const topP = field(body, 'top_p')
  const user = metadata?.user_id ?? undefined
  const shared = {
    temperature: field(body, 'temperature'),
    service_tier: field(body, 'service_tier'),
    // Zero means only the most likely token, which other protocols express as a top_k of 1.
    top_p: topP === 0 ? undefined : topP,
    top_k: topP === 0 ? 1 : topK === 0 ? undefined : topK,
  }
  return {
    ...parseParameters(shared),
    ...(stop.length === 0 ? {} : { stop }),
    ...(user === undefined ? {} : { user }),
  }
}

interface ReadThinking {
  readonly reasoning: Readonly<Record<string, unknown>> | null
  readonly isOmitted: boolean
}

function thinkingOf({ thinking }: Fields, notes: ReadingNotes): ReadThinking {
  if (thinking === undefined) return { reasoning: null, isOmitted: false }
  const { type, budget_tokens: budget, display } = thinking
  if (!THINKING.includes(type)) notes.nativeOnly ??= { path: 'thinking.type', type: quoted(type) }
  if (type === 'disabled') return { reasoning: { enabled: false }, isOmitted: true }
  return { reasoning: { enabled: true, ...given({ max_tokens: budget }) }, isOmitted: display === 'omitted' }
}

function reasoningOf({ reasoning }: ReadThinking, { effort }: ReadOutput): { reasoning?: RawObject } {
  if (reasoning === null && effort === null) return {}
  return { reasoning: { ...reasoning, ...(effort === null || reasoning?.['enabled'] === false ? {} : { effort }) } }
}

interface ReadOutput {
  readonly effort: string | null
  readonly format: ChatRequest['responseFormat']
}

/** `output_format` is the field's name in an earlier version. */
function outputOf({ output_config: output, output_format: older }: Fields, notes: ReadingNotes): ReadOutput {
  const { effort = null, format = null } = output ?? {}
  const isKnown = effort === null || EFFORTS.includes(effort)
  if (!isKnown) notes.nativeOnly ??= { path: 'output_config.effort', type: quoted(effort) }
  return { effort: isKnown ? effort : null, format: format ?? older ?? null }
}

/**
 * Fields that have a cost without a price, or name an account, are sent to no provider. They are dropped if the answer
 * stays correct without them, and refused otherwise.
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

/** Whether all edits only clear parts of a prompt, which is free: other edits make the model write. */
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

/** Bytes of text. A byte is at most one token, so the body's size bounds the input of a provider with the protocol. */
function textBytes(chat: ChatRequest, bytes: number, notes: ReadingNotes): number {
  return Math.max(chat.textBytes, bytes - notes.mediaBytes) + notes.toolTokens
}
