import type { ChatMessage } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { textOf } from '../../protocols/wire/raw-json.ts'
import { signedThoughts } from './signed-thinking.ts'
import { contentBlocks, systemBlocks, type AnthropicBlock } from '../../protocols/anthropic/provider/content.ts'
import { toolInput } from '../../protocols/answers/tool-input.ts'

interface AnthropicTurn {
  readonly role: 'user' | 'assistant'
  content: AnthropicBlock[]
}

export interface AnthropicConversation {
  readonly system: AnthropicBlock[]
  readonly messages: readonly AnthropicTurn[]
  /** The last message begins the answer. */
  readonly isPrefilled: boolean
  /** The latest tool calls were made without thinking, so their results cannot be answered with a thinking budget. */
  readonly continuesWithoutThinking: boolean
  /** Names of the tools called so far. */
  readonly calledTools: ReadonlySet<string>
}

/**
 * The messages as alternating turns. System messages are kept apart, in their order: the protocol has no system turn.
 */
export function conversationOf(messages: readonly ChatMessage[]): AnthropicConversation {
  const system: AnthropicBlock[] = []
  const turns: AnthropicTurn[] = []
  const calledTools = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...systemBlocks(message.content, path))
        break
      case 'user':
        addTurn(turns, 'user', contentBlocks(message.content, path))
        break
      case 'tool':
        addTurn(turns, 'user', [toolResult(message, path)])
        break
      case 'assistant':
        for (const call of message.tool_calls ?? []) calledTools.add(call.function.name)
        addTurn(turns, 'assistant', assistantBlocks(message, path))
    }
  }
  // A prompt with only system messages becomes the user's question.
  if (turns.length === 0) addTurn(turns, 'user', system.splice(0))
  if (turns.length === 0) throw new UnsendableError('messages: at least one must hold text other than white space')
  const isPrefilled = trimPrefill(turns)
  return {
    system,
    messages: turns.map(ordered),
    isPrefilled,
    continuesWithoutThinking: continuesWithoutThinking(turns),
    calledTools,
  }
}

function addTurn(turns: AnthropicTurn[], role: AnthropicTurn['role'], content: AnthropicBlock[]): void {
  if (content.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.content.push(...content)
  else turns.push({ role, content })
}

/** Thinking comes first and unchanged: the provider checks its signature and its place. */
function assistantBlocks(message: ChatMessage, path: string): AnthropicBlock[] {
  const { content, refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const text = contentBlocks(content, path)
  return [
    ...thinkingBlocks(details),
    ...(text.length === 0 ? contentBlocks(refusal, path) : text),
    ...calls.map(({ id, function: called }, index) => ({
      type: 'tool_use',
      id: toolUseId(id),
      name: called.name,
      input: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
    })),
  ]
}

function thinkingBlocks(details: readonly unknown[]): AnthropicBlock[] {
  return signedThoughts(details).map((thought) =>
    'encrypted' in thought
      ? { type: 'redacted_thinking', data: thought.encrypted }
      : { type: 'thinking', thinking: thought.text, signature: thought.signature },
  )
}

/** A cache mark on any part of a result marks the whole result. */
function toolResult({ tool_call_id: id = '', content, is_error: failed }: ChatMessage, path: string): AnthropicBlock {
  const blocks = contentBlocks(content, path)
  const marks = blocks.flatMap(({ cache_control: mark }) => (mark === undefined ? [] : [mark]))
  const plain = blocks.map(({ cache_control: _mark, ...block }) => block)
  return {
    type: 'tool_result',
    tool_use_id: toolUseId(id),
    ...(plain.length === 0 ? {} : { content: plain }),
    ...(failed === true ? { is_error: true } : {}),
    ...(marks.length === 0 ? {} : { cache_control: marks.at(-1) }),
  }
}

/** Other providers' ids may contain characters that the protocol refuses. */
function toolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

/** A turn begins with tool results, right after the calls that they answer. */
function ordered({ role, content }: AnthropicTurn): AnthropicTurn {
  const results = content.filter((block) => block['type'] === 'tool_result')
  return {
    role,
    content:
      results.length === 0 ? content : [...results, ...content.filter((block) => block['type'] !== 'tool_result')],
  }
}

/** The protocol refuses white space at the end of a prefilled answer. */
function trimPrefill(turns: readonly AnthropicTurn[]): boolean {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last === undefined || last.role !== 'assistant' || block === undefined) return false
  const text = textOf(block['text'])
  if (text !== null) last.content = [...last.content.slice(0, -1), { ...block, text: text.trimEnd() }]
  return true
}

/** Walks back over the calls and results since the user's last message, to the first of those calls. */
function continuesWithoutThinking(turns: readonly AnthropicTurn[]): boolean {
  let first: AnthropicTurn | null = null
  for (let index = turns.length - 1; index > 0; index -= 2) {
    const results = turns[index]
    if (
      results === undefined ||
      results.role !== 'user' ||
      !results.content.some((block) => block['type'] === 'tool_result')
    )
      break
    first = turns[index - 1] ?? null
  }
  return first !== null && textOf(first.content[0]?.['type'])?.endsWith('thinking') !== true
}
