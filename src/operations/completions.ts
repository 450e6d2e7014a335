import type { Endpoint } from '../catalog/catalog.ts'
import { chatOfPrompt, type CompletionsRequest } from '../kinds/completions.ts'
import { CompletionsWriter } from '../kinds/completions/writer.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'
import type { AttemptStart, Operation } from '../pay/relay/operation.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askChat, chatFields } from './chat-call.ts'
import { fanOut } from './fan-out.ts'
import { unsentParts } from './unsent.ts'

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
    ...chatFields(chat),
    plan: (input) => planChat({ ...input, request: chat, type: 'completions', able, ...sizes }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, sizes),
    begin: (start, sink) => {
      const writer = new CompletionsWriter(start.identity, chat.includeUsage)
      const dropped = nativeOf(start) === null ? unsentParts(chat, start, {}) : []
      return new ChatAttempt({ request: chat, writer, ...sizes, start, sink, dropped }, (answers) =>
        ask(request, start, answers),
      )
    },
  }
}

/** The provider's own completions; null = each prompt is asked as a chat. */
function nativeOf({ adapter, candidate }: AttemptStart): NonNullable<AttemptStart['adapter']['completions']> | null {
  return candidate.endpoint.nativeCompletions ? (adapter.completions ?? null) : null
}

function ask(request: CompletionsRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { candidate, apiKey } = start
  const { endpoint, sendMaxTokens } = candidate
  const completions = nativeOf(start)
  if (completions !== null) {
    const lists = completions.takesList ? [request.prompts] : request.prompts.map((prompt) => [prompt])
    return fanOut(
      lists.map(
        (prompts) => (answers) => completions.ask({ endpoint, apiKey, request, prompts, sendMaxTokens }, answers),
      ),
      request.chat.n,
      sink,
    )
  }
  const asks = request.prompts.map(
    (prompt) => (answers: AnswerSink) => askChat(start, chatOfPrompt(request, prompt), answers),
  )
  return fanOut(asks, request.chat.n, sink)
}
