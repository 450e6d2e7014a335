import { isContent, type AnswerEvent } from './event.ts'
import type { FinishReason, StreamEnd, UsageReport } from '../chat/answer.ts'
import { finishReasonOf } from './finish-reason.ts'

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
