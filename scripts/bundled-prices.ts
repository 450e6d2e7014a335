import type { ConditionalPrice, ModelInfo, ModelPrice } from '@pydantic/genai-prices'
import { METER_TABLE, PRICED_METERS, PRICE_KEYS, type PriceKey } from '../src/tables/meter-table.ts'
import { compare, decimalText, parseDecimal, shift, type Decimal } from '../src/base/money.ts'

/** A price key of the data set: our key, and the shift from its unit to ours. */
const KEYS: Readonly<Record<string, { readonly key: PriceKey; readonly places: number }>> = {
  input_mtok: { key: 'prompt', places: 0 },
  output_mtok: { key: 'completion', places: 0 },
  cache_read_mtok: { key: 'input_cache_read', places: 0 },
  cache_audio_read_mtok: { key: 'input_cache_read', places: 0 },
  cache_image_read_mtok: { key: 'input_cache_read', places: 0 },
  cache_write_mtok: { key: 'input_cache_write', places: 0 },
  cache_write_1h_mtok: { key: 'input_cache_write_1h', places: 0 },
  output_reasoning_mtok: { key: 'internal_reasoning', places: 0 },
  input_audio_mtok: { key: 'audio', places: 0 },
  output_audio_mtok: { key: 'audio_output', places: 0 },
  requests_kcount: { key: 'request', places: -3 },
  web_searches_kcount: { key: 'search', places: -3 },
}
/**
 * Never charged: files that a provider stores and searches; images and video with a separate price, since such a model
 * is offered without them.
 */
const NEVER_USED: ReadonlySet<string> = new Set(['storage_searches_kcount', 'input_image_mtok', 'input_video_mtok'])
const PARENT: Readonly<Partial<Record<PriceKey, PriceKey>>> = Object.fromEntries(
  PRICED_METERS.flatMap(({ priceKey, parent }) => (parent === null ? [] : [[priceKey, METER_TABLE[parent].priceKey]])),
)
/** A double holds every decimal of this many digits; a longer text is a rounding error. */
const DIGITS_MAX = 15

export type RowPrices =
  | { readonly prices: Readonly<Partial<Record<PriceKey, string>>>; readonly ownImagePrice: boolean }
  | { readonly refused: string }

/**
 * One price for each meter: the dearest of its tiers, of the hours of the day, and of announced prices, so that nothing
 * is sold below its cost.
 */
export function rowPrices(model: ModelInfo, published: string): RowPrices {
  const sets = inForce(model.prices, published)
  const dearest = new Map<PriceKey, Decimal>()
  const lost = new Map<PriceKey, number>()
  for (const set of sets) {
    for (const [name, value] of Object.entries(set)) {
      if (value === undefined || NEVER_USED.has(name)) continue
      const known = KEYS[name]
      if (known === undefined) return { refused: `no meter for ${name}` }
      for (const number of numbersOf(value, model.context_window ?? Infinity)) {
        const price = exactDecimal(number)
        if (price === null) lost.set(known.key, Math.max(lost.get(known.key) ?? 0, number))
        else raise(dearest, known.key, shift(price, known.places))
      }
    }
  }
  for (const [key, value] of lost) {
    const stands = dearest.get(key) ?? inherited(dearest, key)
    if (stands === null || Number(decimalText(stands)) < value) return { refused: `${key} is not an exact decimal` }
  }
  const prices = PRICE_KEYS.flatMap((key) => {
    const price = dearest.get(key)
    return price === undefined ? [] : [[key, decimalText(price)] as const]
  })
  return {
    prices: Object.fromEntries(prices),
    ownImagePrice: sets.some((set) => set['input_image_mtok'] !== undefined),
  }
}

/**
 * Every set of prices that applies on the day of publication or later; in the data set a later entry replaces earlier
 * ones while it applies.
 */
function inForce(prices: ModelInfo['prices'], published: string): readonly ModelPrice[] {
  if (!Array.isArray(prices)) return [prices]
  const base = prices.findLastIndex(
    ({ constraint }) =>
      constraint === undefined || (constraint.type === 'start_date' && constraint.start_date <= published),
  )
  return prices.slice(Math.max(base, 0)).map((entry: ConditionalPrice) => entry.prices)
}

/** A tier that begins where the context window ends is never reached. */
function numbersOf(value: NonNullable<ModelPrice[string]>, context: number): readonly number[] {
  return typeof value === 'number'
    ? [value]
    : [value.base, ...value.tiers.filter(({ start }) => start < context).map(({ price }) => price)]
}

/**
 * The decimal of the source: the shortest text of a double equals it if the source had no more digits than a double
 * holds.
 */
export function exactDecimal(value: number): Decimal | null {
  const text = String(value)
  const digits = text.replace(/e.*$/, '').replace('.', '').replace(/^0+/, '')
  return digits.length > DIGITS_MAX ? null : parseDecimal(text)
}

function raise(dearest: Map<PriceKey, Decimal>, key: PriceKey, price: Decimal): void {
  const before = dearest.get(key)
  if (before === undefined || compare(before, price) < 0) dearest.set(key, price)
}

function inherited(dearest: ReadonlyMap<PriceKey, Decimal>, key: PriceKey): Decimal | null {
  const parent = PARENT[key]
  return parent === undefined ? null : (dearest.get(parent) ?? inherited(dearest, parent))
}
