import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyWrap, newWrappingKey, parseWrappingKeys } from './key-wrap.ts'

const secret = Buffer.from('sk-provider-credential')

test('what was encrypted opens for its purpose only, and shows nothing of itself', () => {
  const wrap = new KeyWrap([newWrappingKey()])
  const encrypted = wrap.encrypt(secret, 'provider:openai')
  assert.deepEqual(wrap.decrypt(encrypted, 'provider:openai'), secret)
  assert.throws(() => wrap.decrypt(encrypted, 'provider:anthropic'))
  assert.equal(encrypted.includes(secret), false)
  assert.notDeepEqual(wrap.encrypt(secret, 'provider:openai'), encrypted)
})

test('a changed or cut byte anywhere is refused', () => {
  const wrap = new KeyWrap([newWrappingKey()])
  const encrypted = wrap.encrypt(secret, 'p')
  for (let index = 0; index < encrypted.length; index += 1) {
    const changed = Buffer.from(encrypted)
    changed.writeUInt8((changed.readUInt8(index) + 1) % 256, index)
    assert.throws(() => wrap.decrypt(changed, 'p'), `byte ${index}`)
    assert.throws(() => wrap.decrypt(encrypted.subarray(0, index), 'p'), `cut at ${index}`)
  }
})

test('rotation: the first key encrypts, every listed key opens, an absent one is named as the cause', () => {
  const [old, next] = [newWrappingKey(), newWrappingKey()]
  const encrypted = new KeyWrap([old]).encrypt(secret, 'p')
  const both = new KeyWrap([next, old])
  assert.deepEqual(both.decrypt(encrypted, 'p'), secret)
  assert.deepEqual(new KeyWrap([next]).decrypt(both.encrypt(secret, 'p'), 'p'), secret)
  assert.throws(() => new KeyWrap([next]).decrypt(encrypted, 'p'), /TOLLGATE_KEK/)
})

test('keys are a comma list of base64 of 32 bytes; anything else is no list', () => {
  const [first, second] = [newWrappingKey(), newWrappingKey()]
  assert.deepEqual(parseWrappingKeys(`${first.toString('base64')}, ${second.toString('base64')}`), [first, second])
  for (const bad of ['', ',', 'AAAA', `${first.toString('base64')},`, first.toString('base64').slice(4)])
    assert.equal(parseWrappingKeys(bad), null, bad)
})
