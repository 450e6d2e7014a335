import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  add,
  ceilMicro,
  compare,
  decimalText,
  kopeckText,
  microFromRubles,
  multiply,
  parseDecimal,
  rubles,
  shift,
  type Decimal,
} from './money.ts'

const decimals = fc.record({ digits: fc.bigInt({ min: 0n, max: 10n ** 18n }), scale: fc.integer({ min: 0, max: 12 }) })

function read(text: string): Decimal {
  const value = parseDecimal(text)
  assert.ok(value, text)
  return value
}

test('a decimal is read exactly, exponents included, and printed without them', () => {
  assert.equal(decimalText(read('0.075')), '0.075')
  assert.equal(decimalText(read('92.50')), '92.5')
  assert.equal(decimalText(read('5e-7')), '0.0000005')
  assert.equal(decimalText(read('1.5E3')), '1500')
  assert.equal(decimalText(read('-0.10')), '-0.1')
  for (const text of ['', '.', '1.', '0x10', '1_000', 'NaN', 'Infinity', '1e999', ' 1', '1 '])
    assert.equal(parseDecimal(text), null, text)
})

test('property: text → decimal → text is the identity up to trailing zeros', () => {
  fc.assert(fc.property(decimals, (value) => compare(read(decimalText(value)), value) === 0))
})

test('property: multiplication and addition are exact, shown against integers at a common scale', () => {
  fc.assert(
    fc.property(decimals, decimals, (left, right) => {
      const scale = 24
      const whole = (value: Decimal): bigint => value.digits * 10n ** BigInt(scale - value.scale)
      assert.equal(compare(multiply(left, right), { digits: whole(left) * whole(right), scale: scale * 2 }), 0)
      assert.equal(compare(add(left, right), { digits: whole(left) + whole(right), scale }), 0)
    }),
  )
})

test('property: a charge is the least whole micro-ruble that is not below the exact cost', () => {
  fc.assert(
    fc.property(decimals, (cost) => {
      const micro = ceilMicro(cost)
      assert.ok(compare({ digits: micro, scale: 0 }, cost) >= 0)
      assert.ok(compare({ digits: micro - 1n, scale: 0 }, cost) < 0)
    }),
  )
})

test('property: an amount survives the wire, printed with at most six decimals and no exponent', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), (micro) => {
      const text = JSON.stringify(rubles(micro))
      assert.match(text, /^-?\d+(\.\d{1,6})?$/)
      assert.equal(microFromRubles(rubles(micro)), micro)
    }),
  )
})

test('an amount finer than a micro-ruble, not finite or beyond the bound is refused', () => {
  for (const value of [0.0000001, 1.2345678, Number.NaN, Number.POSITIVE_INFINITY, 1e10])
    assert.equal(microFromRubles(value), null, String(value))
  assert.equal(microFromRubles(0.000001), 1n)
})

test('required is rounded up and available down to kopecks, never below 0.00', () => {
  assert.equal(kopeckText(12_341_000n, 'up'), '12.35')
  assert.equal(kopeckText(3_218_900n, 'down'), '3.21')
  assert.equal(kopeckText(-5n, 'down'), '0.00')
  assert.equal(kopeckText(1n, 'up'), '0.01')
})

test('shift moves the point both ways without losing a digit', () => {
  assert.equal(decimalText(shift(read('0.15'), -6)), '0.00000015')
  assert.equal(decimalText(shift(read('0.15'), 6)), '150000')
})
