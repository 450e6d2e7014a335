import type { ChatRequest, ChatTool } from '../chat/request.ts'
import { functionOf } from '../chat/tools.ts'
import {
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  quoted,
  type RawObject,
} from '../fields/json-fields.ts'
import { checkNative } from './native-parts.ts'
import type { NativeOnly } from './request.ts'

export interface InputTools {
  /** The functions, in chat's form; null = none. */
  readonly functions: readonly ChatTool[] | null
  /** All tools in the given order, in the form of Responses. */
  readonly tools: readonly RawObject[]
  /** The position of the first tool that the client does not run itself. */
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
 * Files, vector stores and containers belong to the operator's account at the provider: a client must not use their
 * ids.
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
  /** In the form of Responses; null = not given. */
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
