import { isDeepStrictEqual } from 'node:util'
import { inProviderOrder, type BundledRelease } from './bundled.ts'
import { effectiveDocument, type CatalogState } from './catalog-state.ts'
import { endpointId, type CatalogDocument, type EndpointEntry, type ModelEntry } from './document.ts'
import { ownValue } from '../base/own-value.ts'
import { changeId, priceChanges, releaseSource, withPrices, type PriceChange } from './price-list.ts'

/** The changes that a release makes to the bundled models. */
export interface BundleUpdate {
  /** The difference of the catalogue. */
  readonly lines: readonly string[]
  /** The price changes among them. */
  readonly applied: readonly PriceChange[]
  /** Price changes that need a person's decision. */
  readonly held: readonly PriceChange[]
}

/** The changes that wait for a person's decision after a look at the published lists. */
export interface BundleNews {
  /** New routes, other limits, and what is gone. */
  readonly rows: readonly PriceChange[]
  readonly prices: readonly PriceChange[]
}

/** All that `renewed` would change, each change for a person to decide. `set`: the models of a data set. */
export function bundleNews(
  before: CatalogState,
  renewed: CatalogState,
  release: BundledRelease,
  set: readonly ModelEntry[],
  rise: number,
): BundleNews {
  const isSold = soldRows(renewed)
  const prices = bundlePrices(renewed, release, rise).filter(isSold)
  return {
    rows: bundleRows(before, renewed, set).filter((change) => change.reason === 'new_model' || isSold(change)),
    prices: prices.map((change) => ({ ...change, reason: change.reason ?? 'unasked' })),
  }
}

/** Whether a change is of a row that is sold: nothing waits for what `bundled_models` leaves out. */
export function soldRows(state: CatalogState): (change: PriceChange) => boolean {
  const sold = new Set(
    effectiveDocument(state).models.flatMap(({ id, endpoints }) => endpoints.map((one) => `${id} ${endpointId(one)}`)),
  )
  return (change) => sold.has(`${change.model} ${endpointId({ provider: change.provider, model: change.endpoint })}`)
}

/** The model's id of each endpoint. */
export function endpointIds(models: readonly ModelEntry[]): ReadonlyMap<string, string> {
  return new Map(models.flatMap(({ id, endpoints }) => endpoints.map((one) => [endpointId(one), id] as const)))
}

/** The models that a provider serves, each with only this provider's endpoint. */
export function modelsOf(models: readonly ModelEntry[], slug: string): readonly ModelEntry[] {
  return models.flatMap((model) => {
    const endpoints = model.endpoints.filter(({ provider }) => provider === slug)
    return endpoints.length === 0 ? [] : [{ ...model, endpoints }]
  })
}

export function providersOf(models: readonly ModelEntry[]): readonly string[] {
  return [...new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))]
}

/**
 * The release, with the newer rows of a data set over its own. For a row that the data set does not name, `base` wins
 * over the release.
 */
export function withDataSet(
  release: BundledRelease,
  set: readonly ModelEntry[] | null,
  base: CatalogDocument,
): BundledRelease {
  if (set === null) return release
  const own = new Map([...release.models, ...base.models].map((model) => [model.id, model]))
  const newer = set.map((model): ModelEntry => {
    const known = own.get(model.id)
    const listed = new Set(model.endpoints.map(endpointId))
    const others = known?.endpoints.filter((one) => !listed.has(endpointId(one))) ?? []
    const { tokenizer } = known ?? {}
    return { ...model, ...(tokenizer === undefined ? {} : { tokenizer }), endpoints: [...model.endpoints, ...others] }
  })
  const ids = new Set(set.map(({ id }) => id))
  return { ...release, models: [...newer, ...[...own.values()].filter(({ id }) => !ids.has(id))] }
}

/**
 * The changes that a release makes to the prices of the bundled rows; a provider that follows a list of its own has the
 * prices of that list.
 */
export function bundlePrices(renewed: CatalogState, release: BundledRelease, rise: number): readonly PriceChange[] {
  const { providers, settings } = effectiveDocument(renewed)
  const follows = Object.entries(providers).flatMap(([slug, entry]) => (entry.price_list === undefined ? [] : [slug]))
  const models = visible(renewed, renewed.base.models)
  return priceChanges({ models, settings }, releaseSource(release.models, new Set(follows), rise), renewed.approved)
}

/**
 * The changes that a release or a data set makes to the bundled rows other than prices, each for a person to decide:
 * new routes, other limits, and routes that the data set, whose models are `models`, no longer has.
 */
function bundleRows(
  before: CatalogState,
  renewed: CatalogState,
  models: readonly ModelEntry[],
): readonly PriceChange[] {
  const set = new Set(endpointIds(models).keys())
  const types = new Set(models.map(({ type }) => type))
  const known = new Map(before.base.models.map((model) => [model.id, model]))
  const active = new Set(Object.keys(renewed.base.providers).filter((slug) => hasAny(set, slug)))
  return visible(renewed, renewed.base.models).flatMap((model) => {
    const was = known.get(model.id)
    const old = new Set(was?.endpoints.map(endpointId))
    const added = model.endpoints
      .filter((one) => !old.has(endpointId(one)))
      .map((one) => rowChange('new_model', { ...model, endpoints: [one] }, one, null))
    if (was === undefined) return added
    const kept = model.endpoints.filter((one) => old.has(endpointId(one)))
    const [first] = kept
    const limits =
      first === undefined || isDeepStrictEqual(limitsOf(was, old), limitsOf(model, old))
        ? []
        : [rowChange('limits', { ...model, endpoints: kept }, first, first.price)]
    const gone = kept
      // Rows of other types are in no published list.
      .filter((one) => types.has(was.type) && active.has(one.provider) && !set.has(endpointId(one)))
      .map((one) => rowChange('gone', { ...was, endpoints: [one] }, one, one.price))
    return [...added, ...limits, ...gone]
  })
}

