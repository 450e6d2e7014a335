import { ApiError } from '../../base/errors.ts'
import { contentOf } from './parts.ts'
import type { ChatMessage, ChatToolCall } from './request.ts'
import { badMessage, copyJson, field, isObject, quoted, type RawObject } from '../fields/body-fields.ts'

const ROLES: readonly ChatMessage['role'][] = ['system', 'developer', 'user', 'assistant', 'tool']

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Rebuilds `messages` field by field; the caller has made sure that the array is not empty. */
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

/** Whether an assistant message has a field that may stand in place of content. */
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
