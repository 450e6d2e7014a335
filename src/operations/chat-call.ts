import type { Endpoint } from '../catalog/catalog.ts'
import type { AnswerEvent } from '../kinds/answer/event.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { safelyNamed } from '../kinds/chat/safe-names.ts'
import { fittedBudget } from '../kinds/chat/thinking-share.ts'
import { isObject } from '../kinds/fields/json-fields.ts'
import { ownValue } from '../base/own-value.ts'
import { pricedRequest } from '../pay/plan/parameter-costs.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../protocols/ports/call.ts'
import type { AttemptStart, Operation } from '../pay/relay/operation.ts'

/** A protocol's names of parameters, by chat's. */
export type ClientWords = Readonly<Record<string, string>>
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
    {
      endpoint,
      apiKey,
      request: withFittedBudget(pricedRequest(chat, endpoint), sendMaxTokens),
      sendMaxTokens,
      generationId,
      splice,
    },
    sink,
  )
}

/**
 * The same for a client of another protocol, whose functions may have names that the provider refuses. `words`: its
 * names of parameters that others call otherwise, for the reason why the provider's protocol cannot say one.
 */
export function askTranslated(
  start: AttemptStart,
  chat: ChatRequest,
  sink: AnswerSink,
  words: ClientWords,
  splice: ChatCall['splice'] = null,
): RunningCall {
  const named = safelyNamed(chat)
  const renamed = (event: AnswerEvent): AnswerEvent =>
    event.type === 'tool_call' && named !== null ? { ...event, name: named.original(event.name) } : event
  return askChat(
    start,
    named?.chat ?? chat,
    {
      headers: () => sink.headers(),
      push: (events) => sink.push(named === null ? events : events.map(renamed)),
      end: () => sink.end(),
      fail: (failure) =>
        sink.fail(
          failure.reason === 'unsendable' && failure.publicMessage !== null
            ? { ...failure, publicMessage: inWords(failure.publicMessage, words) }
            : failure,
        ),
    },
    splice,
  )
}

/** A sentence that begins with a parameter, in the words of the client. */
export function inWords(message: string, words: ClientWords): string {
  const [name = ''] = /^\w+(?=[:.])/.exec(message) ?? []
  return (ownValue(words, name) ?? name) + message.slice(name.length)
}

/** Where the model's longest answer is shorter than the requested one, a budget for thinking gets its share of it. */
export function withFittedBudget(request: ChatRequest, sendMaxTokens: number | null): ChatRequest {
  const { reasoning } = request.parameters
  const budget = isObject(reasoning) ? reasoning['max_tokens'] : undefined
  if (!isObject(reasoning) || typeof budget !== 'number') return request
  const fitted = fittedBudget(budget, request.maxTokens, sendMaxTokens)
  if (fitted === budget) return request
  const { max_tokens: _given, ...rest } = reasoning
  const parameters = { ...request.parameters, reasoning: fitted === null ? rest : { ...rest, max_tokens: fitted } }
  return { ...request, parameters }
}
