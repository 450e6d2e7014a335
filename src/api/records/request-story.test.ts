import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { wrongSums } from '../../../test/harness/invoice.ts'
import { chargeMicro, METERS, type PriceSheet, type Usage } from '../../tables/meters.ts'
import { parseDecimal, rubles, ZERO, type Decimal } from '../../base/money.ts'
import { invoiceOf, type BookedBill } from './request-story.ts'

const usages = fc
  .dictionary(fc.constantFrom(...METERS), fc.integer({ min: 0, max: 1_000_000 }))
  .map((usage): Usage => usage)
const price = fc.record({ digits: fc.bigInt({ min: 0n, max: 10n ** 7n }), scale: fc.integer({ min: 0, max: 12 }) })
const sheets = fc
  .tuple(...METERS.map(() => price))
  // Every meter has a price.
  .map((prices) => Object.fromEntries(METERS.map((meter, at) => [meter, prices[at] ?? ZERO])) as PriceSheet)
/** The part of the cost that hold and balance did not cover, in millionths. */
const parts = fc.bigInt({ min: 0n, max: 1_000_000n })

function checked(usage: Usage, prices: PriceSheet, booked: BookedBill): readonly string[] {
  const { lines, total, adjustments } = invoiceOf(usage, prices, booked)
  assert.deepEqual(wrongSums({ lines, total, adjustments, charged: rubles(booked.bookedMicro) }), [])
  return adjustments.map(({ reason }) => reason)
}

test('property: the lines of an invoice add up to the charge, and the rounding is below a micro-ruble', () => {
  fc.assert(
    fc.property(usages, sheets, parts, (usage, prices, part) => {
      const cost = chargeMicro(usage, prices)
      const notCoveredMicro = (cost * part) / 1_000_000n
      const booked = { bookedMicro: cost - notCoveredMicro, notCoveredMicro, insuredMicro: 0n }
      const rounding = invoiceOf(usage, prices, booked).adjustments.find(({ reason }) => reason === 'rounding')
      assert.ok(rounding === undefined || (Number(rounding.amount) > 0 && Number(rounding.amount) < 0.000001))
      const reasons = checked(usage, prices, booked)
      assert.ok(reasons.every((reason) => reason === 'rounding' || reason === 'not_covered'))
      assert.equal(reasons.includes('not_covered'), notCoveredMicro > 0n)
    }),
  )
})

test('property: a free answer, an insured one and a capped bill of a provider add up too', () => {
  fc.assert(
    fc.property(usages, sheets, fc.bigInt({ min: 0n, max: 10n ** 9n }), (usage, prices, more) => {
      const cost = chargeMicro(usage, prices)
      const free = checked(usage, prices, { bookedMicro: 0n, notCoveredMicro: 0n, insuredMicro: 0n })
      assert.deepEqual(free, cost === 0n ? [] : ['not_charged'])
      const insured = checked(usage, prices, { bookedMicro: 0n, notCoveredMicro: 0n, insuredMicro: cost + more })
      assert.deepEqual(
        insured.filter((reason) => reason !== 'rounding'),
        cost === 0n ? [] : ['insured'],
      )
      checked(usage, prices, { bookedMicro: cost / 2n, notCoveredMicro: 0n, insuredMicro: 0n })
    }),
  )
})

test('an invoice names each line with its price and units, and what was rounded up', () => {
  const prices = sheetOf({ input: '1.5', cache_read: '0.15' })
  const booked = { bookedMicro: 3n, notCoveredMicro: 0n, insuredMicro: 0n }
  assert.deepEqual(invoiceOf({ input: 1, cache_read: 4 }, prices, booked), {
    lines: [
      { meter: 'input', units: 1, price: '0.0000015', cost: '0.0000015' },
      { meter: 'cache_read', units: 4, price: '0.00000015', cost: '0.0000006' },
    ],
    total: '0.0000021',
    adjustments: [{ reason: 'rounding', amount: '0.0000009' }],
  })
  assert.deepEqual(invoiceOf({ input: 1 }, null, booked), { lines: [], total: null, adjustments: [] })
})

function sheetOf(prices: Readonly<Record<string, string>>): PriceSheet {
  const micro = (text: string): Decimal => parseDecimal(text) ?? ZERO
  // Every meter has a price.
  return Object.fromEntries(METERS.map((meter) => [meter, micro(prices[meter] ?? '0')])) as PriceSheet
}
