import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WEEKDAYS, type Weekday } from '../base/time.ts'
import { exactCost, INPUT_METERS, sumOf, type Usage } from '../tables/meters.ts'
import { compare, ONE, type Decimal } from '../base/money.ts'
import { hours, prices, instants, servedTiers, usages } from '../../test/random-prices.ts'
import type { PriceEntry } from './document.ts'
import { dearestSell, dearestTier, endpointPrices, priceAt } from './price-conditions.ts'

const NOON = Date.UTC(2026, 5, 1, 12)

function nameAt(price: PriceEntry, usage: Usage, serviceTier: string | null = null, atMs = NOON): string | null {
  const listed = endpointPrices({ price: { currency: 'RUB', ...price } }, ONE, ONE, null)
  return priceAt(listed, 'sell', usage, { atMs, serviceTier }).name
}

test('a length is above its bound, and counts what was read from the cache and written to it', () => {
  const price = {
    prompt: '2',
    completion: '12',
    tiers: [
      { above: 200_000, prompt: '4' },
      { above: 500_000, prompt: '8' },
    ],
  }
  assert.equal(nameAt(price, { input: 200_000, output: 900_000 }), null)
  assert.equal(nameAt(price, { input: 200_001 }), 'above 200000')
  assert.equal(nameAt(price, { input: 1, cache_read: 150_000, cache_write: 40_000, cache_write_1h: 9_999 }), null)
  assert.equal(
    nameAt(price, { input: 1, cache_read: 150_000, cache_write: 40_000, cache_write_1h: 10_000 }),
    'above 200000',
  )
  assert.equal(nameAt(price, { audio_input: 500_001 }), 'above 500000')
})

test('a service tier has its own price and its own lengths; one without a price costs the price itself', () => {
  const price = {
    prompt: '2',
    tiers: [{ above: 10, prompt: '4' }],
    service_tiers: { flex: { prompt: '1', tiers: [{ above: 20, prompt: '2' }] }, priority: { prompt: '9' } },
    hours: [{ from: '00:00', to: '23:59', timezone: 'UTC', prompt: '3' }],
  }
  assert.equal(nameAt(price, { input: 15 }, 'flex'), 'flex')
  assert.equal(nameAt(price, { input: 21 }, 'flex'), 'flex, above 20')
  assert.equal(nameAt(price, { input: 21 }, 'priority'), 'priority')
  assert.equal(nameAt(price, { input: 21 }, 'constructor'), '00:00-23:59 UTC')
  assert.equal(nameAt(price, { input: 21 }, 'default', Date.UTC(2026, 5, 1, 23, 59)), 'above 10')
})

test('hours go on through midnight, end before their end, and follow the clocks of their zone', () => {
  const price = {
    prompt: '2',
    hours: [
      { from: '16:30', to: '00:30', timezone: 'UTC', prompt: '1' },
      { from: '08:00', to: '09:00', timezone: 'Europe/Berlin', prompt: '3' },
    ],
  }
  const at = (...time: [hours: number, minutes: number, month?: number]): string | null =>
    nameAt(price, { input: 1 }, null, Date.UTC(2026, time[2] ?? 0, 15, time[0], time[1]))
  assert.deepEqual([at(16, 29), at(16, 30), at(0, 29), at(0, 30)], [null, '16:30-00:30 UTC', '16:30-00:30 UTC', null])
  // Berlin is one hour ahead of UTC in winter, and two in summer.
  assert.deepEqual(
    [at(7, 0), at(7, 0, 6), at(6, 0, 6)],
    ['08:00-09:00 Europe/Berlin', null, '08:00-09:00 Europe/Berlin'],
  )
})

