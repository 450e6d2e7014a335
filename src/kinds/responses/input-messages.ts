import type { ChatMessage, ChatPart, ChatToolCall } from '../chat/request.ts'
import type { RawObject } from '../fields/json-fields.ts'
import type { InputItem } from './request.ts'

type Assistant = { -readonly [K in keyof ChatMessage]: ChatMessage[K] }

/**
 * The conversation of the items, as messages (wire.md D-2.4). Native items are left out, because a chat provider has no
 * form for them. Images stay, because chat models also make them.
 */
export function inputMessages(instructions: string | null, items: readonly InputItem[]): readonly ChatMessage[] {
  const messages: ChatMessage[] =
    instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }]
  let reasoning: string[] = []
  let details: unknown[] = []
  /** The assistant's message that the next call belongs to. */
  let open: Assistant | null = null
  const assistant = (content: ChatMessage['content']): Assistant => {
    const message: Assistant = {
      role: 'assistant',
      content,
      ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join('\n') }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
    }
    reasoning = []
    details = []
    messages.push(message)
    return message
  }
  for (const item of items) {
    switch (item.type) {
      case 'message':
        open = item.role === 'assistant' ? assistant(item.content) : null
        if (item.role !== 'assistant') messages.push({ role: item.role, content: item.content })
        break
      case 'function_call':
        // The reasoning since then belongs to a separate message.
        if (open === null || reasoning.length > 0 || details.length > 0) open = assistant(null)
        open.tool_calls = [...(open.tool_calls ?? []), toolCall(item)]
        break
      case 'function_call_output':
        open = null
        messages.push({ role: 'tool', tool_call_id: item.callId, content: item.output })
        break
      case 'reasoning': {
        const texts = (item.content.length > 0 ? item.content : item.summary).filter((text) => text !== '')
        // Signatures that came after their text.
        if (texts.length === 0 && open !== null && item.details.length > 0)
          open.reasoning_details = [...(open.reasoning_details ?? []), ...item.details]
        else details.push(...item.details)
        reasoning.push(...texts)
        break
      }
      case 'native': {
        const image = generatedImage(item.value)
        if (image !== null) open = assistant([image])
      }
    }
  }
  return messages
}

/** An image that the model made, in the form that chat sends back. */
function generatedImage(item: RawObject): ChatPart | null {
  const { type, result } = item
  if (type !== 'image_generation_call' || typeof result !== 'string') return null
  const format = result.startsWith('/9j/') ? 'jpeg' : result.startsWith('UklGR') ? 'webp' : 'png'
  return { type: 'image_url', image_url: { url: `data:image/${format};base64,${result}` } }
}

function toolCall({ callId, name, arguments: text }: Extract<InputItem, { type: 'function_call' }>): ChatToolCall {
  return { id: callId, type: 'function', function: { name, arguments: text } }
}
