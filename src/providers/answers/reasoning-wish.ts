import type { ChatRequest } from '../../kinds/chat/request.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

/** Share of max_tokens that each effort thinks with, as OpenRouter documents it. */
const EFFORT_RATIOS: ReadonlyMap<string, number> = new Map([
  ['max', 0.95],
  ['xhigh', 0.95],
  ['high', 0.8],
  ['medium', 0.5],
  ['low', 0.2],
  ['minimal', 0.1],
])

/** Tokens of `maxTokens` that an effort thinks with; null = no such effort. */
export function effortTokens(effort: string | null, maxTokens: number): number | null {
  const ratio = EFFORT_RATIOS.get(effort ?? '')
  return ratio === undefined ? null : Math.floor(maxTokens * ratio)
}

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
