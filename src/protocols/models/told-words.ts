import type { ChatMessage } from '../../kinds/chat/request.ts'
import type { RawJson } from '../wire/raw-json.ts'

/** The user's turn after the beginning of an answer, for a model that refuses requests with such an end. */
export const CONTINUE = 'Continue your last message from exactly where it ends. Repeat none of it.'
/** The name of the prefilled beginning in `X-Tollgate-Dropped`. */
export const PREFILL = 'messages.prefill'

/** Whether a conversation ends with the beginning of the answer. */
export function isPrefilled(messages: readonly ChatMessage[]): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || (last.tool_calls ?? []).length > 0) return false
  const { content } = last
  if (typeof content === 'string') return content.trim() !== ''
  return content?.some((part) => part.type !== 'text' || part.text.trim() !== '') === true
}

/** The description of a schema's node, with the words of the node that a decoder refuses. */
export function wordsTold(description: unknown, told: RawJson): string {
  const before = typeof description === 'string' && description !== '' ? `${description}\n` : ''
  return `${before}It must satisfy ${JSON.stringify(told)}.`
}
