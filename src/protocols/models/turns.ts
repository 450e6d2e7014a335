import type { ChatMessage } from '../../kinds/chat/request.ts'
import { CONTINUE } from './told-words.ts'
import { UnsendableError } from '../ports/call.ts'

export interface Turn<Part> {
  readonly role: 'user' | 'assistant'
  parts: Part[]
}

/** How a protocol whose turns alternate writes what a message says. */
export interface TurnForm<Part> {
  content(content: ChatMessage['content'], path: string): Part[]
  assistant(message: ChatMessage, path: string): readonly Part[]
  /** The result of a tool; what does not fit into it follows it. */
  result(message: ChatMessage, path: string): readonly Part[]
  isText(part: Part): boolean
  isResult(part: Part): boolean
  /** What is missing from a conversation of which nothing is left to send. */
  readonly missing: string
}

/**
 * The messages as turns that alternate between two roles. System messages are kept apart, in their order: the protocol
 * has no system turn.
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

/** A turn begins with tool results, right after the calls that they answer. */
export function resultsFirst<Part>(parts: readonly Part[], { isResult }: Pick<TurnForm<Part>, 'isResult'>): Part[] {
  return [...parts.filter((part) => isResult(part)), ...parts.filter((part) => !isResult(part))]
}

/** The same for the protocols of Claude. */
export interface ClaudeForm<Part> extends TurnForm<Part> {
  /** A text by itself. */
  text(text: string): Part
  /** The same part, whose text has no white space at its end. */
  trimmed(part: Part): Part
  isThought(part: Part): boolean
}

export interface ClaudeTurns<Part> {
  readonly system: readonly Part[]
  readonly turns: readonly Turn<Part>[]
  /** The last message begins the answer. */
  readonly isPrefilled: boolean
  /** The latest tool calls were made without thinking, so their results cannot be answered with a thinking budget. */
  readonly continuesWithoutThinking: boolean
  /** Names of the tools called so far. */
  readonly calledTools: ReadonlySet<string>
}

export function claudeTurns<Part>(
  messages: readonly ChatMessage[],
  form: ClaudeForm<Part>,
  takesPrefill: boolean,
): ClaudeTurns<Part> {
  const { system, turns } = turnsOf(messages, form)
  const last = turns.at(-1)
  const part = last?.role === 'assistant' ? last.parts.at(-1) : undefined
  // The models refuse white space at the end of a prefilled answer.
  if (part !== undefined) last?.parts.splice(-1, 1, form.trimmed(part))
  if (!takesPrefill && part !== undefined && form.isText(part)) addTurn(turns, 'user', [form.text(CONTINUE)])
  return {
    system,
    turns,
    isPrefilled: part !== undefined && takesPrefill,
    continuesWithoutThinking: continuesWithoutThinking(turns, form),
    calledTools: new Set(
      messages.flatMap(({ role, tool_calls: calls = [] }) =>
        role === 'assistant' ? calls.map((call) => call.function.name) : [],
      ),
    ),
  }
}

/** Walks back over the calls and results since the user's last message, to the first of those calls. */
function continuesWithoutThinking<Part>(turns: readonly Turn<Part>[], form: ClaudeForm<Part>): boolean {
  let first: Turn<Part> | null = null
  for (let index = turns.length - 1; index > 0; index -= 2) {
    const results = turns[index]
    if (results === undefined || results.role !== 'user' || !results.parts.some((part) => form.isResult(part))) break
    first = turns[index - 1] ?? null
  }
  const [begin] = first?.parts ?? []
  return first !== null && (begin === undefined || !form.isThought(begin))
}
