import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { StoreSign } from './signs.ts'

/** A store that answers, refuses or hangs, and its sign; `looks` lets seconds pass. */
function world(): {
  readonly store: { state: 'answers' | 'refuses' | 'hangs' }
  readonly sign: StoreSign
  readonly notices: string[]
  readonly looks: (count: number) => Promise<void>
  readonly wake: () => void
} {
  const clock = movingClock()
  const store: { state: 'answers' | 'refuses' | 'hangs' } = { state: 'answers' }
  const notices: string[] = []
  const hanging: (() => void)[] = []
  const reach = async (): Promise<void> => {
    if (store.state === 'refuses') throw new Error('refused')
    if (store.state === 'hangs') await new Promise<void>((resolve) => hanging.push(resolve))
  }
  const sign = new StoreSign({ clock, reach, notice: (message) => notices.push(message) })
  sign.start()
  const looks = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      clock.advance(1_000)
      await new Promise(setImmediate)
    }
  }
  return { store, sign, notices, looks, wake: () => hanging.splice(0).forEach((resolve) => resolve()) }
}

for (const state of ['refuses', 'hangs'] as const) {
  test(`a store that ${state} is shown after three looks, and no more after three answers`, async () => {
    const { store, sign, notices, looks, wake } = world()
    await looks(100)
    store.state = state
    // A hanging check counts as unanswered at the next look.
    await looks(state === 'hangs' ? 3 : 2)
    assert.equal(sign.shown, false, 'over in a moment')
    await looks(1)
    assert.equal(sign.shown, true)
    await looks(50)
    assert.equal(notices.length, 1)
    store.state = 'answers'
    wake()
    await looks(1)
    assert.equal(sign.shown, true, 'one answer is not enough')
    await looks(3)
    assert.equal(sign.shown, false)
    assert.equal(notices.length, 2)
    sign.stop()
  })
}

test('a store that comes and goes is shown without a break', async () => {
  const { store, sign, notices, looks } = world()
  store.state = 'refuses'
  await looks(5)
  for (let turn = 0; turn < 20; turn += 1) {
    store.state = turn % 2 === 0 ? 'answers' : 'refuses'
    await looks(2)
    assert.equal(sign.shown, true)
  }
  assert.equal(notices.length, 1)
  sign.stop()
})

test('a store that fails now and then is not shown', async () => {
  const { store, sign, looks } = world()
  for (let turn = 0; turn < 20; turn += 1) {
    store.state = turn % 2 === 0 ? 'answers' : 'refuses'
    await looks(2)
    assert.equal(sign.shown, false)
  }
  sign.stop()
})
