import type { ChatMessage } from '../../../kinds/chat/request.ts'
import { UNSIGNED } from '../../../kinds/chat/thoughts.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'
import type { ModelTraits } from '../../models/claude-traits.ts'
import { signedThoughts } from '../../models/claude-thinking.ts'
import { contentBlocks, type AnthropicBlock } from './content.ts'
import { claudeTurns, resultsFirst, type ClaudeForm, type ClaudeTurns } from '../../models/turns.ts'
import { toolInput } from '../../answers/tool-input.ts'

export type AnthropicConversation = ClaudeTurns<AnthropicBlock>

/** `signer`: who reads thoughts of earlier turns again. */
export function conversationOf(
  messages: readonly ChatMessage[],
  { takesPrefill }: Pick<ModelTraits, 'takesPrefill'>,
  signer: string | null,
): AnthropicConversation & {
  readonly messages: readonly { readonly role: string; readonly content: AnthropicBlock[] }[]
} {
  const form: ClaudeForm<AnthropicBlock> = {
    content: contentBlocks,
    assistant: (message, path) => assistantBlocks(message, path, signer),
    result: (message, path) => [toolResult(message, path)],
    text: (text) => ({ type: 'text', text }),
    trimmed: (block) => {
      const text = textOf(block['text'])
      return text === null ? block : { ...block, text: text.trimEnd() }
    },
    isText: (block) => block['type'] === 'text',
    isResult: (block) => block['type'] === 'tool_result',
    isThought: (block) => textOf(block['type'])?.endsWith('thinking') === true,
    missing: 'hold text other than white space',
  }
  const conversation = claudeTurns(messages, form, takesPrefill)
  const turns = conversation.turns.map(({ role, parts }) => ({ role, content: resultsFirst(parts, form) }))
  return { ...conversation, messages: turns }
}

/** Thinking comes first and unchanged: the provider checks its signature and its place. */
function assistantBlocks(message: ChatMessage, path: string, signer: string | null): AnthropicBlock[] {
  const { content, refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const text = contentBlocks(content, path)
  return [
    ...thinkingBlocks(details, signer),
    ...(text.length === 0 ? contentBlocks(refusal, path) : text),
    ...calls.map(({ id, function: called }, index) => ({
      type: 'tool_use',
      id: toolUseId(id),
      name: called.name,
      input: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
    })),
  ]
}

function thinkingBlocks(details: readonly unknown[], signer: string | null): AnthropicBlock[] {
  const [first] = details.map(objectOf)
  if (first?.['format'] === UNSIGNED)
    return [{ type: 'thinking', thinking: textOf(first['text']) ?? '', signature: '' }]
  return signedThoughts(details, signer).map((thought) =>
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
