import { assert } from './assert.ts'

/** Money in micro-rubles (1 RUB = 1 000 000), the unit of every amount in the program. */
export type Micro = bigint

/** An exact decimal: `digits` × 10^-`scale`, `scale` ≥ 0. Prices and factors are never rounded. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

export const MICRO_PER_RUB = 1_000_000n
/** Ten billion rubles: the largest single amount accepted anywhere, safely within int8 and exact doubles. */
export const AMOUNT_MICRO_MAX = 9_000_000_000n * MICRO_PER_RUB
const DIGITS_MAX = 40
const EXPONENT_MAX = 30
const DECIMAL = /^([+-]?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/

export const ZERO: Decimal = Object.freeze({ digits: 0n, scale: 0 })
export const ONE: Decimal = Object.freeze({ digits: 1n, scale: 0 })

/** Reads a decimal exactly from its text; null when the text is not a decimal of bounded length. */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponentText = '0'] = match
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > EXPONENT_MAX || whole.length + fraction.length > DIGITS_MAX) return null
  const digits = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`)
  const scale = fraction.length - exponent
  return scale >= 0 ? normalise({ digits, scale }) : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

/** Powers of ten, up to the largest difference between the scales of two decimals of bounded length. */
const POWERS: readonly bigint[] = Array.from(
  { length: 2 * DIGITS_MAX + EXPONENT_MAX },
  (_value, at) => 10n ** BigInt(at),
)

function powerOfTen(exponent: number): bigint {
  return POWERS[exponent] ?? 10n ** BigInt(exponent)
}

function normalise(value: Decimal): Decimal {
  let { digits, scale } = value
  if (digits === 0n) return ZERO
  while (scale > 0 && digits % 10n === 0n) {
    digits /= 10n
    scale -= 1
  }
  return Object.freeze({ digits, scale })
}

export function multiply(left: Decimal, right: Decimal): Decimal {
  return normalise({ digits: left.digits * right.digits, scale: left.scale + right.scale })
}

export function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale)
  return normalise({ digits: scaled(left, scale) + scaled(right, scale), scale })
}

/** Σ units × price, exact. */
export function sumOfProducts(terms: readonly (readonly [units: bigint, price: Decimal])[]): Decimal {
  const scale = terms.reduce((most, [, price]) => Math.max(most, price.scale), 0)
  return normalise({ digits: terms.reduce((sum, [units, price]) => sum + units * scaled(price, scale), 0n), scale })
}

/** Exact shift of the decimal point: `value` × 10^`places`; `places` may be negative. */
export function shift(value: Decimal, places: number): Decimal {
  const scale = value.scale - places
  return scale >= 0
    ? normalise({ digits: value.digits, scale })
    : { digits: value.digits * 10n ** BigInt(-scale), scale: 0 }
}

/** Negative, zero or positive when `left` is less than, equal to or greater than `right`. */
export function compare(left: Decimal, right: Decimal): number {
  const scale = Math.max(left.scale, right.scale)
  const one = scaled(left, scale)
  const other = scaled(right, scale)
  return one < other ? -1 : one > other ? 1 : 0
}

function scaled(value: Decimal, scale: number): bigint {
  return value.scale === scale ? value.digits : value.digits * powerOfTen(scale - value.scale)
}

/** The one rounding rule of Tollgate: a charge is rounded up, once, to a whole micro-ruble. */
export function ceilMicro(value: Decimal): Micro {
  assert(value.digits >= 0n, 'Only non-negative amounts are charged.')
  const unit = powerOfTen(value.scale)
  return (value.digits + unit - 1n) / unit
}

/** Plain decimal text without exponent or trailing zeros, the form of prices on the wire. */
export function decimalText(value: Decimal): string {
  const { digits, scale } = normalise(value)
  const sign = digits < 0n ? '-' : ''
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  if (scale === 0) return sign + text
  return `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/** The wire form of money (wire.md D-0.1): a JSON number in RUB that prints with at most six decimals. */
export function rubles(micro: Micro): number {
  return Number(micro) / 1_000_000
}

/** A client's RUB number as micro-rubles, or null unless it is finite, bounded and has at most six decimals. */
export function microFromRubles(value: number): Micro | null {
  if (!Number.isFinite(value) || Math.abs(value) > 9_000_000_000) return null
  const decimal = parseDecimal(String(value))
  if (decimal === null) return null
  const micro = shift(decimal, 6)
  return micro.scale === 0 ? micro.digits : null
}

/** The same for an amount that was already checked. */
export function microOf(rubles: number): Micro {
  const micro = microFromRubles(rubles)
  if (micro === null) throw new Error('An amount was taken that is no amount.')
  return micro
}

/** Kopeck text for messages, rounded `up` (required amounts) or `down` (available amounts); never below 0.00. */
export function kopeckText(micro: Micro, direction: 'up' | 'down'): string {
  const bounded = micro < 0n ? 0n : micro
  const kopecks = direction === 'up' ? (bounded + 9_999n) / 10_000n : bounded / 10_000n
  return `${kopecks / 100n}.${(kopecks % 100n).toString().padStart(2, '0')}`
}
