import { ApiError } from '../../base/errors.ts'
import { contentOf } from './parts.ts'
import type { ChatMessage, ChatToolCall, ChatPart, ChatRequest, RawMessages } from './request.ts'
import { badMessage, copyJson, field, isObject, quoted, type RawObject } from '../fields/body-fields.ts'
import type { JsonMember } from '../../base/json-scan.ts'
import { ownValue } from '../../base/own-value.ts'

const ROLES: readonly ChatMessage['role'][] = ['system', 'developer', 'user', 'assistant', 'tool']

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Rebuilds `messages` field by field; the caller has checked that the array is not empty. */
export function parseMessages(messages: unknown): readonly ChatMessage[] {
  if (!Array.isArray(messages)) throw new ApiError('invalid_message_format', 'messages: must be an array')
  return messages.map((message: unknown, index) => parseMessage(message, `messages[${index}]`))
}

function parseMessage(raw: unknown, path: string): ChatMessage {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  const role = roleOf(raw, path)
  const message: Writable<ChatMessage> = { role, content: null }
  const name = text(raw, 'name', path)
  if (name !== undefined) message.name = name
  if (role === 'assistant') readAssistant(raw, message, path)
  if (role === 'tool') message.tool_call_id = toolCallId(raw, path)
  const content = contentOf(field(raw, 'content'), path)
  if (content === null && !saysSomething(message)) throw badMessage(path, 'content is required')
  message.content = content
  return message
}

function roleOf(raw: RawObject, path: string): ChatMessage['role'] {
  const given = field(raw, 'role')
  if (given === undefined) throw badMessage(path, 'role is required')
  if (typeof given !== 'string') throw badMessage(path, 'role must be a string')
  const role = ROLES.find((allowed) => allowed === given)
  if (role !== undefined) return role
  throw new ApiError(
    'invalid_message_role',
    `${path}.role '${quoted(given)}' is not allowed. Allowed: ${ROLES.join(', ')}`,
  )
}

/** Whether an assistant message has a field that may replace content. */
function saysSomething({ tool_calls, reasoning, reasoning_details, audio, refusal }: ChatMessage): boolean {
  return (
    tool_calls !== undefined ||
    reasoning !== undefined ||
    reasoning_details !== undefined ||
    audio !== undefined ||
    refusal !== undefined
  )
}

function readAssistant(raw: RawObject, message: Writable<ChatMessage>, path: string): void {
  const calls = toolCalls(field(raw, 'tool_calls'), path)
  if (calls.length > 0) message.tool_calls = calls
  const reasoning = text(raw, 'reasoning', path) ?? text(raw, 'reasoning_content', path)
  if (reasoning !== undefined) message.reasoning = reasoning
  const details = field(raw, 'reasoning_details')
  if (details !== undefined && !Array.isArray(details)) throw badMessage(path, 'reasoning_details must be an array')
  if (details !== undefined && details.length > 0)
    message.reasoning_details = details.map((detail: unknown) => copyJson(detail, `${path}.reasoning_details`))
  const refusal = text(raw, 'refusal', path)
  if (refusal !== undefined) message.refusal = refusal
  const audio = field(raw, 'audio')
  if (audio === undefined) return
  const id = isObject(audio) ? field(audio, 'id') : undefined
  if (typeof id !== 'string') throw badMessage(path, 'audio.id must be a string')
  message.audio = { id }
}

function toolCallId(raw: RawObject, path: string): string {
  const id = text(raw, 'tool_call_id', path)
  if (id === undefined || id === '') throw badMessage(path, 'tool_call_id is required for role tool')
  return id
}

function toolCalls(raw: unknown, path: string): readonly ChatToolCall[] {
  if (raw === undefined) return []
  if (!Array.isArray(raw)) throw badMessage(path, 'tool_calls must be an array')
  return raw.map((call: unknown, index) => toolCall(call, `${path}.tool_calls[${index}]`))
}

function toolCall(raw: unknown, path: string): ChatToolCall {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  const type = field(raw, 'type')
  if (type !== undefined && type !== 'function') throw badMessage(path, "type must be 'function'")
  const id = text(raw, 'id', path)
  if (id === undefined || id === '') throw badMessage(path, 'id is required')
  const called = field(raw, 'function')
  const name = isObject(called) ? field(called, 'name') : undefined
  if (!isObject(called) || typeof name !== 'string' || name === '') throw badMessage(path, 'function.name is required')
  const given = field(called, 'arguments') ?? ''
  if (typeof given !== 'string') throw badMessage(path, 'function.arguments must be a string')
  return { id, type: 'function', function: { name, arguments: given } }
}

