import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../base/errors.ts'
import { JsonScan } from '../base/json-scan.ts'
import { cpuMs } from '../../test/harness/patience.ts'
import { parseJsonObject } from './body.ts'

const TINY = { depth: 4, containers: 6, keys: 5, commas: 5, words: 9_999, escapes: null }

/** The reference: the same counts from the parsed value. */
function shape(value: unknown, depth = 1): { depth: number; containers: number; keys: number; commas: number } {
  if (typeof value !== 'object' || value === null) return { depth: depth - 1, containers: 0, keys: 0, commas: 0 }
  const children = Array.isArray(value) ? value : Object.values(value)
  const total = {
    depth,
    containers: 1,
    keys: Array.isArray(value) ? 0 : children.length,
    commas: Math.max(0, children.length - 1),
  }
  for (const child of children) {
    const inner = shape(child, depth + 1)
    total.depth = Math.max(total.depth, inner.depth)
    total.containers += inner.containers
    total.keys += inner.keys
    total.commas += inner.commas
  }
  return total
}

function refusal(body: string | Buffer): string {
  try {
    parseJsonObject(Buffer.from(body))
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.errorName === 'invalid_json') return thrown.message
    throw thrown
  }
  return 'accepted'
}

test('the scan agrees with the parsed value whatever the chunks, and quotes and brackets in strings count for nothing', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', 'a', 'я', '\n'), maxLength: 200 })
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      text,
      fc.integer(),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(text, tie('tree'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 90 }), (value, size) => {
      const body = Buffer.from(JSON.stringify(value))
      const scan = new JsonScan(TINY)
      let refused = false
      for (let at = 0; at < body.length; at += size) refused ||= scan.push(body.subarray(at, at + size)) !== null
      const counts = shape(value)
      const expected =
        counts.depth > TINY.depth ||
        counts.containers > TINY.containers ||
        counts.keys > TINY.keys ||
        counts.commas > TINY.commas
      assert.equal(refused, expected)
    }),
    { numRuns: 500 },
  )
})

test('F48: bombs are refused at once, and 10 MB of escaped quotes cannot attack the scanner', () => {
  const bombs: [string, RegExp][] = [
    ['['.repeat(5_000_000), /deeper than 64/],
    [`[${'{},'.repeat(3_400_000)}{}]`, /more than 100000 objects/],
    [`{${Array.from({ length: 40_000 }, (_, key) => `"k${key}":1`).join(',')}}`, /more than 30000 keys/],
    [`[${'1,'.repeat(800_000)}1]`, /more than 700000 commas/],
  ]
  for (const [bomb, sentence] of bombs) assert.match(new JsonScan().push(Buffer.from(bomb)) ?? '', sentence)
  const quotes = Buffer.from(`{"a":"${'\\"'.repeat(5_000_000)}"}`)
  assert.ok(cpuMs(() => assert.equal(new JsonScan().push(quotes), null), 400) < 400)
})

test('F49: a body that is not UTF-8 JSON of one object is refused with one sentence', () => {
  const cases: [string | Buffer, RegExp][] = [
    ['', /body is empty/],
    ['\ufeff{}', /byte order mark/],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /not valid UTF-8/],
    [Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8/],
    ['{"a":"\\ud83d"}', /unpaired surrogate/],
    ['{"a":"\\uDE00\\ud83d"}', /unpaired surrogate/],
    ['{"a":"\\ud83dx\\ude00"}', /unpaired surrogate/],
    ['{"a":"\u0000"}', /at position/],
    ['[]', /top level must be an object/],
    ['null', /top level must be an object/],
    ['"text"', /top level must be an object/],
    ['{"a":1', /not valid JSON: /],
    ['{', /not valid JSON: /],
    ['{"secret prompt": oops}', /unexpected 'o'/],
  ]
  for (const [body, sentence] of cases) assert.match(refusal(body), sentence)
  assert.ok(!refusal('{"secret prompt": oops}').includes('secret'))
})

test('paired surrogate escapes, escaped backslashes before "ud" and odd keys are fine', () => {
  for (const body of [
    '{"a":"\\ud83d\\ude00"}',
    '{"a":"\\\\ud83d"}',
    '{"a":"\\\\\\ud83d\\ude00\\n"}',
    '{"__proto__":{"admin":true}}',
  ])
    assert.equal(refusal(body), 'accepted', body)
  assert.equal(({} as { admin?: boolean }).admin, undefined)
  assert.deepEqual(parseJsonObject(Buffer.from('{"a":1,"a":2}')), { a: 2 })
})

test('a body is refused for a surrogate exactly if one of its texts is not well formed', () => {
  const pieces = [
    '\\',
    '\\\\',
    '\\u',
    '\\ud83d',
    '\\uDE00',
    '\\udc',
    'ud800',
    'd83d',
    '\\n',
    '\\"',
    '"',
    'x',
    '\\u0041',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
      const body = `{"a":"${parts.join('')}"}`
      const text = parsedText(body)
      if (text === null) return
      assert.equal(refusal(body) === 'accepted', text.isWellFormed(), body)
    }),
    { numRuns: 20_000 },
  )
})

/** The text `a` of a body with only this field; null = not such JSON. */
function parsedText(body: string): string | null {
  try {
    return (JSON.parse(body) as { readonly a: string }).a
  } catch {
    return null
  }
}
