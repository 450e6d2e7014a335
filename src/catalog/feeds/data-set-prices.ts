import { fieldsOf, type JsonObject } from '../../base/json-text.ts'
import { ownValue } from '../../base/own-value.ts'
import type { Weekday } from '../../base/time.ts'
import { METER_TABLE, PRICED_METERS, PRICE_KEYS, type PriceKey } from '../../tables/meter-table.ts'
import { compare, decimalText, parseDecimal, shift, type Decimal } from '../../base/money.ts'
import type { HourlyPrice, PriceEntry, TieredPrice } from '../document.ts'

/** A price key of the data set: our key, and the shift from its unit to ours. */
const KEYS: ReadonlyMap<string, { readonly key: PriceKey; readonly places: number }> = new Map([
  ['input_mtok', { key: 'prompt', places: 0 }],
  ['output_mtok', { key: 'completion', places: 0 }],
  ['cache_read_mtok', { key: 'input_cache_read', places: 0 }],
  ['cache_audio_read_mtok', { key: 'audio_cache_read', places: 0 }],
  ['cache_image_read_mtok', { key: 'image_cache_read', places: 0 }],
  ['cache_write_mtok', { key: 'input_cache_write', places: 0 }],
  ['cache_write_1h_mtok', { key: 'input_cache_write_1h', places: 0 }],
  ['output_reasoning_mtok', { key: 'internal_reasoning', places: 0 }],
  ['input_audio_mtok', { key: 'audio', places: 0 }],
  ['output_audio_mtok', { key: 'audio_output', places: 0 }],
  ['requests_kcount', { key: 'request', places: -3 }],
  ['web_searches_kcount', { key: 'search', places: -3 }],
])
/**
 * Never charged: files that a provider stores and searches; images and video with a separate price, since such a model
 * is offered without them.
 */
const NEVER_USED: ReadonlySet<string> = new Set(['storage_searches_kcount', 'input_image_mtok', 'input_video_mtok'])
const PARENT: Readonly<Partial<Record<PriceKey, PriceKey>>> = Object.fromEntries(
  PRICED_METERS.flatMap(({ priceKey, parent }) => (parent === null ? [] : [[priceKey, METER_TABLE[parent].priceKey]])),
)
/** A double is exact to this many digits; a longer text is a rounding error. */
const DIGITS_MAX = 15
/** Far above any price of a million tokens. */
const PRICE_MAX: Decimal = { digits: 1_000_000n, scale: 0 }
const TIERS_MAX = 8
const TIME = /^([01]\d|2[0-3]):[0-5]\d(?=:00(?:Z|\+00:00)$)/

/** Fees of the data set that come with every request, each with its price key; `citation` has no meter here. */
const FEES: ReadonlyMap<string, string> = new Map([
  ['requests_kcount', 'request'],
  ['output_citation_mtok', 'citation'],
])

export type RowPrices = { readonly price: PriceEntry; readonly ownImagePrice: boolean } | { readonly refused: string }

/** Thrown if a row of the data set has no price that can be charged. */
class Refused extends Error {
  override readonly name = 'Refused'
}

/**
 * The price of a row on a day (ISO): its steps by the length of the input, by the hour, and by service tier. `context`
 * = its context window in tokens; a step that begins there is never reached. `hourDays`: the days on which its hours
 * begin.
 */
export function rowPrices(
  { prices, variants }: { readonly prices: unknown; readonly variants?: unknown },
  day: string,
  context: number,
  hourDays?: readonly Weekday[],
): RowPrices {
  const { base, hours } = inForce(prices, day)
  try {
    const tiers = serviceTiers(base, variants, day, context)
    const timed = hours.map(({ from, to, set }): HourlyPrice => ({
      from,
      to,
      timezone: 'UTC',
      ...(hourDays === undefined ? {} : { days: hourDays }),
      ...priceOf(set, context),
    }))
    return {
      price: {
        ...priceOf(base, context),
        ...(Object.keys(tiers).length === 0 ? {} : { service_tiers: tiers }),
        ...(timed.length === 0 ? {} : { hours: timed }),
      },
      ownImagePrice: base['input_image_mtok'] !== undefined,
    }
  } catch (thrown) {
    if (thrown instanceof Refused) return { refused: thrown.message }
    throw thrown
  }
}

/** The price keys of the fees that a provider bills with every request to a model. */
export function constantFees(prices: unknown): readonly string[] {
  const names = setsOf(prices).flatMap(({ set }) => Object.keys(set))
  return [...new Set(names.flatMap((name) => FEES.get(name) ?? []))]
}

interface ConditionalSet {
  readonly set: JsonObject
  /** ISO day from which it applies; null = always. */
  readonly from: string | null
  readonly hours: { readonly from: string; readonly to: string } | null
}

function setsOf(prices: unknown): readonly ConditionalSet[] {
  if (!Array.isArray(prices)) return [{ set: fieldsOf(prices), from: null, hours: null }]
  return prices.map((entry) => {
    const { constraint, prices: set } = fieldsOf(entry)
    return { set: fieldsOf(set), ...conditionOf(constraint) }
  })
}