function text(raw: RawObject, name: string, path: string): string | undefined {
  const value = field(raw, name)
  if (value === undefined || typeof value === 'string') return value
  throw badMessage(path, `${name} must be a string`)
}

/** Shorter messages are written again as quickly. */
const BYTES_MIN = 8_192

/**
 * The request with the bytes of its messages, for a provider that takes them unchanged: writing 100 kB of text again
 * costs as much as everything else done with it. `json` is the body, `member` its `messages`. Bytes are used only if
 * the request has every key in them with its value, so that nothing unchecked passes.
 */
export function withRawMessages(request: ChatRequest, json: unknown, member: JsonMember | null): ChatRequest {
  if (member === null || member.bytes.length < BYTES_MIN || !isObject(json)) return request
  if (keysKept(json['messages'], request.messages) !== member.keys) return request
  return { ...request, rawMessages: { ...member, of: request.messages } }
}

/** The messages as bytes, if they still equal the request's messages. */
export function rawMessagesOf({ messages, rawMessages }: ChatRequest): RawMessages | null {
  return rawMessages !== undefined && rawMessages.of === messages ? rawMessages : null
}

/** The number of keys in the messages; NaN if one of the messages is not passed on unchanged. */
function keysKept(messages: unknown, read: readonly ChatMessage[]): number {
  return Array.isArray(messages)
    ? messages.reduce((sum: number, message, index) => sum + keysOfMessage(message, read[index]?.content), 0)
    : Number.NaN
}

function keysOfMessage(message: unknown, content: ChatMessage['content'] | undefined): number {
  // If `content` is absent, we would send null.
  if (!isObject(message) || !Object.hasOwn(message, 'content')) return Number.NaN
  let keys = 0
  for (const [name, value] of Object.entries(message))
    keys += 1 + keysOfField(name, value, { role: message['role'], content })
  return keys
}

interface Kept {
  readonly role: unknown
  /** The content as it was read. */
  readonly content: ChatMessage['content'] | undefined
}

function keysOfField(name: string, value: unknown, { role, content }: Kept): number {
  switch (name) {
    case 'content':
      return value === null
        ? 0
        : Array.isArray(value)
          ? sumOf(value, (part, index) => keysOfPart(part, content?.[index]))
          : keysOfText(value)
    case 'tool_calls':
      return role === 'assistant' && Array.isArray(value) && value.length > 0 ? sumOf(value, keysOfCall) : Number.NaN
    case 'role':
      // Many providers are sent `system` in place of this role.
      return role === 'developer' ? Number.NaN : 0
    case 'tool_call_id':
      return role === 'tool' ? 0 : Number.NaN
    case 'name':
      return keysOfText(value)
    default:
      return Number.NaN
  }
}

/** The number of keys in a part. A picture whose address is rewritten, or that is none, is not passed on unchanged. */
function keysOfPart(part: unknown, read: ChatPart | string | undefined): number {
  if (!isObject(part)) return Number.NaN
  const { type } = part
  if (type === 'text') return keysIn(part, { type: keysOfText, text: keysOfText })
  if (type === 'image_url' && typeof read === 'object' && read.type === type)
    return keysIn(part, {
      type: keysOfText,
      image_url: (image) =>
        keysIn(image, { url: (url) => (url === read.image_url.url ? 0 : Number.NaN), detail: keysOfText }),
    })
  return Number.NaN
}

function keysOfCall(call: unknown): number {
  const keys = keysIn(call, {
    id: keysOfText,
    type: keysOfText,
    function: (called) => exactly(keysIn(called, { name: keysOfText, arguments: keysOfText }), 2),
  })
  return exactly(keys, 5)
}

type KeysOf = (value: unknown) => number

/** The number of keys in a value that may have only the allowed keys. */
function keysIn(value: unknown, allowed: Readonly<Record<string, KeysOf>>): number {
  if (!isObject(value)) return Number.NaN
  let keys = 0
  for (const [name, member] of Object.entries(value)) {
    const keysOf = ownValue(allowed, name)
    if (keysOf === undefined) return Number.NaN
    keys += 1 + keysOf(member)
  }
  return keys
}

/** 0 for a string, which has no keys; other values are not passed on unchanged. */
function keysOfText(value: unknown): number {
  return typeof value === 'string' ? 0 : Number.NaN
}

function exactly(keys: number, wanted: number): number {
  return keys === wanted ? keys : Number.NaN
}

function sumOf(values: readonly unknown[], keysOf: (value: unknown, index: number) => number): number {
  return values.reduce((sum: number, value, index) => sum + keysOf(value, index), 0)
}
