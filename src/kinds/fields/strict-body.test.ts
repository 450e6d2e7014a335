import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { microFromRubles, microOf, rubles } from '../../base/money.ts'
import { body, filled, flag, list, nullable, oneOf, optional, rub, text, time, whole } from '../../base/schema.ts'
import { readBody } from './strict-body.ts'
import { refusal } from '../../../test/harness/refused.ts'

function refused(read: () => unknown): string {
  const { errorName, message } = refusal(read)
  assert.equal(errorName, 'invalid_input')
  return message
}

const LIMIT = body({ requests: whole('', { minimum: 1, maximum: 10 }), window: whole('', { minimum: 1, maximum: 10 }) })
const ACCOUNT = body({
  name: optional(nullable(filled())),
  email: optional(nullable(filled())),
  limit: optional(nullable(rub())),
  expires_at: optional(nullable(time())),
  allowed_models: optional(nullable(list(text('', { minLength: 1 })))),
  status: optional(nullable(oneOf(['a']))),
  rate_limit: optional(nullable(LIMIT)),
})

test('unknown fields are refused by name, with those that are known', () => {
  assert.equal(
    refused(() => readBody(body({ name: filled() }), { name: 'x', role: 'admin', balance: 1 })),
    'Unknown fields: role, balance. Known: name',
  )
})

test('a wrong field is refused before an unknown one', () => {
  assert.match(
    refused(() => readBody(ACCOUNT, { other: 1, name: '' })),
    /^name: /,
  )
})

test('a nested object is named by its path', () => {
  assert.deepEqual(readBody(ACCOUNT, { rate_limit: { requests: 1, window: 2 } }), {
    rate_limit: { requests: 1, window: 2 },
  })
  assert.match(
    refused(() => readBody(ACCOUNT, { rate_limit: { requests: 1, window: 1, burst: 2 } })),
    /^Unknown field: rate_limit\.burst\./,
  )
  assert.match(
    refused(() => readBody(ACCOUNT, { rate_limit: { requests: 1 } })),
    /^rate_limit\.window: /,
  )
  assert.match(
    refused(() => readBody(ACCOUNT, { rate_limit: [1] })),
    /rate_limit/,
  )
})

test('absent and null stay apart, so that null can take a setting away', () => {
  assert.deepEqual(readBody(ACCOUNT, { email: null }), { email: null })
  assert.deepEqual(readBody(ACCOUNT, undefined), {})
})

test('inherited names are not fields of a body', () => {
  assert.deepEqual(readBody(body({ constructor: optional(filled()), name: optional(filled()) }), {}), {})
  assert.match(
    refused(() => readBody(ACCOUNT, JSON.parse('{"__proto__": {"name": "evil"}}'))),
    /__proto__/,
  )
})

test('a field that the route judges may be absent, null or out of bounds, but has its type', () => {
  const CODE = body({ amount: rub('', { exclusiveMinimum: 0 }) })
  assert.deepEqual(readBody(CODE, {}, ['amount']), {})
  assert.deepEqual(readBody(CODE, { amount: null }, ['amount']), { amount: null })
  assert.deepEqual(readBody(CODE, { amount: -1 }, ['amount']), { amount: -1 })
  assert.match(
    refused(() => readBody(CODE, { amount: '1' }, ['amount'])),
    /^amount: must be an amount in RUB/,
  )
  for (const given of [{}, { amount: null }, { amount: 0 }])
    assert.match(
      refused(() => readBody(CODE, given)),
      /^amount: /,
    )
})

const GIVEN = { v: '  ', n: 1, f: 1.5, s: '5', tiny: 0.0000001, huge: 1e15, list: ['a', 1] }
for (const [what, field, message] of [
  ['a text of nothing but spaces', { v: filled() }, 'v: must be a text of 1 to 500 characters'],
  ['a number for a text', { n: filled() }, 'n: must be a text of 1 to 500 characters'],
  ['a missing required text', { missing: filled() }, 'missing: is required'],
  ['a choice that is not offered', { v: oneOf(['a', 'b']) }, 'v: must be one of a, b'],
  ['a number for a flag', { n: flag() }, 'n: must be true or false'],
  [
    'a fraction for a whole number',
    { f: whole('', { minimum: 0, maximum: 10 }) },
    'f: must be a whole number from 0 to 10',
  ],
  [
    'a whole number out of range',
    { n: whole('', { minimum: 2, maximum: 10 }) },
    'n: must be a whole number from 2 to 10',
  ],
  [
    'a text for an amount',
    { s: rub() },
    's: must be an amount in RUB, a number with at most 6 decimals and below 9000000000',
  ],
  [
    'seven decimals',
    { tiny: rub() },
    'tiny: must be an amount in RUB, a number with at most 6 decimals and below 9000000000',
  ],
  [
    'an amount beyond the largest',
    { huge: rub() },
    'huge: must be an amount in RUB, a number with at most 6 decimals and below 9000000000',
  ],
  ['a text that is no time', { v: time() }, 'v: must be an ISO time such as 2026-12-01T00:00:00Z'],
  ['a list with a number in it', { list: list(text()) }, 'list: must be a list of texts'],
] as const) {
  test(`refuses ${what} and names the field`, () => {
    assert.equal(
      refused(() => readBody(body(field), GIVEN)),
      message,
    )
  })
}

test('property: an amount with at most six decimals is read exactly', () => {
  const AMOUNT = body({ amount: rub() })
  fc.assert(
    fc.property(fc.bigInt({ min: -999_999_999_999_999n, max: 999_999_999_999_999n }), (micro) => {
      const { amount } = readBody(AMOUNT, JSON.parse(`{"amount":${JSON.stringify(rubles(micro))}}`))
      assert.equal(microOf(amount), micro)
      assert.equal(microFromRubles(rubles(micro)), micro)
    }),
  )
})
