import type { RawObject } from '../../kinds/fields/body-fields.ts'
import { holdsMedia } from './native-parts.ts'
import type { InputItem, ResponsesInput } from './request.ts'

/**
 * Tools that the client runs itself, and items that only record past turns: they cost only the tokens of their text.
 */
const CLIENT_TYPES: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell',
  'local_shell_call',
  'local_shell_call_output',
  'apply_patch',
  'apply_patch_call',
  'apply_patch_call_output',
  'namespace',
  'tool_search',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
  'compaction',
  'image_generation_call',
])
/** Whether the chat form of an item lacks some of its parts. */
export function isPartial({ chat }: Extract<InputItem, { type: 'native' }>): boolean {
  return chat?.step === 'output' && chat.isPartial === true
}

/** Calls of hosted tools that a provider may make if the request gives no number. */
const CALLS_MAX_DEFAULT = 8
const CALLS_MAX = 128

type HostedParts = Pick<ResponsesInput, 'tools' | 'items' | 'maxToolCalls' | 'toolChoice'>

/** The hosted tools of a request, which the provider runs. */
export interface HostedUse {
  /** The most calls, sent as `max_tool_calls`; the hold covers them. */
  readonly callsMax: number
  /** Types of the hosted tools. */
  readonly types: readonly string[]
}

/** null = the model reads nothing besides the request. */
export function hostedUse({ tools, items, maxToolCalls, toolChoice }: HostedParts): HostedUse | null {
  const types = tools.filter(isHosted).map(typeOf)
  const chosen =
    typeof toolChoice === 'object' && toolChoice !== null && isHosted(toolChoice) ? [typeOf(toolChoice)] : []
  // The chat form of an item is counted with the messages.
  const isSeen = items.every(
    (item) =>
      item.type !== 'native' ||
      (item.chat !== null && !isPartial(item)) ||
      (CLIENT_TYPES.has(typeOf(item.value)) && !holdsMedia(item.value)),
  )
  if (types.length === 0 && chosen.length === 0 && isSeen) return null
  return {
    callsMax: types.length === 0 ? 0 : Math.min(Math.max(maxToolCalls ?? CALLS_MAX_DEFAULT, 1), CALLS_MAX),
    types: [...new Set([...types, ...chosen])],
  }
}

/** Whether it is a tool, or the choice of one, that only a provider can run. */
export function isHosted(tool: RawObject): boolean {
  const type = typeOf(tool)
  return type !== 'allowed_tools' && !CLIENT_TYPES.has(type)
}

/** Web search has many names, such as `web_search_preview_2025_03_11`. */
export function isWebSearch(type: string): boolean {
  return type === 'web_search' || type.startsWith('web_search_')
}

function typeOf(value: RawObject): string {
  return typeof value['type'] === 'string' ? value['type'] : ''
}
