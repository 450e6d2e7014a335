import { objectOf, textOf } from '../raw-json.ts'
import type { ModelTraits } from './model-traits.ts'

type Parameters = Readonly<Record<string, unknown>>

/** Share of max_tokens that each effort thinks with, as OpenRouter documents it. */
const EFFORT_RATIOS: ReadonlyMap<string, number> = new Map([
  ['max', 0.95],
  ['xhigh', 0.95],
  ['high', 0.8],
  ['medium', 0.5],
  ['low', 0.2],
  ['minimal', 0.1],
])
const EFFORT_DEFAULT = 'medium'
const BUDGET_MIN = 1_024
const BUDGET_MAX = 128_000

/** What a client says of reasoning. */
interface Wish {
  /** null = nothing: the model does what it does. */
  readonly thinks: boolean | null
  readonly effort: string | null
  readonly budget: number | null
}

export interface Thinking {
  readonly thinking: Readonly<Record<string, unknown>> | null
  /** For `output_config.effort`. */
  readonly effort: string | null
}

const UNASKED: Thinking = { thinking: null, effort: null }

/**
 * The `thinking` of a request whose answer has `maxTokens` for thinking and words together. `possible` is false where
 * the rest of the request rules it out.
 */
export function thinkingOf(
  parameters: Parameters,
  traits: ModelTraits,
  maxTokens: number,
  possible: boolean,
): Thinking {
  const wish = wishOf(parameters)
  if (wish.thinks === null || traits.thinking === 'none') return UNASKED
  if (traits.thinking === 'adaptive') return adaptive(wish, traits, hidesReasoning(parameters), possible)
  const budget = wish.thinks && possible ? budgetOf(wish, maxTokens) : null
  return budget === null ? UNASKED : { thinking: { type: 'enabled', budget_tokens: budget }, effort: null }
}

/** The client pays for reasoning but does not want to see it. */
export function hidesReasoning(parameters: Parameters): boolean {
  return objectOf(parameters['reasoning'])?.['exclude'] === true || parameters['include_reasoning'] === false
}

function wishOf(parameters: Parameters): Wish {
  const reasoning = objectOf(parameters['reasoning'])
  const effort = textOf(reasoning?.['effort']) ?? textOf(parameters['reasoning_effort'])
  const given = reasoning?.['max_tokens']
  const budget = typeof given === 'number' ? given : null
  const enabled = reasoning?.['enabled']
  const isOff = enabled === false || effort === 'none' || budget === 0
  return {
    thinks: isOff ? false : enabled === true || effort !== null || budget !== null ? true : null,
    effort,
    budget,
  }
}

/** Such a model refuses a budget; without the word on `display` it would think in silence. */
function adaptive(
  { thinks, effort }: Wish,
  { canStopThinking }: ModelTraits,
  hidden: boolean,
  possible: boolean,
): Thinking {
  if (thinks !== true || !possible) return canStopThinking ? { thinking: { type: 'disabled' }, effort: null } : UNASKED
  return {
    thinking: { type: 'adaptive', display: hidden ? 'omitted' : 'summarized' },
    effort: effort === 'minimal' ? 'low' : effort,
  }
}

/** null where no budget fits into `maxTokens`, which is never raised: the hold was made for it. */
function budgetOf({ effort, budget }: Wish, maxTokens: number): number | null {
  if (maxTokens <= BUDGET_MIN) return null
  const asked = budget ?? Math.floor(maxTokens * (EFFORT_RATIOS.get(effort ?? EFFORT_DEFAULT) ?? 0))
  return Math.min(Math.max(asked, BUDGET_MIN), BUDGET_MAX, maxTokens - 1)
}
