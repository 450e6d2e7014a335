import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoint, model } from '../../test/harness/plan-fixture.ts'
import { ONE } from '../base/money.ts'
import type { PriceEntry } from './document.ts'
import { endpointPrices } from './price-conditions.ts'
import { quotesOf } from './shown-prices.ts'

const NOON = Date.UTC(2026, 5, 1, 12)

function quotes(
  price: PriceEntry,
  sell?: PriceEntry,
): readonly (readonly [string | null, number | undefined, bigint, bigint])[] {
  const row = { price: { currency: 'RUB', ...price }, ...(sell === undefined ? {} : { sell }) }
  const sold = model('t/m', { endpoints: [endpoint('alpha', endpointPrices(row, ONE, ONE, null))] })
  return quotesOf(sold, NOON).map(({ condition, usage, chargedMicro, billedMicro }) => [
    condition,
    usage.input,
    chargedMicro,
    billedMicro,
  ])
}

test('each condition has a quote of the standard request, just past the bound of its length', () => {
  assert.deepEqual(
    quotes({
      prompt: '2',
      completion: '10',
      tiers: [{ above: 4_000, prompt: '3' }],
      service_tiers: { flex: { prompt: '1' } },
      hours: [{ from: '16:30', to: '00:30', timezone: 'UTC', days: ['sat'], prompt: '5' }],
    }),
    [
      [null, 1_000, 12_000n, 12_000n],
      ['flex', 1_000, 11_000n, 11_000n],
      ['sat 16:30-00:30 UTC', 1_000, 15_000n, 15_000n],
      ['above 4000', 4_001, 22_003n, 22_003n],
    ],
  )
})

test('a condition of the provider’s price alone is quoted too, and a price without any is not', () => {
  assert.deepEqual(
    quotes({ prompt: '2', completion: '0', tiers: [{ above: 10_000, prompt: '3' }] }, { prompt: '4', completion: '0' }),
    [
      [null, 1_000, 4_000n, 2_000n],
      ['above 10000', 10_001, 40_004n, 30_003n],
    ],
  )
  assert.deepEqual(quotes({ prompt: '2', completion: '1' }), [])
})

test('hours that fill the day leave no plain price, and what no request meets has no quote', () => {
  const hours = (from: string, to: string, prompt: string): NonNullable<PriceEntry['hours']>[number] => ({
    from,
    to,
    timezone: 'UTC',
    prompt,
  })
  assert.deepEqual(
    quotes({
      prompt: '2',
      completion: '0',
      hours: [hours('00:00', '12:00', '1'), hours('12:00', '00:00', '3'), hours('13:00', '14:00', '9')],
    }),
    [
      ['00:00-12:00 UTC', 1_000, 1_000n, 1_000n],
      ['12:00-00:00 UTC', 1_000, 3_000n, 3_000n],
    ],
  )
})
