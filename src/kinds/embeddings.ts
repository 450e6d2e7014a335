import type { RoutedRequest } from './fields/routed-request.ts'

/** The texts to embed, or lists of tokens of the model's own encoding; each gives one vector. */
export type EmbeddingsInput =
  | { readonly type: 'texts'; readonly texts: readonly string[] }
  | { readonly type: 'tokens'; readonly lists: readonly (readonly number[])[] }

/** How a vector is written: numbers, or base64 of its little-endian float32 values. */
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
