import type { JsonObject } from '../../base/json-text.ts'
import type { Endpoint } from '../../catalog/catalog.ts'
import { type TraitRow, TraitTable, traitRow as row } from '../../catalog/trait-table.ts'
import { ownThought } from '../../kinds/answer/provenance.ts'
import { type ReasoningWish, effortTokens, reasoningWish } from '../answers/reasoning-wish.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

/** Abilities of a model; the provider refuses with 400 what the model does not accept. */
export interface ModelTraits {
  /** Whether it thinks within a budget of tokens, adaptively by its own judgement, or not at all. */
  readonly thinking: 'budget' | 'adaptive' | 'none'
  /** Whether a model that thinks within a budget also accepts `adaptive`. */
  readonly adapts: boolean
  /** Whether it refuses thoughts of earlier turns if the text before them has changed. */
  readonly bindsThinking: boolean
  /** The least thinking of an adaptive model: a type of `thinking`; null = only its effort can be lowered. */
  readonly leastThinking: 'disabled' | 'between_tools' | null
  /** How many of temperature and top_p a request may have; 0 = top_k is not accepted either. */
  readonly samplingParameters: 0 | 1 | 2
  /** Whether it can constrain an answer or the input of a tool to a JSON schema, and whether it can at Bedrock. */
  readonly constrains: boolean
  readonly constrainsAtBedrock: boolean
  /** Whether a request may force a tool call. */
  readonly forcesTools: boolean
  /** Whether a request may contain the beginning of the answer. */
  readonly takesPrefill: boolean
  /** The shortest prompt that is cached, in tokens. */
  readonly cacheMin: number
}

const V2: ModelTraits = {
  thinking: 'none',
  adapts: false,
  bindsThinking: false,
  leastThinking: 'disabled',
  samplingParameters: 2,
  constrains: false,
  constrainsAtBedrock: false,
  forcesTools: true,
  takesPrefill: true,
  cacheMin: 1_024,
}
const V3_7: ModelTraits = { ...V2, thinking: 'budget' }
const V4_1: ModelTraits = { ...V3_7, samplingParameters: 1 }
const V4_5: ModelTraits = { ...V4_1, constrains: true, constrainsAtBedrock: true }
const V4_6: ModelTraits = { ...V4_5, adapts: true, takesPrefill: false }
const V4_7: ModelTraits = { ...V4_6, thinking: 'adaptive', samplingParameters: 0, cacheMin: 2_048 }
const V5: ModelTraits = { ...V4_7, cacheMin: 512 }
/** These models always think, and so refuse a forced call, which would skip the thinking. */
const NEWEST: ModelTraits = { ...V5, leastThinking: null, forcesTools: false, bindsThinking: true }
const LONG_CACHE = { cacheMin: 4_096 }

const DOCS = 'https://platform.claude.com/docs/en'
const THINKING = { source: `${DOCS}/build-with-claude/extended-thinking`, date: '2026-09-29' }
const SAMPLING = { source: `${DOCS}/about-claude/models/migration-guide`, date: '2026-09-29' }
const FORMATS = { source: `${DOCS}/build-with-claude/structured-outputs`, date: '2026-09-29' }
const PREFILL = { source: `${DOCS}/models/sonnet-5-5/migration-guide`, date: '2026-09-29' }
const ADAPTIVE = { source: `${DOCS}/build-with-claude/thinking`, date: '2026-09-29' }
const OPUS_5 = { source: `${DOCS}/models/opus-5/whats-new-opus-5`, date: '2026-09-22' }
const OPUS_5_5 = { source: `${DOCS}/models/opus-5-5/whats-new-opus-5-5`, date: '2026-09-24' }
const SONNET_5_5 = { source: `${DOCS}/models/sonnet-5-5/whats-new-sonnet-5-5`, date: '2026-09-29' }
const HAIKU_5_5 = { source: `${DOCS}/models/haiku-5-5/whats-new-haiku-5-5`, date: '2026-10-07' }
const FABLE_5_1 = { source: `${DOCS}/models/fable-5-1/whats-new-fable-5-1`, date: '2026-09-24' }
/** For models that are not announced yet: what the strictest model refuses is left out for them too. */
const UNKNOWN = FABLE_5_1

/** The fourth generation of a family, in which only the caches differ. */
function fourth(of: string, cache4_5: number): readonly TraitRow<ModelTraits>[] {
  return [
    row(of, '3', V2, THINKING),
    row(of, '3.7', V3_7, THINKING),
    row(of, '4.1', V4_1, SAMPLING),
    row(of, '4.5', { ...V4_5, cacheMin: cache4_5 }, FORMATS),
    row(of, '4.6', { ...V4_6, cacheMin: cache4_5 }, PREFILL),
    row(of, '4.7', V4_7, ADAPTIVE),
    row(of, '4.8', { ...V4_7, cacheMin: 1_024 }, ADAPTIVE),
  ]
}

export const CLAUDE_TRAITS = new TraitTable<ModelTraits>([
  row('claude instant', '1', V2, THINKING),
  ...fourth('claude haiku', LONG_CACHE.cacheMin),
  row('claude haiku', '5.5', { ...V5, bindsThinking: true }, HAIKU_5_5),
  row('claude haiku', '5.6', NEWEST, UNKNOWN),
  ...fourth('claude sonnet', V4_5.cacheMin),
  row('claude sonnet', '5', { ...V5, cacheMin: 1_024 }, PREFILL),
  row(
    'claude sonnet',
    '5.5',
    { ...V5, leastThinking: 'between_tools', forcesTools: false, constrainsAtBedrock: false, bindsThinking: true },
    SONNET_5_5,
  ),
  row('claude sonnet', '5.6', NEWEST, UNKNOWN),
  ...fourth('claude opus', LONG_CACHE.cacheMin),
  row('claude opus', '5', V5, OPUS_5),
  row('claude opus', '5.5', NEWEST, OPUS_5_5),
  ...['claude fable', 'claude mythos'].flatMap((of) => [
    row(of, '5', { ...NEWEST, forcesTools: true, bindsThinking: false }, FABLE_5_1),
    row(of, '5.1', NEWEST, FABLE_5_1),
  ]),
  row('claude', '1', V2, THINKING),
  row('claude', '4', NEWEST, UNKNOWN),
  row('anthropic', '1', NEWEST, UNKNOWN),
])

/**
 * The signer of a model's thoughts: null = Claude on any platform ("signature values are compatible across platforms",
 * `build-with-claude/extended-thinking`, 2026-11-27; thoughts that a model cannot read are dropped there), else only
 * this provider.
 */
export function signerOf({ upstreamModel, provider }: Pick<Endpoint, 'upstreamModel' | 'provider'>): string | null {
  return CLAUDE_TRAITS.of(upstreamModel) === null ? provider.slug : null
}

/**
 * The traits by the name: an unknown name gets the oldest form, which compatible providers copied; an unknown name of
 * Anthropic's gets the newest traits.
 */
export function traitsOf(upstreamModel: string): ModelTraits {
  return CLAUDE_TRAITS.of(upstreamModel) ?? V3_7
}

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
