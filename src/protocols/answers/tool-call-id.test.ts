import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionsState, toolCallId } from './tool-calls.ts'

const GENERATION = 'gen-1764547200-AbCdEfGhIjKlMnOpQrSt'

test('an id carries the state of a call, has 40 characters at most, and is that of one call alone', () => {
  const state = 'ff00fbfe-457a-46ba-937e-8d856156d003'
  const ids = [0, 1, 255].map((index) => toolCallId(GENERATION, 0, index, state))
  for (const id of ids) {
    assert.match(id, /^[\w-]{1,40}$/)
    assert.equal(functionsState(id), state)
  }
  assert.equal(new Set(ids).size, 3)
})

test('what is no such state is not carried, and an id of another service holds none', () => {
  for (const state of [null, '', '..', 'state-1', 'FF00FBFE-457A-46BA-937E-8D856156D003'])
    assert.equal(functionsState(toolCallId(GENERATION, 0, 0, state)), null)
  for (const id of ['', 'gc_', 'gc_short_1', 'call_1', 'toolu_01A09q90qw90lq917835lq9'])
    assert.equal(functionsState(id), null)
})
