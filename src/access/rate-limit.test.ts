import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RateLimit } from '../store/accounts/account-store.ts'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { BOUNDS, Bounds, RateLimiter, rateHeaders } from './rate-limit.ts'
import { SlidingWindow, type RateDecision } from './sliding-window.ts'

/** Without shared windows a decision needs no promise. */
function take(limiter: RateLimiter, accountId: string, limit: RateLimit): RateDecision {
  const decision = limiter.take(accountId, limit)
  assert.ok(!(decision instanceof Promise))
  return decision
}

test('D-7.1: never more than L accepted in any N seconds, every refusal is needed, and waiting Retry-After frees a slot', () => {
  // Sixteenths of a millisecond add up exactly, so that the test's sums round like the window's.
  const gaps = fc.array(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 4_000 }),
      fc.integer({ min: 0, max: 14_400 }).map((sixteenths) => sixteenths / 16),
    ),
    { minLength: 1, maxLength: 300 },
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 10 }), gaps, (limit, seconds, steps) => {
      const window = new SlidingWindow()
      const accepted: number[] = []
      let nowMs = 0.25
      for (const step of steps) {
        nowMs += step
        const live = (atMs: number): number => accepted.filter((time) => time + seconds * 1_000 > atMs).length
        const decision = window.take(limit, seconds * 1_000, nowMs, nowMs)
        assert.equal(decision.allowed, live(nowMs) < limit)
        if (decision.allowed) accepted.push(nowMs)
        else {
          assert.ok(decision.retryAfterSeconds >= 1 && decision.retryAfterSeconds <= seconds)
          assert.ok(live(nowMs + decision.retryAfterSeconds * 1_000) < limit)
        }
        assert.equal(decision.remaining, limit - live(nowMs))
      }
      for (const [index, time] of accepted.entries()) {
        const earlier = accepted[index - limit]
        if (earlier !== undefined) assert.ok(time - earlier >= seconds * 1_000 - 1e-6)
      }
    }),
    { numRuns: 300 },
  )
})

test('the headers say the limit, the rest after this request, and when the oldest accepted one leaves', () => {
  const clock = movingClock(1_764_547_200_500)
  const limiter = new RateLimiter(clock)
  const limit = { requests: 2, window: 60 }
  assert.deepEqual(rateHeaders(take(limiter, 'acc', limit)), {
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '1',
    'x-ratelimit-reset': '1764547261',
  })
  clock.advance(10_000)
  assert.equal(take(limiter, 'acc', limit).remaining, 0)
  clock.advance(10_000)
  const refused = take(limiter, 'acc', limit)
  assert.deepEqual(refused, {
    allowed: false,
    limit: 2,
    remaining: 0,
    resetSeconds: 1_764_547_261,
    retryAfterSeconds: 40,
  })
  clock.advance(39_999)
  assert.equal(take(limiter, 'acc', limit).retryAfterSeconds, 1)
  clock.advance(1)
  assert.equal(take(limiter, 'acc', limit).allowed, true)
  assert.equal(take(limiter, 'other', limit).remaining, 1)
})

test('a limit changed at runtime holds from the next request on, and Retry-After still frees a slot', () => {
  const clock = movingClock()
  const limiter = new RateLimiter(clock)
  for (let count = 0; count < 10; count += 1) {
    assert.equal(take(limiter, 'acc', { requests: 10, window: 60 }).allowed, true)
    clock.advance(1_000)
  }
  const lowered = take(limiter, 'acc', { requests: 3, window: 60 })
  assert.deepEqual([lowered.allowed, lowered.remaining, lowered.retryAfterSeconds], [false, 0, 57])
  assert.equal(take(limiter, 'acc', { requests: 12, window: 60 }).remaining, 1)
  assert.equal(take(limiter, 'acc', { requests: 12, window: 5 }).remaining, 6)
  clock.advance(57_000)
  assert.equal(take(limiter, 'acc', { requests: 5, window: 60 }).allowed, true)
})

test('idle accounts are forgotten, an account with a full window never is', () => {
  const clock = movingClock()
  const limiter = new RateLimiter(clock)
  const limit = { requests: 1, window: 60 }
  for (let count = 0; count < 5_000; count += 1) take(limiter, `old-${count}`, limit)
  clock.advance(59_000)
  take(limiter, 'busy', limit)
  clock.advance(2_000)
  for (let count = 0; count < 8_000; count += 1) take(limiter, `new-${count}`, limit)
  assert.ok(limiter.size < 9_000, String(limiter.size))
  assert.equal(take(limiter, 'busy', limit).allowed, false)
})

test('what callers do is counted for each of them and each bound, and without Valkey every node has its share', async () => {
  const clock = movingClock()
  const nodes = [0, 1, 2].map(() => new Bounds(new RateLimiter(clock, { nodes: () => 3, windows: null })))
  const sent = async (of: string): Promise<number> => {
    let count = 0
    for (const bounds of nodes)
      for (let letter = 0; letter < 9; letter += 1) count += (await bounds.has('mailbox', of)) ? 1 : 0
    return count
  }
  assert.equal(await sent('one@example.com'), BOUNDS.mailbox.most + 1)
  assert.equal(await sent('two@example.com'), BOUNDS.mailbox.most + 1)
  assert.equal(await nodes[0]?.has('letters', 'one@example.com'), true)
  const refusal = await nodes[0]?.refusal('mailbox', 'one@example.com')
  assert.equal(refusal?.message, 'At most 5 letters to one mailbox an hour. Retry after 3600 seconds')
  clock.advance(3_600_000)
  assert.equal(await nodes[0]?.has('mailbox', 'one@example.com'), true)
})
