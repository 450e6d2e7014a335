import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ChatMessage } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { toolInput } from '../../protocols/answers/tool-input.ts'
import { mediaPart, type SupportedUrls } from './media-part.ts'

export interface PromptRules {
  readonly urls: SupportedUrls
  /** Whether earlier reasoning is sent back. */
  readonly reasoning: boolean
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
/** The name in a tool result whose call is not in the conversation. */
const TOOL_UNKNOWN = 'tool'

/** The conversation in the AI SDK's form, where the results of consecutive calls are one message. */
export function sdkPrompt(messages: readonly ChatMessage[], rules: PromptRules): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  const toolNames = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    const { role, content } = message
    if (role === 'system' || role === 'developer') prompt.push({ role: 'system', content: plainText(content, path) })
    else if (role === 'user') prompt.push({ role: 'user', content: parts(content, rules, path) })
    else if (role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name)
      prompt.push({ role: 'assistant', content: assistantContent(message, rules, path) })
    } else {
      const result = toolResult(message, toolNames, rules, path)
      const last = prompt.at(-1)
      if (last?.role === 'tool') last.content.push(result)
      else prompt.push({ role: 'tool', content: [result] })
    }
  }
  return prompt
}

function plainText(content: ChatMessage['content'], path: string): string {
  if (content === null || typeof content === 'string') return content ?? ''
  const texts = content.map((part) => {
    if (part.type !== 'text')
      throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
    return part.text
  })
  return texts.join('\n')
}

function parts(
  content: ChatMessage['content'],
  { urls }: PromptRules,
  path: string,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, index) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return part.type === 'refusal'
      ? { type: 'text', text: part.refusal }
      : mediaPart(part, urls, `${path}.content[${index}]`)
  })
}

function assistantContent(message: ChatMessage, rules: PromptRules, path: string): AssistantContent {
  const { reasoning, content, refusal, tool_calls: calls = [] } = message
  const said: AssistantContent =
    rules.reasoning && reasoning !== undefined && reasoning !== '' ? [{ type: 'reasoning', text: reasoning }] : []
  said.push(...parts(content === '' ? null : content, rules, path))
  if (refusal !== undefined && refusal !== '') said.push({ type: 'text', text: refusal })
  for (const [index, { id, function: called }] of calls.entries()) {
    said.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: called.name,
      input: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
    })
  }
  return said
}

function toolResult(
  message: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
  rules: PromptRules,
  path: string,
): LanguageModelV4ToolResultPart {
  const toolCallId = message.tool_call_id ?? ''
  const found = parts(message.content, rules, path)
  const texts = found.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return {
    type: 'tool-result',
    toolCallId,
    toolName: toolNames.get(toolCallId) ?? message.name ?? TOOL_UNKNOWN,
    output:
      texts.length === found.length ? { type: 'text', value: texts.join('\n') } : { type: 'content', value: found },
  }
}
