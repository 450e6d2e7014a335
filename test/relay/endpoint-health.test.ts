import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EndpointHealthBook } from '../../src/relay/endpoint-health.ts'
import { movingClock } from '../harness/moving-clock.ts'

function book(): { readonly health: EndpointHealthBook; readonly clock: ReturnType<typeof movingClock>; readonly fail: (times: number) => void } {
  const clock = movingClock()
  const health = new EndpointHealthBook(clock)
  return {
    health,
    clock,
    fail: (times) => {
      for (let index = 0; index < times; index += 1) health.failed('e')
    },
  }
}

describe('ejection', () => {
  test('one failure moves an endpoint last for 30 s, one success clears it', () => {
    const { health, clock, fail } = book()
    fail(1)
    assert.deepEqual([health.unhealthy('e'), health.ejected('e')], [true, false])
    clock.advance(30_000)
    assert.equal(health.unhealthy('e'), false)
    fail(1)
    health.succeeded('e', null, null)
    assert.equal(health.unhealthy('e'), false)
  })

  test('five failures in a row eject it, four and a success do not', () => {
    const { health, fail } = book()
    fail(4)
    health.succeeded('e', null, null)
    fail(4)
    assert.equal(health.ejected('e'), false)
    fail(1)
    assert.equal(health.ejected('e'), true)
  })

  test('more than half of at least twenty attempts within 30 s eject it', () => {
    const { health, clock, fail } = book()
    for (let index = 0; index < 9; index += 1) health.succeeded('e', null, null)
    for (let index = 0; index < 5; index += 1) {
      fail(2)
      health.succeeded('e', null, null)
      if (index < 4) assert.equal(health.ejected('e'), false)
    }
    clock.advance(31_000)
    for (let index = 0; index < 6; index += 1) {
      fail(2)
      health.succeeded('e', null, null)
    }
    assert.equal(health.ejected('e'), false, 'eighteen attempts are too few to judge by')
    fail(2)
    assert.equal(health.ejected('e'), true)
  })

  test('each ejection in a row is 30 s longer, up to five minutes; a success begins anew', () => {
    const { health, clock, fail } = book()
    fail(5)
    for (let round = 1; round <= 12; round += 1) {
      const ms = Math.min(300_000, 30_000 * round)
      clock.advance(ms - 1)
      assert.equal(health.ejected('e'), true, `round ${round}`)
      clock.advance(1)
      assert.equal(health.ejected('e'), false)
      assert.equal(health.begin('e'), 'probe')
      fail(1)
      assert.equal(health.ejected('e'), true)
    }
    clock.advance(300_000)
    assert.equal(health.begin('e'), 'probe')
    health.succeeded('e', 10, null)
    assert.equal(health.begin('e'), 'yes')
    fail(5)
    clock.advance(30_000)
    assert.equal(health.ejected('e'), false)
  })

  test('half open, one request at a time may try; one without a verdict leaves its place to the next', () => {
    const { health, clock, fail } = book()
    fail(5)
    assert.equal(health.begin('e'), 'no')
    clock.advance(30_000)
    assert.equal(health.begin('e'), 'probe')
    assert.equal(health.begin('e'), 'no')
    assert.equal(health.ejected('e'), true, 'for everybody else')
    health.released('e')
    assert.equal(health.begin('e'), 'probe')
  })
})

test('medians over thirty minutes, read again after a second', () => {
  const { health, clock } = book()
  for (const ttft of [100, 200, 300]) health.succeeded('e', ttft, ttft / 10)
  assert.deepEqual([health.latency('e'), health.throughput('e')], [200, 20])
  for (let index = 0; index < 10; index += 1) health.succeeded('e', 1_000, 100)
  assert.equal(health.latency('e'), 200, 'kept for a second')
  clock.advance(1_001)
  assert.equal(health.latency('e'), 1_000)
  clock.advance(30 * 60_000)
  assert.equal(health.latency('e'), null)
  assert.deepEqual([health.report('e').uptime30m, health.report('e').uptime1d], [null, 100])
})
