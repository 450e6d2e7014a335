import { rubles, type Micro } from '../../money.ts'
import type { ChunkIdentity } from '../chat/answer.ts'

/** What a model says of one input: its categories are its own and pass as they are. */
export interface ModerationResult {
  readonly flagged: boolean
  /** null = the model does not judge the category. */
  readonly categories: Readonly<Record<string, boolean | null>>
  /** 0 to 1. */
  readonly category_scores: Readonly<Record<string, number | null>>
  /** Kinds of input that each score is about; absent = the model does not say. */
  readonly category_applied_input_types?: Readonly<Record<string, readonly string[]>>
}

export interface ModerationAnswer {
  /** In the order of the input. */
  readonly results: readonly ModerationResult[]
  readonly upstreamId: string | null
}

/** The body of OpenAI's form, with what was charged. */
export function moderationBody(
  { results }: ModerationAnswer,
  { id, model, provider }: ChunkIdentity,
  chargedMicro: Micro,
): Record<string, unknown> {
  return { id, model, provider, results, usage: { cost: rubles(chargedMicro), currency: 'RUB' } }
}
