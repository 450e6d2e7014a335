import { METER_TABLE, PRICED_METERS, type Meter, type MeterRow } from './meter-table.ts'
import {
  add,
  ceilMicro,
  MICRO_PER_RUB,
  multiply,
  sumOfProducts,
  ZERO,
  type Decimal,
  type Micro,
} from '../base/money.ts'

const SIDES = ['input', 'output', null] as const

/** Every meter, in the order of a bill's lines. */
export const METERS: readonly Meter[] = SIDES.flatMap((side) =>
  PRICED_METERS.filter((row) => row.side === side).map(({ meter }) => meter),
)

/** The meters of input tokens and of output tokens; the one without special conditions comes first. */
export const INPUT_METERS = tokenMeters('input')
export const OUTPUT_METERS = tokenMeters('output')
/** Meters whose sums a usage report shows separately. */
export const CACHED_METERS = metersOf('cached')
export const CACHE_WRITE_METERS = metersOf('cache_write')
export const REASONING_METERS = metersOf('reasoning')

function tokenMeters(side: 'input' | 'output'): readonly [Meter, ...Meter[]] {
  return [
    side,
    ...METERS.filter((meter) => meter !== side && METER_TABLE[meter].side === side && isTokenMeter(METER_TABLE[meter])),
  ]
}

function metersOf(detail: MeterRow['detail']): readonly Meter[] {
  return METERS.filter((meter) => METER_TABLE[meter].detail === detail)
}

export function isTokenMeter({ scale }: Pick<MeterRow, 'scale'>): boolean {
  return scale === 'million_tokens'
}

/** Whole units per meter; an absent meter is 0. */
export type Usage = Readonly<Partial<Record<Meter, number>>>

/** One unit of everything that a call of any type may use, to compare the prices of endpoints without a request. */
export const TYPICAL_USAGE: Usage = Object.fromEntries(
  PRICED_METERS.filter(({ typicalUnits }) => typicalUnits > 0).map(({ meter, typicalUnits }) => [meter, typicalUnits]),
)

export function sumOf(usage: Usage, meters: readonly Meter[]): number {
  let sum = 0
  for (const meter of meters) sum += usage[meter] ?? 0
  return sum
}

/** Price of one unit of each meter, exact, in micro-rubles. Parents are already filled in (operator.md 3). */
export type PriceSheet = Readonly<Record<Meter, Decimal>>

/** Σ meter × price, exact, not rounded. */
export function exactCost(usage: Usage, prices: PriceSheet): Decimal {
  const terms: (readonly [units: bigint, price: Decimal])[] = []
  for (const meter of METERS) {
    const units = usage[meter]
    if (units !== undefined && units > 0) terms.push([BigInt(units), prices[meter]])
  }
  return sumOfProducts(terms)
}

/**
 * The savings by the prompt cache: the units read from it, at their plain price less their cache price. In whole
 * micro-rubles, truncated; below 0 where a provider charges more for them.
 */
export function cacheSavedMicro(usage: Usage, prices: PriceSheet): Micro {
  let saved = ZERO
  for (const meter of CACHED_METERS) {
    const { parent, uncached = parent } = METER_TABLE[meter]
    const units = BigInt(usage[meter] ?? 0)
    if (units === 0n || uncached === null) continue
    const { digits, scale } = prices[meter]
    const less = add(prices[uncached], { digits: -digits, scale })
    saved = add(saved, multiply({ digits: units, scale: 0 }, less))
  }
  return saved.digits / 10n ** BigInt(saved.scale)
}

/** The price to the client: the exact cost, rounded up once to a whole micro-ruble (wire.md D-0.1). */
export function chargeMicro(usage: Usage, prices: PriceSheet): Micro {
  return ceilMicro(exactCost(usage, prices))
}

/** A hundred million rubles: no answer costs as much, and the sum of ninety thousand such rows still fits into int8. */
const COST_MICRO_MAX = 100_000_000n * MICRO_PER_RUB

/** The provider's cost of the usage that it reported, bounded even if the report is absurd. */
export function providerCostMicro(reported: Usage, buy: PriceSheet): Micro {
  const cost = chargeMicro(reported, buy)
  return cost < COST_MICRO_MAX ? cost : COST_MICRO_MAX
}

export function isSameUsage(left: Usage, right: Usage): boolean {
  return left === right || METERS.every((meter) => (left[meter] ?? 0) === (right[meter] ?? 0))
}
