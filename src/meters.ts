import { add, ceilMicro, MICRO_PER_RUB, multiply, ZERO, type Decimal, type Micro } from './money.ts'

/**
 * Disjoint meters of a paid answer. No unit is ever counted by two of them: `input` excludes what the cache
 * meters and `audio_input` hold, `output` excludes `reasoning` and `audio_output`.
 */
export const METERS = [
  'input',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'output',
  'reasoning',
  'audio_output',
  'request',
  'image_output',
  'characters',
  'deciseconds',
  'video_seconds',
  'search',
] as const
export type Meter = (typeof METERS)[number]

/** The meters of tokens that were read, and of tokens that were made. */
export const INPUT_METERS = [
  'input',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'audio_input',
] as const satisfies readonly Meter[]
export const OUTPUT_METERS = ['output', 'reasoning', 'audio_output'] as const satisfies readonly Meter[]

/** Whole units per meter; an absent meter is 0. */
export type Usage = Readonly<Partial<Record<Meter, number>>>

/** Price of one unit of each meter, exact, in micro-rubles. Parents are already filled in (operator.md 3). */
export type PriceSheet = Readonly<Record<Meter, Decimal>>

/** Σ meter × price, exact, not rounded. */
export function exactCost(usage: Usage, prices: PriceSheet): Decimal {
  let total = ZERO
  for (const meter of METERS) {
    const units = usage[meter]
    if (units !== undefined && units > 0)
      total = add(total, multiply({ digits: BigInt(units), scale: 0 }, prices[meter]))
  }
  return total
}

/** What a client pays: the exact cost, rounded up once to a whole micro-ruble (wire.md D-0.1). */
export function chargeMicro(usage: Usage, prices: PriceSheet): Micro {
  return ceilMicro(exactCost(usage, prices))
}

/** A hundred million rubles: no answer costs as much, and sums of a million rows of it stay within int8. */
const COST_MICRO_MAX = 100_000_000n * MICRO_PER_RUB

/** What a provider bills for what it reported, however absurd that is. */
export function providerCostMicro(reported: Usage, buy: PriceSheet): Micro {
  const cost = chargeMicro(reported, buy)
  return cost < COST_MICRO_MAX ? cost : COST_MICRO_MAX
}

export function isSameUsage(left: Usage, right: Usage): boolean {
  return left === right || METERS.every((meter) => (left[meter] ?? 0) === (right[meter] ?? 0))
}
