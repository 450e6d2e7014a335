import type { ChatMessage, ChatRequest, ChatTool, ChatToolCall } from '../../../kinds/chat/request.ts'
import { functionsState, toolInput } from '../../answers/tool-calls.ts'
import { objectOf, parseJson } from '../../wire/raw-json.ts'

/**
 * A conversation for a service of the older protocol (`dialect.tools: functions`). There a message has one call, whose
 * arguments are an object; its result, which is also an object, must follow directly.
 */
export function functionMessages(messages: readonly ChatMessage[]): readonly Record<string, unknown>[] {
  const results = new Map<string, ChatMessage>()
  for (const message of messages) if (message.tool_call_id !== undefined) results.set(message.tool_call_id, message)
  const taken = new Set<ChatMessage>()
  return messages.flatMap((message) => {
    const { role, content, name, tool_calls: calls = [] } = message
    if (taken.has(message)) return []
    // The result of a call that is not in the conversation.
    if (role === 'tool') return [resultOf(message, name ?? message.tool_call_id ?? '')]
    if (calls.length === 0) return [{ role, content: content ?? '', ...(name === undefined ? {} : { name }) }]
    return calls.flatMap((call, index) => {
      const result = results.get(call.id)
      if (result !== undefined) taken.add(result)
      const state = functionsState(call.id)
      return [
        {
          role,
          content: index === 0 ? (content ?? '') : '',
          function_call: calledFunction(call),
          ...(state === null ? {} : { functions_state_id: state }),
        },
        ...(result === undefined ? [] : [resultOf(result, call.function.name)]),
      ]
    })
  })
}

function calledFunction({ function: { name, arguments: text } }: ChatToolCall): Record<string, unknown> {
  return { name, arguments: toolInput(text, `messages: the arguments of ${name}`) }
}

function resultOf(message: ChatMessage, name: string): Record<string, unknown> {
  const text = textContent(message)
  const isObject = objectOf(parseJson(Buffer.from(text))) !== null
  return { role: 'function', name, content: isObject ? text : JSON.stringify({ result: text }) }
}

/** The text of a message; its parts become lines. */
export function textContent({ content }: ChatMessage): string {
  return typeof content === 'string'
    ? content
    : (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

/**
 * The functions and the choice. The protocol cannot require a call of any function; if there is only one, a call of
 * that one is required.
 */
export function functionFields({ tools, toolChoice }: ChatRequest, takesChoice: boolean): Record<string, unknown> {
  const [only, ...others] = tools ?? []
  if (tools === null || only === undefined) return {}
  const named = typeof toolChoice === 'string' ? null : (toolChoice?.function.name ?? null)
  const demanded = named ?? (toolChoice === 'required' && others.length === 0 ? only.function.name : null)
  return {
    functions: tools.map(asFunction),
    ...(takesChoice && toolChoice !== null
      ? { function_call: demanded === null ? (toolChoice === 'none' ? 'none' : 'auto') : { name: demanded } }
      : {}),
  }
}

function asFunction({ function: { name, description, parameters } }: ChatTool): Record<string, unknown> {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  }
}

/** Whether the choice of tools that is sent is weaker than the client's. */
export function losesChoice({ tools, toolChoice }: ChatRequest): boolean {
  return toolChoice === 'required' && (tools?.length ?? 0) > 1
}
