import type { ChatRequest } from '../../kinds/chat/request.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

/** The part of max_tokens for thinking at each effort, as OpenRouter documents it. */
const EFFORT_RATIOS: ReadonlyMap<string, number> = new Map([
  ['max', 0.95],
  ['xhigh', 0.95],
  ['high', 0.8],
  ['medium', 0.5],
  ['low', 0.2],
  ['minimal', 0.1],
])

/** The thinking tokens of an effort, out of `maxTokens`; null = there is no such effort. */
export function effortTokens(effort: string | null, maxTokens: number): number | null {
  const ratio = EFFORT_RATIOS.get(effort ?? '')
  return ratio === undefined ? null : Math.floor(maxTokens * ratio)
}

/** The client's preference for reasoning, from any of its parameters. */
export interface ReasoningWish {
  /** null = no preference: the model's default applies. */
  readonly thinks: boolean | null
  readonly effort: string | null
  /** In tokens, at least 1. */
  readonly budget: number | null
  /** Whether the client pays for reasoning but asked not to see it. */
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
