import { parseChat } from '../../openai/client/chat/call.ts'
import { bodyObject, field, isObject, objectField, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { readFields, type Read } from '../../../kinds/fields/paid-body.ts'
import { CohereFields } from './schema.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'

/** Fields that chat has too, by the same names. */
const SAME: readonly string[] =
  'model models stream tools max_tokens temperature seed frequency_penalty presence_penalty provider session_id'.split(
    ' ',
  )
const READ: ReadonlySet<string> = new Set([
  ...SAME,
  ...Object.keys(CohereFields.properties),
  'messages',
  'response_format',
])

/** Reads the body of `/v2/chat` as a chat request, with the same checks. */
export function parseCohereChat(json: unknown): CohereChatRequest {
  const body = bodyObject(json)
  const { k, p, tool_choice: choice, thinking, stop_sequences: stop = [] } = readFields(CohereFields, body, '')
  const chat: Record<string, unknown> = {}
  for (const name of SAME) chat[name] = field(body, name)
  const messages = field(body, 'messages')
  chat['messages'] = Array.isArray(messages) ? messages.map(messageOf) : messages
  chat['top_k'] = k === 0 ? undefined : k
  chat['top_p'] = p
  chat['tool_choice'] = choice?.toLowerCase()
  chat['response_format'] = responseFormatOf(body)
  chat['reasoning'] = reasoningOf(thinking)
  const read = parseChat(chat)
  return {
    chat: stop.length === 0 ? read : { ...read, parameters: { ...read.parameters, stop } },
    dropped: Object.keys(body).filter((name) => !READ.has(name) && field(body, name) !== undefined),
  }
}

function messageOf(raw: unknown): unknown {
  if (!isObject(raw)) return raw
  const role = field(raw, 'role')
  const given = field(raw, 'content')
  const items: readonly unknown[] | null = Array.isArray(given) ? given : null
  const reasoning = (items ?? []).flatMap((item) =>
    isObject(item) && item['type'] === 'thinking' && typeof item['thinking'] === 'string' ? [item['thinking']] : [],
  )
  const content = items === null ? given : contentOf(items)
  const calls = field(raw, 'tool_calls')
  const message: Record<string, unknown> = { role, content: content ?? plan(raw) }
  if (role === 'tool') message['tool_call_id'] = field(raw, 'tool_call_id')
  if (role === 'assistant' && calls !== undefined) message['tool_calls'] = calls
  if (role === 'assistant' && reasoning.length > 0) message['reasoning'] = reasoning.join('')
  return message
}

/** The model's text before its tool calls. */
function plan(message: RawObject): unknown {
  return field(message, 'role') === 'assistant' ? field(message, 'tool_plan') : undefined
}

/** The text of a result's document, or its content as JSON. */
function contentOf(items: readonly unknown[]): unknown {
  const content = items.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item]
    if (item['type'] === 'thinking') return []
    return item['type'] === 'document' ? [{ type: 'text', text: documentText(field(item, 'document')) }] : [item]
  })
  return content.length === 0 ? undefined : content
}

function documentText(document: unknown): string {
  const data = isObject(document) ? (field(document, 'data') ?? document) : document
  return typeof data === 'string' ? data : JSON.stringify(data ?? null)
}

function responseFormatOf(body: RawObject): unknown {
  const format = objectField(body, 'response_format')
  const schema = format === undefined ? undefined : (field(format, 'json_schema') ?? field(format, 'schema'))
  if (format === undefined || schema === undefined || field(format, 'type') !== 'json_object') return format
  return { type: 'json_schema', json_schema: { name: 'response', schema } }
}

function reasoningOf(thinking: Read<typeof CohereFields>['thinking']): unknown {
  if (thinking === undefined) return undefined
  const { type, token_budget: budget = null } = thinking
  if (type === 'disabled') return { enabled: false }
  return budget === null ? { enabled: true } : { max_tokens: budget }
}

/** A request of Cohere's `/v2/chat`, with the equivalent chat request. */
export interface CohereChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
