import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METER_TABLE, PRICED_METERS, PRICE_KEYS } from './meter-table.ts'
import { parseDecimal, ZERO, type Decimal } from '../base/money.ts'
import {
  CACHE_WRITE_METERS,
  CACHED_METERS,
  cacheSavedMicro,
  INPUT_METERS,
  isTokenMeter,
  METERS,
  OUTPUT_METERS,
  REASONING_METERS,
  type PriceSheet,
} from './meters.ts'

const micro = (text: string): Decimal => parseDecimal(text) ?? ZERO
// Every meter has a price.
const FREE = Object.fromEntries(METERS.map((meter) => [meter, ZERO])) as PriceSheet

test('every meter stands behind its parent, where prices are filled in and where a bill is written', () => {
  for (const order of [PRICED_METERS.map(({ meter }) => meter), METERS])
    for (const [at, meter] of order.entries()) {
      const { parent } = METER_TABLE[meter]
      assert.ok(parent === null || order.indexOf(parent) < at, meter)
    }
})

test('no two meters share a price key, a wire name or a place on the wire', () => {
  const wires = PRICED_METERS.flatMap(({ wire }) => (wire === null ? [] : [wire]))
  for (const names of [PRICE_KEYS, wires.map(({ name }) => name), wires.map(({ place }) => place)])
    assert.deepEqual([...new Set<unknown>(names)], names)
})

test('a bill has a line for every meter, and no token is in two sums', () => {
  assert.deepEqual(METERS.toSorted(), PRICED_METERS.map(({ meter }) => meter).toSorted())
  const tokens = PRICED_METERS.filter(isTokenMeter).map(({ meter }) => meter)
  assert.deepEqual([...INPUT_METERS, ...OUTPUT_METERS].toSorted(), tokens.toSorted())
  for (const meter of [...CACHED_METERS, ...CACHE_WRITE_METERS]) assert.ok(INPUT_METERS.includes(meter), meter)
  for (const meter of REASONING_METERS) assert.ok(OUTPUT_METERS.includes(meter), meter)
})

test('the cache saves the units read from it at the difference of the prices', () => {
  const prices = { ...FREE, input: micro('15'), cache_read: micro('1.5') }
  assert.equal(cacheSavedMicro({ input: 1_000, cache_read: 1_001, output: 5 }, prices), 13_513n, '13,513.5, cut')
  assert.equal(cacheSavedMicro({ input: 1_000 }, prices), 0n)
  assert.equal(cacheSavedMicro({ cache_read: 10 }, { ...prices, cache_read: micro('16') }), -10n)
})
