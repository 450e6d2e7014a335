import { type Micro, compare, decimalText, shift } from '../base/money.ts'
import { DAY_MS, MINUTE_MS } from '../base/time.ts'
import {
  METER_TABLE,
  type Meter,
  PRICED_METERS,
  PRICE_SCALES,
  type PriceKey,
  type PricedMeter,
} from '../tables/meter-table.ts'
import {
  type PriceSheet,
  TYPICAL_USAGE,
  type Usage,
  chargeMicro,
  exactCost,
  providerCostMicro,
} from '../tables/meters.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../tables/model-types.ts'
import type { Endpoint, Model, PriceGroup, Prices } from './catalog.ts'
import { type ConditionedRow, conditionedPrices, rowPrices } from './price-conditions.ts'

export interface ShownPrice {
  readonly key: PriceKey
  readonly meter: Meter
  /** The client's price. */
  readonly text: string
}

/** Prices for display, in the file's units and RUB, without prices of 0 and those equal to their parent's. */
export function shownPrices(type: ModelType, sheet: PriceSheet): readonly ShownPrice[] {
  return PRICED_METERS.flatMap((row) => {
    const says = saysMore(row, sheet) || MODEL_TYPE_TABLE[type].alwaysShown.includes(row.priceKey)
    return says ? [{ key: row.priceKey, meter: row.meter, text: textOf(row, sheet) }] : []
  })
}

/** The texts of `shownPrices` by their keys. */
export function priceTexts(type: ModelType, sheet: PriceSheet): Readonly<Record<string, string>> {
  return Object.fromEntries(shownPrices(type, sheet).map(({ key, text }) => [key, text]))
}

/** The prices under each condition, and those among them that differ from the plain ones, for display. */
export function shownConditions(prices: Prices): readonly ShownCondition[] {
  return conditionedPrices(prices).map(({ name, sell, buy }) => ({
    condition: name,
    sell,
    buy,
    lines: PRICED_METERS.filter(
      (row) =>
        [sell, buy, prices.sell, prices.buy].some((sheet) => saysMore(row, sheet)) &&
        (compare(sell[row.meter], prices.sell[row.meter]) !== 0 ||
          compare(buy[row.meter], prices.buy[row.meter]) !== 0),
    ).map(({ priceKey: key, meter }) => ({ key, meter, text: priceText(meter, sell) })),
  }))
}

interface ShownCondition extends Pick<Prices, 'sell' | 'buy'> {
  readonly condition: string
  readonly lines: readonly ShownPrice[]
}

/** A price of a sheet, in the file's unit. */
export function priceText(meter: Meter, sheet: PriceSheet): string {
  return textOf({ meter, scale: METER_TABLE[meter].scale }, sheet)
}

/** The first of equally cheap endpoints; null only if there are no endpoints. */
export function cheapestEndpoint(endpoints: readonly Endpoint[]): Endpoint | null {
  let cheapest: Endpoint | null = null
  for (const endpoint of endpoints) {
    if (
      cheapest === null ||
      compare(exactCost(TYPICAL_USAGE, endpoint.sell), exactCost(TYPICAL_USAGE, cheapest.sell)) < 0
    )
      cheapest = endpoint
  }
  return cheapest
}

/** Whether a price is above 0 and its parent's. */
export function saysMore({ meter, parent }: PricedMeter, sheet: PriceSheet): boolean {
  const price = sheet[meter]
  return price.digits !== 0n && (parent === null || compare(price, sheet[parent]) !== 0)
}

function textOf({ meter, scale }: Pick<PricedMeter, 'meter' | 'scale'>, sheet: PriceSheet): string {
  return decimalText(shift(sheet[meter], -PRICE_SCALES[scale].places))
}

const DAY_MINUTES = 1_440
const WEEK_DAYS = 7

/** What a standard request costs under one condition of a price. */
export interface Quote {
  readonly model: string
  readonly endpoint: string
  /** null = the plain price. */
  readonly condition: string | null
  readonly usage: Usage
  readonly chargedMicro: Micro
  readonly billedMicro: Micro
}

/**
 * The plain price and each condition of a model's endpoints that have conditions, as requests meet them within a week
 * from `nowMs` on; a condition that no request can meet has no quote.
 */
export function quotesOf(model: Model, nowMs: number): readonly Quote[] {
  return model.endpoints.flatMap((endpoint) => {
    const groups = [...(endpoint.conditions?.sell ?? []), ...(endpoint.conditions?.buy ?? [])]
    const standard = standardUsage(model.type, endpoint)
    const quotes = new Map<string | null, Quote>()
    for (const group of groups)
      for (const { name, above } of group.steps) {
        const usage = above < 0 ? standard : { ...standard, input: above + 1 }
        const row = instants(groups, nowMs)
          .map((createdAtMs) => rowUnder(group, usage, createdAtMs))
          .find((one) => names(endpoint, one).includes(name))
        if (quotes.has(name) || row === undefined) continue
        const { charged, billed } = rowPrices(endpoint, row)
        quotes.set(name, {
          model: model.id,
          endpoint: endpoint.id,
          condition: name,
          usage,
          chargedMicro: chargeMicro(usage, charged.sheet),
          billedMicro: providerCostMicro(usage, billed.sheet),
        })
      }
    return [...quotes.values()].toSorted(
      (left, right) => Number(right.condition === null) - Number(left.condition === null),
    )
  })
}

function rowUnder({ serviceTier }: PriceGroup, usage: Usage, createdAtMs: number): ConditionedRow {
  return { usage, createdAtMs, billingBasis: 'provider_usage', ...(serviceTier === null ? {} : { serviceTier }) }
}

/** The names of the conditions that a request meets: null only if both prices are plain. */
function names(endpoint: Endpoint, row: ConditionedRow): readonly (string | null)[] {
  const { charged, billed } = rowPrices(endpoint, row)
  return charged.name === null && billed.name === null
    ? [null]
    : [charged.name, billed.name].filter((name) => name !== null)
}

/** A typical usage in the units that a price of the type needs. */
function standardUsage(type: ModelType, { priced }: Endpoint): Usage {
  const { complete } = MODEL_TYPE_TABLE[type]
  const keys = complete.find((needed) => needed.every((key) => priced.has(key))) ?? []
  return Object.fromEntries(
    PRICED_METERS.filter(({ priceKey }) => keys.includes(priceKey)).map(({ meter, typicalUnits }) => [
      meter,
      Math.max(1, typicalUnits),
    ]),
  )
}

/** Now, and the times at which the groups' hours begin and end on the days of a week. */
function instants(groups: readonly PriceGroup[], nowMs: number): readonly number[] {
  const bounds = groups.flatMap(({ hours }) => {
    if (hours === null) return []
    const minute = hours.minuteAt(nowMs)
    return [hours.from, hours.to].map((bound) => nowMs + ((bound - minute + DAY_MINUTES) % DAY_MINUTES) * MINUTE_MS)
  })
  const days = Array.from({ length: WEEK_DAYS }, (_, day) => day * DAY_MS)
  return [nowMs, ...bounds.flatMap((atMs) => days.map((day) => atMs + day))]
}
