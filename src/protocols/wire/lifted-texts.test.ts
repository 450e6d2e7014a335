import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LiftedTexts } from './lifted-json.ts'

/** How JSON encoders write base64. */
const WRITTEN: readonly ((base64: string) => string)[] = [
  (base64) => JSON.stringify(base64),
  (base64) => JSON.stringify(base64).replaceAll('/', '\\/'),
  (base64) => JSON.stringify(base64).replaceAll('=', '\\u003d').replaceAll('+', '\\u002B'),
  (base64) => JSON.stringify(base64.replaceAll(/.{76}/g, '$&\r\n')),
]

/** Lifts from pieces of these sizes, in turn. */
function lifted(json: Buffer, sizes: readonly number[]): { readonly rest: unknown; readonly files: readonly Buffer[] } {
  const texts = new LiftedTexts()
  for (let at = 0, turn = 0; at < json.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    texts.add(json.subarray(at, at + size))
    at += size
  }
  return { rest: JSON.parse(texts.take().toString('utf8')), files: texts.files.map((parts) => Buffer.concat(parts)) }
}

test('files in base64 come out byte for byte, the rest is what JSON.parse makes of it, however the pieces are cut', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.uint8Array({ minLength: 48, maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
          fc.string({ maxLength: 100, unit: fc.constantFrom('"', '\\', 'a', '/', 'é', ' ', '\n', '[0]') }),
          fc.jsonValue(),
        ),
        { maxLength: 6 },
      ),
      fc.nat(WRITTEN.length - 1),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
      (values, form, sizes) => {
        const written = WRITTEN[form] ?? JSON.stringify
        const json = values.map((value) =>
          Buffer.isBuffer(value) ? written(value.toString('base64')) : JSON.stringify(value),
        )
        const files = values.filter((value) => Buffer.isBuffer(value))
        let place = 0
        const expected = values.map((value) => (Buffer.isBuffer(value) ? [place++] : JSON.parse(JSON.stringify(value))))
        const found = lifted(Buffer.from(`{"videos": [${json.join(' ,')}]}`), sizes)
        assert.deepEqual(found.rest, { videos: expected })
        assert.deepEqual(found.files, files)
      },
    ),
    { numRuns: 500 },
  )
})

test('a short text in base64 stays in the JSON', () => {
  assert.deepEqual(lifted(Buffer.from('{"video":{"encodedVideo":"AAAA"}}'), [3]), {
    rest: { video: { encodedVideo: 'AAAA' } },
    files: [],
  })
})

test('what breaks off is told as it came', () => {
  for (const json of ['{"a":"', `{"a":"${'A'.repeat(40)}`, `{"a":"${'A '.repeat(80)}`]) {
    const texts = new LiftedTexts()
    texts.add(Buffer.from(json))
    assert.equal(texts.take().toString('latin1'), json)
  }
})
