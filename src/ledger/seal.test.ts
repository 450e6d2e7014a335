import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyWrap, newWrappingKey, parseWrappingKeys } from './seal.ts'

const secret = Buffer.from('sk-provider-credential')

test('what was sealed opens for its purpose only, and shows nothing of itself', () => {
  const wrap = new KeyWrap([newWrappingKey()])
  const sealed = wrap.seal(secret, 'provider:openai')
  assert.deepEqual(wrap.open(sealed, 'provider:openai'), secret)
  assert.throws(() => wrap.open(sealed, 'provider:anthropic'))
  assert.equal(sealed.includes(secret), false)
  assert.notDeepEqual(wrap.seal(secret, 'provider:openai'), sealed)
})

test('a changed or cut byte anywhere is refused', () => {
  const wrap = new KeyWrap([newWrappingKey()])
  const sealed = wrap.seal(secret, 'p')
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8((changed.readUInt8(index) + 1) % 256, index)
    assert.throws(() => wrap.open(changed, 'p'), `byte ${index}`)
    assert.throws(() => wrap.open(sealed.subarray(0, index), 'p'), `cut at ${index}`)
  }
})

test('rotation: the first key seals, every listed key opens, an absent one is named as the cause', () => {
  const [old, next] = [newWrappingKey(), newWrappingKey()]
  const sealed = new KeyWrap([old]).seal(secret, 'p')
  const both = new KeyWrap([next, old])
  assert.deepEqual(both.open(sealed, 'p'), secret)
  assert.deepEqual(new KeyWrap([next]).open(both.seal(secret, 'p'), 'p'), secret)
  assert.throws(() => new KeyWrap([next]).open(sealed, 'p'), /TOLLGATE_KEK/)
})

test('keys are a comma list of base64 of 32 bytes; anything else is no list', () => {
  const [first, second] = [newWrappingKey(), newWrappingKey()]
  assert.deepEqual(parseWrappingKeys(`${first.toString('base64')}, ${second.toString('base64')}`), [first, second])
  for (const bad of ['', ',', 'AAAA', `${first.toString('base64')},`, first.toString('base64').slice(4)])
    assert.equal(parseWrappingKeys(bad), null, bad)
})
