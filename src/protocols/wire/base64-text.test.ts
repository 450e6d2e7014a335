import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64 } from '../../kinds/images/bytes.ts'
import { base64Json } from '../../base/json-text.ts'
import { Base64Text, decodedInTurns } from './base64-text.ts'

const SIGNS = ['A', 'z', '9', '+', '/', '-', '_', '=', '\n', ' ', '!', 'é', '\\', '"']

test('a base64 string is decoded as a whole one would be, however its pieces are cut, and what is none is refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...SIGNS), { maxLength: 40 }),
      fc.uint8Array({ maxLength: 60 }),
      fc.integer({ min: 1, max: 9 }),
      async (signs, bytes, step) => {
        for (const text of [signs.join(''), Buffer.from(bytes).toString('base64'), `QUJD\n${signs.join('')}`]) {
          const inside = Buffer.from(JSON.stringify(text).slice(1, -1))
          // A slash may be escaped, as some serializers do.
          const escaped = Buffer.from(JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'))
          assert.deepEqual(await decodedInTurns(inside), decodeBase64(text), text)
          assert.deepEqual(await decodedInTurns(escaped), decodeBase64(text), text)
          const cut = new Base64Text()
          const parts: Buffer[] = []
          for (let at = 0; at < escaped.length; at += step) parts.push(cut.push(escaped.subarray(at, at + step)))
          parts.push(cut.end())
          if (decodeBase64(text) !== null)
            assert.deepEqual([cut.isBroken, Buffer.concat(parts)], [false, decodeBase64(text)])
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('bytes are written as the base64 string that they are', async () => {
  for (const length of [0, 1, 2, 3, 786_431, 786_432, 786_433, 1_600_000]) {
    const bytes = Buffer.alloc(length, 'abc\x89\xfe')
    assert.equal((await base64Json(bytes)).bytes.toString(), JSON.stringify(bytes.toString('base64')), String(length))
  }
})
