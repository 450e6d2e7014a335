import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createClientIp, ipKey, proxyList } from './client-ip.ts'

function ip(proxies: string[], peer: string, forwarded?: string): string {
  // Only what the function reads of a request.
  const request = { socket: { remoteAddress: peer }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage
  return createClientIp(proxies)(request)
}

test('X-Forwarded-For counts only from configured proxies, walked from the right past trusted hops', () => {
  const table: [string[], string, string | undefined, string][] = [
    [[], '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    [['10.0.0.0/8'], '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    [['10.0.0.0/8'], '10.0.0.1', undefined, '10.0.0.1'],
    [['10.0.0.0/8'], '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    [['10.0.0.0/8'], '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    [['10.0.0.0/8'], '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9', '1.2.3.4'],
    [['10.0.0.0/8'], '::ffff:10.0.0.1', '::ffff:1.2.3.4', '1.2.3.4'],
    [['10.0.0.0/8'], '::ffff:a00:1', '1.2.3.4:5678', '1.2.3.4'],
    [['10.0.0.0/8'], '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
    [['10.0.0.0/8'], '10.0.0.1', '1.2.3.4, nonsense', '10.0.0.1'],
    [['10.0.0.0/8'], '10.0.0.1', '', '10.0.0.1'],
    [['2001:db8::/32', '127.0.0.1'], '127.0.0.1', '9.9.9.9, 2001:DB8::5', '9.9.9.9'],
    [['10.0.0.0/8'], '10.0.0.1', Array.from({ length: 40 }, (_, hop) => `10.0.1.${hop}`).join(','), '10.0.1.20'],
  ]
  for (const [proxies, peer, forwarded, expected] of table) assert.equal(ip(proxies, peer, forwarded), expected, `${proxies} ${peer} ${forwarded}`)
})

test('limits count an IPv4 address or an IPv6 /64', () => {
  assert.equal(ipKey('1.2.3.4'), '1.2.3.4')
  assert.equal(ipKey('2001:db8:0:1::5'), ipKey('2001:DB8:0000:1:ffff:ffff:ffff:ffff'))
  assert.notEqual(ipKey('2001:db8:0:1::5'), ipKey('2001:db8:0:2::5'))
  assert.equal(ipKey('::1'), ipKey('::2'))
  assert.equal(ipKey('2001:db8::'), '2001:db8:0:0::/64')
  assert.equal(ipKey('64:ff9b::1.2.3.4'), '64:ff9b:0:0::/64')
})

test('a malformed proxy range stops the start with one sentence', () => {
  for (const entry of ['10.0.0.0/33', '10.0.0/8', 'proxy', '10.0.0.0/8/8', '::/129', '1.2.3.4/']) assert.throws(() => proxyList([entry]), /TRUSTED_PROXIES: '/, entry)
})
