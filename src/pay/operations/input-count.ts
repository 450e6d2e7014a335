import type { Model } from '../../catalog/catalog.ts'
import type { PlanInput } from '../plan/plan.ts'

export type TextTokens = Pick<PlanInput['tokens'], 'countTexts'>

/** The few tokens that providers put around each text, at most. */
const FRAME_TOKENS_MAX = 8

/**
 * The tokens of texts that a model reads one by one: their bytes bound them at no cost, and they are counted once for
 * each encoding on demand.
 */
export class InputCount {
  readonly #texts: readonly string[]
  /** Tokens that the client sent as tokens, besides the texts. */
  readonly #given: number
  readonly #counts = new Map<string | null, { readonly tokens: number; readonly exact: boolean }>()
  #bytes: number | null = null

  constructor(texts: readonly string[], given = 0) {
    this.#texts = texts
    this.#given = given
  }

  get bytes(): number {
    this.#bytes ??= this.#texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    return this.#bytes
  }

  /** An upper bound: no tokenizer makes more tokens of the texts. */
  get bound(): number {
    return this.#given + this.bytes + FRAME_TOKENS_MAX * this.#texts.length
  }

  count(model: Model, counter: TextTokens): number {
    return this.#given + this.#count(model, counter).tokens
  }

  /** Whether the provider's count would be the same as ours. */
  isExact(model: Model, counter: TextTokens): boolean {
    return this.#count(model, counter).exact
  }

  #count({ tokenizer }: Model, counter: TextTokens): { readonly tokens: number; readonly exact: boolean } {
    if (this.#texts.length === 0) return { tokens: 0, exact: true }
    const known = this.#counts.get(tokenizer) ?? counter.countTexts(this.#texts, tokenizer)
    this.#counts.set(tokenizer, known)
    return known
  }
}

/**
 * The tokens to hold for: the count if the provider counts in the same way, else the bytes, since another tokenizer's
 * count is no bound.
 */
export function heldTokens({
  bound,
  count,
  exact,
}: {
  readonly bound: number
  readonly count: number
  readonly exact: boolean
}): number {
  return exact ? Math.min(bound, count) : bound
}
