import { type Decimal, ONE, multiply, parseDecimal } from '../base/money.ts'
import { RecentMap } from '../base/recent-map.ts'
import type { PriceSheet } from '../tables/meters.ts'
import type { Endpoint, Model, Prices, Snapshot } from './catalog.ts'
import { field, judged } from './entry-fields.ts'

/** The highest markup of a customer. */
export const CUSTOMER_MARKUP_MAX = 1_000
/** The number of markups whose snapshots are cached for the current one. */
const KEPT_MAX = 32

const made = new WeakMap<Snapshot, RecentMap<Snapshot>>()

/**
 * The snapshot with the prices of a customer: each price × the markup of the account or its group, exactly. The order
 * of prices does not change, and nor does anything else. Without a markup it is the snapshot itself.
 */
export function snapshotFor(snapshot: Snapshot, markup: string | undefined): Snapshot {
  const factor = markup === undefined ? null : parseDecimal(markup)
  if (markup === undefined || factor === null) return snapshot
  let kept = made.get(snapshot)
  if (kept === undefined) made.set(snapshot, (kept = new RecentMap(KEPT_MAX)))
  const known = kept.get(markup)
  if (known !== undefined) return known
  const own = Object.freeze({ ...snapshot, markup, models: new MarkedModels(snapshot.models, factor) })
  kept.set(markup, own)
  return own
}

/** The same for the prices of one endpoint. */
export function pricesFor<P extends Prices>(prices: P, markup: string | undefined): P {
  const factor = markup === undefined ? null : parseDecimal(markup)
  return factor === null ? prices : markedPrices(prices, factor)
}

/** Models are made when they are first read: a request reads one or two of a thousand. */
class MarkedModels implements ReadonlyMap<string, Model> {
  readonly #listed: ReadonlyMap<string, Model>
  readonly #factor: Decimal
  readonly #made = new Map<string, Model>()

  constructor(listed: ReadonlyMap<string, Model>, factor: Decimal) {
    this.#listed = listed
    this.#factor = factor
  }

  get size(): number {
    return this.#listed.size
  }

  has(id: string): boolean {
    return this.#listed.has(id)
  }

  get(id: string): Model | undefined {
    const made = this.#made.get(id)
    const listed = made === undefined ? this.#listed.get(id) : undefined
    if (listed === undefined) return made
    const own = markedModel(listed, this.#factor)
    this.#made.set(id, own)
    return own
  }

  forEach(visit: (model: Model, id: string, map: ReadonlyMap<string, Model>) => void): void {
    for (const [id, model] of this) visit(model, id, this)
  }

  keys(): MapIterator<string> {
    return this.#listed.keys()
  }

  values(): MapIterator<Model> {
    return this.#all().values()
  }

  entries(): MapIterator<[string, Model]> {
    return this.#all().entries()
  }

  [Symbol.iterator](): MapIterator<[string, Model]> {
    return this.entries()
  }

  /** All models, in the order of the catalogue. */
  #all(): Map<string, Model> {
    return new Map([...this.#listed].map(([id, model]) => [id, this.get(id) ?? model]))
  }
}

function markedModel(model: Model, factor: Decimal): Model {
  return Object.freeze({
    ...model,
    endpoints: Object.freeze(model.endpoints.map((endpoint) => markedEndpoint(endpoint, factor))),
  })
}

function markedEndpoint(endpoint: Endpoint, factor: Decimal): Endpoint {
  const variants = endpoint.variants && {
    variants: new Map(
      [...endpoint.variants].map(([key, prices]) => [key, Object.freeze(markedPrices(prices, factor))]),
    ),
  }
  return Object.freeze({ ...markedPrices(endpoint, factor), ...variants })
}

function markedPrices<P extends Prices>(prices: P, factor: Decimal): P {
  const conditions = prices.conditions && {
    conditions: {
      ...prices.conditions,
      sell: prices.conditions.sell.map((group) => ({
        ...group,
        steps: group.steps.map((step) => ({ ...step, sheet: marked(step.sheet, factor) })),
      })),
    },
  }
  return { ...prices, sell: marked(prices.sell, factor), ...conditions }
}

function marked(sheet: PriceSheet, factor: Decimal): PriceSheet {
  // It has the same meters as the given sheet.
  return Object.freeze(
    Object.fromEntries(Object.entries(sheet).map(([meter, price]) => [meter, multiply(price, factor)])),
  ) as PriceSheet
}

/** The same field is in the service's settings, in a provider and in a model. */
export const MARKUP = judged(field.above0, (markup, reader, key) => {
  if (markup === '0') reader.problem(key, 'above_zero', {}, 'must be above 0: it would give everything away')
})

interface Marked {
  readonly markup?: string | undefined
}

/** The nearest markup of the catalogue: the model's, else its provider's, else the service's. */
export function markupRule(
  model: Marked,
  provider: Marked | undefined,
  settings: Marked,
): { readonly rule: 'model' | 'provider' | 'service' | 'none'; readonly markup: string | null } {
  if (model.markup !== undefined) return { rule: 'model', markup: model.markup }
  if (provider?.markup !== undefined) return { rule: 'provider', markup: provider.markup }
  return settings.markup === undefined ? { rule: 'none', markup: null } : { rule: 'service', markup: settings.markup }
}

/** The factor of the provider's price × rate. */
export function markupOf(model: Marked, provider: Marked | undefined, settings: Marked): Decimal {
  const { markup } = markupRule(model, provider, settings)
  return (markup === null ? null : parseDecimal(markup)) ?? ONE
}
