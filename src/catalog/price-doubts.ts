import { PRICED_METERS, PRICE_KEYS, type Meter, type PriceKey } from '../tables/meter-table.ts'
import { compare, decimalText, multiply, ONE, parseDecimal, shift, type Decimal } from '../base/money.ts'
import { warningOf, type CatalogWarning } from './catalog-warning.ts'
import { endpointId, type CatalogDocument, type EndpointEntry, type ModelEntry, type PriceTexts } from './document.ts'
import { namesQualities } from './picture-price.ts'
import type { Prices } from './catalog.ts'
import { conditionedPrices, endpointPrices } from './price-conditions.ts'
import { fault, type Fault } from './source-tree.ts'
import { priceText } from './shown-prices.ts'
import { ownValue } from '../base/own-value.ts'

/**
 * Powers of ten between a price per token and one per million, less a margin for models that are unusually dear or
 * cheap.
 */
const DECADES = 5

type Rates = Readonly<Record<string, string>>

/** Prices that are allowed but are probably mistakes: below cost, or free. */
export function priceWarnings(
  document: CatalogDocument,
  rates: Rates = document.settings.rates ?? {},
): readonly CatalogWarning[] {
  return [
    ...markupsBelow(document),
    ...document.models.flatMap((model) =>
      model.endpoints.flatMap((endpoint) => [
        ...unpaidPictures(model, endpoint),
        ...untoldPrices(model, endpoint),
        ...lossesOf(model, endpoint, rates),
        ...lossesWhen(model, endpoint, rates),
      ]),
    ),
  ]
}

function markupsBelow({ settings: { markup }, providers, models }: CatalogDocument): readonly CatalogWarning[] {
  const service = isBelow(markup)
    ? [
        warningOf(
          'markup_below',
          { markup, loss: lossOf(markup) },
          `markup: ${markup} sells every model without a sell of its own for less than its provider charges`,
        ),
      ]
    : []
  const named = [
    ...Object.entries(providers).map(([slug, entry]) => [slug, entry.markup] as const),
    ...models.map((model) => [model.id, model.markup] as const),
  ]
  return [
    ...service,
    ...named.flatMap(([name, own]) =>
      isBelow(own)
        ? [
            warningOf(
              'markup_below_of',
              { name, markup: own, loss: lossOf(own) },
              `${name}: a markup of ${own} sells for less than the provider charges`,
            ),
          ]
        : [],
    ),
  ]
}

/** Percent of the provider's price that a markup below 1 gives away. */
function lossOf(markup: string): string {
  return String(Math.round((1 - Number(markup)) * 1_000) / 10)
}

function isBelow(markup: string | undefined): markup is string {
  const factor = markup === undefined ? null : parseDecimal(markup)
  return factor !== null && compare(factor, ONE) < 0
}

/** Warns about pictures in chat answers without a price: a model that can answer with pictures does so unasked. */
function unpaidPictures(
  { id, type, output_modalities: brings = [] }: ModelEntry,
  { provider, model, price }: EndpointEntry,
): readonly CatalogWarning[] {
  const isPriced = price.image_output !== undefined || price.image_output_tokens !== undefined
  if (type !== 'chat' || !brings.includes('image') || isPriced) return []
  const params = { model: id, endpoint: endpointId({ provider, model }) }
  return [
    warningOf(
      'pictures_unpriced',
      params,
      `${id} at ${params.endpoint}: pictures of its answers have no price of their own; price.image_output gives one, 0 says that their tokens pay for them`,
    ),
  ]
}

/** Warns about prices that depend on a parameter which the row does not pass on: only one value of it can be sold. */
function untoldPrices(
  { id, type, supported_durations: durations, supported_sizes: sizes, supported_resolutions: resolutions }: ModelEntry,
  { provider, model, price, supported_parameters: listed }: EndpointEntry,
): readonly CatalogWarning[] {
  if (listed === undefined) return []
  const isMap = (prices: unknown): boolean => typeof prices === 'object'
  const hasOne = (values: readonly unknown[] | undefined): boolean => values?.length === 1
  const takes = (...names: readonly string[]): boolean => names.some((name) => listed.includes(name))
  const untold = [
    ...(type === 'video' && price.video_second !== undefined && !takes('duration') && !hasOne(durations)
      ? ['duration']
      : []),
    ...(type === 'video' && isMap(price.video_second) && !takes('size', 'resolution') && !hasOne(sizes ?? resolutions)
      ? ['size']
      : []),
    ...(type === 'image' &&
    isMap(price.image_output) &&
    !takes('quality') &&
    namesQualities(Object.keys(price.image_output ?? {}))
      ? ['quality']
      : []),
  ]
  const endpoint = endpointId({ provider, model })
  return untold.map((parameter) =>
    warningOf(
      'price_untold',
      { model: id, endpoint, parameter },
      `${id} at ${endpoint}: its price depends on '${parameter}', which supported_parameters does not let through, so requests for another ${parameter} than the first are refused there`,
    ),
  )
}

