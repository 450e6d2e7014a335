import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../base/own-value.ts'
import { fieldError } from '../base/refusals.ts'
import { withBundled } from './bundled.ts'
import type { Model, Snapshot } from './catalog.ts'
import { withModel, withProvider, withSettings } from './document-edits.ts'
import { type CatalogDocument, type EndpointEntry, endpointId, type ModelEntry } from './document.ts'

/** The most changes that wait at once. */
const COMING_MAX = 50

/** Prices that count from a time on. What it does not name stays as it is then. */
export interface ComingPrices {
  readonly id: string
  /** Unix ms. */
  readonly fromMs: number
  /** The service's markup. */
  readonly markup?: string
  /** Markups of providers, by slug. */
  readonly providers?: Readonly<Record<string, string>>
  readonly models?: readonly ComingModel[]
  /** Why it could not be applied at its time; absent = it waits. */
  readonly failure?: string
}

function isWaiting({ failure }: ComingPrices): boolean {
  return failure === undefined
}

export function isDueAt(coming: readonly ComingPrices[], nowMs: number): boolean {
  return coming.some((change) => isWaiting(change) && change.fromMs <= nowMs)
}

/** The first change that waits, and the others. */
export function nextOf(coming: readonly ComingPrices[]): readonly [ComingPrices, readonly ComingPrices[]] {
  const next = coming.find(isWaiting)
  if (next === undefined) throw new Error('No change of prices waits.')
  return [next, coming.filter((change) => change !== next)]
}

/** A result for the caller, and the changes afterwards. */
export type ComingEdit<T> = readonly [T, readonly ComingPrices[]]

/** Notes a change unless it makes no difference; returns the difference. Throws an ApiError if too many wait. */
export function withOne(
  all: readonly ComingPrices[],
  change: ComingPrices,
  lines: readonly string[],
): ComingEdit<readonly string[]> {
  if (all.length >= COMING_MAX) throw fieldError('from', 'coming_most', { most: COMING_MAX })
  if (lines.length === 0) return [lines, all]
  return [lines, [...all, change].toSorted((one, other) => one.fromMs - other.fromMs)]
}

/** Takes one back; null = there is none. */
export function withoutOne(all: readonly ComingPrices[], id: string): ComingEdit<ComingPrices | null> {
  return [all.find((one) => one.id === id) ?? null, all.filter((one) => one.id !== id)]
}

/** A change, with the models before and after it. */
export interface ComingStep {
  readonly change: ComingPrices
  readonly before: Snapshot['models']
  readonly after: Snapshot['models']
  /** The models whose prices it changes. */
  readonly changed: ReadonlySet<string>
}

/** `modelsOf`: the models of a document of the operator. */
export function comingSteps(
  coming: readonly ComingPrices[],
  own: CatalogDocument,
  base: CatalogDocument,
  now: Snapshot['models'],
  modelsOf: (own: CatalogDocument) => Snapshot['models'],
): readonly ComingStep[] {
  let [document, before] = [own, now]
  return coming.filter(isWaiting).map((change) => {
    document = withComing(document, base, change)
    const after = modelsOf(document)
    const changed = [...after].flatMap(([id, model]) => {
      const old = before.get(id)
      return old === undefined || old.hidden || isDeepStrictEqual(sellsOf(old), sellsOf(model)) ? [] : [id]
    })
    const step = { change, before, after, changed: new Set(changed) }
    before = after
    return step
  })
}

/** All that customers pay for a model. */
function sellsOf({ endpoints }: Model): unknown {
  return endpoints.map(({ id, sell, conditions, variants }) => [
    id,
    sell,
    conditions?.sell.map(({ steps }) => steps.map(({ name, sheet }) => [name, sheet])),
    [...(variants ?? [])].map(([key, prices]) => [key, prices.sell]),
  ])
}

interface ComingModel extends Pick<ModelEntry, 'id' | 'markup'> {
  readonly endpoints: readonly Pick<EndpointEntry, 'provider' | 'model' | 'price' | 'sell'>[]
}

/** The prices of an entry, and nothing else of it. */
export function comingModel({ id, markup, endpoints }: ModelEntry): ComingModel {
  return {
    id,
    ...(markup === undefined ? {} : { markup }),
    endpoints: endpoints.map(({ provider, model, price, sell }) => ({
      provider,
      model,
      price,
      ...(sell === undefined ? {} : { sell }),
    })),
  }
}

/** The operator's document with the change. Models, routes and providers that are gone meanwhile stay gone. */
export function withComing(own: CatalogDocument, base: CatalogDocument, change: ComingPrices): CatalogDocument {
  const { markup, providers = {}, models = [] } = change
  let document = markup === undefined ? own : withSettings(own, { markup })[1]
  const known = withBundled(own, base)
  for (const [slug, ofProvider] of Object.entries(providers)) {
    const entry = ownValue(known.providers, slug)
    if (entry !== undefined) document = withProvider(document, base, slug, { ...entry, markup: ofProvider })[1]
  }
  for (const coming of models) {
    const entry = known.models.find(({ id }) => id === coming.id)
    if (entry !== undefined) document = withModel(document, base, priced(entry, coming))[1]
  }
  return document
}

function priced({ markup: _markup, ...entry }: ModelEntry, coming: ComingModel): ModelEntry {
  const prices = new Map(coming.endpoints.map((endpoint) => [endpointId(endpoint), endpoint]))
  return {
    ...entry,
    ...(coming.markup === undefined ? {} : { markup: coming.markup }),
    endpoints: entry.endpoints.map((endpoint) => {
      const next = prices.get(endpointId(endpoint))
      if (next === undefined) return endpoint
      const { sell: _sell, ...rest } = endpoint
      return { ...rest, price: next.price, ...(next.sell === undefined ? {} : { sell: next.sell }) }
    }),
  }
}
