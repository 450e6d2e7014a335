import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeSeal } from './node-seal.ts'

const KEY = Buffer.alloc(32, 1)
const NEXT = Buffer.alloc(32, 2)

test('a text opens for what it was sealed for, with one of the keys, and unchanged', () => {
  const seal = new NodeSeal([KEY])
  const plain = Buffer.from('said')
  const sealed = seal.seal(plain, 'stream 1 0')
  assert.deepEqual(seal.open(sealed, 'stream 1 0'), plain)
  assert.equal(seal.open(sealed, 'stream 1 4'), null)
  assert.equal(new NodeSeal([NEXT]).open(sealed, 'stream 1 0'), null)
  assert.deepEqual(new NodeSeal([NEXT, KEY]).open(sealed, 'stream 1 0'), plain, 'while keys are rotated')
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    assert.equal(seal.open(changed, 'stream 1 0'), null, `byte ${index}`)
  }
  for (let length = 0; length < sealed.length; length += 1)
    assert.equal(seal.open(sealed.subarray(0, length), 'stream 1 0'), null)
})

test('the same text is never sealed twice alike, and names tell nothing but are found by all keys', () => {
  const seal = new NodeSeal([KEY])
  const plain = Buffer.from('said')
  assert.notDeepEqual(seal.seal(plain, 'a'), seal.seal(plain, 'a'))
  const [name] = seal.names('request acc_1 mine')
  assert.match(name, /^[\w-]{43}$/)
  assert.ok(new NodeSeal([NEXT, KEY]).names('request acc_1 mine').includes(name))
  assert.notEqual(seal.names('request acc_1 other')[0], name)
})
