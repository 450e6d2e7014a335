import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../base/own-value.ts'
import type { KnownAdapters } from './catalog.ts'
import { withMaskedCredentials } from './credentials.ts'
import {
  type CatalogDocument,
  type EndpointEntry,
  type ModelEntry,
  type ProviderEntry,
  endpointId,
} from './document.ts'
import { KNOWN_PROVIDERS, type KnownProvider } from './known-providers.ts'
import { BALANCE_LOW } from './provider-feeds.ts'

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

/** Keys of bundled providers from the environment, by slug. */
export type ProviderKeys = Readonly<Record<string, string>>

export interface BaseInput {
  readonly own: CatalogDocument
  readonly keys: ProviderKeys
  readonly adapters: KnownAdapters
  readonly release: BundledRelease
  /**
   * The bundled part until now; null = there is none yet. Its rows stay as they are unless `renew` asks for this
   * release's rows: then the release adds and replaces rows, but prices that are there stay, and so do rows that the
   * release no longer has.
   */
  readonly previous: CatalogDocument | null
  readonly renew: boolean
  /** ISO day, which becomes the creation date of new models. */
  readonly today: string
}

/** The conventional variables of the bundled providers; an empty one counts as unset. */
export function providerKeys(env: Readonly<Record<string, string | undefined>>): ProviderKeys {
  return Object.fromEntries(
    KNOWN_PROVIDERS.flatMap(({ slug, keyVariables }) => {
      const key = keyVariables.map((name) => ownValue(env, name)?.trim() ?? '').find((value) => value !== '')
      return key === undefined ? [] : [[slug, key]]
    }),
  )
}

/** The keys of providers with which a base was made. */
export function keysOf(base: CatalogDocument): ProviderKeys {
  return Object.fromEntries(
    Object.entries(base.providers).flatMap(([slug, { api_key: keys }]) =>
      keys?.[0] === undefined ? [] : [[slug, keys[0]]],
    ),
  )
}

/** The bundled part of the catalogue: the sandbox, and the models of every known provider that has a key. */
export function bundledBase(input: BaseInput): CatalogDocument {
  const active = KNOWN_PROVIDERS.filter((provider) => isActive(provider, input))
  const providers = Object.fromEntries(
    active.map((provider) => [provider.slug, providerEntry(provider, ownValue(input.keys, provider.slug))]),
  )
  return {
    bundled: true,
    settings: {},
    providers: { ...BUNDLED.providers, ...providers },
    models: [...BUNDLED.models, ...modelsOf(active, input)],
  }
}

/**
 * A provider that the operator defines uses only the key of its own entry: the environment's key is not sent to an
 * address that the operator chose.
 */
function isActive({ slug, adapter }: KnownProvider, { own, keys, adapters }: BaseInput): boolean {
  const entry = ownValue(own.providers, slug)
  if (own.bundled_except?.includes(slug) === true) return false
  return entry === undefined
    ? adapters.has(adapter) && ownValue(keys, slug) !== undefined
    : entry.auth !== undefined || (entry.api_key?.length ?? 0) > 0
}

function providerEntry(
  { name, adapter, baseUrl, cancelStopsBilling, balanceApi }: KnownProvider,
  key: string | undefined,
): ProviderEntry {
  return {
    name,
    adapter,
    base_url: baseUrl,
    ...(key === undefined ? {} : { api_key: [key] }),
    ...(cancelStopsBilling ? { cancel_stops_billing: true } : {}),
    ...(balanceApi === undefined ? {} : { balance: { api: balanceApi, low: BALANCE_LOW } }),
  }
}

function modelsOf(
  active: readonly KnownProvider[],
  { release, previous, renew, today }: BaseInput,
): readonly ModelEntry[] {
  const slugs = new Set(active.map(({ slug }) => slug))
  const wanted = renew && previous !== null ? withPricesOf(previous.models, release.models) : release.models
  const kept = new Set([...slugs].filter((slug) => !renew && ownValue(previous?.providers ?? {}, slug) !== undefined))
  const created = new Map(previous?.models.map((model) => [model.id, model.created]))
  const models = new Map<string, ModelEntry>()
  for (const [source, chosen] of [
    [previous?.models ?? [], kept],
    [wanted, slugs.difference(kept)],
  ] as const) {
    for (const model of source) {
      const endpoints = model.endpoints.filter(({ provider }) => chosen.has(provider))
      const known = models.get(model.id)
      if (endpoints.length > 0)
        models.set(model.id, {
          ...(known ?? model),
          created: created.get(model.id) ?? today,
          endpoints: inProviderOrder([...(known?.endpoints ?? []), ...endpoints]),
        })
    }
  }
  return [...models.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** The models of a release with the prices of those before, and the models that only those before have. */
function withPricesOf(before: readonly ModelEntry[], release: readonly ModelEntry[]): readonly ModelEntry[] {
  const now = new Map(release.map((model) => [model.id, model]))
  const known = new Map(before.map((model) => [model.id, model]))
  return [
    ...release.map((model) => {
      const endpoints = known.get(model.id)?.endpoints ?? []
      const old = new Map(endpoints.map((endpoint) => [endpointId(endpoint), endpoint]))
      const listed = new Set(model.endpoints.map(endpointId))
      return {
        ...model,
        endpoints: [
          ...model.endpoints.map((one) => ({ ...one, price: old.get(endpointId(one))?.price ?? one.price })),
          ...endpoints.filter((one) => !listed.has(endpointId(one))),
        ],
      }
    }),
    ...before.filter(({ id }) => !now.has(id)),
  ]
}

/** The endpoints in the order in which a model lists them. */
export function inProviderOrder(endpoints: readonly EndpointEntry[]): readonly EndpointEntry[] {
  return KNOWN_PROVIDERS.flatMap(({ slug }) => endpoints.filter(({ provider }) => provider === slug))
}

/**
 * The models that this version of Tollgate bundles, for all providers, with the day when the data set was published.
 */
export interface BundledRelease {
  readonly published: string
  readonly models: readonly ModelEntry[]
}

/**
 * The output of `npm run catalog:bundle`: entries of the catalogue file, each endpoint with the source and date of its
 * price.
 */
interface BundledFile {
  readonly published: string
  readonly models: readonly (Omit<ModelEntry, 'endpoints'> & {
    readonly endpoints: readonly (EndpointEntry & { readonly source: string; readonly date: string })[]
  })[]
}

/** Reads the generated file beside this one. */
export function readBundledRelease(): BundledRelease {
  // A test checks that nobody has edited the output of the script.
  const { published, models } = JSON.parse(
    readFileSync(new URL('./bundled-models.json', import.meta.url), 'utf8'),
  ) as BundledFile
  return {
    published,
    models: models.map((model) => ({
      ...model,
      endpoints: model.endpoints.map(({ source: _source, date: _date, ...endpoint }) => endpoint),
    })),
  }
}
