import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EndpointHealthBook } from '../../src/pay/relay/endpoint-health.ts'
import { movingClock } from '../harness/moving-clock.ts'

interface Bench {
  readonly health: EndpointHealthBook
  readonly clock: ReturnType<typeof movingClock>
  /** Attempts that begin and end at the same time. */
  fail(times: number): void
  succeed(ttftMs?: number | null, tokensPerSecond?: number | null): void
}

function bench(): Bench {
  const clock = movingClock()
  const health = new EndpointHealthBook(clock)
  return {
    health,
    clock,
    fail: (times) => {
      for (let index = 0; index < times; index += 1) health.failed(health.begin('e'))
    },
    succeed: (ttftMs = null, tokensPerSecond = null) => health.succeeded(health.begin('e'), ttftMs, tokensPerSecond),
  }
}

describe('ejection', () => {
  test('one failure moves an endpoint last for 30 s, one success clears it', () => {
    const { health, clock, fail, succeed } = bench()
    fail(1)
    assert.deepEqual([health.unhealthy('e'), health.ejected('e')], [true, false])
    clock.advance(30_000)
    assert.equal(health.unhealthy('e'), false)
    fail(1)
    succeed()
    assert.equal(health.unhealthy('e'), false)
  })

  test('five failures in a row eject it, four and a success do not', () => {
    const { health, fail, succeed } = bench()
    fail(4)
    succeed()
    fail(4)
    assert.equal(health.ejected('e'), false)
    fail(1)
    assert.equal(health.ejected('e'), true)
    assert.equal(health.report('e').unhealthy, true)
  })

  test('an endpoint that is closed is out at the first failure, and told of', () => {
    const left: string[] = []
    const health = new EndpointHealthBook(movingClock(), (id) => left.push(id))
    health.failed(health.begin('acme/retired'), true)
    assert.deepEqual([health.ejected('acme/retired'), left], [true, ['acme/retired']])
  })

  test('an endpoint that leaves service is told of once, until it was back', () => {
    const clock = movingClock()
    const left: string[] = []
    const health = new EndpointHealthBook(clock, (id) => left.push(id))
    for (let index = 0; index < 9; index += 1) health.failed(health.begin('acme/small'))
    clock.advance(31_000)
    health.failed(health.begin('acme/small'))
    assert.deepEqual(left, ['acme/small'])
    clock.advance(61_000)
    health.succeeded(health.begin('acme/small'), null, null)
    for (let index = 0; index < 5; index += 1) health.failed(health.begin('acme/small'))
    assert.equal(left.length, 2)
  })

  test('more than half of at least twenty attempts within 30 s eject it', () => {
    const { health, clock, fail, succeed } = bench()
    for (let index = 0; index < 9; index += 1) succeed()
    for (let index = 0; index < 5; index += 1) {
      fail(2)
      succeed()
      if (index < 4) assert.equal(health.ejected('e'), false)
    }
    clock.advance(31_000)
    for (let index = 0; index < 6; index += 1) {
      fail(2)
      succeed()
    }
    assert.equal(health.ejected('e'), false, 'eighteen attempts are too few to judge by')
    fail(2)
    assert.equal(health.ejected('e'), true)
  })

  test('exactly half of many attempts do not', () => {
    const { health, fail, succeed } = bench()
    for (let index = 0; index < 200; index += 1) {
      succeed()
      fail(1)
    }
    assert.equal(health.ejected('e'), false)
  })

  test('each ejection in a row is 30 s longer, up to five minutes; five good minutes start the count again', () => {
    const { health, clock, fail, succeed } = bench()
    fail(5)
    for (let round = 1; round <= 12; round += 1) {
      clock.advance(Math.min(300_000, 30_000 * round) - 1)
      assert.equal(health.ejected('e'), true, `round ${round}`)
      clock.advance(1)
      assert.equal(health.ejected('e'), false)
      fail(1)
      assert.equal(health.ejected('e'), true)
    }
    clock.advance(300_000)
    succeed()
    fail(5)
    clock.advance(30_000)
    assert.equal(health.ejected('e'), true, 'it was good for a moment only')
    clock.advance(270_000)
    succeed()
    clock.advance(300_000)
    fail(5)
    clock.advance(30_000)
    assert.equal(health.ejected('e'), false)
  })

  test('half open, one request at a time may try; one without a verdict leaves its place to the next', () => {
    const { health, clock, fail } = bench()
    fail(5)
    assert.equal(health.begin('e').leave, 'forced')
    clock.advance(30_000)
    const probe = health.begin('e')
    assert.equal(probe.leave, 'probe')
    assert.equal(health.begin('e').leave, 'forced')
    assert.equal(health.ejected('e'), true, 'for everybody else')
    health.released(probe)
    const second = health.begin('e')
    assert.equal(second.leave, 'probe')
    health.succeeded(second, null, null)
    assert.equal(health.begin('e').leave, 'normal')
  })

  test('what began before the ejection neither ends nor lengthens it', () => {
    const { health, clock, fail } = bench()
    const [good, bad, late] = [health.begin('e'), health.begin('e'), health.begin('e')]
    clock.advance(1)
    fail(5)
    health.succeeded(good, null, null)
    assert.equal(health.ejected('e'), true)
    clock.advance(30_000)
    const probe = health.begin('e')
    health.failed(bad)
    assert.equal(health.ejected('e'), true, 'the probe is still under way')
    health.succeeded(probe, null, null)
    clock.advance(1)
    fail(4)
    health.failed(late)
    assert.equal(health.ejected('e'), false, 'four of now and one of long ago')
  })

  test('an answer of an endpoint that was tried because nothing else was left brings it back, a failure changes nothing', () => {
    const { health, clock, fail } = bench()
    fail(5)
    clock.advance(10_000)
    fail(3)
    clock.advance(19_999)
    assert.equal(health.ejected('e'), true)
    health.succeeded(health.begin('e'), null, null)
    assert.equal(health.ejected('e'), false)
  })
})

