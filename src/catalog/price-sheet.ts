import { METERS, type Meter, type PriceSheet } from '../meters.ts'
import { multiply, parseDecimal, shift, ZERO, type Decimal } from '../money.ts'
import type { PriceTexts } from './document.ts'
import type { PriceKey } from './price-keys.ts'
import { keyFor } from './resolution.ts'

/** Which key of the file prices a meter. */
const KEY_OF: Readonly<Record<Meter, PriceKey>> = {
  input: 'prompt',
  cache_read: 'input_cache_read',
  cache_write: 'input_cache_write',
  cache_write_1h: 'input_cache_write_1h',
  audio_input: 'audio',
  image_input: 'image',
  output: 'completion',
  reasoning: 'internal_reasoning',
  audio_output: 'audio_output',
  request: 'request',
  image_output: 'image_output',
  characters: 'characters',
  deciseconds: 'second',
  video_seconds: 'video_second',
  search: 'search',
}

/** A meter without a price of its own takes its parent's; one without a parent costs nothing (operator.md 3). */
const PARENT: Readonly<Partial<Record<Meter, Meter>>> = {
  cache_read: 'input',
  cache_write: 'input',
  cache_write_1h: 'cache_write',
  audio_input: 'input',
  reasoning: 'output',
  audio_output: 'output',
}

/** Places that turn RUB in the file's unit into µRUB per unit: a price per million is µRUB per one as it stands. */
const PLACES: Readonly<Partial<Record<Meter, number>>> = {
  request: 6,
  image_input: 6,
  image_output: 6,
  search: 6,
  deciseconds: 5,
  video_seconds: 6,
}

/**
 * Exact µRUB per unit of every meter; `factor` = rate × markup, or 1 for prices already in the client's rubles. A price
 * by resolution is that of `variant`, and the dearest where there is no such key or none is asked for.
 */
export function priceSheet(prices: PriceTexts, factor: Decimal, variant: string | null = null): PriceSheet {
  const sheet: Partial<Record<Meter, Decimal>> = {}
  for (const meter of METERS) {
    const own = ownPrice(prices, KEY_OF[meter], variant)
    const parent = PARENT[meter]
    // METERS lists every parent before its children.
    const inherited = parent === undefined ? ZERO : (sheet[parent] ?? ZERO)
    sheet[meter] = own === null ? inherited : shift(multiply(own, factor), PLACES[meter] ?? 0)
  }
  // The loop has set every meter.
  return Object.freeze(sheet as Record<Meter, Decimal>)
}

/** The resolutions that a price names, in the file's order. */
export function variantsOf(...sheets: readonly (PriceTexts | undefined)[]): readonly string[] {
  return [
    ...new Set(
      sheets.flatMap((prices) =>
        Object.values(prices ?? {}).flatMap((price) => (typeof price === 'string' ? [] : Object.keys(price))),
      ),
    ),
  ]
}

function ownPrice(prices: PriceTexts, key: PriceKey, variant: string | null): Decimal | null {
  const text = prices[key]
  if (text === undefined) return null
  if (typeof text === 'string') return parseDecimal(text)
  const named = variant === null ? null : keyFor(variant, Object.keys(text))
  if (named !== null) return parseDecimal(text[named] ?? '')
  // A map by resolution: the dearest bounds them all.
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
