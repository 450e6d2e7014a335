import { parseChat } from '../kinds/chat/parse.ts'
import { withRawMessages } from '../kinds/chat/raw-messages.ts'
import { parseCompletions } from '../kinds/completions/parse.ts'
import { parseResponses } from '../kinds/responses/parse.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { chatOperation } from './chat.ts'
import { completionsOperation } from './completions.ts'
import { withSession, type RequestReader } from './paid-kind.ts'
import { responsesOperation } from './responses.ts'

/** Requests of the types that chat models serve. */
export function textReaders(
  adapters: AdapterTable,
): Readonly<Record<'chat' | 'responses' | 'completions', RequestReader>> {
  return {
    chat: {
      body: 'json',
      read: ({ json, jsonMember, sessionId }) =>
        chatOperation(withRawMessages(withSession(parseChat(json), sessionId), json, jsonMember('messages')), adapters),
    },
    responses: {
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseResponses(json)
        return responsesOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
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
