import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { SyncedClock } from './clock.ts'

const START_MS = 1_764_547_200_000

test("F8: the time is the other clock's, whatever the own wall clock does, and runs by the monotonic one between", () => {
  const own = movingClock(START_MS)
  let jumpMs = 0
  const clock = new SyncedClock({ ...own, now: () => own.now() + jumpMs })
  assert.equal(clock.now(), START_MS)
  clock.sync(START_MS - 3_600_000, 0, 0)
  assert.equal(clock.now(), START_MS - 3_600_000)
  jumpMs = 40 * 86_400_000
  own.advance(1_500.7)
  assert.equal(clock.now(), START_MS - 3_600_000 + 1_500)
  assert.ok(Number.isInteger(clock.now()))
})

test('what a reading cannot tell from the time in use does not move it; what it can does', () => {
  const own = movingClock(START_MS)
  const clock = new SyncedClock(own)
  clock.sync(1_000_000, 0, 0)
  own.advance(100)
  // Asked at 90 and answered at 110: the other clock's 1,000,100 is any time from 90 to 110 here.
  clock.sync(1_000_095, 90, 110)
  assert.equal(clock.now(), 1_000_100)
  clock.sync(1_005_000, 99, 101)
  assert.equal(clock.now(), 1_005_000)
})
