import type { KnownAdapters } from './catalog.ts'
import { BALANCE_LOW } from './provider-feeds.ts'
import { BUNDLED } from './bundled.ts'
import {
  endpointId,
  type CatalogDocument,
  type EndpointEntry,
  type ModelEntry,
  type ProviderEntry,
} from './document.ts'
import { KNOWN_PROVIDERS, type KnownProvider } from './known-providers.ts'
import { ownValue } from '../base/own-value.ts'
import { readFileSync } from 'node:fs'

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
