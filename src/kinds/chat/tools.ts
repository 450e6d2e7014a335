import { createHash } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import {
  type RawObject,
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  objectField,
  quoted,
  stringField,
} from '../fields/body-fields.ts'
import type { ChatMessage, ChatRequest, ChatTool } from './request.ts'

const CHOICE = "must be 'none', 'auto', 'required' or {type: 'function', function: {name}}"

/** `tools`, or the deprecated `functions` instead. An empty list counts as none, because upstreams refuse it. */
export function parseTools(body: RawObject): readonly ChatTool[] | null {
  const tools = listOf(body, 'tools').map((tool, index) => toolOf(tool, `tools[${index}]`))
  if (tools.length > 0) return tools
  const functions = listOf(body, 'functions').map((called, index) => functionOf(called, `functions[${index}]`))
  return functions.length > 0 ? functions : null
}

function listOf(body: RawObject, name: string): readonly unknown[] {
  const list = field(body, name)
  if (list === undefined) return []
  if (!Array.isArray(list)) throw invalidInput(name, 'must be an array')
  return list
}

function toolOf(raw: unknown, path: string): ChatTool {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  if (field(raw, 'type') !== 'function') throw invalidInput(`${path}.type`, "must be 'function'")
  return functionOf(field(raw, 'function'), `${path}.function`)
}

/** A function with its fields; `path` is its path in the request. */
export function functionOf(raw: unknown, path: string): ChatTool {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const name = stringField(raw, 'name', `${path}.name`)
  if (name === undefined || name === '') throw invalidInput(`${path}.name`, 'is required')
  const description = stringField(raw, 'description', `${path}.description`)
  const parameters = objectField(raw, 'parameters', `${path}.parameters`)
  const strict = booleanField(raw, 'strict', `${path}.strict`)
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      ...(parameters === undefined ? {} : { parameters: copyObject(parameters, `${path}.parameters`) }),
      ...(strict === undefined ? {} : { strict }),
    },
  }
}

/** `tool_choice`, or the deprecated `function_call` instead. */
export function parseToolChoice(body: RawObject): ChatRequest['toolChoice'] {
  const choice = field(body, 'tool_choice')
  if (choice !== undefined)
    return choiceOf(choice, isObject(choice) ? field(choice, 'function') : undefined, 'tool_choice', CHOICE)
  const called = field(body, 'function_call')
  return called === undefined ? null : choiceOf(called, called, 'function_call', "must be 'none', 'auto' or {name}")
}

function choiceOf(choice: unknown, named: unknown, path: string, what: string): ChatRequest['toolChoice'] {
  if (choice === 'none' || choice === 'auto' || (choice === 'required' && path === 'tool_choice')) return choice
  const name = isObject(named) ? field(named, 'name') : undefined
  if (typeof name !== 'string' || name === '') throw invalidInput(path, what)
  return { type: 'function', function: { name } }
}

/** `text` means no format, so it counts as absent. */
export function parseResponseFormat(body: RawObject): Readonly<Record<string, unknown>> | null {
  const format = field(body, 'response_format')
  if (format === undefined) return null
  if (!isObject(format)) throw badFormat('must be an object')
  const type = field(format, 'type')
  if (type === 'text') return null
  if (type === 'json_object') return { type }
  if (type !== 'json_schema')
    throw badFormat(
      typeof type === 'string'
        ? `type '${quoted(type)}' is not supported. Allowed: text, json_object, json_schema`
        : 'type is required',
    )
  const raw = field(format, 'json_schema')
  if (!isObject(raw)) throw badFormat('json_schema is required')
  return { type, json_schema: jsonSchemaOf(raw) }
}

