import type { ChatRequest, ChatTool } from '../chat-request.ts'
import {
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  objectField,
  quoted,
  stringField,
  type RawObject,
} from '../json-fields.ts'
import { checkNative } from './native-parts.ts'
import type { NativeOnly } from './responses-request.ts'

export interface InputTools {
  /** The functions, as chat has them; null = none. */
  readonly functions: readonly ChatTool[] | null
  /** All in the order given, as Responses has them. */
  readonly tools: readonly RawObject[]
  /** Where the first tool stands that the client does not run itself. */
  readonly native: NativeOnly | null
}

const CHOICE = "must be 'none', 'auto', 'required' or {type: 'function', name}"

/** `tools` of a Responses request: functions are flat, other types are the provider's own. */
export function parseInputTools(body: RawObject): InputTools {
  const list = field(body, 'tools') ?? []
  if (!Array.isArray(list)) throw invalidInput('tools', 'must be an array')
  const functions: ChatTool[] = []
  const tools: RawObject[] = []
  let native: NativeOnly | null = null
  for (const [index, raw] of list.entries()) {
    const path = `tools[${index}]`
    if (!isObject(raw)) throw invalidInput(path, 'must be an object')
    const type = field(raw, 'type')
    if (typeof type !== 'string' || type === '') throw invalidInput(`${path}.type`, 'must be a non-empty string')
    if (type === 'function') {
      const called = functionOf(raw, path)
      functions.push(called)
      tools.push(flatFunction(called, raw, path))
    } else {
      refuseStored(raw, path)
      checkNative(raw, path)
      native ??= { path: `${path}.type`, type: quoted(type) }
      tools.push(copyObject(raw, path))
    }
  }
  return { functions: functions.length === 0 ? null : functions, tools, native }
}

function functionOf(raw: RawObject, path: string): ChatTool {
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
      parameters: parameters === undefined ? {} : copyObject(parameters, `${path}.parameters`),
      ...(strict === undefined ? {} : { strict }),
    },
  }
}

function flatFunction(
  { function: { name, description, parameters, strict } }: ChatTool,
  raw: RawObject,
  path: string,
): RawObject {
  const deferred = booleanField(raw, 'defer_loading', `${path}.defer_loading`)
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters,
    strict: strict ?? null,
    ...(deferred === undefined ? {} : { defer_loading: deferred }),
  }
}

/**
 * Files, vector stores and containers belong to the operator's account at the provider: an id of one is not the
 * client's to use.
 */
function refuseStored(raw: RawObject, path: string): void {
  const container = field(raw, 'container')
  const stored =
    field(raw, 'vector_store_ids') !== undefined
      ? 'vector_store_ids'
      : typeof container === 'string'
        ? 'container'
        : isObject(container) && field(container, 'file_ids') !== undefined
          ? 'container.file_ids'
          : null
  if (stored !== null) throw invalidInput(`${path}.${stored}`, 'nothing is stored here that an id could name')
}

export interface InputToolChoice {
  readonly chat: ChatRequest['toolChoice']
  /** As Responses has it; null = not given. */
  readonly given: string | RawObject | null
  readonly native: NativeOnly | null
}

/** `tool_choice` of a Responses request. */
export function parseInputToolChoice(body: RawObject): InputToolChoice {
  const choice = field(body, 'tool_choice')
  if (choice === undefined) return { chat: null, given: null, native: null }
  if (choice === 'none' || choice === 'auto' || choice === 'required')
    return { chat: choice, given: choice, native: null }
  const type = isObject(choice) ? field(choice, 'type') : undefined
  if (!isObject(choice) || typeof type !== 'string' || type === '') throw invalidInput('tool_choice', CHOICE)
  if (type !== 'function')
    return {
      chat: null,
      given: copyObject(choice, 'tool_choice'),
      native: { path: 'tool_choice.type', type: quoted(type) },
    }
  const name = field(choice, 'name')
  if (typeof name !== 'string' || name === '') throw invalidInput('tool_choice', CHOICE)
  return { chat: { type, function: { name } }, given: { type, name }, native: null }
}
