import type { GenerationRecord } from '../ledger/generation-record.ts'
import { WEEKDAYS, type Weekday } from '../base/time.ts'
import {
  METERS,
  exactCost,
  INPUT_METERS,
  providerCostMicro,
  sumOf,
  type PriceSheet,
  type Usage,
} from '../tables/meters.ts'
import { compare, multiply, ONE, ZERO, type Decimal, type Micro } from '../base/money.ts'
import type { HoursOfDay, PriceGroup, Prices } from './catalog.ts'
import type { EndpointEntry, HourlyPrice, PriceEntry, PriceTexts, TieredPrice } from './document.ts'
import { priceSheet } from './price-sheet.ts'

/** The facts besides the usage that decide the condition of a price. */
export interface Served {
  /** Unix ms of the request's arrival. */
  readonly atMs: number
  /** The service tier that the provider says it has served; null = it says none. */
  readonly serviceTier: string | null
}

export interface NamedSheet {
  /** The condition in words; null = the plain price. */
  readonly name: string | null
  readonly sheet: PriceSheet
}

/** The bounds within which a request may still end when its hold is placed. */
export interface Reach {
  readonly atMs: number
  /** The most input tokens that it can be charged for. */
  readonly inputTokens: number
  /** The service tiers in which it may be served; absent = any. */
  readonly serviceTiers?: readonly string[] | undefined
}

/** Both prices of a row, with their conditions. `rate`: of the row's currency; `variant`: the size or resolution. */
export function endpointPrices(
  { price, sell }: Pick<EndpointEntry, 'price' | 'sell'>,
  rate: Decimal,
  markup: Decimal,
  variant: string | null,
): Prices {
  const factor = sell === undefined ? multiply(rate, markup) : ONE
  const sellSheet = (prices: PriceTexts): PriceSheet => priceSheet(prices, factor, variant)
  const buySheet = (prices: PriceTexts): PriceSheet => priceSheet(prices, rate, variant)
  const conditions = { sell: priceGroups(sell ?? price, sellSheet), buy: priceGroups(price, buySheet) }
  const has = conditions.sell.length + conditions.buy.length > 0
  return {
    sell: sellSheet(sell ?? price),
    buy: buySheet(price),
    ...(has ? { conditions: Object.freeze(conditions) } : {}),
  }
}

/** The groups of a row's price; the last group has no condition but the length. Empty = the price has no conditions. */
function priceGroups(entry: PriceEntry, sheetOf: (prices: PriceTexts) => PriceSheet): readonly PriceGroup[] {
  const { service_tiers: named = {}, hours = [], tiers = [] } = entry
  const groupOf = (own: TieredPrice, label: string | null, of: Pick<PriceGroup, 'serviceTier' | 'hours'>): PriceGroup =>
    Object.freeze({
      ...of,
      steps: Object.freeze([
        Object.freeze({ name: label, above: -1, sheet: sheetOf({ ...entry, ...own }) }),
        ...(own.tiers ?? []).map(({ above, ...tier }) =>
          Object.freeze({
            name: [...(label === null ? [] : [label]), `above ${above}`].join(', '),
            above,
            sheet: sheetOf({ ...entry, ...own, ...tier }),
          }),
        ),
      ]),
    })
  const groups = [
    ...Object.entries(named).map(([name, own]) => groupOf(own, name, { serviceTier: name, hours: null })),
    ...hours.map((own) => groupOf(own, hoursName(own), { serviceTier: null, hours: hoursOf(own) })),
  ]
  if (groups.length === 0 && tiers.length === 0) return []
  return Object.freeze([...groups, groupOf(entry, null, { serviceTier: null, hours: null })])
}

/** The price of one side for a usage. */
export function priceAt(
  { conditions, ...prices }: Prices,
  side: 'sell' | 'buy',
  usage: Usage,
  served: Served,
): NamedSheet {
  const groups = conditions?.[side]
  if (groups === undefined || groups.length === 0) return { name: null, sheet: prices[side] }
  const { atMs, serviceTier: told } = served
  const group =
    (told === null ? undefined : groups.find(({ serviceTier }) => serviceTier === told)) ?? untieredGroup(groups, atMs)
  const tokens = sumOf(usage, INPUT_METERS)
  return group?.steps.findLast(({ above }) => above < tokens) ?? { name: null, sheet: prices[side] }
}

/** The dearest of the tiers in which parts of a usage were served, for the whole usage; null = no tier was reported. */
export function dearestTier(
  prices: Prices,
  usage: Usage,
  atMs: number,
  tiers: readonly (string | null)[],
): string | null {
  const [first = null, ...others] = new Set(tiers)
  const costs = (tier: string | null): readonly Decimal[] =>
    (['sell', 'buy'] as const).map((side) =>
      exactCost(usage, priceAt(prices, side, usage, { atMs, serviceTier: tier }).sheet),
    )
  return others.reduce((most, tier) => {
    const [[sell = ZERO, buy = ZERO], [mostSell = ZERO, mostBuy = ZERO]] = [costs(tier), costs(most)]
    return (compare(sell, mostSell) || compare(buy, mostBuy)) > 0 ? tier : most
  }, first)
}

/** What the provider bills for a usage. */
export function billMicro(prices: Prices, usage: Usage, served: Served): Micro {
  return providerCostMicro(usage, priceAt(prices, 'buy', usage, served).sheet)
}