test('an endpoint that names a Retry-After is not asked for so long', () => {
  const { health, clock } = bench()
  health.pause('e', 7)
  assert.deepEqual([health.ejected('e'), health.report('e').unhealthy], [true, true])
  health.pause('e', 0)
  clock.advance(6_999)
  assert.equal(health.ejected('e'), true)
  clock.advance(1)
  assert.deepEqual([health.ejected('e'), health.begin('e').leave], [false, 'normal'])
})

test('medians over thirty minutes, read again after a second', () => {
  const { health, clock, succeed } = bench()
  for (const ttft of [100, 200, 300]) succeed(ttft, ttft / 10)
  assert.deepEqual([health.latency('e'), health.throughput('e')], [200, 20])
  for (let index = 0; index < 10; index += 1) succeed(1_000, 100)
  assert.equal(health.latency('e'), 200, 'kept for a second')
  clock.advance(1_001)
  assert.equal(health.latency('e'), 1_000)
  assert.equal(health.report('e').throughput30m?.p99, 10)
  clock.advance(31 * 60_000)
  assert.equal(health.latency('e'), null)
  assert.deepEqual([health.report('e').uptime30m, health.report('e').uptime1d], [null, 100])
})

test('uptime counts every attempt of five minutes, thirty and a day, however many they are', () => {
  const { health, clock, fail, succeed } = bench()
  for (let index = 0; index < 30_000; index += 1) succeed()
  fail(10_000)
  assert.deepEqual([health.report('e').uptime5m, health.report('e').uptime1d], [75, 75])
  clock.advance(20 * 60_000)
  succeed()
  const { uptime5m, uptime30m } = health.report('e')
  assert.deepEqual([uptime5m, uptime30m], [100, 75])
  clock.advance(24 * 60 * 60_000)
  assert.equal(health.report('e').uptime1d, null)
})
