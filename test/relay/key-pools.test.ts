import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoint } from '../harness/plan-fixture.ts'
import { failure, type RedactedFailure } from '../../src/protocols/ports/attempt-failure.ts'
import { KeyPools } from '../../src/pay/relay/key-pools.ts'
import { movingClock } from '../harness/moving-clock.ts'

const POOL = { ...endpoint('p').provider, apiKeys: ['a', 'b', 'c'] }

const quiet = (): void => undefined

function status(code: number, retryAfterSeconds: number | null = null): RedactedFailure {
  return { ...failure('status', code, 'x'), retryAfterSeconds, redacted: true }
}

test('keys take turns', () => {
  const pools = new KeyPools(movingClock(), quiet)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => pools.pick(POOL)),
    ['a', 'b', 'c', 'a'],
  )
  assert.equal(pools.pick({ ...POOL, apiKeys: [] }), null)
})

test('a key over its rate rests as long as the provider says, ten seconds where it does not', () => {
  const clock = movingClock()
  const pools = new KeyPools(clock, quiet)
  pools.failed(POOL, 'a', status(429, 3))
  pools.failed(POOL, 'b', status(429))
  assert.deepEqual(
    [1, 2].map(() => pools.pick(POOL)),
    ['c', 'c'],
  )
  clock.advance(3_000)
  assert.deepEqual(new Set([1, 2, 3].map(() => pools.pick(POOL))), new Set(['a', 'c']))
  clock.advance(7_000)
  assert.deepEqual(new Set([1, 2, 3].map(() => pools.pick(POOL))), new Set(['a', 'b', 'c']))
})

test('a refused key rests for five minutes', () => {
  const clock = movingClock()
  const pools = new KeyPools(clock, quiet)
  for (const [key, code] of [
    ['a', 401],
    ['b', 402],
    ['c', 403],
  ] as const)
    pools.failed(POOL, key, status(code))
  assert.equal(pools.hasFree(POOL), false)
  clock.advance(299_999)
  assert.equal(pools.hasFree(POOL), false)
  clock.advance(1)
  assert.equal(pools.hasFree(POOL), true)
})

test('where all keys rest, the one that is free soonest is used', () => {
  const pools = new KeyPools(movingClock(), quiet)
  for (const [key, seconds] of [
    ['a', 30],
    ['b', 5],
    ['c', 20],
  ] as const)
    pools.failed(POOL, key, status(429, seconds))
  assert.equal(pools.pick(POOL), 'b')
})

test('the only key of a provider never rests: there is nothing else to use', () => {
  const single = { ...POOL, apiKeys: ['a'] }
  const pools = new KeyPools(movingClock(), quiet)
  pools.failed(single, 'a', status(401))
  assert.equal(pools.pick(single), 'a')
  assert.equal(pools.hasFree(single), true)
})

test('a refused key is logged once until it works again, by its place and never by its value', () => {
  const said: string[] = []
  const pools = new KeyPools(movingClock(), (message) => said.push(message))
  for (const code of [401, 401, 403]) pools.failed(POOL, 'b', status(code))
  pools.failed(POOL, 'a', status(429))
  pools.worked(POOL, 'b')
  pools.worked(POOL, 'b')
  pools.failed(POOL, 'b', status(402))
  assert.deepEqual(said, [
    "Provider 'p' refuses key 2 of 3 (status 401)",
    "Provider 'p' takes key 2 of 3 again",
    "Provider 'p' refuses key 2 of 3 (status 402)",
  ])
})
