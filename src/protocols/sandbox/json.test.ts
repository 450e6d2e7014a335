import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instanceOf } from './answer.ts'

const is = (schema: unknown, expected: unknown): void => assert.deepEqual(instanceOf(schema, 'said'), expected)

test('every type, and a required property of each object', () => {
  is({ type: 'string' }, 'said')
  is({ type: 'string', format: 'date' }, '2026-01-02')
  is({ type: 'string', format: 'toString' }, 'said')
  is({ type: 'integer', minimum: 5 }, 5)
  is({ type: 'boolean' }, true)
  is({ type: ['null', 'integer'] }, 1)
  is({ enum: ['b', 'c'] }, 'b')
  is({ const: 7 }, 7)
  is({ type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1])
  is({ type: 'object', properties: { a: { type: 'null' }, b: {} }, required: ['a', 'c'] }, { a: null, c: 'said' })
  is({ anyOf: [{ type: 'null' }, { properties: { a: { const: 1 } }, required: ['a'] }] }, { a: 1 })
  is({ $ref: '#/$defs/n', $defs: { n: { type: 'number' } } }, 1)
  const named = instanceOf(JSON.parse('{"type":"object","properties":{},"required":["__proto__"]}'), 'said')
  assert.equal(JSON.stringify(named), '{"__proto__":"said"}')
})

test('a schema that refers to itself, or branches at each level, ends soon', () => {
  const endless = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }
  is(endless, 'said')
  const list = { type: 'array', items: { $ref: '#' }, minItems: 1_000_000 }
  const wide = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }
  for (const schema of [list, wide]) assert.ok(JSON.stringify(instanceOf(schema, 'said')).length < 200_000)
})
