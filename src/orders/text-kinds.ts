import { parseChat } from '../kinds/chat-parse.ts'
import { chatFormat } from '../kinds/chat-writer.ts'
import { parseCompletions } from '../kinds/completions-parse.ts'
import { parseResponses } from '../kinds/responses/responses-parse.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import { chatOrder } from './chat-order.ts'
import { completionsOrder } from './completions-order.ts'
import { withSession, type PaidKind } from './paid-kind.ts'
import { responsesOrder } from './responses-order.ts'

/** The kinds that a model which speaks serves. */
export function textKinds(adapters: AdapterTable): readonly PaidKind[] {
  return [
    {
      paths: ['/v1/chat/completions'],
      endpointName: 'chat/completions',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = withSession(parseChat(json), sessionId)
        return chatOrder(
          request,
          { type: 'chat', endpointName: 'chat/completions', format: chatFormat(request.includeUsage) },
          adapters,
        )
      },
    },
    {
      paths: ['/v1/responses'],
      endpointName: 'responses',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseResponses(json)
        return responsesOrder({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
    {
      paths: ['/v1/completions'],
      endpointName: 'completions',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseCompletions(json)
        return completionsOrder({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
  ]
}
