import type { Endpoint } from '../catalog/catalog.ts'
import type { CohereChatRequest } from '../kinds/cohere/request.ts'
import { CohereWriter } from '../kinds/cohere/writer.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { Operation } from '../relay/operation.ts'
import { ChatAttempt } from './chat-attempt.ts'

/** Cohere's `/v2/chat` (clients.md 6) as a chat operation. */
export function cohereChatOperation({ chat, dropped }: CohereChatRequest, adapters: AdapterTable): Operation {
  const able = ({ provider }: Endpoint): boolean => adapters.get(provider.adapter)?.chat !== undefined
  return {
    type: 'cohere_chat',
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    conversation: chat,
    fitsFunds: chat.maxTokens === null,
    plan: (input) => planChat({ ...input, request: chat, type: 'cohere_chat', able }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens),
    begin: (start, sink) => {
      const { adapter, candidate, apiKey, generationId, identity } = start
      const { endpoint, sendMaxTokens } = candidate
      const writer = new CohereWriter(identity)
      return new ChatAttempt({ request: chat, writer, inputs: 1, start, sink, dropped }, (answers) => {
        if (adapter.chat === undefined)
          throw new Error(`Adapter '${adapter.name}' has no chat: the plan lets only those through that have.`)
        return adapter.chat(
          { endpoint, apiKey, request: pricedRequest(chat, endpoint), sendMaxTokens, generationId, splice: null },
          answers,
        )
      })
    },
  }
}