/** The condition of a price. One that is neither a day nor a time of day becomes a day that never comes. */
function conditionOf(constraint: unknown): Pick<ConditionalSet, 'from' | 'hours'> {
  if (constraint === undefined || constraint === null) return { from: null, hours: null }
  const { start_date: day, start_time: start, end_time: end } = fieldsOf(constraint)
  const [from, to] = [start, end].map((time) => (typeof time === 'string' ? (TIME.exec(time)?.[0] ?? null) : null))
  if (typeof from === 'string' && typeof to === 'string') return { from: null, hours: { from, to } }
  return { from: typeof day === 'string' ? day : '9999-12-31', hours: null }
}

/** In the data set a later entry replaces earlier ones while it applies. */
function inForce(
  prices: unknown,
  day: string,
): {
  readonly base: JsonObject
  readonly hours: readonly { readonly from: string; readonly to: string; readonly set: JsonObject }[]
} {
  const sets = setsOf(prices)
  const at = sets.findLastIndex(({ from, hours }) => hours === null && (from === null || from <= day))
  const hours = sets.slice(at + 1).flatMap(({ hours: times, set }) => (times === null ? [] : [{ ...times, set }]))
  // In our entries the first matching hours apply, in the data set the last ones.
  return { base: sets[at]?.set ?? {}, hours: hours.toReversed() }
}

function serviceTiers(
  base: JsonObject,
  variants: unknown,
  day: string,
  context: number,
): Readonly<Record<string, TieredPrice>> {
  const given: readonly unknown[] = Array.isArray(variants) ? variants : []
  return Object.fromEntries(
    given.flatMap((variant) => {
      const { when, constraint, prices } = fieldsOf(variant)
      const { service_tier: name, ...others } = fieldsOf(when)
      const { from, hours } = conditionOf(constraint)
      if ((name !== 'flex' && name !== 'priority') || Object.keys(others).length > 0) return []
      if (hours !== null || (from !== null && from > day)) return []
      return [[name, priceOf({ ...base, ...fieldsOf(prices) }, context)] as const]
    }),
  )
}

/** The prices of one set, with the steps of all its meters. */
function priceOf(set: JsonObject, context: number): TieredPrice {
  const steps = new Set<number>()
  for (const [name, value] of Object.entries(set))
    if (!NEVER_USED.has(name)) for (const { start } of tiersOf(value)) if (start < context) steps.add(start)
  const tiers = [...steps]
    .toSorted((one, other) => one - other)
    .map((above) => ({ above, ...changed(pricesAt(set, 0), pricesAt(set, above + 1)) }))
  return { ...pricesAt(set, 0), ...(tiers.length === 0 ? {} : { tiers }) }
}

/** The keys of `now` whose values differ from `before`, as texts. */
function changed(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(now).filter(([key, text]) => ownValue(before, key) !== text))
}

/** The prices of a request with so many input tokens; of several keys for one meter, the dearest applies. */
function pricesAt(set: JsonObject, tokens: number): Readonly<Record<string, string>> {
  const dearest = new Map<PriceKey, Decimal>()
  const lost: (readonly [PriceKey, number])[] = []
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined || value === null || NEVER_USED.has(name)) continue
    const known = KEYS.get(name)
    if (known === undefined) throw new Refused(`no meter for ${name.slice(0, 50)}`)
    const number = numberAt(value, tokens)
    const price = exactDecimal(number)
    if (price === null) lost.push([known.key, number])
    else raise(dearest, known.key, shift(price, known.places))
  }
  for (const [key, number] of lost) {
    const stands = dearest.get(key) ?? inherited(dearest, key)
    if (stands === null || !(Number(decimalText(stands)) >= number)) throw new Refused(`${key} is not an exact decimal`)
  }
  return Object.fromEntries(
    PRICE_KEYS.flatMap((key) => {
      const price = dearest.get(key)
      return price === undefined ? [] : [[key, decimalText(price)] as const]
    }),
  )
}

function tiersOf(value: unknown): readonly { readonly start: number; readonly price: unknown }[] {
  const { tiers } = fieldsOf(value)
  if (!Array.isArray(tiers)) return []
  return tiers.slice(0, TIERS_MAX).map((tier) => {
    const { start, price } = fieldsOf(tier)
    if (typeof start !== 'number' || !Number.isSafeInteger(start) || start < 0) throw new Refused('a step of no length')
    return { start, price }
  })
}

function numberAt(value: unknown, tokens: number): number {
  const { base } = fieldsOf(value)
  const step = tiersOf(value)
    .filter(({ start }) => tokens > start)
    .toSorted((one, other) => one.start - other.start)
    .at(-1)
  const number = typeof value === 'number' ? value : (step?.price ?? base)
  return typeof number === 'number' ? number : Number.NaN
}

/**
 * The exact decimal of the source. The shortest text of a double equals it if the source had no more digits than a
 * double holds. null = it is no such number, or is far above any price.
 */
export function exactDecimal(value: number): Decimal | null {
  const text = String(value)
  const digits = (text.split('e', 1)[0] ?? '').replace('.', '').replace(/^0+/, '')
  const price = digits.length > DIGITS_MAX ? null : parseDecimal(text)
  return price === null || price.digits < 0n || compare(price, PRICE_MAX) > 0 ? null : price
}

function raise(dearest: Map<PriceKey, Decimal>, key: PriceKey, price: Decimal): void {
  const before = dearest.get(key)
  if (before === undefined || compare(before, price) < 0) dearest.set(key, price)
}

function inherited(dearest: ReadonlyMap<PriceKey, Decimal>, key: PriceKey): Decimal | null {
  const parent = PARENT[key]
  return parent === undefined ? null : (dearest.get(parent) ?? inherited(dearest, parent))
}
