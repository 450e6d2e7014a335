import { ownValue } from '../../../base/own-value.ts'
import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import { field, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { type InputItem, ToolNames, type ToolOrigin } from '../request.ts'

/** The tools of a request for a model that knows only functions. */
export interface FlatTools {
  /** null = none. */
  readonly functions: readonly ChatTool[] | null
  /** The bytes of functions that only a provider of the protocol gets, besides these. */
  readonly unreadBytes: number
  readonly choice: ChatRequest['toolChoice']
  readonly names: ToolNames
  /** Types of the tools that such a model does not get. */
  readonly dropped: readonly string[]
}

const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}
const SHELL_PARAMETERS = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'number' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
}

/**
 * The tools as functions (clients.md 3): tools of namespaces under names of their own, custom tools with one text, and
 * tools that a search found in earlier turns.
 */
export function flatTools(
  tools: readonly RawObject[],
  items: readonly InputItem[],
  toolChoice: string | RawObject | null,
): FlatTools {
  const offered = [...tools, ...foundTools(items)]
  const names = new ToolNames(offered.filter(({ type }) => type === 'function').map(({ name }) => textOf(name)))
  const functions = new Map<string, ChatTool>()
  const dropped = new Set<string>()
  for (const { tool, namespace } of withoutNamespaces(offered)) {
    const origin = originOf(tool, namespace)
    const name = origin === null ? null : names.name(origin)
    if (origin === null || name === null) dropped.add(textOf(tool['type']))
    else if (!functions.has(name)) functions.set(name, functionOf(tool, name, origin.type))
  }
  const { choice, allowed } = choiceOf(toolChoice, names, functions)
  const kept = [...functions.values()].filter((tool) => allowed === null || allowed.has(tool.function.name))
  // Items without a form for chat, and other tools, are counted in full elsewhere.
  const searched = items.filter((item) => item.type === 'native' && item.chat !== null)
  const declared = [...tools.filter(({ type }) => type === 'function'), ...foundTools(searched)]
  return {
    functions: kept.length === 0 ? null : kept,
    unreadBytes: kept.length === offered.length && offered.every(isPlain) ? 0 : bytesBeyond(declared, kept),
    choice,
    names,
    dropped: [...dropped],
  }
}

/** The bytes of what only a provider of the protocol reads of the tools. */
function bytesBeyond(declared: readonly unknown[], kept: readonly unknown[]): number {
  return Math.max(0, Buffer.byteLength(JSON.stringify(declared)) - Buffer.byteLength(JSON.stringify(kept)))
}

const OF_CHAT: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => value === 'function',
  name: (value) => typeof value === 'string',
  description: (value) => typeof value === 'string' && value !== '',
  parameters: isObject,
  strict: (value) => typeof value === 'boolean',
}

/** Whether all of a tool is in its function of chat, whose JSON is longer. */
function isPlain(tool: RawObject): boolean {
  return Object.entries(tool).every(([name, value]) => ownValue(OF_CHAT, name)?.(value) === true)
}

/** The origin of a Responses tool, or of a choice of one; null = only its provider could run it. */
export function originOf(tool: RawObject, namespace: string | null): ToolOrigin | null {
  const { type, name } = tool
  if ((type === 'function' || type === 'custom') && typeof name === 'string' && name !== '')
    return { type, name, namespace }
  // The provider's own search is not available here, so all its tools are offered.
  if (type === 'tool_search' && tool['execution'] === 'client') return { type, name: type, namespace: null }
  return type === 'local_shell' ? { type, name: type, namespace: null } : null
}

/** The choice of a tool as a tool. The choice of a search does not repeat who runs it. */
export function choiceAsTool(choice: RawObject): RawObject {
  return choice['type'] === 'tool_search' ? { ...choice, execution: 'client' } : choice
}

interface PlacedTool {
  readonly tool: RawObject
  readonly namespace: string | null
}

/** The tools of all namespaces. A namespace may come twice: clients send one for each of their servers. */
function withoutNamespaces(tools: readonly RawObject[]): readonly PlacedTool[] {
  return tools.flatMap((tool): readonly PlacedTool[] => {
    if (tool['type'] !== 'namespace') return [{ tool, namespace: null }]
    const namespace = textOf(tool['name'])
    const inner: unknown = field(tool, 'tools')
    return Array.isArray(inner) ? inner.filter(isObject).map((each) => ({ tool: each, namespace })) : []
  })
}

/** Tools that earlier turns found, which are only in the lists of those turns. */
function foundTools(items: readonly InputItem[]): readonly RawObject[] {
  return items.flatMap((item) => {
    const type = item.type === 'native' ? item.value['type'] : null
    if (item.type !== 'native' || (type !== 'tool_search_output' && type !== 'additional_tools')) return []
    const tools = item.value['tools']
    return Array.isArray(tools) ? tools.filter(isObject) : []
  })
}

function functionOf(tool: RawObject, name: string, type: ToolOrigin['type']): ChatTool {
  const description = descriptionOf(tool, type)
  const parameters = parametersOf(tool, type)
  const { strict } = tool
  return {
    type: 'function',
    function: {
      name,
      ...(description === '' ? {} : { description }),
      ...(parameters === null ? {} : { parameters }),
      ...(typeof strict === 'boolean' && type === 'function' ? { strict } : {}),
    },
  }
}

/** A tool's description with its grammar, which cannot be enforced elsewhere, but which a model can read. */
function descriptionOf(tool: RawObject, type: ToolOrigin['type']): string {
  const told = textOf(tool['description'])
  if (type === 'local_shell') return 'Runs a command in the shell of the user.'
  const format = tool['format']
  if (type !== 'custom' || !isObject(format) || typeof format['definition'] !== 'string') return told
  return `${told}\n\nThe input must follow this ${textOf(format['syntax'])} grammar:\n${format['definition']}`.trim()
}

function parametersOf(tool: RawObject, type: ToolOrigin['type']): RawObject | null {
  if (type === 'custom') return CUSTOM_PARAMETERS
  if (type === 'local_shell') return SHELL_PARAMETERS
  const parameters = tool['parameters']
  return isObject(parameters) ? parameters : null
}

interface FlatChoice {
  readonly choice: ChatRequest['toolChoice']
  /** Names of the functions that may be called; null = all. */
  readonly allowed: ReadonlySet<string> | null
}

function choiceOf(
  given: string | RawObject | null,
  names: ToolNames,
  functions: ReadonlyMap<string, ChatTool>,
): FlatChoice {
  if (given === null || typeof given === 'string')
    return { choice: functions.size === 0 && given === 'required' ? null : given, allowed: null }
  if (given['type'] === 'allowed_tools') {
    const listed: readonly unknown[] = Array.isArray(given['tools']) ? given['tools'] : []
    const allowed = new Set(listed.filter(isObject).flatMap((tool) => nameOf(tool, names)))
    return { choice: given['mode'] === 'required' ? 'required' : 'auto', allowed }
  }
  const [name] = nameOf(given, names)
  return {
    choice: name === undefined ? null : { type: 'function', function: { name } },
    allowed: null,
  }
}

function nameOf(choice: RawObject, names: ToolNames): readonly string[] {
  const { namespace } = choice
  const origin = originOf(choiceAsTool(choice), typeof namespace === 'string' ? namespace : null)
  return origin === null ? [] : [names.name(origin)]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
