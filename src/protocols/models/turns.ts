import type { ChatMessage } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../ports/call.ts'
import type { RawJson } from '../wire/raw-json.ts'

export interface Turn<Part> {
  readonly role: 'user' | 'assistant'
  parts: Part[]
}

/** How a protocol with alternating turns writes the contents of a message. */
export interface TurnForm<Part> {
  content(content: ChatMessage['content'], path: string): Part[]
  assistant(message: ChatMessage, path: string): readonly Part[]
  /** The result of a tool; parts that do not fit the result follow it. */
  result(message: ChatMessage, path: string): readonly Part[]
  isText(part: Part): boolean
  isResult(part: Part): boolean
  /** What is missing if nothing of a conversation is left to send. */
  readonly missing: string
}

/**
 * The messages as turns that alternate between two roles. System messages are collected separately, in their order: the
 * protocol has no system turn.
 */
export function turnsOf<Part>(
  messages: readonly ChatMessage[],
  form: TurnForm<Part>,
): { readonly system: readonly Part[]; readonly turns: Turn<Part>[] } {
  const system: Part[] = []
  const turns: Turn<Part>[] = []
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer': {
        const parts = form.content(message.content, path)
        if (!parts.every((part) => form.isText(part)))
          throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
        system.push(...parts)
        break
      }
      case 'user':
        addTurn(turns, 'user', form.content(message.content, path))
        break
      case 'tool':
        addTurn(turns, 'user', form.result(message, path))
        break
      case 'assistant':
        addTurn(turns, 'assistant', form.assistant(message, path))
    }
  }
  // A prompt with only system messages becomes the user's question.
  if (turns.length === 0) addTurn(turns, 'user', system.splice(0))
  if (turns.length === 0) throw new UnsendableError(`messages: at least one must ${form.missing}`)
  return { system, turns }
}

export function addTurn<Part>(turns: Turn<Part>[], role: Turn<Part>['role'], parts: readonly Part[]): void {
  if (parts.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else turns.push({ role, parts: [...parts] })
}

/** The parts of a turn with tool results first, directly after the calls that they answer. */
export function resultsFirst<Part>(parts: readonly Part[], { isResult }: Pick<TurnForm<Part>, 'isResult'>): Part[] {
  return [...parts.filter((part) => isResult(part)), ...parts.filter((part) => !isResult(part))]
}

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
