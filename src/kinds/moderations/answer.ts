import { rubles, type Micro } from '../../base/money.ts'
import type { ChunkIdentity } from '../chat/answer.ts'

/** A model's result for one input, with the model's own categories unchanged. */
export interface ModerationResult {
  readonly flagged: boolean
  /** null = the model does not judge the category. */
  readonly categories: Readonly<Record<string, boolean | null>>
  /** 0 to 1. */
  readonly category_scores: Readonly<Record<string, number | null>>
  /** The kinds of input behind each score; absent = unknown. */
  readonly category_applied_input_types?: Readonly<Record<string, readonly string[]>>
}

export interface ModerationAnswer {
  /** In the order of the input. */
  readonly results: readonly ModerationResult[]
  readonly upstreamId: string | null
}

/** The body in OpenAI's form, with the charge. */
export function moderationBody(
  { results }: ModerationAnswer,
  { id, model, provider }: ChunkIdentity,
  chargedMicro: Micro,
): Record<string, unknown> {
  return { id, model, provider, results, usage: { cost: rubles(chargedMicro), currency: 'RUB' } }
}
