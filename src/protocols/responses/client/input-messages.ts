import { mediaPart } from '../../../kinds/chat/parts.ts'
import type { ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import type { RawObject } from '../../../kinds/fields/body-fields.ts'
import type { InputItem, MessageRole } from './request.ts'
import type { ToolNames } from './tool-names.ts'

type Assistant = { -readonly [K in keyof ChatMessage]: ChatMessage[K] }

/**
 * The conversation of the items, as messages (wire.md D-2.4). Calls of the client's tools become calls of functions
 * with the names of `names`. Items of a provider's own tools are left out, because a chat provider has no form for
 * them. Images stay, because chat models also make them.
 */
export function inputMessages(
  instructions: string | null,
  items: readonly InputItem[],
  names: ToolNames,
): readonly ChatMessage[] {
  const conversation = new Conversation(instructions)
  for (const item of items) {
    switch (item.type) {
      case 'message':
        conversation.say(item.role, item.content)
        break
      case 'function_call':
        conversation.call(
          item.callId,
          names.name({ type: 'function', name: item.name, namespace: item.namespace }),
          item.arguments,
        )
        break
      case 'function_call_output':
        conversation.answer(item.callId, item.output)
        break
      case 'reasoning':
        conversation.think(item)
        break
      case 'native': {
        const { value, chat } = item
        const image = generatedImage(value)
        if (image !== null) conversation.say('assistant', [image])
        if (chat?.step === 'call') conversation.call(chat.callId, names.name(chat.tool), chat.arguments)
        if (chat?.step === 'output') conversation.answer(chat.callId, chat.output)
      }
    }
  }
  return conversation.messages
}

class Conversation {
  readonly messages: ChatMessage[] = []
  #reasoning: string[] = []
  #details: unknown[] = []
  /** The assistant's message that the next call belongs to. */
  #open: Assistant | null = null

  constructor(instructions: string | null) {
    if (instructions !== null && instructions !== '') this.messages.push({ role: 'system', content: instructions })
  }

  say(role: MessageRole, content: NonNullable<ChatMessage['content']>): void {
    this.#open = role === 'assistant' ? this.#assistant(content) : null
    if (role !== 'assistant') this.messages.push({ role, content })
  }

  call(id: string, name: string, text: string): void {
    // The reasoning since then belongs to a separate message.
    const isLate = this.#reasoning.length > 0 || this.#details.length > 0
    const open = this.#open === null || isLate ? this.#assistant(null) : this.#open
    open.tool_calls = [...(open.tool_calls ?? []), { id, type: 'function', function: { name, arguments: text } }]
    this.#open = open
  }

  answer(id: string, content: string | readonly ChatPart[]): void {
    this.#open = null
    this.messages.push({ role: 'tool', tool_call_id: id, content })
  }

  think({ summary, content, details }: Extract<InputItem, { type: 'reasoning' }>): void {
    const texts = (content.length > 0 ? content : summary).filter((text) => text !== '')
    // Signatures that came after their text.
    if (texts.length === 0 && this.#open !== null && details.length > 0)
      this.#open.reasoning_details = [...(this.#open.reasoning_details ?? []), ...details]
    else this.#details.push(...details)
    this.#reasoning.push(...texts)
  }

  #assistant(content: ChatMessage['content']): Assistant {
    const message: Assistant = {
      role: 'assistant',
      content,
      ...(this.#reasoning.length === 0 ? {} : { reasoning: this.#reasoning.join('\n') }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    }
    this.#reasoning = []
    this.#details = []
    this.messages.push(message)
    return message
  }
}

/** An image that the model made, in the form that chat sends back. */
function generatedImage(item: RawObject): ChatPart | null {
  const { type, result } = item
  if (type !== 'image_generation_call' || typeof result !== 'string') return null
  return mediaPart({ url: `data:image/png;base64,${result}`, as: 'image' }, 'image_generation_call.result')
}
