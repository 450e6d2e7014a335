import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayAfter } from '../../base/time.ts'
import { forecastFrom, monthForecast } from './usage.ts'

const day = (name: string, costMicro: bigint) => ({ day: name, costMicro })
/** Each day of November up to the 20th costs 7 µRUB; today has cost 3 so far. */
const DAYS = [...Array.from({ length: 19 }, (_, at) => day(dayAfter('2026-11-01', at), 7n)), day('2026-11-20', 3n)]

test('a month costs what it has cost, and the average of the last seven full days for each day after today', () => {
  assert.deepEqual(monthForecast(DAYS, '2026-11-20', '2026-11-01'), {
    spentMicro: 19n * 7n + 3n,
    averageMicro: 7n,
    daysLeft: 10,
    expectedMicro: 19n * 7n + 3n + 70n,
  })
})

test('the average counts days without requests, days of the month before, and not today', () => {
  const days = [day('2026-11-25', 100n), day('2026-11-29', 14n), day('2026-12-01', 50n)]
  assert.deepEqual(monthForecast(days, '2026-12-01', '2026-01-05'), {
    spentMicro: 50n,
    averageMicro: 16n,
    daysLeft: 30,
    expectedMicro: 50n + (114n * 30n) / 7n,
  })
  assert.equal(forecastFrom('2026-12-01'), '2026-11-24')
  assert.equal(forecastFrom('2026-11-20'), '2026-11-01')
})

test('on the last day of a month nothing is added, in February of a leap year too', () => {
  const days = [day('2028-02-24', 7n), day('2028-02-29', 1n)]
  assert.equal(monthForecast(days, '2028-02-29', '2028-02-01')?.expectedMicro, 8n)
  assert.equal(monthForecast(days, '2028-02-28', '2028-02-01')?.daysLeft, 1)
})

test('there is no forecast from less than seven full days, or from days that cost nothing', () => {
  assert.equal(monthForecast(DAYS, '2026-11-20', null), null)
  assert.equal(monthForecast(DAYS, '2026-11-20', '2026-11-14'), null)
  assert.ok(monthForecast(DAYS, '2026-11-20', '2026-11-13') !== null)
  assert.equal(monthForecast([day('2026-11-20', 9n)], '2026-11-20', '2026-01-01'), null)
})