function jsonSchemaOf(raw: RawObject): Record<string, unknown> {
  const name = field(raw, 'name')
  if (typeof name !== 'string' || name === '') throw badFormat('json_schema.name is required')
  const schema = field(raw, 'schema')
  if (!isObject(schema)) throw badFormat('json_schema.schema is required and must be an object')
  const description = field(raw, 'description')
  if (description !== undefined && typeof description !== 'string')
    throw badFormat('json_schema.description must be a string')
  const strict = field(raw, 'strict')
  if (strict !== undefined && typeof strict !== 'boolean') throw badFormat('json_schema.strict must be a boolean')
  return {
    name,
    ...(description === undefined ? {} : { description }),
    schema: copyObject(schema, 'response_format'),
    ...(strict === undefined ? {} : { strict }),
  }
}

function badFormat(what: string): ApiError {
  return new ApiError('invalid_response_format', `Invalid response_format: ${what}`)
}

/** Names of functions that every provider accepts; some protocols of clients allow longer ones, or dots and colons. */
const SAFE = /^[A-Za-z_][\w-]{0,63}$/
const FOREIGN = /[^\w-]/g
const CHARS_MAX = 64
/** Enough characters to keep the names of one request distinct. */
const HASH_CHARS = 8

export interface SafelyNamed {
  readonly chat: ChatRequest
  /** The client's name of a function that was sent under another name. */
  readonly original: (name: string) => string
}

/**
 * The request in which each function whose name some providers refuse has a name that all accept. The new name depends
 * only on the old one, so that it is the same in every turn. null = all names are safe.
 */
export function safelyNamed(chat: ChatRequest): SafelyNamed | null {
  if (areSafe(chat)) return null
  const given = new Set(namesOf(chat))
  const unsafe = [...given].filter((name) => !SAFE.test(name))
  const names = new Map(unsafe.map((name) => [name, safeName(name, given)]))
  const sent = (name: string): string => names.get(name) ?? name
  const { tools, toolChoice } = chat
  return {
    chat: {
      ...chat,
      tools:
        tools?.map((tool) => ({ ...tool, function: { ...tool.function, name: sent(tool.function.name) } })) ?? null,
      toolChoice:
        toolChoice === null || typeof toolChoice === 'string'
          ? toolChoice
          : { ...toolChoice, function: { ...toolChoice.function, name: sent(toolChoice.function.name) } },
      messages: chat.messages.map((message) => withNames(message, sent)),
    },
    original: originalOf(names),
  }
}

function originalOf(names: ReadonlyMap<string, string>): SafelyNamed['original'] {
  const originals = new Map([...names].map(([name, sent]) => [sent, name]))
  return (name) => originals.get(name) ?? name
}

/** Most requests end here, so it allocates nothing. */
function areSafe({ tools, toolChoice, messages }: ChatRequest): boolean {
  if (tools !== null) for (const { function: called } of tools) if (!SAFE.test(called.name)) return false
  if (toolChoice !== null && typeof toolChoice !== 'string' && !SAFE.test(toolChoice.function.name)) return false
  for (const { tool_calls: calls } of messages)
    if (calls !== undefined) for (const { function: called } of calls) if (!SAFE.test(called.name)) return false
  return true
}

function* namesOf({ tools, toolChoice, messages }: ChatRequest): Generator<string> {
  for (const { function: called } of tools ?? []) yield called.name
  if (toolChoice !== null && typeof toolChoice !== 'string') yield toolChoice.function.name
  for (const { tool_calls: calls = [] } of messages) for (const { function: called } of calls) yield called.name
}

function withNames(message: ChatMessage, sent: (name: string) => string): ChatMessage {
  const { tool_calls: calls } = message
  if (calls === undefined) return message
  return {
    ...message,
    tool_calls: calls.map((call) => ({ ...call, function: { ...call.function, name: sent(call.function.name) } })),
  }
}

function safeName(name: string, given: ReadonlySet<string>): string {
  const plain = name.replaceAll(FOREIGN, '_')
  const flat = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS)
  const hashed = `${flat.slice(0, CHARS_MAX - HASH_CHARS - 1)}_${hash}`
  // A name with this hash belongs to another function only if a client made it so on purpose.
  return given.has(hashed) ? `${hashed.slice(0, -1)}_` : hashed
}
