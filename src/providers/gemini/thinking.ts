import type { ChatRequest } from '../../kinds/chat/request.ts'
import { effortTokens, reasoningWish, type ReasoningWish } from '../answers/reasoning-wish.ts'
import type { ModelTraits } from './model-traits.ts'

type Parameters = ChatRequest['parameters']

/** Levels for each effort, the preferred one first: not every model has all of them. */
const EFFORT_LEVELS: ReadonlyMap<string, readonly string[]> = new Map([
  ['minimal', ['minimal', 'low']],
  ['low', ['low']],
  ['medium', ['medium', 'high']],
  ['high', ['high']],
  ['xhigh', ['high']],
  ['max', ['high']],
])
/** The model decides. */
const BUDGET_DYNAMIC = -1

/**
 * The `thinkingConfig` of a request whose answer has `maxTokens` for thoughts and text together; null = none is sent.
 */
export function thinkingConfigOf(
  parameters: Parameters,
  traits: ModelTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> | null {
  const wish = reasoningWish(parameters)
  if (wish.thinks === null || traits.thinking === 'none') return null
  const amount = amountOf(wish, traits, maxTokens)
  const shown = wish.thinks && !wish.isHidden ? { includeThoughts: true } : {}
  const config = { ...shown, ...amount }
  return Object.keys(config).length === 0 ? null : config
}

/** A budget and a level exclude each other. Models that cannot stop thinking get their minimum. */
function amountOf(
  { thinks, effort, budget }: ReasoningWish,
  traits: ModelTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> {
  if (traits.thinking === 'shown') return {}
  if (traits.thinking === 'level') {
    if (thinks === false) return { thinkingLevel: traits.levels[0] }
    // The provider still accepts budgets from clients that count in tokens.
    if (budget !== null) return { thinkingBudget: budget }
    const level = EFFORT_LEVELS.get(effort ?? '')?.find((name) => traits.levels.includes(name))
    return level === undefined ? {} : { thinkingLevel: level }
  }
  if (thinks === false) return { thinkingBudget: traits.canStopThinking ? 0 : traits.budgetMin }
  const asked = budget ?? effortTokens(effort, maxTokens)
  return {
    thinkingBudget: asked === null ? BUDGET_DYNAMIC : Math.min(traits.budgetMax, Math.max(traits.budgetMin, asked)),
  }
}
