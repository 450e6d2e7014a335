import type { ModelType } from './catalog.ts'

/** Price keys of the catalogue file (operator.md 3). */
export const PRICE_KEYS = [
  'prompt',
  'completion',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'internal_reasoning',
  'audio',
  'audio_output',
  'characters',
  'request',
  'image',
  'image_output',
  'search',
  'second',
  'video_second',
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

/** Of these types a call names no token limit of its own, so that its worst cost is known only from the model's. */
const BOUNDED_BY_MODEL: ReadonlySet<ModelType> = new Set(['image', 'tts', 'transcription'])
const PER_TOKEN: ReadonlySet<PriceKey> = new Set(['prompt', 'completion', 'audio', 'audio_output'])

/**
 * What a price lacks to be complete for its type, as readable alternatives; empty = complete. `outputBounded`:
 * `max_completion_tokens` is known.
 */
export function missingPrices(type: ModelType, given: ReadonlySet<string>, outputBounded: boolean): readonly string[] {
  const needsBound = (keys: readonly PriceKey[]): boolean =>
    BOUNDED_BY_MODEL.has(type) && keys.some((key) => PER_TOKEN.has(key))
  const alternatives = COMPLETE[type]
  if (alternatives.some((keys) => keys.every((key) => given.has(key)) && (outputBounded || !needsBound(keys))))
    return []
  return alternatives.map((keys) => `${keys.join(' + ')}${needsBound(keys) ? ' with max_completion_tokens' : ''}`)
}

const TOKENS_IN = [
  'prompt',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
] as const satisfies readonly PriceKey[]
/** What answers of a type are measured by; any other price of a row would be one that nobody ever pays. */
const CHARGED: Readonly<Record<ModelType, ReadonlySet<string>>> = {
  chat: new Set([
    ...TOKENS_IN,
    'completion',
    'internal_reasoning',
    'audio',
    'audio_output',
    'request',
    'image',
    'image_output',
    'search',
  ]),
  embeddings: new Set(['prompt']),
  image: new Set([...TOKENS_IN, 'completion', 'internal_reasoning', 'request', 'image', 'image_output']),
  tts: new Set(['characters', 'prompt', 'completion', 'audio_output']),
  transcription: new Set(['second', 'prompt', 'audio', 'completion']),
  rerank: new Set(['search', 'prompt']),
  video: new Set(['video_second', 'request']),
}

/** What of an endpoint's row decides whether it searches. */
export interface EndpointUses {
  readonly listed: readonly string[]
  readonly nativeResponses: boolean
}

/** Whether a known price key of a row is one that no answer is ever charged by. */
export function uncharged(type: ModelType, key: string, { listed, nativeResponses }: EndpointUses): boolean {
  if (!PRICE_KEYS.some((known) => known === key)) return false
  if (type === 'chat' && key === 'search') return !nativeResponses && !listed.includes('web_search_options')
  return !CHARGED[type].has(key)
}
