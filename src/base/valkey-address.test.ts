import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valkeyAddress } from './valkey-address.ts'

test('one server, whichever the scheme, with the default port and percent-encoded words', () => {
  const one = { cluster: false, nodes: [{ host: 'cache', port: 6_379 }], tls: false, username: null, password: null }
  assert.deepEqual(valkeyAddress('redis://cache'), one)
  assert.deepEqual(valkeyAddress('valkeys://:p%40ss@cache:7000/2'), {
    ...one,
    nodes: [{ host: 'cache', port: 7_000 }],
    tls: true,
    password: 'p@ss',
  })
})

test('a cluster names one node or more, with the same user', () => {
  assert.deepEqual(valkeyAddress('rediss+cluster://u:p@a:1,[::1]:2,c'), {
    cluster: true,
    nodes: [
      { host: 'a', port: 1 },
      { host: '::1', port: 2 },
      { host: 'c', port: 6_379 },
    ],
    tls: true,
    username: 'u',
    password: 'p',
  })
})

for (const url of [
  'http://cache',
  'redis://a,b',
  'redis+cluster://',
  'redis+cluster://a,,b',
  'redis+cluster://a:1/3',
  'redis+cluster://a:99999',
  'cache:6379',
])
  test(`${url} is no address of Valkey`, () => assert.equal(valkeyAddress(url), null))
