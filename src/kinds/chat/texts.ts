import type { ChatMessage, ChatPart } from './request.ts'

/** Every text of the messages that a model reads: contents, names, reasoning, refusals and tool calls. */
export function* textsOf(messages: readonly ChatMessage[]): Generator<string> {
  for (const message of messages) {
    if (typeof message.content === 'string') yield message.content
    else for (const part of message.content ?? []) yield partText(part)
    if (message.name !== undefined) yield message.name
    if (message.reasoning !== undefined) yield message.reasoning
    // The details usually repeat the reasoning, but may hold signatures that a provider reads as tokens as well.
    if (message.reasoning_details !== undefined) yield JSON.stringify(message.reasoning_details)
    if (message.refusal !== undefined) yield message.refusal
    if (message.tool_call_id !== undefined) yield message.tool_call_id
    for (const call of message.tool_calls ?? []) yield `${call.id} ${call.function.name} ${call.function.arguments}`
  }
}

function partText(part: ChatPart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'refusal') return part.refusal
  return part.type === 'file' ? (part.file.filename ?? '') : ''
}
