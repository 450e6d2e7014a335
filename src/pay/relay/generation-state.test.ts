import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from './operation.ts'
import { askedOf, mayBecome, type Asked, type GenerationState } from './generation-state.ts'

// Tests only compare it; they never call it.
const ASKED: Asked = { attempt: {} as Attempt, heard: 'nothing', head: [], headBytes: 0 }
const STATES: readonly GenerationState[] = [
  { at: 'admitted' },
  { at: 'queued' },
  { at: 'paused', stop: () => undefined },
  { at: 'asking', asked: ASKED },
  { at: 'answered', asked: ASKED },
  { at: 'ending' },
  { at: 'done' },
]

test('an end is decided once and is final: no state follows it but done, and none follows done', () => {
  const after = (at: string): readonly string[] =>
    STATES.filter((next) => STATES.some((state) => state.at === at && mayBecome(state, next))).map((next) => next.at)
  assert.deepEqual(after('ending'), ['done'])
  assert.deepEqual(after('done'), [])
  for (const { at } of STATES.slice(0, 5)) assert.ok(after(at).includes('ending'), at)
})

test('a provider is asked only from the queue, and an attempt is under way only while it is asked or answered', () => {
  const [, , , asking] = STATES
  assert.ok(asking !== undefined)
  assert.deepEqual(
    STATES.filter((state) => mayBecome(state, asking)).map(({ at }) => at),
    ['queued'],
  )
  assert.deepEqual(
    STATES.filter((state) => askedOf(state) !== null).map(({ at }) => at),
    ['asking', 'answered'],
  )
})
