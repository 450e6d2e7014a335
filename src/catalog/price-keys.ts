import type { ModelType } from './catalog.ts'

/** Price keys of the catalogue file (operator.md 3). */
export const PRICE_KEYS = [
  'prompt', 'completion', 'input_cache_read', 'input_cache_write', 'input_cache_write_1h', 'internal_reasoning', 'audio', 'audio_output',
  'characters', 'request', 'image', 'image_output', 'search', 'second', 'video_second',
] as const
export type PriceKey = (typeof PRICE_KEYS)[number]

/** Alternatives of which one must be there in full, by type. */
const COMPLETE: Readonly<Record<ModelType, readonly (readonly PriceKey[])[]>> = {
  chat: [['prompt', 'completion']],
  embeddings: [['prompt']],
  image: [['image_output'], ['prompt', 'completion']],
  tts: [['characters'], ['prompt', 'audio_output']],
  transcription: [['second'], ['prompt', 'completion'], ['audio', 'completion']],
  rerank: [['search'], ['prompt']],
  video: [['video_second'], ['request']],
}

/** What a price lacks to be complete for its type, as readable alternatives; empty = complete. */
export function missingPrices(type: ModelType, given: ReadonlySet<string>): readonly string[] {
  const alternatives = COMPLETE[type]
  if (alternatives.some((keys) => keys.every((key) => given.has(key)))) return []
  return alternatives.map((keys) => keys.join(' + '))
}
