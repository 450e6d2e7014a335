import { withRawMessages } from '../../../../kinds/chat/raw-messages.ts'
import type { ChatRequest } from '../../../../kinds/chat/request.ts'
import type { ClientChat, ClientInput } from '../../../ports/client-call.ts'
import { parseMixedChat } from '../../../responses/client/parse.ts'
import { textAround, ChatWriter } from './writer.ts'
import { parseChat } from './parse.ts'

/** A chat of OpenAI's protocol, or what another body that was posted there means as one. */
export function readChat({ json, jsonMember }: ClientInput): ClientChat {
  const mixed = parseMixedChat(json)
  if (mixed !== null) return chatCall(mixed.chat, mixed.dropped)
  return chatCall(withRawMessages(parseChat(json), json, jsonMember('messages')))
}

/** `dropped` are parts of the client's request that it leaves out. */
export function chatCall(chat: ChatRequest, dropped: readonly string[] = []): ClientChat {
  return {
    type: 'chat',
    chat,
    words: {},
    dropped: () => dropped,
    writer: ({ identity }) => new ChatWriter(identity, chat.includeUsage),
    splice: (identity) => (chat.stream ? (field) => textAround(identity, field) : null),
    sameNames: 'openai',
  }
}