function lossesOf(
  { id }: ModelEntry,
  { provider, model, price, sell: sells }: EndpointEntry,
  rates: Rates,
): readonly CatalogWarning[] {
  const rate = rateOf(price.currency, rates)
  if (sells === undefined || rate === null) return []
  return PRICE_KEYS.flatMap((key) => {
    const charged = least(price, key)
    const asked = least(sells, key)
    if (charged === null || asked === null) return []
    const inRubles = multiply(charged, rate)
    if (compare(asked, inRubles) >= 0) return []
    const params = {
      model: id,
      endpoint: endpointId({ provider, model }),
      key,
      sell: decimalText(asked),
      cost: decimalText(inRubles),
    }
    return [
      warningOf(
        'sells_below_cost',
        params,
        `${id} at ${params.endpoint}: sell.${key} is ${params.sell} RUB, and the provider charges ${params.cost} RUB`,
      ),
    ]
  })
}

/** The same warning under each condition of either price, if the plain prices are right. */
function lossesWhen({ id }: ModelEntry, entry: EndpointEntry, rates: Rates): readonly CatalogWarning[] {
  const rate = rateOf(entry.price.currency, rates)
  if (entry.sell === undefined || rate === null) return []
  const prices = endpointPrices(entry, rate, ONE, null)
  const isBelow = (at: Pick<Prices, 'sell' | 'buy'>, meter: Meter): boolean =>
    compare(at.sell[meter], at.buy[meter]) < 0
  return conditionedPrices(prices).flatMap((at) =>
    PRICED_METERS.filter(
      ({ meter, priceKey }) => entry.price[priceKey] !== undefined && isBelow(at, meter) && !isBelow(prices, meter),
    ).map(({ meter, priceKey: key }) => {
      const params = {
        model: id,
        endpoint: endpointId(entry),
        condition: at.name,
        key,
        sell: priceText(meter, at.sell),
        cost: priceText(meter, at.buy),
      }
      return warningOf(
        'sells_below_cost_when',
        params,
        `${id} at ${params.endpoint}: '${at.name}' sells ${key} for ${params.sell} RUB, and the provider charges ${params.cost} RUB`,
      )
    }),
  )
}

/**
 * Prices that are five powers of ten away from all known prices of the model, such as a price per token in a field per
 * million. An endpoint with `force: true` is not checked.
 */
export function priceFaults(
  models: readonly ModelEntry[],
  known: readonly ModelEntry[],
  rates: Rates,
): readonly Fault[] {
  const byId = new Map(known.map(({ id, endpoints }) => [id, endpoints]))
  const others = Map.groupBy(
    known.flatMap(({ id, endpoints }) => endpoints.map((endpoint) => ({ id, endpoint }))),
    ({ endpoint }) => endpoint.model,
  )
  return models.flatMap((model, at) =>
    model.endpoints.flatMap((endpoint, index) => {
      if (endpoint.force === true) return []
      const like = [
        ...(byId.get(model.id) ?? []),
        ...(others.get(endpoint.model) ?? []).filter(({ id }) => id !== model.id).map((other) => other.endpoint),
      ]
      const path = `models[${at}].endpoints[${index}]`
      return [
        ...faultsOf(endpoint.price, endpoint.price.currency, like, rates, `${path}.price`),
        ...faultsOf(endpoint.sell ?? {}, 'RUB', like, rates, `${path}.sell`),
      ]
    }),
  )
}

function faultsOf(
  prices: PriceTexts,
  currency: string,
  like: readonly EndpointEntry[],
  rates: Rates,
  path: string,
): readonly Fault[] {
  return PRICE_KEYS.flatMap((key) => {
    const known = like.flatMap(({ price }) => inCurrency(least(price, key), price.currency, currency, rates))
    if (known.length === 0) return []
    return valuesOf(prices[key]).flatMap((value) => {
      if (value.digits === 0n || !known.every((other) => isFar(value, other))) return []
      const [example = ONE] = known
      const [found, usual] = [decimalText(value), decimalText(example)]
      return [fault(`${path}.${key}`, 'far_price', { found, usual, currency })]
    })
  })
}

/** A known price converted to another currency, if there are rates; the same currency needs none. */
function inCurrency(price: Decimal | null, from: string, to: string, rates: Rates): readonly Decimal[] {
  if (price === null || price.digits === 0n) return []
  if (from === to) return [price]
  const [given, wanted] = [rateOf(from, rates), rateOf(to, rates)]
  // The quotient of the rates need not be exact: only magnitudes are compared.
  return given === null || wanted === null ? [] : [quotient(multiply(price, given), wanted)]
}

function quotient(left: Decimal, right: Decimal): Decimal {
  const digits = (left.digits * 10n ** BigInt(right.scale + 12)) / right.digits
  return parseDecimal(decimalText({ digits, scale: left.scale + 12 }).slice(0, 30)) ?? ONE
}

function isFar(value: Decimal, known: Decimal): boolean {
  return compare(shift(value, DECADES), known) <= 0 || compare(value, shift(known, DECADES)) >= 0
}

function rateOf(currency: string, rates: Rates): Decimal | null {
  const text = ownValue(rates, currency)
  return currency === 'RUB' ? ONE : text === undefined ? null : parseDecimal(text)
}

function valuesOf(text: PriceTexts[PriceKey]): readonly Decimal[] {
  const texts = text === undefined ? [] : typeof text === 'string' ? [text] : Object.values(text)
  return texts.flatMap((one) => parseDecimal(one) ?? [])
}

/** The lowest price of a map by size or resolution. */
function least(prices: PriceTexts, key: PriceKey): Decimal | null {
  return valuesOf(prices[key]).toSorted(compare)[0] ?? null
}
