import { stringify } from 'yaml'
import { decimalText, parseDecimal } from '../base/money.ts'
import type { CatalogDocument, EndpointEntry, ModelEntry, PriceEntry, ProviderEntry } from './document.ts'

type Amount = number | string
/** A price of each key, some by size. Steps by length and hours are lists, service tiers a map. */
type Conditional = Readonly<Record<string, unknown>>
type WirePrices = Readonly<
  Record<
    string,
    Amount | Readonly<Record<string, Amount>> | Readonly<Record<string, Conditional>> | readonly Conditional[]
  >
>
type WireEndpoint = Omit<EndpointEntry, 'price' | 'sell'> & {
  readonly price: WirePrices & { readonly currency: string }
  readonly sell?: WirePrices
}
export type WireProvider = Omit<ProviderEntry, 'api_key' | 'markup'> & {
  readonly api_key?: string | readonly string[]
  readonly markup?: Amount
}
export type WireModel = Omit<ModelEntry, 'endpoints' | 'markup'> & {
  readonly endpoints: readonly WireEndpoint[]
  readonly markup?: Amount
}
export type WireDocument = Readonly<Record<string, unknown>> & {
  readonly providers: Readonly<Record<string, WireProvider>>
  readonly models: readonly WireModel[]
}

/** The document in the file's shape (operator.md 3); it reads back as the same document. */
export function wireDocument({
  bundled,
  bundled_except: except,
  settings,
  providers,
  models,
}: CatalogDocument): WireDocument {
  const { maintenance: _notOfTheFile, rates, rates_source: source, markup, ...rest } = settings
  return {
    bundled,
    ...(except === undefined ? {} : { bundled_except: except }),
    ...rest,
    ...(rates === undefined && source === undefined
      ? {}
      : { rates: { ...(source === undefined ? {} : { source }), ...mapValues(rates ?? {}, numberOrText) } }),
    ...wireMarkup(markup),
    providers: mapValues(providers, wireProvider),
    models: models.map(wireModel),
  }
}

/** A single key is written as a text, a pool of keys as a list. */
export function wireProvider(entry: ProviderEntry): WireProvider {
  const { api_key: keys, markup, ...plain } = entry
  const rest = { ...plain, ...wireMarkup(markup) }
  const [first = ''] = keys ?? []
  return keys === undefined ? rest : { ...rest, api_key: keys.length === 1 ? first : keys }
}

export function wireModel(entry: ModelEntry): WireModel {
  const { endpoints, markup, ...rest } = entry
  return { ...rest, ...wireMarkup(markup), endpoints: endpoints.map(wireEndpoint) }
}

function wireMarkup(markup: string | undefined): { readonly markup?: Amount } {
  return markup === undefined ? {} : { markup: numberOrText(markup) }
}

/** YAML of the document for `tollgate export`; the caller leaves out the bundled part. */
export function documentYaml(document: CatalogDocument): string {
  const { bundled, ...rest } = wireDocument(document)
  return stringify(bundled === true ? rest : { bundled, ...rest })
}

export function wirePrice({ currency, ...prices }: EndpointEntry['price']): WireEndpoint['price'] {
  return { currency, ...wirePrices(prices) }
}

function wireEndpoint({ price, sell, ...rest }: EndpointEntry): WireEndpoint {
  return {
    ...rest,
    price: wirePrice(price),
    ...(sell === undefined ? {} : { sell: wirePrices(sell) }),
  }
}

/** A price with all its conditions. */
function wirePrices(prices: PriceEntry): WirePrices {
  // Each value is a text, and becomes a number or a text.
  return mapValues(prices as Readonly<Record<string, unknown>>, wireValue) as WirePrices
}

/** Times of day and time zones are not decimals, and stay unchanged. */
function wireValue(value: unknown): unknown {
  if (typeof value === 'string') return numberOrText(value)
  if (Array.isArray(value)) return value.map(wireValue)
  // The other values of a price are maps.
  return typeof value === 'object' ? mapValues(value as Readonly<Record<string, unknown>>, wireValue) : value
}

/** A number if it is exactly the decimal, else the text, which is read exactly as well. */
function numberOrText(text: string): number | string {
  const value = Number(text)
  const exact = parseDecimal(String(value))
  return exact !== null && decimalText(exact) === text ? value : text
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
