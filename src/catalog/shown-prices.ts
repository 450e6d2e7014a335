import {
  METER_TABLE,
  PRICED_METERS,
  PRICE_SCALES,
  type Meter,
  type PricedMeter,
  type PriceKey,
} from '../tables/meter-table.ts'
import { exactCost, TYPICAL_USAGE, type PriceSheet } from '../tables/meters.ts'
import { compare, decimalText, shift } from '../base/money.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../tables/model-types.ts'
import type { Endpoint, Prices } from './catalog.ts'
import { conditionedPrices } from './price-conditions.ts'

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
