import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { randomIds } from '../base/ids.ts'
import {
  DIFFERENT_KEYS,
  digestBytes,
  digestOf,
  digestText,
  generateKey,
  isWellFormed,
  labelOf,
  presentedKey,
} from './api-key.ts'

test('a key is prefix, 32 random letters and its CRC32 in base62', () => {
  // Both checksums come from Python's zlib, so that the test does not check this code against itself.
  assert.equal(generateKey({ letters: (length) => '0'.repeat(length) }), 'sk-tg-0000000000000000000000000000000023Xxen')
  assert.ok(isWellFormed('sk-tg-abcdefghijklmnopqrstuvwxyzABCDEF3G25F9'))
  const ids = randomIds()
  for (let count = 0; count < 1_000; count += 1) assert.ok(isWellFormed(generateKey(ids)))
})

test('any one changed letter is found without a look-up', () => {
  const key = generateKey(randomIds())
  for (let index = 0; index < key.length; index += 1) {
    const changed = key.slice(0, index) + (key[index] === 'x' ? 'y' : 'x') + key.slice(index + 1)
    assert.equal(isWellFormed(changed), false, changed)
  }
  for (const other of ['', 'sk-tg-', `${key}x`, key.slice(1), `${key}\n`, 'a'.repeat(10_000)])
    assert.equal(isWellFormed(other), false)
})

test('the digest is SHA-256 in both forms, and a label shows twelve letters', () => {
  assert.equal(digestOf('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  assert.deepEqual(digestBytes(digestText('abc')), digestOf('abc'))
  assert.equal(labelOf('sk-tg-au7XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX890'), 'sk-tg-au7…890')
})

test('letters of random keys are equally likely (chi-square)', () => {
  const counts = new Map<string, number>()
  const ids = randomIds()
  const keys = 5_000
  for (let count = 0; count < keys; count += 1)
    for (const letter of generateKey(ids).slice(6, 38)) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  const expected = (keys * 32) / 62
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  // 61 degrees of freedom: a value of 130 is rarer than one in a million.
  assert.equal(counts.size, 62)
  assert.ok(chiSquare < 130, String(chiSquare))
})

function keyOf(headers: Record<string, string>, url = '/v1/messages'): ReturnType<typeof presentedKey> {
  // Only these fields of a request are read.
  return presentedKey({ headers, url } as unknown as IncomingMessage)
}

test('each protocol has its header for the key, and one is as good as another', () => {
  assert.equal(keyOf({ authorization: 'Bearer one' }), 'one')
  assert.equal(keyOf({ 'x-api-key': ' one ' }), 'one')
  assert.equal(keyOf({ 'x-goog-api-key': 'one' }), 'one')
  assert.equal(keyOf({ authorization: 'Bearer one', 'x-api-key': 'one', 'x-goog-api-key': 'one' }), 'one')
  assert.equal(keyOf({ authorization: 'Basic x', 'x-api-key': 'one' }), 'one')
  assert.equal(keyOf({ authorization: 'Basic x' }), null)
  assert.equal(keyOf({ 'x-api-key': '' }), null)
})

test('two keys that differ are none', () => {
  assert.equal(keyOf({ authorization: 'Bearer one', 'x-api-key': 'two' }), DIFFERENT_KEYS)
  assert.equal(keyOf({ 'x-goog-api-key': 'one', 'x-api-key': 'two' }), DIFFERENT_KEYS)
  assert.equal(keyOf({ 'x-goog-api-key': 'one' }, '/v1beta/models?key=two'), DIFFERENT_KEYS)
})

test('a key in the query counts under /v1beta alone', () => {
  assert.equal(keyOf({}, '/v1beta/models?key=one&alt=sse'), 'one')
  assert.equal(keyOf({}, '/v1beta/models?key='), null)
  assert.equal(keyOf({}, '/v1/models?key=one'), null)
  assert.equal(keyOf({}, '/v1alpha/models?key=one'), null)
})
