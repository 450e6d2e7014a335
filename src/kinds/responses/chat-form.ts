import { field, isObject, type RawObject } from '../fields/json-fields.ts'
import { inputParts } from './input-parts.ts'
import type { ChatForm } from './request.ts'

/** A tool item that chat lacks, as a function call or its output; null = nothing that a chat model could use. */
export function chatForm(item: RawObject, path: string): ChatForm | null {
  const callId = field(item, 'call_id') ?? field(item, 'id')
  // A search made by the provider has no id, since nobody answers it.
  if (typeof callId !== 'string' || callId === '') return null
  switch (item['type']) {
    case 'custom_tool_call':
      return customCall(item, callId)
    case 'tool_search_call':
      return {
        step: 'call',
        callId,
        tool: { type: 'tool_search', name: 'tool_search', namespace: null },
        arguments: argumentsOf(item['arguments']),
      }
    case 'local_shell_call':
      return {
        step: 'call',
        callId,
        tool: { type: 'local_shell', name: 'local_shell', namespace: null },
        arguments: argumentsOf(withoutType(item['action'])),
      }
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return { step: 'output', callId, output: outputOf(item['output'], `${path}.output`) }
    case 'tool_search_output':
      return { step: 'output', callId, output: foundText(item['tools']) }
    default:
      return null
  }
}

function customCall(item: RawObject, callId: string): ChatForm | null {
  const { name, namespace, input } = item
  if (typeof name !== 'string' || name === '') return null
  return {
    step: 'call',
    callId,
    tool: { type: 'custom', name, namespace: typeof namespace === 'string' ? namespace : null },
    arguments: JSON.stringify({ input: typeof input === 'string' ? input : '' }),
  }
}

function argumentsOf(given: unknown): string {
  return typeof given === 'string' ? given : JSON.stringify(isObject(given) ? given : {})
}

function withoutType(action: unknown): unknown {
  if (!isObject(action)) return action
  return Object.fromEntries(Object.entries(action).filter(([name, value]) => name !== 'type' && value !== null))
}

function outputOf(output: unknown, path: string): Extract<ChatForm, { step: 'output' }>['output'] {
  if (typeof output === 'string') return output
  if (Array.isArray(output) && output.length > 0) return inputParts(output, path)
  return output === undefined ? '' : JSON.stringify(output)
}

/** The found tools are offered as functions; this text tells the model so. */
function foundText(tools: unknown): string {
  const found = Array.isArray(tools) ? tools.filter(isObject) : []
  const lines = found.flatMap(({ name, description }) =>
    typeof name === 'string' ? [typeof description === 'string' ? `${name}: ${description}` : name] : [],
  )
  return lines.length === 0 ? 'No tools were found.' : `These tools can be called now:\n${lines.join('\n')}`
}
