import type { ChatRequest } from '../../kinds/chat-request.ts'
import { objectOf, textOf } from '../raw-json.ts'
import type { ModelTraits } from './model-traits.ts'

type Parameters = ChatRequest['parameters']

/** Share of max_tokens that each effort thinks with, as OpenRouter documents it. */
const EFFORT_RATIOS: ReadonlyMap<string, number> = new Map([
  ['max', 0.95],
  ['xhigh', 0.95],
  ['high', 0.8],
  ['medium', 0.5],
  ['low', 0.2],
  ['minimal', 0.1],
])
/** The level for each effort, the wished one first: not every model has them all. */
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

/** What a client says of reasoning. */
interface Wish {
  /** null = nothing: the model does what it does, unseen. */
  readonly thinks: boolean | null
  readonly effort: string | null
  /** In tokens. */
  readonly budget: number | null
}

/** The `thinkingConfig` of a request whose answer has `maxTokens` for thoughts and words together; null = none is sent. */
export function thinkingConfigOf(
  parameters: Parameters,
  traits: ModelTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> | null {
  const wish = wishOf(parameters)
  if (wish.thinks === null || traits.thinking === 'none') return null
  const amount = amountOf(wish, traits, maxTokens)
  const shown = wish.thinks && !hidesReasoning(parameters) ? { includeThoughts: true } : {}
  const config = { ...shown, ...amount }
  return Object.keys(config).length === 0 ? null : config
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
  const isOn = enabled === true || effort !== null || budget !== null || parameters['include_reasoning'] === true
  return { thinks: isOff ? false : isOn ? true : null, effort, budget }
}

/** A budget and a level exclude each other. Models that cannot stop think as little as they can. */
function amountOf(
  { thinks, effort, budget }: Wish,
  traits: ModelTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> {
  if (traits.thinking === 'shown') return {}
  if (traits.thinking === 'level') {
    if (thinks === false) return { thinkingLevel: traits.levels[0] }
    // Kept by the provider for clients that count in tokens.
    if (budget !== null) return { thinkingBudget: budget }
    const level = EFFORT_LEVELS.get(effort ?? '')?.find((name) => traits.levels.includes(name))
    return level === undefined ? {} : { thinkingLevel: level }
  }
  if (thinks === false) return { thinkingBudget: traits.canStopThinking ? 0 : traits.budgetMin }
  const asked = budget ?? (effort === null ? null : Math.floor(maxTokens * (EFFORT_RATIOS.get(effort) ?? 0)))
  return {
    thinkingBudget: asked === null ? BUDGET_DYNAMIC : Math.min(traits.budgetMax, Math.max(traits.budgetMin, asked)),
  }
}
