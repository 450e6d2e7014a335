import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Base64Floats, floatBytes, vectorText, vectorTexts } from './vectors.ts'
import { LiftedBody, parseLifted, type VectorBytes } from '../wire/lifted-json.ts'
import { vectorOf } from '../upstream/embeddings.ts'
import { countOf } from './token-reader.ts'
import type { VectorFormat } from '../../kinds/embeddings.ts'

/** Without -0, which JSON.stringify would write as 0. */
const float32 = fc.float({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0)

function base64Of(numbers: readonly number[]): string {
  return floatBytes(numbers).toString('base64')
}

function textOf(vector: VectorBytes, format: VectorFormat): Buffer | null {
  return vectorText(vector, format, new Base64Floats())
}

function bytesOf(json: unknown, space = 0): Buffer {
  return Buffer.from(JSON.stringify(json, null, space))
}

test('base64 is little-endian float32 without a header', () => {
  assert.equal(base64Of([1, -2, 0.5]), Buffer.from([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f]).toString('base64'))
})

test('a body is what JSON.parse makes of it, but for its vectors, which stay as they came', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(float32, { minLength: 1, maxLength: 60 }), { maxLength: 5 }),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(0, 2),
      fc.boolean(),
      (vectors, text, space, inBase64) => {
        const body = {
          text,
          'embedding\\"': [],
          data: vectors.map((numbers, index) => ({ index, embedding: inBase64 ? base64Of(numbers) : numbers })),
          nested: [[[]], [{ text }]],
          usage: { a: null, b: true },
        }
        const lifted = parseLifted(bytesOf(body, space))
        const restored = JSON.parse(JSON.stringify(lifted?.json), (key, value: unknown) =>
          key === 'embedding' && Array.isArray(value)
            ? JSON.parse(lifted?.vectors[Number(value[0])]?.bytes.toString() ?? '')
            : value,
        )
        assert.deepEqual(restored, JSON.parse(JSON.stringify(body)))
      },
    ),
  )
})

/** Strings and lists with places in the middle where a piece may end. */
const CUT_BODY = bytesOf({
  data: [
    { embedding: base64Of(Array.from({ length: 20 }, (_value, index) => -index / 3)).replaceAll('/', '\\/') },
    { embedding: [1, -2.5, 3] },
    { b64_json: `data:image/png;base64,${'QUJD'.repeat(30)}` },
  ],
  note: 'a "quoted" text, and a \\ before its end \\',
  lists: [[[]], [[' [1'], [[]]]],
})

test('however a body is cut into pieces, the same is read of it', () => {
  const spaced = Buffer.from(CUT_BODY.toString().replaceAll('[', '[   '))
  for (const body of [CUT_BODY, spaced]) {
    const whole = parseLifted(body)
    assert.equal(whole?.vectors.length, 3)
    fc.assert(
      fc.property(fc.array(fc.nat(body.length), { maxLength: body.length }), (cuts) => {
        const lifted = new LiftedBody()
        let from = 0
        for (const cut of [...cuts.toSorted((a, b) => a - b), body.length]) {
          lifted.push(body.subarray(from, cut))
          from = cut
        }
        assert.deepEqual(lifted.end(), whole)
      }),
    )
    const bytewise = new LiftedBody()
    for (const byte of body) bytewise.push(Buffer.of(byte))
    assert.deepEqual(bytewise.end(), whole)
  }
})

test('a vector does not keep the framing alive that came with it', () => {
  const read = Buffer.alloc(65_536)
  const piece = read.subarray(0, read.write(`{"data":[${JSON.stringify([0.5, 0.25])}`))
  const lifted = new LiftedBody()
  lifted.push(piece)
  lifted.push(Buffer.from(']}'))
  const [vector] = lifted.end()?.vectors ?? []
  assert.equal(vector?.bytes.toString(), '[0.5,0.25]')
  assert.notEqual(vector.bytes.buffer, read.buffer)
})

test('the place of a vector is no number that a reader would take for a count', () => {
  const lifted = parseLifted(
    bytesOf({ data: [{ embedding: [0.5] }, { embedding: [0.25] }], usage: { prompt_tokens: [20] } }),
  )
  assert.ok(lifted !== undefined)
  const usage: unknown = Object(lifted.json).usage
  assert.equal(countOf(Object(usage).prompt_tokens), null)
  assert.equal(vectorOf(lifted, 0), null)
  assert.deepEqual(vectorOf(lifted, Object(lifted.json).data[1].embedding)?.bytes.toString(), '[0.25]')
})

test('no part of a body is a body', () => {
  const body = bytesOf({
    data: [{ embedding: base64Of(Array.from({ length: 40 }, (_value, index) => index)) }, { embedding: [1, 2, 3] }],
    note: 'a "quoted" [1, 2] text',
  })
  for (let end = 0; end < body.length; end += 1)
    assert.equal(parseLifted(body.subarray(0, end)), undefined, String(end))
})

test('each form is made of the other without loss', () => {
  fc.assert(
    fc.property(fc.array(float32, { minLength: 1 }), (numbers) => {
      const asNumbers = { form: 'numbers' as const, bytes: bytesOf(numbers) }
      const asText = { form: 'base64' as const, bytes: bytesOf(base64Of(numbers)) }
      assert.deepEqual(textOf(asNumbers, 'base64'), asText.bytes)
      const back: unknown = JSON.parse(textOf(asText, 'float')?.toString() ?? '')
      assert.ok(Array.isArray(back))
      assert.deepEqual(back.map(Math.fround), JSON.parse(JSON.stringify(numbers)))
      assert.equal(textOf(asNumbers, 'float'), asNumbers.bytes, 'the bytes themselves')
      assert.equal(textOf(asText, 'base64'), asText.bytes)
    }),
  )
})

test('an escaped slash is a slash', () => {
  const text = base64Of([-1.5, 3e38, 7e-12, 123.456])
  const escaped = Buffer.from(`"${text.replaceAll('/', '\\/')}"`)
  assert.deepEqual(textOf({ form: 'base64', bytes: escaped }, 'base64'), bytesOf(text))
})

for (const [what, form, text] of [
  ['text that is no base64', 'base64', '"!!!!"'],
  ['bytes that are no whole number of floats', 'base64', '"AAAA"'],
  ['no bytes', 'base64', '""'],
  ['the alphabet of addresses', 'base64', '"-_-_-_-_-_-_-_-_"'],
  ['base64 with a blank in it', 'base64', '"AAAA AAAAAAAAAAA"'],
  ['a text among numbers', 'numbers', '[1, "2"]'],
  ['a number beyond every float', 'numbers', '[1e999]'],
  ['a list within the list', 'numbers', '[1, [2]]'],
  ['half a list', 'numbers', '[1, 2'],
] as const) {
  test(`no vector: ${what}`, async () => {
    for (const format of ['float', 'base64'] as const) {
      assert.equal(textOf({ form, bytes: Buffer.from(text) }, format), null)
      assert.equal(await vectorTexts([{ form, bytes: Buffer.from(text) }], format), null)
    }
  })
}

test('infinity in base64 is no number for JSON', () => {
  assert.equal(textOf({ form: 'base64', bytes: bytesOf(base64Of([Infinity])) }, 'float'), null)
})

test('long lists let others have their turn', async () => {
  const bytes = bytesOf(Array.from({ length: 1_536 }, (_value, index) => index / 7))
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 1)
  const texts = await vectorTexts(
    Array.from({ length: 400 }, () => ({ form: 'numbers' as const, bytes })),
    'base64',
  )
  clearInterval(timer)
  assert.equal(texts?.length, 400)
  assert.ok(turns > 5, String(turns))
})
