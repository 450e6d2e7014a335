import { parseChat } from '../../openai/client/chat/parse.ts'
import {
  bodyObject,
  field,
  invalidInput,
  isObject,
  numberField,
  objectField,
  quoted,
  stringField,
  type RawObject,
} from '../../../kinds/fields/body-fields.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'

/** Fields that chat has too, with chat's names for them. */
const SAME: Readonly<Record<string, string>> = {
  model: 'model',
  models: 'models',
  stream: 'stream',
  tools: 'tools',
  max_tokens: 'max_tokens',
  temperature: 'temperature',
  seed: 'seed',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  provider: 'provider',
  session_id: 'session_id',
}
const STOPS_MAX = 5
const READ: ReadonlySet<string> = new Set([
  ...Object.keys(SAME),
  'messages',
  'stop_sequences',
  'k',
  'p',
  'tool_choice',
  'response_format',
  'thinking',
  'documents',
])

/** Reads the body of `/v2/chat` as a chat request, with the same checks. */
export function parseCohereChat(json: unknown): CohereChatRequest {
  const body = bodyObject(json)
  const documents = field(body, 'documents')
  if (documents !== undefined && !(Array.isArray(documents) && documents.length === 0))
    throw invalidInput('documents', 'is not offered: put the texts into a message')
  const chat: Record<string, unknown> = {}
  for (const [name, other] of Object.entries(SAME)) chat[other] = field(body, name)
  const messages = field(body, 'messages')
  chat['messages'] = Array.isArray(messages) ? messages.map(messageOf) : messages
  const k = wholeField(body, 'k', 0)
  chat['top_k'] = k === 0 ? undefined : k
  wholeField(body, 'max_tokens', 1)
  const above = (value: number): boolean => value > 0 && value <= 1
  chat['top_p'] = numberField(body, 'p', above, 'must be greater than 0 and at most 1')
  chat['tool_choice'] = toolChoiceOf(body)
  chat['response_format'] = responseFormatOf(body)
  chat['reasoning'] = reasoningOf(body)
  const stop = stopOf(body)
  const read = parseChat(chat)
  return {
    chat: stop.length === 0 ? read : { ...read, parameters: { ...read.parameters, stop } },
    dropped: Object.keys(body).filter((name) => !READ.has(name) && field(body, name) !== undefined),
  }
}

function stopOf(body: RawObject): readonly string[] {
  const refusal = invalidInput('stop_sequences', `must be an array of at most ${STOPS_MAX} non-empty strings`)
  const stops = field(body, 'stop_sequences') ?? []
  if (!Array.isArray(stops) || stops.length > STOPS_MAX) throw refusal
  return stops.map((stop: unknown) => {
    if (typeof stop !== 'string' || stop === '') throw refusal
    return stop
  })
}

function wholeField(body: RawObject, name: string, least: number, path = name): number | undefined {
  return numberField(
    body,
    name,
    (value) => Number.isSafeInteger(value) && value >= least,
    `must be an integer of at least ${least}`,
    path,
  )
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

/** The text of a result's document, or the JSON of its content. */
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

function toolChoiceOf(body: RawObject): unknown {
  const choice = stringField(body, 'tool_choice')
  if (choice === undefined) return undefined
  if (choice === 'REQUIRED' || choice === 'NONE') return choice.toLowerCase()
  throw invalidInput('tool_choice', `'${quoted(choice)}' is not allowed. Allowed: REQUIRED, NONE`)
}

function responseFormatOf(body: RawObject): unknown {
  const format = objectField(body, 'response_format')
  const schema = format === undefined ? undefined : (field(format, 'json_schema') ?? field(format, 'schema'))
  if (format === undefined || schema === undefined || field(format, 'type') !== 'json_object') return format
  return { type: 'json_schema', json_schema: { name: 'response', schema } }
}

function reasoningOf(body: RawObject): unknown {
  const thinking = objectField(body, 'thinking')
  if (thinking === undefined) return undefined
  const type = stringField(thinking, 'type', 'thinking.type')
  const budget = wholeField(thinking, 'token_budget', 0, 'thinking.token_budget')
  if (type === 'disabled') return { enabled: false }
  if (type !== 'enabled' && type !== undefined)
    throw invalidInput('thinking.type', `'${quoted(type)}' is not allowed. Allowed: enabled, disabled`)
  return budget === undefined ? { enabled: true } : { max_tokens: budget }
}

/** A request of Cohere's `/v2/chat`, with the equivalent chat request. */
export interface CohereChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
