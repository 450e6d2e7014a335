import type { Endpoint } from '../catalog/catalog.ts'
import { textAround } from '../kinds/chat/chunk.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { ChatWriter } from '../kinds/chat/writer.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { PlanInput } from '../plan/plan.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { Operation } from '../relay/operation.ts'
import { ChatAttempt } from './chat-attempt.ts'

/** A chat operation; `dropped` are parts of the client's request that it leaves out. */
export function chatOperation(
  request: ChatRequest,
  adapters: AdapterTable,
  dropped: readonly string[] = [],
): Operation {
  const able = ({ provider }: Endpoint): boolean => adapters.get(provider.adapter)?.chat !== undefined
  return {
    type: 'chat',
    delivery: request.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: request.sessionId,
    conversation: request,
    fitsFunds: request.maxTokens === null,
    ...('web_search_options' in request.parameters ? { mayExceed: true as const } : {}),
    plan: (input: PlanInput) => planChat({ ...input, request, type: 'chat', able }),
    recounted: (plan, tokens) => recountedHold(plan, request, tokens),
    begin: (start, sink) => {
      const { adapter, candidate, apiKey, generationId, identity } = start
      const writer = new ChatWriter(identity, request.includeUsage)
      const splice = request.stream ? (field: 'content' | 'reasoning') => textAround(identity, field) : null
      return new ChatAttempt({ request, writer, inputs: 1, start, sink, dropped }, (answers) => {
        if (adapter.chat === undefined)
          throw new Error(`Adapter '${adapter.name}' has no chat: the plan lets only those through that have.`)
        return adapter.chat(
          {
            endpoint: candidate.endpoint,
            apiKey,
            request: pricedRequest(request, candidate.endpoint),
            sendMaxTokens: candidate.sendMaxTokens,
            generationId,
            splice,
          },
          answers,
        )
      })
    },
  }
}
