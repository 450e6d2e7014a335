import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight } from '../../src/pay/relay/relay.ts'
import { Shedding, type LoadReading } from '../../src/pay/relay/shedding.ts'
import { movingClock } from '../harness/moving-clock.ts'

const CALM: LoadReading = { utilisation: 0.5, delayMs: 5, memory: 0.2 }
const BUSY: LoadReading = { ...CALM, utilisation: 0.99 }
const LATE: LoadReading = { ...BUSY, delayMs: 300 }

function loaded(requests = 100): {
  shedding: Shedding
  inFlight: InFlight
  draw: { now: number }
  samples: (reading: LoadReading, count: number) => void
} {
  const draw = { now: 0.999_999 }
  const inFlight = new InFlight(() => 0)
  for (let count = 0; count < requests; count += 1)
    inFlight.enter(count < requests * 0.8 ? 'large' : 'small', `key ${count % 8}`)
  const shedding = new Shedding({ clock: movingClock(), random: () => draw.now, read: () => CALM, inFlight })
  const samples = (reading: LoadReading, count: number): void => {
    for (let sample = 0; sample < count; sample += 1) shedding.sample(reading)
  }
  samples(CALM, 10)
  return { shedding, inFlight, draw, samples }
}

function refused(
  { shedding, draw }: Pick<ReturnType<typeof loaded>, 'shedding' | 'draw'>,
  priority: 'low' | 'paid',
  account: string,
): boolean {
  draw.now = 0
  const some = shedding.refusal(priority, account) !== null
  draw.now = 0.999_999
  return some
}

test('a busy loop refuses lists, logs and accounts above their share, after five seconds; the others never', () => {
  const world = loaded()
  world.samples(BUSY, 4)
  assert.equal(refused(world, 'low', 'small'), false)
  world.samples(BUSY, 1)
  assert.deepEqual(
    [refused(world, 'low', 'small'), refused(world, 'paid', 'large'), refused(world, 'paid', 'small')],
    [true, true, false],
  )
  world.samples(CALM, 1)
  assert.equal(refused(world, 'low', 'small'), false)
})

test('a loop that lags refuses every new paid request, all of them after ten seconds, and takes them back as it recovers', () => {
  const world = loaded()
  world.samples(LATE, 2)
  assert.equal(world.shedding.levels.lagging, 0, 'one pause of the collector is none')
  world.samples(LATE, 1)
  assert.equal(world.shedding.levels.lagging, 0.1)
  assert.equal(refused(world, 'paid', 'small'), true)
  world.samples(LATE, 9)
  assert.equal(world.shedding.levels.lagging, 1)
  world.draw.now = 0.999_999
  const refusal = world.shedding.refusal('paid', 'small')
  assert.equal(refusal?.errorName, 'service_unavailable')
  assert.equal(refusal?.details.retryAfterSeconds, 5)
  world.samples(CALM, 10)
  assert.equal(world.shedding.levels.lagging, 0)
  assert.equal(refused(world, 'paid', 'small'), false)
})

test('a node that runs little is slowed by something else: it refuses nothing', () => {
  const world = loaded(20)
  world.samples(LATE, 20)
  assert.deepEqual([refused(world, 'low', 'small'), refused(world, 'paid', 'large')], [false, false])
})

test('short of memory it refuses at once, whatever runs; with none left, everything', () => {
  const world = loaded(2)
  world.samples({ ...CALM, memory: 0.9 }, 1)
  assert.equal(world.shedding.levels.lagging, 0.1)
  world.samples({ ...CALM, memory: 0.99 }, 1)
  assert.equal(world.shedding.levels.lagging, 1)
  assert.notEqual(world.shedding.refusal('paid', 'small'), null)
  world.samples(CALM, 2)
  assert.equal(refused(world, 'paid', 'small'), false)
})

test('the last fifth of the node is kept for accounts within their share', () => {
  const draw = { now: 0.5 }
  const inFlight = new InFlight(() => 0)
  for (let count = 0; count < 1_600; count += 1)
    inFlight.enter(count < 190 ? 'large' : `small ${count % 60}`, `key ${count % 60}`)
  const shedding = new Shedding({ clock: movingClock(), random: () => draw.now, read: () => CALM, inFlight })
  assert.notEqual(shedding.refusal('paid', 'large'), null)
  assert.notEqual(shedding.refusal('low', 'small 1'), null)
  assert.equal(shedding.refusal('paid', 'small 1'), null)
})
