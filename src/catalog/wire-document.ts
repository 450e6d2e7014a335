import { stringify } from 'yaml'
import { decimalText, parseDecimal } from '../money.ts'
import type { CatalogDocument, EndpointEntry, ModelEntry, PriceTexts, ProviderEntry } from './document.ts'

/** The document in the shape of the file (operator.md 3), which reads back as the same document. */
export function wireDocument({ bundled, settings, providers, models }: CatalogDocument): Record<string, unknown> {
  const { maintenance: _notOfTheFile, rates, rates_source: source, markup, ...rest } = settings
  return {
    bundled,
    ...rest,
    ...(rates === undefined && source === undefined
      ? {}
      : { rates: { ...(source === undefined ? {} : { source }), ...mapValues(rates ?? {}, numberOrText) } }),
    ...(markup === undefined ? {} : { markup: numberOrText(markup) }),
    providers: mapValues(providers, wireProvider),
    models: models.map(wireModel),
  }
}

/** One key is written as a text, a pool as a list. */
export function wireProvider(entry: ProviderEntry): Record<string, unknown> {
  const { api_key: keys, ...rest } = entry
  return keys === undefined ? rest : { ...rest, api_key: keys.length === 1 ? keys[0] : keys }
}

export function wireModel(entry: ModelEntry): Record<string, unknown> {
  const { endpoints, ...rest } = entry
  return { ...rest, endpoints: endpoints.map(wireEndpoint) }
}

/** YAML of the document for `tollgate export`; the part that is bundled anyway is the caller's to leave out. */
export function documentYaml(document: CatalogDocument): string {
  const { bundled, ...rest } = wireDocument(document)
  return stringify(bundled === true ? rest : { bundled, ...rest })
}

function wireEndpoint({ price, sell, ...rest }: EndpointEntry): Record<string, unknown> {
  const { currency, ...prices } = price
  return {
    ...rest,
    price: { currency, ...wirePrices(prices) },
    ...(sell === undefined ? {} : { sell: wirePrices(sell) }),
  }
}

function wirePrices(prices: PriceTexts): Record<string, unknown> {
  return mapValues(prices, (value) =>
    typeof value === 'object' ? mapValues(value, numberOrText) : value === undefined ? undefined : numberOrText(value),
  )
}

/** A number where it says exactly what the decimal says, else the text, which is read exactly too. */
function numberOrText(text: string): number | string {
  const value = Number(text)
  const exact = parseDecimal(String(value))
  return exact !== null && decimalText(exact) === text ? value : text
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
