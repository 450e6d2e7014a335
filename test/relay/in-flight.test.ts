import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { InFlight } from '../../src/pay/relay/relay.ts'

function refusal(
  inFlight: InFlight,
  account: string,
  key: string,
): { name: string; retryAfter: number | undefined } | null {
  const error = inFlight.refusal(account, key)
  return error === null ? null : { name: error.errorName, retryAfter: error.details.retryAfterSeconds }
}

test('a key runs 100 at once, an account 200: over it a 429 that asks for a second', () => {
  const inFlight = new InFlight(() => 0)
  for (let count = 0; count < 100; count += 1) inFlight.enter('a', 'a1')
  assert.deepEqual(refusal(inFlight, 'a', 'a1'), { name: 'rate_limit_exceeded', retryAfter: 1 })
  assert.equal(refusal(inFlight, 'a', 'a2'), null)
  for (let count = 0; count < 100; count += 1) inFlight.enter('a', 'a2')
  assert.deepEqual(refusal(inFlight, 'a', 'a3'), { name: 'rate_limit_exceeded', retryAfter: 1 })
  assert.throws(() => inFlight.enter('a', 'a3'), ApiError)
  inFlight.leave('a', 'a1')
  assert.equal(refusal(inFlight, 'a', 'a3'), null)
})

test('a node runs 2,000 at once: over it a 503, and clients come back spread over five seconds', () => {
  const shares = [0, 0.2, 0.5, 0.999]
  const inFlight = new InFlight(() => shares.shift() ?? 0)
  for (let count = 0; count < 2_000; count += 1) inFlight.enter(`account ${count % 20}`, `key ${count % 40}`)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => refusal(inFlight, 'new', 'new')),
    [1, 2, 3, 5].map((retryAfter) => ({ name: 'service_unavailable', retryAfter })),
  )
})

test('ended requests are forgotten, and shares count only the present accounts', () => {
  const inFlight = new InFlight(() => 0)
  for (let count = 0; count < 40; count += 1) inFlight.enter('large', 'key of large')
  assert.equal(inFlight.isAboveFairShare('large'), false, 'alone, it may have it all')
  for (let count = 0; count < 10; count += 1) inFlight.enter('small', 'key of small')
  assert.equal(inFlight.isAboveFairShare('large'), true)
  assert.equal(inFlight.isAboveFairShare('small'), false)
  for (let count = 0; count < 10; count += 1) inFlight.leave('small', 'key of small')
  assert.equal(inFlight.isAboveFairShare('large'), false)
  assert.equal(inFlight.count, 40)
})
