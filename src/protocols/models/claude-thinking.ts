import { effortTokens, reasoningWish, type ReasoningWish } from '../answers/reasoning-wish.ts'
import type { ModelTraits } from './claude-traits.ts'
import type { JsonObject } from '../../base/json-text.ts'
import { ownThought } from '../../kinds/answer/provenance.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

/**
 * OpenRouter's name for Claude's reasoning details, by which clients and we recognise them. It is the same at Bedrock,
 * whose Claude models make the same signatures.
 */
export const CLAUDE_REASONING = 'anthropic-claude-v1'

const EFFORT_DEFAULT = 'medium'
export const EFFORT_LEAST = 'low'
const BUDGET_MIN = 1_024
const BUDGET_MAX = 128_000

export interface Thinking {
  readonly thinking: Readonly<Record<string, unknown>> | null
  /** The value of `output_config.effort`. */
  readonly effort: string | null
}

export const UNASKED: Thinking = { thinking: null, effort: null }

/**
 * The `thinking` of a request whose answer has `maxTokens` for thinking and text together. `possible` is false if the
 * rest of the request excludes thinking.
 */
export function thinkingOf(
  parameters: JsonObject,
  traits: ModelTraits,
  maxTokens: number,
  possible: boolean,
): Thinking {
  // A request to see reasoning does not ask for it: in this protocol thinking must be requested.
  const wish = reasoningWish({
    reasoning: parameters['reasoning'],
    reasoning_effort: parameters['reasoning_effort'],
  })
  if (wish.thinks === null || traits.thinking === 'none') return UNASKED
  if (traits.thinking === 'adaptive') return adaptive(wish, traits, hidesReasoning(parameters), possible)
  const budget = wish.thinks && possible ? budgetOf(wish, maxTokens) : null
  return budget === null ? UNASKED : { thinking: { type: 'enabled', budget_tokens: budget }, effort: null }
}

/** Whether the client wants no thinking from a model that always thinks: the model then thinks as little as it can. */
export function thinksUnasked(parameters: JsonObject, { thinking, leastThinking }: ModelTraits): boolean {
  return thinking === 'adaptive' && leastThinking === null && reasoningWish(parameters).thinks === false
}

/** Whether the client pays for reasoning but asked not to see it. */
export function hidesReasoning(parameters: JsonObject): boolean {
  return reasoningWish(parameters).isHidden
}

/** The thinking of an adaptive model, which refuses a budget; without `display`, its thinking would not be shown. */
function adaptive(
  { thinks, effort }: ReasoningWish,
  { leastThinking }: ModelTraits,
  hidden: boolean,
  possible: boolean,
): Thinking {
  if (thinks !== true || !possible) {
    if (leastThinking !== null) return { thinking: { type: leastThinking }, effort: null }
    return thinks === true ? UNASKED : { thinking: null, effort: EFFORT_LEAST }
  }
  return {
    thinking: { type: 'adaptive', display: hidden ? 'omitted' : 'summarized' },
    effort: effort === 'minimal' ? 'low' : effort,
  }
}

/** null = no budget fits `maxTokens`, which is never raised, since the hold covers no more. */
export function budgetOf(
  { effort, budget }: Pick<ReasoningWish, 'effort' | 'budget'>,
  maxTokens: number,
): number | null {
  if (maxTokens <= BUDGET_MIN) return null
  const asked = budget ?? effortTokens(effort ?? EFFORT_DEFAULT, maxTokens) ?? 0
  return Math.min(Math.max(asked, BUDGET_MIN), BUDGET_MAX, maxTokens - 1)
}

/** A thought that the model accepts back: one with its signature, or an encrypted one. */
export type SignedThought = { readonly text: string; readonly signature: string } | { readonly encrypted: string }

/**
 * The reasoning of this protocol in the details that a client sends back, whole or in the pieces of a stream. Thoughts
 * that another `signer` signed, and thoughts with neither a signature nor a mark, are left out: they would be refused.
 */
export function signedThoughts(details: readonly unknown[], signer: string | null): readonly SignedThought[] {
  const thoughts: SignedThought[] = []
  let text = ''
  let index: unknown = null
  for (const raw of details) {
    const detail = objectOf(raw)
    if (detail?.['format'] !== CLAUDE_REASONING) continue
    if (detail['type'] === 'reasoning.encrypted') {
      const encrypted = ownThought(detail['data'], signer)
      if (encrypted !== null) thoughts.push({ encrypted })
    }
    if (detail['type'] !== 'reasoning.text') continue
    text = (detail['index'] === index ? text : '') + (textOf(detail['text']) ?? '')
    index = detail['index']
    if ((textOf(detail['signature']) ?? '') === '') continue
    const signature = ownThought(detail['signature'], signer)
    if (signature !== null) thoughts.push({ text, signature })
    text = ''
  }
  return thoughts
}
