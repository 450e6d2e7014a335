import type { Endpoint } from '../../catalog/catalog.ts'
import { sumUsage } from '../../kinds/answer/usage.ts'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { chatOfPrompt, type CompletionsRequest } from '../../kinds/completions.ts'
import { CompletionsWriter } from '../../protocols/openai/client/completions.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import { billed } from '../../protocols/ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import type { AttemptStart, Operation } from '../relay/operation.ts'
import { askChat, canChat, chatFields, unsentParts } from './chat.ts'
import { askedOf, ChatAttempt } from './chat-attempt.ts'

type Ask = (sink: AnswerSink) => RunningCall

/**
 * Makes several calls at once and returns their answers as choices of one answer: `n` each, numbered consecutively. A
 * failure of one ends all. `tiers` gets the service tier of each call; null = its provider reports none, and empty =
 * there is one call.
 */
function fanOut(asks: readonly Ask[], n: number, sink: AnswerSink, tiers: (string | null)[] = []): RunningCall {
  const [only] = asks
  return asks.length === 1 && only !== undefined ? only(sink) : new FanOut(asks, n, sink, tiers)
}

class FanOut implements RunningCall {
  readonly #sink: AnswerSink
  readonly #calls: readonly RunningCall[]
  readonly #usage: (UsageReport | null)[]
  readonly #tiers: (string | null)[]
  #left: number
  #answered = false
  #over = false

  constructor(asks: readonly Ask[], n: number, sink: AnswerSink, tiers: (string | null)[]) {
    this.#sink = sink
    this.#tiers = tiers
    for (const _ask of asks) tiers.push(null)
    this.#left = asks.length
    this.#usage = asks.map(() => null)
    this.#calls = asks.map((ask, position) => ask(this.#sinkOf(position, position * n)))
  }

  cancel(): void {
    this.#over = true
    for (const call of this.#calls) call.cancel()
  }

  resume(): void {
    for (const call of this.#calls) call.resume()
  }

  #sinkOf(position: number, firstChoice: number): AnswerSink {
    return {
      headers: () => {
        if (!this.#over && !this.#answered) this.#sink.headers()
        this.#answered = true
      },
      push: (events) => {
        if (this.#over) return true
        const passed = events.flatMap((event) => this.#taken(event, position, firstChoice))
        return passed.length === 0 || this.#sink.push(passed)
      },
      end: () => {
        this.#left -= 1
        if (this.#over || this.#left > 0) return
        this.#over = true
        this.#sink.end()
      },
      fail: (failure) => {
        if (this.#over) return
        this.cancel()
        if (failure.billed === undefined) return this.#sink.fail(failure)
        this.#usage[position] = failure.billed
        this.#sink.fail(billed(failure, this.#told()))
      },
    }
  }

  #taken(event: AnswerEvent, position: number, firstChoice: number): readonly AnswerEvent[] {
    switch (event.type) {
      case 'usage':
        this.#usage[position] = event.usage
        return [{ type: 'usage', usage: this.#told() }]
      case 'origin':
        this.#tiers[position] = event.serviceTier ?? this.#tiers[position] ?? null
        return position === 0 ? [event] : []
      case 'spliced':
        throw new Error('A fan-out offers no splice.')
      case 'wire':
        throw new Error('A fan-out asks chats, which carry no bytes of their provider.')
      case 'text':
      case 'reasoning':
      case 'refusal':
      case 'tool_call':
      case 'tool_arguments':
      case 'extra':
      case 'item':
      case 'finish':
        return [{ ...event, choice: event.choice + firstChoice }]
    }
  }

  /** The usage reported so far: it is billed, whatever the end of the calls. */
  #told(): UsageReport {
    const known = this.#usage.filter((usage) => usage !== null)
    const whole = sumUsage(known)
    return known.length < this.#usage.length ? { ...whole, missing: ['input', 'output'] } : whole
  }
}

/**
 * Legacy completions (wire.md D-2.5): sent natively if the endpoint has them, else each prompt is a chat with one
 * message.
 */
export function completionsOperation(request: CompletionsRequest, adapters: AdapterTable): Operation {
  const { chat, prompts } = request
  // All written answers are billed, but only the best are returned.
  const sizes = { inputs: prompts.length, written: Math.max(chat.n, request.bestOf ?? 0) }
  const able = (endpoint: Endpoint): boolean =>
    canChat(endpoint, adapters) ||
    (endpoint.nativeCompletions && adapters.get(endpoint.provider.adapter)?.completions !== undefined)
  return {
    type: 'completions',
    ...chatFields(chat),
    conversation: () => chat,
    plan: (input) => planChat({ ...input, request: chat, type: 'completions', able, ...sizes }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, sizes),
    begin: (start, sink) => {
      const writer = new CompletionsWriter(start.identity, chat.includeUsage)
      const dropped = nativeOf(start) === null ? unsentParts(chat, start, {}) : []
      const tiers: (string | null)[] = []
      const { tokens, candidate } = start
      const { endpoint, model } = candidate
      const asked = askedOf(chat, endpoint, sizes.inputs, () => tokens.countChat(chat, model.tokenizer))
      return new ChatAttempt({ asked, writer, ...sizes, start, sink, dropped, tiers }, (answers) =>
        ask(request, start, answers, tiers),
      )
    },
  }
}

/** The provider's own completions; null = each prompt is asked as a chat. */
function nativeOf({ adapter, candidate }: AttemptStart): NonNullable<AttemptStart['adapter']['completions']> | null {
  return candidate.endpoint.nativeCompletions ? (adapter.completions ?? null) : null
}

function ask(
  request: CompletionsRequest,
  start: AttemptStart,
  sink: AnswerSink,
  tiers: (string | null)[],
): RunningCall {
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
      tiers,
    )
  }
  const asks = request.prompts.map(
    (prompt) => (answers: AnswerSink) => askChat(start, chatOfPrompt(request, prompt), answers),
  )
  return fanOut(asks, request.chat.n, sink, tiers)
}
