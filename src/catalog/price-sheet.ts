import { PRICED_METERS, PRICE_KEYS, PRICE_SCALES, type Meter, type PriceKey } from '../tables/meter-table.ts'
import { type PriceSheet, isTokenMeter } from '../tables/meters.ts'
import { multiply, parseDecimal, shift, ZERO, type Decimal } from '../base/money.ts'
import type { PriceEntry, PriceTexts } from './document.ts'
import { keyFor } from './picture-price.ts'
import { ownValue } from '../base/own-value.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../tables/model-types.ts'

/**
 * Exact µRUB per unit of every meter; `factor` = rate × markup, or 1 for prices in rubles for the client. Of a price by
 * resolution, the one of `variant` applies, or the dearest if `variant` is null or not among the keys.
 */
export function priceSheet(prices: PriceTexts, factor: Decimal, variant: string | null = null): PriceSheet {
  const sheet: Partial<Record<Meter, Decimal>> = {}
  for (const { meter, priceKey, parent, scale } of PRICED_METERS) {
    const own = ownPrice(prices, priceKey, variant)
    // A meter without its own price takes its parent's (operator.md 3); parents come first in the table.
    const inherited = parent === null ? ZERO : (sheet[parent] ?? ZERO)
    sheet[meter] = own === null ? inherited : shift(multiply(own, factor), PRICE_SCALES[scale].places)
  }
  // The loop has set every meter.
  return Object.freeze(sheet as Record<Meter, Decimal>)
}

/** The resolutions that a price names under any of its conditions, in the file's order. */
export function variantsOf(...prices: readonly (PriceEntry | undefined)[]): readonly string[] {
  const all = prices.flatMap((price) => (price === undefined ? [] : conditionalPrices(price)))
  return [
    ...new Set(
      all.flatMap((own) =>
        PRICE_KEYS.flatMap((key) => {
          const price = own[key]
          return typeof price === 'object' ? Object.keys(price) : []
        }),
      ),
    ),
  ]
}

/** The prices of the entry itself, and those of each of its conditions. */
export function conditionalPrices(price: PriceEntry): readonly PriceTexts[] {
  const tiered = [price, ...Object.values(price.service_tiers ?? {}), ...(price.hours ?? [])]
  return tiered.flatMap((own) => [own, ...(own.tiers ?? [])])
}

function ownPrice(prices: PriceTexts, key: PriceKey, variant: string | null): Decimal | null {
  const text = prices[key]
  if (text === undefined) return null
  if (typeof text === 'string') return parseDecimal(text)
  const named = variant === null ? null : keyFor(variant, Object.keys(text))
  if (named !== null) return parseDecimal(ownValue(text, named) ?? '')
  // The dearest price of a map by resolution is its upper bound.
  let dearest: Decimal | null = null
  for (const value of Object.values(text)) {
    const price = parseDecimal(value)
    if (
      price !== null &&
      (dearest === null || price.digits * 10n ** BigInt(dearest.scale) > dearest.digits * 10n ** BigInt(price.scale))
    )
      dearest = price
  }
  return dearest
}

/**
 * The price keys that a type still needs, as readable alternatives; empty = complete. `outputBounded`:
 * `max_completion_tokens` is known.
 */
export function missingPrices(type: ModelType, given: ReadonlySet<string>, outputBounded: boolean): readonly string[] {
  const row = MODEL_TYPE_TABLE[type]
  const needsBound = (keys: readonly PriceKey[]): boolean => row.boundedByModel && keys.some(isPerToken)
  const alternatives = row.complete
  if (alternatives.some((keys) => keys.every((key) => given.has(key)) && (outputBounded || !needsBound(keys))))
    return []
  return alternatives.map((keys) => `${keys.join(' + ')}${needsBound(keys) ? ' + max_completion_tokens' : ''}`)
}

/** Fields of an endpoint's row that decide whether it can search. */
export interface EndpointUses {
  readonly listed: readonly string[]
  /** Whether it takes requests in a protocol whose provider can search by itself. */
  readonly native: boolean
}

/** Whether no answer is ever charged by this known price key. */
export function uncharged(type: ModelType, key: string, { listed, native }: EndpointUses): boolean {
  const row = PRICED_METERS.find(({ priceKey }) => priceKey === key)
  if (row === undefined) return false
  if (type === 'chat' && key === 'search') return !native && !listed.includes('web_search_options')
  return !row.types.includes(type)
}

function isPerToken(key: PriceKey): boolean {
  return PRICED_METERS.some((row) => row.priceKey === key && isTokenMeter(row))
}
