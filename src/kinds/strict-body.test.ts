import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import { microFromRubles, rubles } from '../money.ts'
import { BodyFields } from './strict-body.ts'

function refusal(read: () => unknown): string {
  try {
    read()
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError)
    assert.equal(thrown.errorName, 'invalid_input')
    return thrown.message
  }
  assert.fail('nothing was refused')
}

test('unknown fields are refused by name, with those that are known', () => {
  const fields = new BodyFields({ name: 'x', role: 'admin', balance: 1 })
  fields.text('name')
  assert.equal(
    refusal(() => fields.done()),
    'Unknown fields: role, balance. Known: name',
  )
})

test('a nested object is named by its path', () => {
  const fields = new BodyFields({ rate_limit: { requests: 1, burst: 2 } })
  const inner = fields.object('rate_limit')
  assert.ok(inner instanceof BodyFields)
  assert.equal(inner.whole('requests', 1, 10), 1)
  assert.match(
    refusal(() => inner.done()),
    /^Unknown field: rate_limit\.burst\./,
  )
  assert.match(
    refusal(() => inner.whole('window', 1, 10)),
    /^rate_limit\.window: /,
  )
  assert.match(
    refusal(() => new BodyFields({ rate_limit: [1] }).object('rate_limit')),
    /rate_limit/,
  )
})

test('absent and null stay apart, so that null can take a setting away', () => {
  const fields = new BodyFields({ email: null })
  assert.deepEqual([fields.text('email'), fields.text('name')], [null, undefined])
  assert.deepEqual(
    [fields.amount('limit'), fields.time('expires_at'), fields.texts('allowed_models'), fields.oneOf('status', ['a'])],
    [undefined, undefined, undefined, undefined],
  )
})

test('inherited names are not fields of a body', () => {
  const fields = new BodyFields(JSON.parse('{"__proto__": {"name": "evil"}}'))
  assert.equal(fields.text('constructor'), undefined)
  assert.equal(fields.text('name'), undefined)
  assert.match(
    refusal(() => fields.done()),
    /__proto__/,
  )
})

for (const [what, read] of [
  ['a text of nothing but spaces', (fields: BodyFields) => fields.text('v')],
  ['a number for a text', (fields: BodyFields) => fields.requiredText('n')],
  ['a missing required text', (fields: BodyFields) => fields.requiredText('missing')],
  ['a choice that is not offered', (fields: BodyFields) => fields.oneOf('v', ['a', 'b'])],
  ['a number for a flag', (fields: BodyFields) => fields.flag('n')],
  ['a fraction for a whole number', (fields: BodyFields) => fields.whole('f', 0, 10)],
  ['a whole number out of range', (fields: BodyFields) => fields.whole('n', 2, 10)],
  ['a text for an amount', (fields: BodyFields) => fields.amount('s')],
  ['seven decimals', (fields: BodyFields) => fields.amount('tiny')],
  ['an amount beyond the largest', (fields: BodyFields) => fields.amount('huge')],
  ['a text that is no time', (fields: BodyFields) => fields.time('v')],
  ['a list with a number in it', (fields: BodyFields) => fields.texts('list')],
] as const) {
  test(`refuses ${what} and names the field`, () => {
    const message = refusal(() =>
      read(new BodyFields({ v: '  ', n: 1, f: 1.5, s: '5', tiny: 0.0000001, huge: 1e15, list: ['a', 1] })),
    )
    assert.match(message, /^(v|n|f|s|tiny|huge|list|missing): /)
  })
}

test('property: an amount with at most six decimals is read exactly', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -999_999_999_999_999n, max: 999_999_999_999_999n }), (micro) => {
      assert.equal(new BodyFields(JSON.parse(`{"amount":${JSON.stringify(rubles(micro))}}`)).amount('amount'), micro)
      assert.equal(microFromRubles(rubles(micro)), micro)
    }),
  )
})
