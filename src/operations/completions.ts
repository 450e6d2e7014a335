import type { Endpoint } from '../catalog/catalog.ts'
import { chatOfPrompt, type CompletionsRequest } from '../kinds/completions/request.ts'
import { CompletionsWriter } from '../kinds/completions/writer.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../providers/ports/call.ts'
import type { AttemptStart, Operation } from '../relay/operation.ts'
import { ChatAttempt } from './chat-attempt.ts'
import { fanOut } from './fan-out.ts'

/**
 * Legacy completions (wire.md D-2.5): natively where the endpoint has them, else each prompt as a chat with one
 * message.
 */
export function completionsOperation(request: CompletionsRequest, adapters: AdapterTable): Operation {
  const { chat, prompts } = request
  // All written answers are billed, and the best are returned.
  const sizes = { inputs: prompts.length, written: Math.max(chat.n, request.bestOf ?? 0) }
  const able = (endpoint: Endpoint): boolean => {
    const adapter = adapters.get(endpoint.provider.adapter)
    return (endpoint.nativeCompletions && adapter?.completions !== undefined) || adapter?.chat !== undefined
  }
  return {
    type: 'completions',
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    conversation: chat,
    fitsFunds: chat.maxTokens === null,
    plan: (input) => planChat({ ...input, request: chat, type: 'completions', able, ...sizes }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, sizes),
    begin: (start, sink) => {
      const writer = new CompletionsWriter(start.identity, chat.includeUsage)
      return new ChatAttempt({ request: chat, writer, ...sizes, start, sink }, (answers) =>
        ask(request, start, answers),
      )
    },
  }
}

function ask(request: CompletionsRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId } = start
  const { endpoint, sendMaxTokens } = candidate
  const { chat, completions } = adapter
  if (endpoint.nativeCompletions && completions !== undefined) {
    const lists = completions.takesList ? [request.prompts] : request.prompts.map((prompt) => [prompt])
    return fanOut(
      lists.map(
        (prompts) => (answers) => completions.ask({ endpoint, apiKey, request, prompts, sendMaxTokens }, answers),
      ),
      request.chat.n,
      sink,
    )
  }
  if (chat === undefined)
    throw new Error(
      `Adapter '${adapter.name}' has neither completions nor chat: the plan lets only those through that have.`,
    )
  const asks = request.prompts.map(
    (prompt) => (answers: AnswerSink) =>
      chat(
        {
          endpoint,
          apiKey,
          request: pricedRequest(chatOfPrompt(request, prompt), endpoint),
          sendMaxTokens,
          generationId,
          splice: null,
        },
        answers,
      ),
  )
  return fanOut(asks, request.chat.n, sink)
}
