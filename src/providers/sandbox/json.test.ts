import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instanceOf } from './json.ts'

const is = (schema: unknown, expected: unknown): void => assert.deepEqual(instanceOf(schema, 'said'), expected)

test('every type, with its bounds', () => {
  is({ type: 'string' }, 'said')
  is({ type: 'string', minLength: 6 }, 'said..')
  is({ type: 'string', maxLength: 2 }, 'sa')
  is({ type: 'string', format: 'date' }, '2026-01-02')
  is({ type: 'integer', minimum: 5 }, 5)
  is({ type: 'integer', exclusiveMinimum: 5, multipleOf: 4 }, 8)
  is({ type: 'integer', maximum: -3 }, -3)
  is({ type: 'number', minimum: 0.5, maximum: 0.75 }, 0.5)
  is({ type: 'boolean' }, true)
  is({ type: ['null', 'integer'] }, 1)
  is({ type: 'null' }, null)
  is({ enum: ['b', 'c'] }, 'b')
  is({ const: 7 }, 7)
  is({ type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1])
  is({ type: 'array', items: { enum: ['x', 'y', 'z'] }, minItems: 3, uniqueItems: true }, ['x', 'y', 'z'])
  is({ type: 'array', maxItems: 0, items: {} }, [])
})

test('a format with the name of an inherited property is an unknown one', () => {
  for (const format of ['toString', 'constructor', '__proto__']) is({ type: 'string', format }, 'said')
})

test('objects: all properties, those that are only required, and what alternatives and parts say', () => {
  is(
    { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['a', 'c'] },
    { a: 'said', b: 1, c: 'said' },
  )
  is({ anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { const: 1 } } }] }, { a: 1 })
  is(
    { allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } }, required: ['b'] }] },
    { a: 1, b: 2 },
  )
  is(
    { $ref: '#/$defs/city', $defs: { city: { type: 'object', properties: { name: { type: 'string' } } } } },
    { name: 'said' },
  )
  const named = instanceOf(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"integer"}}}'), 'said')
  assert.equal(JSON.stringify(named), '{"__proto__":1}')
})

test('a schema that refers to itself, or branches at each level, ends soon', () => {
  const tree = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          next: { $ref: '#/$defs/node' },
          maybe: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          list: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
        required: ['name'],
      },
    },
  }
  const text = JSON.stringify(instanceOf(tree, 'said'))
  assert.ok(text.length < 200_000, `${text.length} characters`)
  const endless = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }
  assert.doesNotThrow(() => instanceOf(endless, 'said'))
  const forced = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
  }
  assert.doesNotThrow(() => JSON.stringify(instanceOf(forced, 'said')))
  const wide = {
    $ref: '#/$defs/a',
    $defs: {
      a: { type: 'object', properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/a' } }, required: ['a', 'b'] },
    },
  }
  assert.ok(JSON.stringify(instanceOf(wide, 'said')).length < 1_000_000)
})