function hasAny(set: ReadonlySet<string>, slug: string): boolean {
  for (const id of set) if (id.startsWith(`${slug}/`)) return true
  return false
}

/** Models that the operator has neither left out nor replaced by entries of their own. */
function visible({ own }: CatalogState, models: readonly ModelEntry[]): readonly ModelEntry[] {
  const ids = new Set([...own.models.map(({ id }) => id), ...(own.bundled_except ?? [])])
  return models.filter(({ id }) => !ids.has(id))
}

function limitsOf(model: ModelEntry, endpoints: ReadonlySet<string>): unknown {
  const rows = model.endpoints.filter((one) => endpoints.has(endpointId(one)))
  return [
    model.context_length,
    model.max_completion_tokens,
    model.input_modalities,
    model.guessed,
    rows.map((one) => [endpointId(one), one.context_length, one.max_completion_tokens]),
  ]
}

export function rowChange(
  reason: 'new_model' | 'limits' | 'gone',
  row: ModelEntry,
  endpoint: EndpointEntry,
  before: EndpointEntry['price'] | null,
): PriceChange {
  const { created: _created, ...rest } = row
  const named = { model: row.id, provider: endpoint.provider, endpoint: endpoint.model, before, after: endpoint.price }
  return { ...named, id: changeId(row.id, endpoint.model, [reason, rest]), reason, row }
}

/** What a person rejects with a change: a new model whatever its price, these limits, or else only this change. */
export function rejectionOf({ id, reason, model, provider, endpoint, row }: PriceChange): string {
  if (row === undefined) return id
  const limits = reason === 'limits' ? limitsOf(row, new Set(row.endpoints.map(endpointId))) : null
  return changeId(model, endpoint, [reason, provider, limits])
}

/** The catalogue with the changes that can still be made, and those changes. */
export function withChanges(state: Pick<CatalogState, 'own' | 'base'>, changes: readonly PriceChange[]): Changed {
  const priced = changes.filter(({ row }) => row === undefined)
  const [inOwn, own] = withPrices(state.own, priced)
  const hidden = new Set(own.models.map(({ id }) => id))
  const [inBase, base] = withPrices(
    state.base,
    priced.filter(({ model }) => !hidden.has(model)),
  )
  const rows = changes.filter(({ row }) => row !== undefined)
  if (rows.length === 0) return { made: [...inOwn, ...inBase], own, base }
  const changed = withRows({ own, base }, rows)
  return { ...changed, made: [...inOwn, ...inBase, ...changed.made] }
}

interface Changed {
  readonly made: readonly PriceChange[]
  readonly own: CatalogDocument
  readonly base: CatalogDocument
}

function withRows({ own, base }: Pick<CatalogState, 'own' | 'base'>, changes: readonly PriceChange[]): Changed {
  const added: ModelEntry[] = []
  const models = new Map(base.models.map((model) => [model.id, model]))
  const sold = new Map<string, string[]>()
  const made = changes.filter(({ reason, model, provider, row, isListed }) => {
    const known = models.get(model)
    const [endpoint] = row?.endpoints ?? []
    // The published lists do not have this model, so it goes into the operator's part.
    if (isListed === true && row !== undefined) {
      if (known !== undefined || own.models.some(({ id }) => id === model)) return false
      added.push(row)
      return true
    }
    if (row === undefined || endpoint === undefined || ownValue(base.providers, provider) === undefined) return false
    if (reason === 'limits') {
      if (known !== undefined) models.set(model, withLimits(known, row))
      return known !== undefined
    }
    const others = known?.endpoints ?? []
    if (reason !== 'new_model' || others.some((one) => endpointId(one) === endpointId(endpoint))) return false
    models.set(model, { ...(known ?? row), endpoints: inProviderOrder([...others, endpoint]) })
    sold.set(provider, [...(sold.get(provider) ?? []), model])
    return true
  })
  const sorted = [...models.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const chosen = withChosen(own, sold)
  const withOwn = added.length === 0 ? chosen : { ...chosen, models: [...chosen.models, ...added] }
  return { made, own: withOwn, base: { ...base, models: sorted } }
}

/** A provider that serves chosen models also serves those that a person has approved. */
function withChosen(own: CatalogDocument, sold: ReadonlyMap<string, readonly string[]>): CatalogDocument {
  const chosen = Object.entries(own.providers).flatMap(([slug, entry]) => {
    const added = sold.get(slug)
    if (added === undefined || entry.bundled_models === undefined) return []
    return [[slug, { ...entry, bundled_models: [...new Set([...entry.bundled_models, ...added])] }] as const]
  })
  return chosen.length === 0 ? own : { ...own, providers: { ...own.providers, ...Object.fromEntries(chosen) } }
}

function withLimits(known: ModelEntry, row: ModelEntry): ModelEntry {
  const { context_length: _context, max_completion_tokens: _most, guessed: _guessed, ...rest } = known
  const { context_length: context, max_completion_tokens: most, guessed, input_modalities: input } = row
  const rows = new Map(row.endpoints.map((one) => [endpointId(one), one]))
  return {
    ...rest,
    ...(context === undefined ? {} : { context_length: context }),
    ...(most === undefined ? {} : { max_completion_tokens: most }),
    ...(guessed === undefined ? {} : { guessed }),
    ...(input === undefined ? {} : { input_modalities: input }),
    endpoints: known.endpoints.map((one) => {
      const now = rows.get(endpointId(one))
      return now === undefined ? one : { ...now, price: one.price }
    }),
  }
}
