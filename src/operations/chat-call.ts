import type { Endpoint } from '../catalog/catalog.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../providers/ports/call.ts'
import type { AttemptStart, Operation } from '../relay/operation.ts'

type ChatFields = Pick<Operation, 'delivery' | 'contentType' | 'sessionId' | 'conversation' | 'fitsFunds'>

/** The fields that all operations of chat models have in common. */
export function chatFields(chat: ChatRequest): ChatFields {
  return {
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    conversation: chat,
    fitsFunds: chat.maxTokens === null,
  }
}

/** Whether the adapter of an endpoint can chat. */
export function canChat(adapters: AdapterTable): (endpoint: Endpoint) => boolean {
  return ({ provider }) => adapters.get(provider.adapter)?.chat !== undefined
}

/** Asks the provider of an attempt for a chat. */
export function askChat(
  { adapter, candidate, apiKey, generationId }: AttemptStart,
  chat: ChatRequest,
  sink: AnswerSink,
  splice: ChatCall['splice'] = null,
): RunningCall {
  const { endpoint, sendMaxTokens } = candidate
  if (adapter.chat === undefined)
    throw new Error(`Adapter '${adapter.name}' has no chat: the plan lets only those through that have.`)
  return adapter.chat(
    { endpoint, apiKey, request: pricedRequest(chat, endpoint), sendMaxTokens, generationId, splice },
    sink,
  )
}
