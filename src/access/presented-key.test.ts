import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { DIFFERENT_KEYS, presentedKey } from './presented-key.ts'

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
