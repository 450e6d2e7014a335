import type { Endpoint } from '../catalog/catalog.ts'
import type { AnswerFormat } from '../kinds/answer-format.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { PlanInput } from '../plan/plan.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { Order } from '../relay/order.ts'
import { ChatAttempt } from './chat-attempt.ts'

/** How a kind whose answers are chat answers differs from chat itself. */
export interface ChatKind {
  readonly type: Order['type']
  /** Without `/v1/`. */
  readonly endpointName: string
  readonly format: AnswerFormat
}

/** A request that any chat model can serve, its answer written in the format of its kind. */
export function chatOrder(
  request: ChatRequest,
  { type, endpointName, format }: ChatKind,
  adapters: AdapterTable,
): Order {
  const able = ({ provider }: Endpoint): boolean => adapters.get(provider.adapter)?.chat !== undefined
  return {
    type,
    delivery: request.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: request.sessionId,
    fitsFunds: request.maxTokens === null,
    ...('web_search_options' in request.parameters ? { mayExceed: true as const } : {}),
    plan: (input: PlanInput) => planChat({ ...input, request, endpointName, able }),
    recounted: (plan, tokens) => recountedHold(plan, request, tokens),
    begin: (start, sink) => {
      const { adapter, candidate, apiKey, generationId, identity } = start
      const splice = request.stream ? format.splice(identity) : null
      return new ChatAttempt({ request, writer: format.writer(identity), inputs: 1, start, sink }, (answers) => {
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
