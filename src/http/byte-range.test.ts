import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteRange } from './reply.ts'

const RANGES: readonly (readonly [string | undefined, ReturnType<typeof byteRange>])[] = [
  [undefined, null],
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=2-5', { start: 2, end: 5 }],
  ['bytes=2-', { start: 2, end: 9 }],
  ['bytes=2-99', { start: 2, end: 9 }],
  ['bytes=-3', { start: 7, end: 9 }],
  ['bytes=-99', { start: 0, end: 9 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=10-12', 'unsatisfiable'],
  ['bytes=5-2', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=-', 'unsatisfiable'],
  ['bytes=', 'unsatisfiable'],
  ['bytes=a-b', 'unsatisfiable'],
  ['bytes=0-1,3-4', 'unsatisfiable'],
  ['bytes=0-1x', 'unsatisfiable'],
  ['items=0-1', null],
]

for (const [header, expected] of RANGES) {
  test(`the range ${header} of ten bytes`, () => assert.deepEqual(byteRange(header, 10), expected))
}

test('nothing of an empty file can be asked for', () => {
  assert.equal(byteRange('bytes=0-', 0), 'unsatisfiable')
  assert.equal(byteRange('bytes=-5', 0), 'unsatisfiable')
})
