import type { ChatRequest } from '../kinds/chat-request.ts'
import { objectOf, textOf } from './raw-json.ts'

/** What a client says of reasoning, whichever of its parameters it says it by. */
export interface ReasoningWish {
  /** null = nothing: the model does what it does. */
  readonly thinks: boolean | null
  readonly effort: string | null
  /** In tokens, at least 1. */
  readonly budget: number | null
  /** The client pays for reasoning but does not want to see it. */
  readonly isHidden: boolean
}

export function reasoningWish(parameters: ChatRequest['parameters']): ReasoningWish {
  const reasoning = objectOf(parameters['reasoning'])
  const effort = textOf(reasoning?.['effort']) ?? textOf(parameters['reasoning_effort'])
  const given = reasoning?.['max_tokens']
  const budget = typeof given === 'number' ? given : null
  const enabled = reasoning?.['enabled']
  const isOff = enabled === false || effort === 'none' || budget === 0
  const isOn = enabled === true || effort !== null || budget !== null || parameters['include_reasoning'] === true
  return {
    thinks: isOff ? false : isOn ? true : null,
    effort: isOff ? null : effort,
    budget: isOff ? null : budget,
    isHidden: reasoning?.['exclude'] === true || parameters['include_reasoning'] === false,
  }
}
