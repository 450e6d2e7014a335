import { given } from '../base/objects.ts'
import { withoutTrailing } from '../base/text.ts'
import { PRICE_KEYS, type PriceKey } from '../tables/meter-table.ts'
import { MODEL_TYPE_TABLE } from '../tables/model-types.ts'
import { ONE, parseDecimal, type Decimal } from '../base/money.ts'
import { providerAuth } from './auth.ts'
import type { Endpoint, Model, Prices, Provider, Settings, Snapshot, KnownAdapters } from './catalog.ts'
import { dialectOf, type Dialect } from './dialect.ts'
import { fault, type Fault } from './source-tree.ts'
import { plainWordAt, servesAsAsked } from '../tables/service-tier-table.ts'
import { knownQuirks } from './known-quirks.ts'
import {
  endpointId,
  type CatalogDocument,
  type EndpointEntry,
  type ModelEntry,
  type ProviderEntry,
  type SettingsEntry,
} from './document.ts'
import { endpointPrices } from './price-conditions.ts'
import { markupOf } from './customer-prices.ts'
import { missingPrices, variantsOf } from './price-sheet.ts'
import { plainSettings, PROVIDER_TIMEOUTS } from '../tables/settings-table.ts'
import { ownValue } from '../base/own-value.ts'

export function settingsOf(entry: SettingsEntry): Settings {
  const rates: Record<string, Decimal> = { RUB: ONE }
  for (const [currency, text] of Object.entries(entry.rates ?? {})) rates[currency] = parseDecimal(text) ?? ONE
  return Object.freeze({
    timezone: entry.timezone ?? 'UTC',
    rates: Object.freeze(rates),
    markup: markupOf({}, undefined, entry),
    ...plainSettings(entry),
    maintenance:
      entry.maintenance === undefined || entry.maintenance === null
        ? null
        : { message: entry.maintenance.message, retryAfter: entry.maintenance.retry_after },
  })
}

/** Rights of a provider that only the operator's file can give, and the API may only leave as they are. */
export interface FileRights {
  /** Its addresses are those that the file or the bundle gave. */
  readonly mayBePrivate: boolean
  /** Its addresses are those of the file, so it may use credentials of the machine. */
  readonly isFiled: boolean
  /** Its file of certificates is the one that the file gave, or it has none. */
  readonly mayTrust: boolean
}

const ALL_RIGHTS: FileRights = { mayBePrivate: true, isFiled: true, mayTrust: true }
export const NO_RIGHTS: FileRights = { mayBePrivate: false, isFiled: false, mayTrust: false }

/**
 * An immutable view of a document, without anything that cannot be sold (inactive, unpriced, without a rate or a
 * provider).
 */
export function buildSnapshot(
  document: CatalogDocument,
  adapters: KnownAdapters,
  priceVersion: number,
  appliedAtMs: number,
  rightsOf: (slug: string) => FileRights = () => ALL_RIGHTS,
): Snapshot {
  const settings = settingsOf(document.settings)
  const providers = new Map<string, Provider>()
  for (const [slug, entry] of Object.entries(document.providers)) {
    const { mayBePrivate, isFiled } = rightsOf(slug)
    const provider = providerOf(slug, entry, adapters, isFiled)
    providers.set(slug, mayBePrivate ? provider : Object.freeze({ ...provider, publicOnly: true }))
  }
  const models = new Map<string, Model>()
  for (const entry of document.models) {
    const markupAt = (slug: string): Decimal => markupOf(entry, ownValue(document.providers, slug), document.settings)
    const dialectAt = (provider: Provider, { model: name, dialect }: EndpointEntry): Dialect => {
      const given = ownValue(document.providers, provider.slug)?.dialect
      const known = knownQuirks(provider, name)
      return Object.freeze(dialectOf({ ...given, ...dialect }, known))
    }
    const model = modelOf(entry, providers, { rates: settings.rates, markupAt, dialectAt }, appliedAtMs)
    if (model !== null) models.set(model.id, model)
  }
  return Object.freeze({
    priceVersion,
    settings,
    providers: frozenMap(providers),
    models: frozenMap(models),
    aliases: frozenMap(modelNames(models, document.settings.model_fallbacks ?? {})),
  })
}

/** A map that cannot be changed: requests keep their snapshot. */
function frozenMap<K, V>(map: Map<K, V>): ReadonlyMap<K, V> {
  const refuse = (): never => {
    throw new TypeError('A snapshot does not change.')
  }
  return Object.freeze(Object.assign(map, { set: refuse, delete: refuse, clear: refuse }))
}

function frozenSet<T>(set: Set<T>): ReadonlySet<T> {
  const refuse = (): never => {
    throw new TypeError('A snapshot does not change.')
  }
  return Object.freeze(Object.assign(set, { add: refuse, delete: refuse, clear: refuse }))
}

function list<T>(values: readonly T[]): readonly T[] {
  return Object.freeze([...values])
}

