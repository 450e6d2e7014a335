import { isDeepStrictEqual } from 'node:util'
import { withMaskedCredentials } from './credentials.ts'
import type { CatalogDocument, ModelEntry } from './document.ts'
import { ownValue } from '../base/own-value.ts'

/** The part that every installation has unless its file says `bundled: false`: the sandbox, which needs no network. */
export const BUNDLED = Object.freeze<CatalogDocument>({
  bundled: true,
  settings: {},
  providers: { sandbox: { name: 'Sandbox', adapter: 'sandbox', cancel_stops_billing: true } },
  models: [
    {
      id: 'sandbox/chat',
      type: 'chat',
      name: 'Sandbox: Chat',
      description:
        'Answers deterministically without any provider. A line "sandbox: key=value" in the last user text asks for delays, failures and tool calls.',
      created: '2026-11-01',
      context_length: 128_000,
      max_completion_tokens: 16_384,
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'o200k_base',
      endpoints: [
        {
          provider: 'sandbox',
          model: 'chat',
          price: { currency: 'RUB', prompt: '15', completion: '60', input_cache_read: '7.5' },
        },
      ],
    },
    {
      id: 'sandbox/embeddings',
      type: 'embeddings',
      name: 'Sandbox: Embeddings',
      description:
        'Vectors of 64 dimensions, or as many as asked for, that depend on the text alone. A line "sandbox: key=value" in a text asks for delays and failures.',
      created: '2026-11-01',
      context_length: 8_192,
      tokenizer: 'o200k_base',
      endpoints: [{ provider: 'sandbox', model: 'embeddings', price: { currency: 'RUB', prompt: '2' } }],
    },
    {
      id: 'sandbox/rerank',
      type: 'rerank',
      name: 'Sandbox: Rerank',
      description:
        'Ranks documents by the words they share with the query. A line "sandbox: key=value" in the query asks for delays and failures.',
      created: '2026-11-01',
      context_length: 8_192,
      tokenizer: 'o200k_base',
      endpoints: [{ provider: 'sandbox', model: 'rerank', price: { currency: 'RUB', search: '0.2' } }],
    },
    {
      id: 'sandbox/moderation',
      type: 'moderation',
      name: 'Sandbox: Moderation',
      description:
        'Flags texts for the categories whose names they hold. A line "sandbox: key=value" in a text asks for delays and failures.',
      created: '2026-11-01',
      input_modalities: ['text', 'image'],
      endpoints: [{ provider: 'sandbox', model: 'moderation', price: { currency: 'RUB', request: '0.01' } }],
    },
    {
      id: 'sandbox/image',
      type: 'image',
      name: 'Sandbox: Image',
      description:
        'Draws a small PNG of the size that was asked for, from the prompt alone. A line "sandbox: key=value" in the prompt asks for delays, failures and fewer pictures (words=N).',
      created: '2026-11-01',
      input_modalities: ['text', 'image'],
      output_modalities: ['image'],
      supported_sizes: ['1024x1024', '1024x768', '768x1024', '1280x720', '720x1280', '1536x1024', '1024x1536'],
      endpoints: [{ provider: 'sandbox', model: 'image', price: { currency: 'RUB', image_output: '0.5' } }],
    },
    {
      id: 'sandbox/tts',
      type: 'tts',
      name: 'Sandbox: Speech',
      description:
        'Speaks in tones, made from the text, the voice and the speed alone; its mp3 is silent. A line "sandbox: key=value" in the input asks for delays and failures.',
      created: '2026-11-01',
      supported_voices: ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'],
      supported_formats: ['mp3', 'wav', 'pcm'],
      endpoints: [{ provider: 'sandbox', model: 'tts', price: { currency: 'RUB', characters: '1500' } }],
    },
    {
      id: 'sandbox/transcription',
      type: 'transcription',
      name: 'Sandbox: Transcription',
      description:
        'Says how long a sound is and what format it has. A line "sandbox: key=value" in the prompt asks for delays, failures and a number of words.',
      created: '2026-11-01',
      endpoints: [{ provider: 'sandbox', model: 'transcription', price: { currency: 'RUB', second: '0.01' } }],
    },
    {
      id: 'sandbox/video',
      type: 'video',
      name: 'Sandbox: Video',
      description:
        'Real MP4s of one picture in the asked size and length, without any provider. A line "sandbox: key=value" in the prompt asks for delays and failures.',
      created: '2026-11-01',
      input_modalities: ['text', 'image'],
      supported_durations: [4, 8, 12],
      supported_sizes: ['1280x720', '720x1280', '1920x1080', '1080x1920'],
      supported_resolutions: ['720p', '1080p'],
      supported_aspect_ratios: ['16:9', '9:16'],
      endpoints: [
        {
          provider: 'sandbox',
          model: 'video',
          price: { currency: 'RUB', video_second: { '720p': '0.5', '1080p': '0.75' } },
        },
      ],
    },
  ],
})

