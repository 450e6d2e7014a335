import type { ChatAnswer, StreamEnd } from './chat-answer.ts'
import { parseChat } from './chat-parse.ts'
import { renderChatAnswer, streamErrorTail, streamTail } from './chat-render.ts'
import type { ChatRequest } from './chat-request.ts'
import type { Kind } from './kind.ts'

const chat: Kind<ChatRequest, ChatAnswer, StreamEnd> = Object.freeze({
  paths: ['/v1/chat/completions'],
  modelType: 'chat',
  endpointName: 'chat/completions',
  parse: parseChat,
  renderAnswer: renderChatAnswer,
  stream: Object.freeze({ tail: streamTail, errorTail: streamErrorTail }),
})

/** Every paid kind, by its name in the usage log. */
export const KINDS = Object.freeze({ chat })