test('hours of some days belong to the day on which they begin, in their zone', () => {
  const price: PriceEntry = {
    prompt: '2',
    hours: [{ from: '22:00', to: '06:00', timezone: 'Europe/Moscow', days: ['fri', 'sun'], prompt: '1' }],
  }
  const name = 'fri,sun 22:00-06:00 Europe/Moscow'
  // 2 January 2026 is a Friday; Moscow is three hours ahead of UTC.
  const at = (day: number, hours: number, minutes = 0): string | null =>
    nameAt(price, { input: 1 }, null, Date.UTC(2026, 0, day, hours - 3, minutes))
  assert.deepEqual([at(2, 21, 59), at(2, 22), at(3, 5, 59), at(3, 6), at(3, 22)], [null, name, name, null, null])
  assert.deepEqual([at(2, 5), at(4, 5), at(4, 22), at(5, 0), at(5, 6)], [null, null, name, name, null])
})

test('property: hours of days split those of every day', () => {
  fc.assert(
    fc.property(hours, instants, (given, atMs) => {
      const { days: _some, ...every } = given
      const on = (days: readonly Weekday[]): boolean =>
        nameAt({ prompt: '1', hours: [{ ...every, days }] }, { input: 1 }, null, atMs) !== null
      const found = WEEKDAYS.filter((day) => on([day]))
      assert.equal(found.length, nameAt({ prompt: '1', hours: [every] }, { input: 1 }, null, atMs) === null ? 0 : 1)
      assert.equal(on(WEEKDAYS), found.length === 1)
    }),
    { numRuns: 300 },
  )
})

test('property: no answer within its bound costs more than at the prices that were held for it', () => {
  fc.assert(
    fc.property(
      prices,
      fc.option(prices, { nil: undefined }),
      usages,
      fc.nat({ max: 300_000 }),
      instants,
      servedTiers,
      (price, sell, used, beyond, atMs, told) => {
        const row = { price: { currency: 'RUB', ...price }, ...(sell === undefined ? {} : { sell }) }
        const listed = endpointPrices(row, ONE, ONE, null)
        const usage: Usage = used
        const held = dearestSell(listed, { atMs, inputTokens: sumOf(usage, INPUT_METERS) + beyond })
        const { sheet } = priceAt(listed, 'sell', usage, { atMs, serviceTier: told ?? null })
        assert.ok(compare(exactCost(usage, sheet), exactCost(usage, held)) <= 0)
      },
    ),
    { numRuns: 500 },
  )
})

test('property: parts served in several tiers cost what all of them would in the dearest, and no more than is held', () => {
  const told = fc.array(fc.constantFrom('flex', 'priority', 'default', null), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(prices, usages, fc.nat({ max: 300_000 }), instants, told, (price, used, beyond, atMs, tiers) => {
      const listed = endpointPrices({ price: { currency: 'RUB', ...price } }, ONE, ONE, null)
      const usage: Usage = used
      const costIn = (serviceTier: string | null): Decimal =>
        exactCost(usage, priceAt(listed, 'sell', usage, { atMs, serviceTier }).sheet)
      const charged = costIn(dearestTier(listed, usage, atMs, tiers))
      for (const tier of tiers) assert.ok(compare(costIn(tier), charged) <= 0)
      const inputTokens = sumOf(usage, INPUT_METERS) + beyond
      const serviceTiers = tiers.filter((tier) => tier !== null)
      assert.ok(compare(charged, exactCost(usage, dearestSell(listed, { atMs, inputTokens, serviceTiers }))) <= 0)
    }),
    { numRuns: 500 },
  )
})

test('a customer price without conditions is one price, whatever the provider bills', () => {
  const row = {
    price: { currency: 'RUB', prompt: '2', tiers: [{ above: 10, prompt: '4' }] },
    sell: { prompt: '5' },
  }
  const listed = endpointPrices(row, ONE, ONE, null)
  const served = { atMs: NOON, serviceTier: null }
  assert.equal(priceAt(listed, 'sell', { input: 11 }, served).name, null)
  assert.equal(priceAt(listed, 'buy', { input: 11 }, served).name, 'above 10')
  assert.equal(dearestSell(listed, { atMs: NOON, inputTokens: 11 }), listed.sell)
})