function listOrNull<T>(values: readonly T[] | undefined): readonly T[] | null {
  return values === undefined ? null : list(values)
}

/** The address before each operation's path, without a trailing slash. */
export function addressOf({ base_url: given, adapter }: ProviderEntry, adapters: KnownAdapters): string {
  return withoutTrailing(given ?? adapters.get(adapter)?.baseUrl ?? '', '/')
}

function providerOf(slug: string, entry: ProviderEntry, adapters: KnownAdapters, isFiled: boolean): Provider {
  const baseUrl = addressOf(entry, adapters)
  const asked = { adapter: entry.adapter, baseUrl }
  const dialect = dialectOf(entry.dialect, {
    ...knownQuirks(asked, null),
    ...given({ service_tier: plainWordAt(asked) }),
  })
  return Object.freeze({
    slug,
    name: entry.name ?? slug,
    adapter: entry.adapter,
    searchesMax: adapters.get(entry.adapter)?.searchesMax ?? 0,
    baseUrl,
    apiKeys: list(entry.api_key ?? []),
    ...(entry.auth === undefined ? {} : { auth: providerAuth(entry.auth, baseUrl, isFiled) }),
    cancelStopsBilling: entry.cancel_stops_billing ?? false,
    timeouts: Object.freeze({ ...PROVIDER_TIMEOUTS, ...entry.timeouts }),
    dialect: Object.freeze(dialect),
    ...(servesAsAsked(asked, dialect.plainTier) ? { servesAsAsked: true } : {}),
    ...(entry.balance === undefined ? {} : { balance: Object.freeze(entry.balance) }),
    ...(entry.price_list === undefined ? {} : { priceList: Object.freeze(entry.price_list) }),
    ...(entry.package === undefined
      ? {}
      : { sdkPackage: Object.freeze({ name: entry.package, factory: entry.factory ?? null }) }),
  })
}

/** What an endpoint takes from its provider and model. */
interface Selling extends Pick<Settings, 'rates'> {
  /** The markup of the model at one of its providers. */
  readonly markupAt: (slug: string) => Decimal
  /** The dialect of one of its endpoints. */
  readonly dialectAt: (provider: Provider, endpoint: EndpointEntry) => Dialect
}

function modelOf(
  entry: ModelEntry,
  providers: ReadonlyMap<string, Provider>,
  selling: Selling,
  appliedAtMs: number,
): Model | null {
  if (entry.active === false) return null
  const endpoints = entry.endpoints.flatMap((endpoint) => {
    const routable = endpointOf(endpoint, entry, providers, selling)
    return routable === null ? [] : [routable]
  })
  if (endpoints.length === 0) return null
  const contextLength = entry.context_length ?? null
  return Object.freeze({
    id: entry.id,
    type: entry.type,
    name: entry.name ?? entry.id,
    description: entry.description ?? '',
    created: Math.floor((entry.created === undefined ? appliedAtMs : Date.parse(entry.created)) / 1_000),
    hidden: entry.hidden ?? false,
    active: true,
    contextLength,
    maxCompletionTokens: entry.max_completion_tokens ?? contextLength,
    inputModalities: list(entry.input_modalities ?? MODEL_TYPE_TABLE[entry.type].input),
    outputModalities: list(entry.output_modalities ?? MODEL_TYPE_TABLE[entry.type].output),
    tokenizer: entry.tokenizer ?? null,
    instructType: entry.instruct_type ?? null,
    aliases: list(entry.aliases ?? []),
    maxPromptLength: entry.max_prompt_length ?? null,
    ...(entry.guessed === undefined ? {} : { guessed: list(entry.guessed) }),
    supportedVoices: listOrNull(entry.supported_voices),
    supportedFormats: listOrNull(entry.supported_formats),
    supportedSizes: listOrNull(entry.supported_sizes),
    supportedDurations: listOrNull(entry.supported_durations),
    supportedResolutions: listOrNull(entry.supported_resolutions),
    supportedAspectRatios: listOrNull(entry.supported_aspect_ratios),
    endpoints: list(endpoints),
  })
}

