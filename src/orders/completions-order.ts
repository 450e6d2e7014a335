import type { Endpoint } from '../catalog/catalog.ts'
import { chatOfPrompt, type CompletionsRequest } from '../kinds/completions-request.ts'
import { completionsFormat } from '../kinds/completions-writer.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import type { AdapterTable, AnswerSink, RunningCall } from '../providers/adapter.ts'
import type { AttemptStart, Order } from '../relay/order.ts'
import { ChatAttempt } from './chat-attempt.ts'
import { fanOut } from './fan-out.ts'

/** Legacy completions (wire.md D-2.5): natively where the endpoint has them, else each prompt as a chat of one message. */
export function completionsOrder(request: CompletionsRequest, adapters: AdapterTable): Order {
  const { chat, prompts } = request
  const format = completionsFormat(chat.includeUsage)
  const able = (endpoint: Endpoint): boolean => {
    const adapter = adapters.get(endpoint.provider.adapter)
    return (endpoint.nativeCompletions && adapter?.completions !== undefined) || adapter?.chat !== undefined
  }
  return {
    type: 'completions',
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    fitsFunds: chat.maxTokens === null,
    plan: (input) => planChat({ ...input, request: chat, endpointName: 'completions', able, inputs: prompts.length }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, { inputs: prompts.length }),
    begin: (start, sink) => {
      const writer = format.writer(start.identity)
      return new ChatAttempt({ request: chat, writer, inputs: prompts.length, start, sink }, (answers) => ask(request, start, answers))
    },
  }
}

function ask(request: CompletionsRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId } = start
  const { endpoint, sendMaxTokens } = candidate
  const { chat, completions } = adapter
  if (endpoint.nativeCompletions && completions !== undefined) {
    const lists = completions.takesList ? [request.prompts] : request.prompts.map((prompt) => [prompt])
    return fanOut(lists.map((prompts) => (answers) => completions.ask({ endpoint, apiKey, request, prompts, sendMaxTokens }, answers)), request.chat.n, sink)
  }
  if (chat === undefined) throw new Error(`Adapter '${adapter.name}' has neither completions nor chat: the plan lets only those through that have.`)
  const asks = request.prompts.map((prompt) => (answers: AnswerSink) => chat({ endpoint, apiKey, request: chatOfPrompt(request, prompt), sendMaxTokens, generationId, splice: null }, answers))
  return fanOut(asks, request.chat.n, sink)
}
