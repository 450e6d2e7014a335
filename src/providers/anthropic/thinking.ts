import { effortTokens, reasoningWish, type ReasoningWish } from '../../protocols/answers/reasoning-wish.ts'
import type { ModelTraits } from './model-traits.ts'
import type { JsonObject } from '../../lib/json-object.ts'

const EFFORT_DEFAULT = 'medium'
const BUDGET_MIN = 1_024
const BUDGET_MAX = 128_000

export interface Thinking {
  readonly thinking: Readonly<Record<string, unknown>> | null
  /** For `output_config.effort`. */
  readonly effort: string | null
}

const UNASKED: Thinking = { thinking: null, effort: null }

/**
 * The `thinking` of a request whose answer has `maxTokens` for thinking and text together. `possible` is false where
 * the rest of the request excludes thinking.
 */
export function thinkingOf(
  parameters: JsonObject,
  traits: ModelTraits,
  maxTokens: number,
  possible: boolean,
): Thinking {
  // A wish to see reasoning is not a wish to have it: in this protocol thinking must be asked for.
  const wish = reasoningWish({
    reasoning: parameters['reasoning'],
    reasoning_effort: parameters['reasoning_effort'],
  })
  if (wish.thinks === null || traits.thinking === 'none') return UNASKED
  if (traits.thinking === 'adaptive') return adaptive(wish, traits, hidesReasoning(parameters), possible)
  const budget = wish.thinks && possible ? budgetOf(wish, maxTokens) : null
  return budget === null ? UNASKED : { thinking: { type: 'enabled', budget_tokens: budget }, effort: null }
}

/** The client pays for reasoning but asked not to see it. */
export function hidesReasoning(parameters: JsonObject): boolean {
  return reasoningWish(parameters).isHidden
}

/** An adaptive model refuses a budget; without `display` its thinking would not be shown. */
function adaptive(
  { thinks, effort }: ReasoningWish,
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

/** null when no budget fits into `maxTokens`, which is never raised: the hold was made for it. */
function budgetOf({ effort, budget }: ReasoningWish, maxTokens: number): number | null {
  if (maxTokens <= BUDGET_MIN) return null
  const asked = budget ?? effortTokens(effort ?? EFFORT_DEFAULT, maxTokens) ?? 0
  return Math.min(Math.max(asked, BUDGET_MIN), BUDGET_MAX, maxTokens - 1)
}
