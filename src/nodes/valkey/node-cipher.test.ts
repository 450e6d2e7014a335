import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeCipher } from './node-cipher.ts'

const KEY = Buffer.alloc(32, 1)
const NEXT = Buffer.alloc(32, 2)

test('a text opens for what it was encrypted for, with one of the keys, and unchanged', () => {
  const cipher = new NodeCipher([KEY])
  const plain = Buffer.from('said')
  const encrypted = cipher.encrypt(plain, 'stream 1 0')
  assert.deepEqual(cipher.decrypt(encrypted, 'stream 1 0'), plain)
  assert.equal(cipher.decrypt(encrypted, 'stream 1 4'), null)
  assert.equal(new NodeCipher([NEXT]).decrypt(encrypted, 'stream 1 0'), null)
  assert.deepEqual(new NodeCipher([NEXT, KEY]).decrypt(encrypted, 'stream 1 0'), plain, 'while keys are rotated')
  for (let index = 0; index < encrypted.length; index += 1) {
    const changed = Buffer.from(encrypted)
    changed[index] = (changed[index] ?? 0) ^ 1
    assert.equal(cipher.decrypt(changed, 'stream 1 0'), null, `byte ${index}`)
  }
  for (let length = 0; length < encrypted.length; length += 1)
    assert.equal(cipher.decrypt(encrypted.subarray(0, length), 'stream 1 0'), null)
})

test('the same text is never encrypted twice alike, and names tell nothing but are found by all keys', () => {
  const cipher = new NodeCipher([KEY])
  const plain = Buffer.from('said')
  assert.notDeepEqual(cipher.encrypt(plain, 'a'), cipher.encrypt(plain, 'a'))
  const [name] = cipher.names('request acc_1 mine')
  assert.match(name, /^[\w-]{43}$/)
  assert.ok(new NodeCipher([NEXT, KEY]).names('request acc_1 mine').includes(name))
  assert.notEqual(cipher.names('request acc_1 other')[0], name)
})
