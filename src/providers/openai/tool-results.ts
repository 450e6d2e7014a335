import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'

const FAILED = 'Error: '

/**
 * The protocol accepts only text as a tool's result and cannot mark one as failed: pictures follow the results in a
 * user message, and the text says that the tool failed.
 */
export function plainResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(isRich)) return messages
  const plain: ChatMessage[] = []
  let pictures: ChatPart[] = []
  for (const message of messages) {
    if (message.role !== 'tool') pictures = flushed(plain, pictures)
    if (!isRich(message)) {
      plain.push(message)
      continue
    }
    const parts = partsOf(message)
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const others = parts.filter((part) => part.type !== 'text')
    if (others.length > 0)
      pictures.push({ type: 'text', text: `Result of the call ${message.tool_call_id ?? ''}:` }, ...others)
    const text = texts.length === 0 && others.length > 0 ? 'See the next message.' : texts.join('\n')
    plain.push({ ...message, content: message.is_error === true ? FAILED + text : text })
  }
  flushed(plain, pictures)
  return plain
}

function isRich({ role, content, is_error: failed }: ChatMessage): boolean {
  return (
    role === 'tool' &&
    (failed === true || (Array.isArray(content) && content.some((part: ChatPart) => part.type !== 'text')))
  )
}

function partsOf({ content }: ChatMessage): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

/** Appends waiting pictures as a user message; answers an empty list for the next ones. */
function flushed(plain: ChatMessage[], pictures: ChatPart[]): ChatPart[] {
  if (pictures.length > 0) plain.push({ role: 'user', content: pictures })
  return []
}