/**
 * The file's entries over the bundled ones, by provider slug and model id. A bundled model is left out when the file
 * uses its name as an alias.
 */
export function withBundled(document: CatalogDocument, base: CatalogDocument = BUNDLED): CatalogDocument {
  if (!document.bundled) return document
  const own = new Set(document.models.flatMap(({ id, aliases }) => [id, ...(aliases ?? [])]))
  const models = chosenModels(document, base)
  const left = new Set(document.bundled_except)
  const providers = Object.fromEntries(Object.entries(base.providers).filter(([slug]) => !left.has(slug)))
  return {
    ...document,
    providers: { ...providers, ...document.providers },
    models: [...models.filter(({ id }) => !own.has(id)), ...document.models],
  }
}

/**
 * Whether a provider comes from the bundle without an entry of the operator: the sandbox, or one with a key in the
 * environment.
 */
function isBundledAlone(slug: string, { providers }: CatalogDocument): boolean {
  return ownValue(BUNDLED.providers, slug) !== undefined || ownValue(providers, slug)?.api_key !== undefined
}

/** The bundled models without what `bundled_except`, or `bundled_models` of their provider, leaves out. */
function chosenModels(
  { bundled_except: except = [], providers }: CatalogDocument,
  { models }: CatalogDocument,
): readonly ModelEntry[] {
  const left = new Set(except)
  const chosen = new Map(
    Object.entries(providers).flatMap(([slug, { bundled_models: ids }]) =>
      ids === undefined ? [] : [[slug, new Set(ids)] as const],
    ),
  )
  if (chosen.size === 0 && left.size === 0) return models
  return models.flatMap((model) => {
    const endpoints = model.endpoints.filter(
      ({ provider }) => !left.has(provider) && chosen.get(provider)?.has(model.id) !== false,
    )
    if (endpoints.length === model.endpoints.length && !left.has(model.id)) return [model]
    return endpoints.length === 0 || left.has(model.id) ? [] : [{ ...model, endpoints }]
  })
}

/**
 * The document without entries that equal the bundled ones, keys masked or not: they would hide what a later release
 * bundles.
 */
export function withoutBundled(document: CatalogDocument, base: CatalogDocument = BUNDLED): CatalogDocument {
  if (!document.bundled) return document
  const bundled = new Map(chosenModels(document, base).map((model) => [model.id, model]))
  const masked = withMaskedCredentials(base).providers
  const models = document.models.filter((model) => !isDeepStrictEqual(model, bundled.get(model.id)))
  const providers = Object.fromEntries(
    Object.entries(document.providers).filter(
      ([slug, entry]) =>
        !isDeepStrictEqual(entry, ownValue(base.providers, slug)) && !isDeepStrictEqual(entry, ownValue(masked, slug)),
    ),
  )
  return { ...document, providers, models }
}

/** The document that leaves a bundled provider or model out, if there is one of that slug or id. */
export function withoutEntry(
  document: CatalogDocument,
  removed: { readonly provider: string } | { readonly model: string },
  base: CatalogDocument,
): CatalogDocument {
  const isThere =
    'provider' in removed
      ? isBundledAlone(removed.provider, base)
      : chosenModels(document, base).some(({ id }) => id === removed.model)
  if (!document.bundled || !isThere) return document
  const name = 'provider' in removed ? removed.provider : removed.model
  return { ...document, bundled_except: [...new Set([...(document.bundled_except ?? []), name])] }
}

/** The document in which these bundled providers and models are no longer left out. */
export function withEntries(document: CatalogDocument, names: readonly string[]): CatalogDocument {
  const { bundled_except: except = [], ...rest } = document
  const left = except.filter((name) => !names.includes(name))
  if (left.length === except.length) return document
  return left.length === 0 ? rest : { ...rest, bundled_except: left }
}
