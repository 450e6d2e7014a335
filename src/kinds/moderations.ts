import type { MediaUrl } from './fields/media.ts'
import type { RoutedRequest } from './fields/routed-request.ts'
import { rubles, type Micro } from '../base/money.ts'
import type { ChunkIdentity } from './chat/answer.ts'

export type ModerationPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: MediaUrl<'image'> } }

/** Each text gets its own result; a list of parts gets one. */
export type ModerationInput =
  | { readonly type: 'texts'; readonly texts: readonly string[] }
  | { readonly type: 'parts'; readonly parts: readonly ModerationPart[] }

/** A validated request for judgements of texts and images (clients.md 6). */
export interface ModerationRequest extends RoutedRequest {
  readonly model: string
  readonly input: ModerationInput
}

export function textsOf({ input }: ModerationRequest): readonly string[] {
  if (input.type === 'texts') return input.texts
  return input.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
}

/** The number of results of the request. */
export function resultCount({ input }: ModerationRequest): number {
  return input.type === 'texts' ? input.texts.length : 1
}

export function hasImage({ input }: ModerationRequest): boolean {
  return input.type === 'parts' && input.parts.some(({ type }) => type === 'image_url')
}

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
