import { parseChat } from '../kinds/chat/parse.ts'
import { parseCompletions } from '../kinds/completions/parse.ts'
import { parseMessages } from '../kinds/messages/parse.ts'
import { parseResponses } from '../kinds/responses/parse.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { chatOperation } from './chat.ts'
import { completionsOperation } from './completions.ts'
import { messagesOperation } from './messages.ts'
import { sessionOf, withSession, type RequestReader } from './paid-kind.ts'
import { responsesOperation } from './responses.ts'

/** Requests of the types that chat models serve. */
export function textReaders(
  adapters: AdapterTable,
): Readonly<Record<'chat' | 'responses' | 'messages' | 'completions', RequestReader>> {
  return {
    chat: {
      body: 'json',
      read: ({ json, sessionId }) => chatOperation(withSession(parseChat(json), sessionId), adapters),
    },
    responses: {
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseResponses(json)
        return responsesOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
    messages: {
      body: 'json',
      read: ({ json, sessionId, headers, rawBody, requestId }) => {
        const request = parseMessages(json, { headers, bytes: rawBody.length })
        const session = sessionId ?? sessionOf(headers['x-claude-code-session-id'])
        return messagesOperation({ ...request, chat: withSession(request.chat, session) }, requestId, adapters)
      },
    },
    completions: {
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseCompletions(json)
        return completionsOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
  }
}
