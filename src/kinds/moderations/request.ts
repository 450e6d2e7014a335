import type { RoutedRequest } from '../fields/routed-request.ts'

export type ModerationPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

/** Each text gets its own result; a list of parts gets one. */
export type ModerationInput =
  | { readonly type: 'texts'; readonly texts: readonly string[] }
  | { readonly type: 'parts'; readonly parts: readonly ModerationPart[] }

/** A validated request to judge texts and images (clients.md 6). */
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