/** The fields of a log row that decide its prices. */
export type PricedRow = ConditionedRow &
  Pick<GenerationRecord, 'priceVersion' | 'model' | 'endpointId' | 'variant' | 'markup'>
/** The fields that decide the condition. */
export type ConditionedRow = Pick<
  GenerationRecord,
  'billingBasis' | 'usage' | 'reportedUsage' | 'createdAtMs' | 'serviceTier'
>

/** The prices of a log row: those of its charge, and of its provider's bill. */
export interface RowPrices {
  readonly charged: NamedSheet
  readonly billed: NamedSheet
}

/** The prices of a log row. They are used when a charge is made, explained or recalculated. */
export function rowPrices(prices: Prices, row: ConditionedRow): RowPrices {
  const { usage, reportedUsage = usage, createdAtMs: atMs, serviceTier = null, billingBasis } = row
  return {
    charged: priceAt(prices, billingBasis === 'provider_cost' ? 'buy' : 'sell', usage, { atMs, serviceTier }),
    billed: priceAt(prices, 'buy', reportedUsage, { atMs, serviceTier }),
  }
}

/**
 * For each meter, the client's dearest price under all conditions that a request can reach. If the provider decides the
 * service tier, every tier that has a price counts.
 */
export function dearestSell({ sell, conditions }: Prices, { atMs, inputTokens, serviceTiers }: Reach): PriceSheet {
  if (conditions === undefined || conditions.sell.length === 0) return sell
  const now = untieredGroup(conditions.sell, atMs)
  return conditions.sell
    .filter(
      (group) => group === now || (group.serviceTier !== null && (serviceTiers?.includes(group.serviceTier) ?? true)),
    )
    .flatMap(({ steps }) => steps.filter(({ above }) => above < inputTokens || above < 0))
    .map(({ sheet }) => sheet)
    .reduce(dearest)
}

/** One condition of either price, and both prices under it. */
export interface ConditionedPrices {
  readonly name: string
  readonly sell: PriceSheet
  readonly buy: PriceSheet
}

/** Every condition of an endpoint's prices, each once. */
export function conditionedPrices({ sell, buy, conditions }: Prices): readonly ConditionedPrices[] {
  if (conditions === undefined) return []
  const named = new Map<string, ConditionedPrices>()
  for (const group of [...conditions.sell, ...conditions.buy])
    for (const { name, above } of group.steps)
      if (name !== null)
        named.set(name, {
          name,
          sell: sheetUnder(conditions.sell, group, above) ?? sell,
          buy: sheetUnder(conditions.buy, group, above) ?? buy,
        })
  return [...named.values()]
}

/** The price of one side under a condition of the other. */
function sheetUnder(groups: readonly PriceGroup[], wanted: PriceGroup, above: number): PriceSheet | undefined {
  const named = ({ hours }: PriceGroup): string | null => (hours === null ? null : hoursName(hours.named))
  const group = groups.find((one) => one.serviceTier === wanted.serviceTier && named(one) === named(wanted))
  return (group ?? groups.at(-1))?.steps.findLast((step) => step.above <= above)?.sheet
}

function untieredGroup(groups: readonly PriceGroup[], atMs: number): PriceGroup | undefined {
  return groups.find(({ serviceTier, hours }) => serviceTier === null && (hours === null || isWithin(hours, atMs)))
}

function dearest(one: PriceSheet, other: PriceSheet): PriceSheet {
  const sheet: Partial<Record<keyof PriceSheet, Decimal>> = {}
  for (const meter of METERS) sheet[meter] = compare(one[meter], other[meter]) < 0 ? other[meter] : one[meter]
  // The loop has set every meter.
  return sheet as PriceSheet
}

function hoursName({ from, to, timezone, days }: HoursOfDay['named']): string {
  return `${days === undefined ? '' : `${days.join(',')} `}${from}-${to} ${timezone}`
}

function hoursOf({ from, to, timezone, days }: HourlyPrice): HoursOfDay {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    numberingSystem: 'latn',
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
  })
  const dayFormat = new Intl.DateTimeFormat('en-US', { timeZone: timezone, weekday: 'short' })
  return Object.freeze({
    named: Object.freeze({ from, to, timezone, ...(days === undefined ? {} : { days }) }),
    from: minutesOf(from),
    to: minutesOf(to),
    minuteAt: (atMs: number) => minutesOf(format.format(atMs)),
    // The short English names of the days, capitalised, are those of the list.
    weekdayAt: (atMs: number) => dayFormat.format(atMs).toLowerCase() as Weekday,
  })
}

/** The minutes of a time such as `16:30`. */
function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return (hours ?? 0) * 60 + (minutes ?? 0)
}

function isWithin({ named: { days }, from, to, minuteAt, weekdayAt }: HoursOfDay, atMs: number): boolean {
  const minute = minuteAt(atMs)
  const isDuring = from < to ? from <= minute && minute < to : from <= minute || minute < to
  if (!isDuring || days === undefined) return isDuring
  // After midnight, the hours are those of the day before.
  const beganBefore = minute < from ? 1 : 0
  const day = WEEKDAYS.indexOf(weekdayAt(atMs)) - beganBefore
  return days.includes(WEEKDAYS.at(day) ?? 'mon')
}
