import type { FinishReason, StreamEnd, UsageReport } from '../chat/answer.ts'
import { type AnswerEvent, isContent } from './event.ts'

interface ChoiceEnd {
  native: string | null
  given: FinishReason | null
  toolCalls: boolean
}

/** The facts about past events that the end of an answer needs, in constant memory. */
export class AnswerEnd {
  readonly #choices = new Map<number, ChoiceEnd>()
  #usage: UsageReport | null = null
  #upstreamId: string | null = null
  #serviceTier: string | null = null
  #hasContent = false

  get hasContent(): boolean {
    return this.#hasContent
  }

  get usage(): UsageReport | null {
    return this.#usage
  }

  get upstreamId(): string | null {
    return this.#upstreamId
  }

  get serviceTier(): string | null {
    return this.#serviceTier
  }

  add(event: AnswerEvent): void {
    switch (event.type) {
      case 'usage':
        this.#usage = event.usage
        return
      case 'origin':
        this.#upstreamId = event.upstreamId ?? this.#upstreamId
        this.#serviceTier = event.serviceTier ?? this.#serviceTier
        return
      case 'wire':
        return
      case 'spliced':
        this.#choice(0)
        this.#hasContent = true
        return
      case 'finish': {
        const choice = this.#choice(event.choice)
        choice.native = event.native
        choice.given = event.finish ?? null
        return
      }
      case 'tool_call':
      case 'tool_arguments':
        this.#choice(event.choice).toolCalls = true
        break
      case 'text':
      case 'reasoning':
      case 'refusal':
      case 'extra':
      case 'item':
    }
    this.#choice(event.choice)
    if (isContent(event)) this.#hasContent = true
  }

  result(): StreamEnd {
    const choices = [...this.#choices].toSorted(([left], [right]) => left - right)
    const finishes = choices.map(([index, choice]) => ({ index, finish: finishOf(choice), native: choice.native }))
    return {
      finishes: finishes.length === 0 ? [{ index: 0, finish: 'stop', native: null }] : finishes,
      isReasoned: choices[0] !== undefined && reasonOf(choices[0][1]) !== null,
      usage: this.#usage,
      upstreamId: this.#upstreamId,
      serviceTier: this.#serviceTier,
      hasContent: this.#hasContent,
    }
  }

  #choice(index: number): ChoiceEnd {
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { native: null, given: null, toolCalls: false }
      this.#choices.set(index, choice)
    }
    return choice
  }
}

/** A complete answer without a reason ends with `stop` (wire.md D-3.2): otherwise some clients fail, or ask again. */
function finishOf(choice: ChoiceEnd): FinishReason {
  return reasonOf(choice) ?? 'stop'
}

function reasonOf({ native, given, toolCalls }: ChoiceEnd): FinishReason | null {
  return given ?? finishReasonOf(native, toolCalls)
}

/**
 * The reasons of wire.md D-3.2. A Map, because a provider's text such as `constructor` must not find an inherited
 * property.
 */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...names('stop', ['stop', 'end_turn', 'stop_sequence', 'STOP_SEQUENCE', 'pause_turn', 'STOP', 'COMPLETE', 'eos']),
  ...names('tool_calls', ['tool_calls', 'tool_use', 'TOOL_CALL', 'function_call']),
  ...names('length', ['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'model_context_window_exceeded']),
  ...names('content_filter', [
    'content_filter',
    'refusal',
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'IMAGE_SAFETY',
  ]),
  ...names('error', ['error', 'MALFORMED_FUNCTION_CALL', 'insufficient_system_resource', 'OTHER']),
])

/** Words that some services put into every piece in place of a reason while there is none. */
const NO_REASONS: ReadonlySet<unknown> = new Set(['', 'null', 'None', 'FINISH_REASON_UNSPECIFIED'])

function names(reason: FinishReason, natives: readonly string[]): (readonly [string, FinishReason])[] {
  return natives.map((native) => [native, reason] as const)
}

/** A provider's own reason; null = none, so the answer continues. */
export function namedReason(raw: unknown): string | null {
  return typeof raw === 'string' && !NO_REASONS.has(raw) ? raw : null
}

/**
 * The normalised form of a provider's reason. An answer with tool calls is `tool_calls` whatever the provider says,
 * unless it was cut by length or broken off: half a tool call must not be run. null = the provider named no reason.
 */
export function finishReasonOf(native: string | null, hasToolCalls: boolean): FinishReason | null {
  const reason = native === null ? null : (FINISH_REASONS.get(native) ?? 'stop')
  const isCut = reason === 'length' || (reason === 'error' && native !== 'OTHER')
  return hasToolCalls && !isCut ? 'tool_calls' : reason
}
