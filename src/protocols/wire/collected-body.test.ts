import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CollectedBody } from './collected-body.ts'

test('property: the bytes that came are taken, whatever length was announced and however they were cut', () => {
  const told = fc.oneof(fc.constant(null), fc.nat(300_000), fc.constant(400_000))
  fc.assert(
    fc.property(told, fc.array(fc.nat(150_000), { maxLength: 5 }), (bytesTold, lengths) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, index + 1))
      const body = new CollectedBody(bytesTold)
      for (const piece of pieces) body.add(piece)
      assert.equal(
        body.bytes,
        pieces.reduce((sum, { length }) => sum + length, 0),
      )
      assert.ok(body.take().equals(Buffer.concat(pieces)))
    }),
    { numRuns: 200 },
  )
})

test('one small piece is taken as it is', () => {
  const piece = Buffer.from('{}')
  const body = new CollectedBody(null)
  body.add(piece)
  assert.equal(body.take(), piece)
})
