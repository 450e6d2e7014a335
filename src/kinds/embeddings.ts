import type { RoutedRequest } from './fields/routed-request.ts'
import type { UsageReport } from './chat/answer.ts'

/** The texts to embed, or lists of tokens of the model's own encoding; each gives one vector. */
export type EmbeddingsInput =
  | { readonly type: 'texts'; readonly texts: readonly string[] }
  | { readonly type: 'tokens'; readonly lists: readonly (readonly number[])[] }

/** How a vector is written: as numbers, or as base64 of its little-endian float32 values. */
export type VectorFormat = 'float' | 'base64'

/** A validated embeddings request (wire.md D-2.1). */
export interface EmbeddingsRequest extends RoutedRequest {
  readonly input: EmbeddingsInput
  readonly encodingFormat: VectorFormat
  /** null = the model's own. */
  readonly dimensions: number | null
  readonly inputType: string | null
  readonly user: string | null
}

export function inputCount(input: EmbeddingsInput): number {
  return input.type === 'texts' ? input.texts.length : input.lists.length
}

/** Vectors of a provider, in the order of the inputs. */
export interface EmbeddingsAnswer {
  /**
   * Each in the JSON form that the client asked for: an array of numbers or base64 text. Empty if the provider gave
   * none.
   */
  readonly vectors: readonly Buffer[]
  /** null = the provider did not say. */
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}
