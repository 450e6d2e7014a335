import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProviderPlace, ProviderSlots } from '../../src/pay/relay/provider-slots.ts'
import { movingClock, type MovingClock } from '../harness/moving-clock.ts'

function full(): { slots: ProviderSlots; clock: MovingClock; places: ProviderPlace[] } {
  const clock = movingClock()
  const slots = new ProviderSlots(clock)
  const places = Array.from({ length: 500 }, () => new ProviderPlace(slots))
  for (const place of places) place.take('p', (granted) => assert.equal(granted, true))
  return { slots, clock, places }
}

test('500 run at a provider; 100 more wait, in order, and the rest are refused at once', () => {
  const { slots, places } = full()
  const told: string[] = []
  const waiting = Array.from({ length: 100 }, (_value, index) => {
    const place = new ProviderPlace(slots)
    place.take('p', (granted) => told.push(`${index} ${granted}`))
    return place
  })
  new ProviderPlace(slots).take('p', (granted) => told.push(`late ${granted}`))
  assert.deepEqual(told, ['late false'])
  new ProviderPlace(slots).take('other', (granted) => told.push(`other ${granted}`))
  assert.deepEqual(told.pop(), 'other true')
  places[7]?.release()
  places[7]?.release()
  places[9]?.release()
  assert.deepEqual(told.slice(1), ['0 true', '1 true'], 'each place is given on once')
  assert.deepEqual(slots.report()[0], { slug: 'p', running: 500, waiting: 98 })
  assert.equal(waiting[0]?.waits, false)
})

test('a wait ends after two seconds, or when its request is over; nothing is left of it', () => {
  const { slots, clock, places } = full()
  const told: boolean[] = []
  const [patient, gone] = [new ProviderPlace(slots), new ProviderPlace(slots)]
  patient.take('p', (granted) => told.push(granted))
  gone.take('p', (granted) => told.push(granted))
  assert.equal(gone.waits, true)
  gone.release()
  clock.advance(1_999)
  assert.deepEqual(told, [])
  clock.advance(1)
  assert.deepEqual(told, [false])
  for (const place of places) place.release()
  assert.deepEqual(slots.report(), [])
})
