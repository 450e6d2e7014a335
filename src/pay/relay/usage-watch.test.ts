import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../../test/store/ledger-fixture.ts'
import { priceSheet } from '../../catalog/price-sheet.ts'
import { UsageWatch, type Answered } from './usage-watch.ts'

const HOUR_MS = 3_600_000

function watched(): {
  readonly watch: UsageWatch
  readonly clock: TestClock
  readonly events: (readonly [string, string])[]
} {
  const clock = new TestClock(HOUR_MS * 100)
  const events: (readonly [string, string])[] = []
  return { clock, events, watch: new UsageWatch({ clock, event: (action, object) => events.push([action, object]) }) }
}

const answer = (flagged = false, providerSlug = 'p'): Answered => ({
  providerSlug,
  model: 'm',
  flagged,
  generationId: 'gen-1',
  endpointId: 'p/m',
})

test('more flagged answers than 0.1 % of an hour’s are one event of that provider, and counted', () => {
  const { watch, clock, events } = watched()
  for (let count = 0; count < 2_000; count += 1) watch.settled(answer(), 0n)
  watch.settled(answer(true), 0n)
  watch.settled(answer(true), 0n)
  assert.deepEqual(events, [], 'two of 2,002')
  watch.settled(answer(true), 0n)
  watch.settled(answer(true), 0n)
  assert.deepEqual(events, [['usage.flagged', 'p']])
  watch.settled(answer(true, 'q'), 0n)
  clock.advance(HOUR_MS)
  watch.settled(answer(true), 0n)
  assert.deepEqual(events.slice(1), [
    ['usage.flagged', 'q'],
    ['usage.flagged', 'p'],
  ])
  assert.deepEqual(watch.flagged(['quiet', 'p']), [
    { provider: 'quiet', count: 0 },
    { provider: 'p', count: 5 },
    { provider: 'q', count: 1 },
  ])
})

test('a shortfall is counted by provider, and told once in an hour for each of its models', () => {
  const { watch, clock, events } = watched()
  watch.settled(answer(), 5n)
  watch.settled(answer(), 7n)
  clock.advance(HOUR_MS)
  watch.settled(answer(), 1n)
  watch.settled({ ...answer(), model: 'other' }, 1n)
  assert.deepEqual(watch.shortfalls(['quiet']), [
    { provider: 'quiet', micro: 0n },
    { provider: 'p', micro: 14n },
  ])
  assert.deepEqual(events, [
    ['usage.shortfall', 'p'],
    ['usage.shortfall', 'p'],
    ['usage.shortfall', 'p'],
  ])
})

test('a served tier without a price is told once a day for each endpoint; the plain one and a priced one are not', () => {
  const { watch, clock, events } = watched()
  const served = (serviceTier: string, endpointId = 'p/m'): Answered => ({ ...answer(), serviceTier, endpointId })
  const sheet = priceSheet({}, { digits: 1n, scale: 0 }, null)
  const groups = ['flex', null].map((serviceTier) => ({
    serviceTier,
    hours: null,
    steps: [{ name: serviceTier, above: -1, sheet }],
  }))
  const prices = { conditions: { sell: groups, buy: groups } }
  for (const tier of ['default', 'flex']) watch.settled(served(tier), 0n, prices)
  assert.deepEqual(events, [])
  for (let hour = 0; hour < 25; hour += 1) {
    watch.settled(served('priority'), 0n, prices)
    clock.advance(HOUR_MS)
  }
  watch.settled(served('flex', 'p/other'), 0n)
  assert.deepEqual(events, Array(3).fill(['usage.tier_unpriced', 'p']))
})
