import type { ChatTool } from '../../../kinds/chat/request.ts'
import { functionOf } from '../../../kinds/chat/tools.ts'
import {
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  quoted,
  type RawObject,
} from '../../../kinds/fields/body-fields.ts'
import { choiceAsTool, originOf } from './flat-tools.ts'
import { isHosted } from './hosted-tools.ts'
import { nativeCopy } from './native-parts.ts'
import type { DemandedTool } from './request.ts'

const CHOICE = "must be 'none', 'auto', 'required', {type: 'function', name} or {type} of another tool"

/** `tools` of a Responses request in the given order: functions are rebuilt, other types are copied. */
export function parseInputTools(body: RawObject): readonly RawObject[] {
  const list = field(body, 'tools') ?? []
  if (!Array.isArray(list)) throw invalidInput('tools', 'must be an array')
  return list.map((raw: unknown, index) => toolOf(raw, `tools[${index}]`))
}

function toolOf(raw: unknown, path: string): RawObject {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const type = field(raw, 'type')
  if (typeof type !== 'string' || type === '') throw invalidInput(`${path}.type`, 'must be a non-empty string')
  if (type === 'function') return flatFunction(functionOf(raw, path), raw, path)
  refuseStored(raw, path)
  if ((type === 'custom' || type === 'namespace') && !isFilled(field(raw, 'name')))
    throw invalidInput(`${path}.name`, 'must be a non-empty string')
  return nativeCopy(raw, path)
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
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
    parameters: parameters ?? null,
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

/** `tool_choice` of a Responses request, in the form of Responses; null = not given. */
export function parseInputToolChoice(body: RawObject): string | RawObject | null {
  const choice = field(body, 'tool_choice')
  if (choice === undefined) return null
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  const type = isObject(choice) ? field(choice, 'type') : undefined
  if (!isObject(choice) || typeof type !== 'string' || type === '') throw invalidInput('tool_choice', CHOICE)
  if (type !== 'function') return copyObject(choice, 'tool_choice')
  const name = field(choice, 'name')
  const namespace = field(choice, 'namespace')
  if (typeof name !== 'string' || name === '') throw invalidInput('tool_choice', CHOICE)
  return { type, name, ...(typeof namespace === 'string' ? { namespace } : {}) }
}

/** The tool that must be called, where a model that knows only functions cannot. */
export function demandedTool(choice: string | RawObject | null, tools: readonly RawObject[]): DemandedTool | null {
  if (choice === null || choice === 'none' || choice === 'auto') return null
  if (choice === 'required') return onlyHosted(tools, 'tool_choice')
  if (typeof choice === 'string') return null
  if (choice['type'] !== 'allowed_tools')
    return originOf(choiceAsTool(choice), null) === null
      ? { path: 'tool_choice.type', type: quoted(choice['type']) }
      : null
  const allowed: readonly unknown[] = Array.isArray(choice['tools']) ? choice['tools'] : []
  return choice['mode'] === 'required' ? onlyHosted(allowed.filter(isObject), 'tool_choice.tools') : null
}

function onlyHosted(tools: readonly RawObject[], path: string): DemandedTool | null {
  const [first] = tools
  return first !== undefined && tools.every(isHosted) ? { path, type: quoted(first['type']) } : null
}