/** null = no request can be routed to it: no such provider, no rate for the currency, or an incomplete price. */
function endpointOf(
  entry: EndpointEntry,
  model: ModelEntry,
  providers: ReadonlyMap<string, Provider>,
  { rates, markupAt, dialectAt }: Selling,
): Endpoint | null {
  const provider = providers.get(entry.provider)
  const rate = ownValue(rates, entry.price.currency)
  const maxCompletionTokens = entry.max_completion_tokens ?? model.max_completion_tokens ?? model.context_length ?? null
  const complete = (prices: object): boolean =>
    missingPrices(model.type, new Set(Object.keys(prices)), maxCompletionTokens !== null).length === 0
  if (
    provider === undefined ||
    rate === undefined ||
    !complete(entry.price) ||
    (entry.sell !== undefined && !complete(entry.sell))
  )
    return null
  const pricesOf = (variant: string | null): Prices => endpointPrices(entry, rate, markupAt(entry.provider), variant)
  const variants = variantsOf(entry.price, entry.sell)
  const priced = pricedKeys(entry)
  return Object.freeze({
    id: endpointId(entry),
    provider,
    upstreamModel: entry.model,
    ...pricesOf(null),
    priced,
    ...(variants.length === 0
      ? {}
      : { variants: frozenMap(new Map(variants.map((variant) => [variant, Object.freeze(pricesOf(variant))]))) }),
    contextLength: entry.context_length ?? model.context_length ?? null,
    maxCompletionTokens,
    ...(entry.media_tokens === undefined ? {} : { mediaTokens: Object.freeze(entry.media_tokens) }),
    dialect: dialectAt(provider, entry),
    supportedParameters: listOrNull(entry.supported_parameters),
    nativeResponses: entry.native_responses ?? false,
    ...(entry.native_messages === undefined ? {} : { nativeMessages: entry.native_messages }),
    nativeCompletions: entry.native_completions ?? false,
    ...(entry.cache_marks === true && priced.has('input_cache_write') ? { cacheMarks: true } : {}),
  })
}

function pricedKeys({ price, sell }: EndpointEntry): ReadonlySet<PriceKey> {
  return frozenSet(
    new Set(PRICE_KEYS.filter((key) => price[key] !== undefined && (sell === undefined || sell[key] !== undefined))),
  )
}

/**
 * Faults between the entries of a document: references to nothing, duplicate names. `ownFrom` is the index of the
 * operator's first model: paths count from it, as in the file.
 */
export function crossProblems(document: CatalogDocument, ownFrom = 0): readonly Fault[] {
  const problems: Fault[] = []
  const names = new Set<string>()
  const { rates: known, rates_source: source } = document.settings
  // A missing rate of a bundled model, or of a fetched currency, is not the operator's mistake: see catalog-notes.ts.
  const given = source === undefined ? new Set(['RUB', ...Object.keys(known ?? {})]) : null
  for (const [index, model] of document.models.entries()) {
    const place = index < ownFrom ? `bundled ${model.id}` : `models[${index - ownFrom}]`
    const named = [
      { path: `${place}.id`, name: model.id },
      ...(model.aliases ?? []).map((name, at) => ({ path: `${place}.aliases[${at}]`, name })),
    ]
    for (const { path, name } of named) {
      if (name !== '' && names.has(name)) problems.push(fault(path, 'name_taken', { given: name }))
      names.add(name)
    }
    problems.push(...endpointProblems(document, model, place, index < ownFrom ? null : given))
  }
  return problems
}

function endpointProblems(
  document: CatalogDocument,
  model: ModelEntry,
  place: string,
  rates: ReadonlySet<string> | null,
): readonly Fault[] {
  const problems: Fault[] = []
  const ways = new Set<string>()
  for (const [at, endpoint] of model.endpoints.entries()) {
    const path = `${place}.endpoints[${at}]`
    const way = endpointId(endpoint)
    const {
      provider,
      price: { currency },
    } = endpoint
    if (provider !== '' && ownValue(document.providers, provider) === undefined)
      problems.push(fault(`${path}.provider`, 'unknown_provider', { given: provider }))
    if (currency !== '' && rates?.has(currency) === false)
      problems.push(fault(`${path}.price.currency`, 'no_rate', { currency }))
    // The log names an endpoint by this pair, and a replayed charge must find exactly one price.
    if (ways.has(way)) problems.push(fault(`${path}.model`, 'endpoint_twice', { given: way }))
    ways.add(way)
  }
  return problems
}

type Models = ReadonlyMap<string, Model>

/**
 * The names of a model besides its id. Aliases take precedence, then the last segment of an id if only one model has
 * it, then the operator's stand-ins for missing models (clients.md D-14.5).
 */
export function modelNames(models: Models, fallbacks: Readonly<Record<string, string>>): Map<string, string> {
  const names = new Map<string, string>()
  for (const { id, aliases } of models.values()) for (const alias of aliases) names.set(alias, id)
  for (const [bare, ids] of byBareName(models)) {
    const [id] = ids
    if (ids.length === 1 && id !== undefined && !names.has(bare)) names.set(bare, id)
  }
  const known = new Map(names)
  for (const [name, wanted] of Object.entries(fallbacks)) {
    const id = models.has(wanted) ? wanted : known.get(wanted)
    if (id !== undefined && !models.has(name) && !known.has(name)) names.set(name, id)
  }
  return names
}

/** Last segments of ids that several models share and that no alias or stand-in assigns. */
export function sharedNames(
  models: Models,
  names: ReadonlyMap<string, string>,
): readonly { readonly name: string; readonly ids: readonly string[] }[] {
  return [...byBareName(models)].flatMap(([name, ids]) => (ids.length > 1 && !names.has(name) ? [{ name, ids }] : []))
}

function byBareName(models: Models): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(models.keys(), (id) => id.slice(id.lastIndexOf('/') + 1))
}
