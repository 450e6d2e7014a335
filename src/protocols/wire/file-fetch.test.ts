import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileFetch, FileFetchError } from './file-fetch.ts'
import { startScriptedUpstream } from '../../../test/harness/scripted-upstream.ts'
import { lasting } from '../../../test/harness/lasting.ts'

const files = await lasting(new FileFetch())

const own = await startScriptedUpstream({ forgets: true })
const other = await startScriptedUpstream({ forgets: true })
other.answer((response) => response.writeHead(200).end('private'))

function get(address: string, wish: Partial<Parameters<FileFetch['get']>[1]> = {}): Promise<Buffer> {
  return files.get(address, { ownHost: new URL(own.url).host, bytesMax: 1_000, timeoutMs: 5_000, ...wish })
}

function refused(address: string, wish: Partial<Parameters<FileFetch['get']>[1]> = {}): Promise<void> {
  return assert.rejects(get(address, wish), FileFetchError, address)
}

test('a file of the provider’s host comes whole, through a few redirects, without headers for others', async () => {
  own.answer((response, request) => {
    const step = Number(request.path.slice(1))
    if (step > 0) response.writeHead(302, { location: `/${step - 1}` }).end()
    else response.writeHead(200).end('bytes')
  })
  assert.equal((await get(`${own.url}/3`, { headers: { authorization: 'Bearer k' } })).toString(), 'bytes')
  assert.deepEqual(
    own.received.map(({ headers }) => headers['authorization']),
    ['Bearer k', undefined, undefined, undefined],
  )
  await refused(`${own.url}/4`)
})

test('limits: bytes, time, status, encoding, an aborted caller', async () => {
  own.answer((response, request) => {
    if (request.path === '/large') response.writeHead(200).end(Buffer.alloc(1_001))
    else if (request.path === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    else if (request.path === '/404') response.writeHead(404).end('x')
    else if (request.path === '/cut') {
      response.writeHead(200, { 'content-length': '100' }).write('x')
      setImmediate(() => response.destroy())
    }
  })
  for (const path of ['/large', '/gzip', '/404', '/cut']) await refused(own.url + path)
  await refused(`${own.url}/never`, { timeoutMs: 50 })
  const stop = new AbortController()
  const leaving = refused(`${own.url}/never`, { signal: stop.signal })
  stop.abort()
  await leaving
})

test('every other address must be public, where it is named and where a redirect leads', async () => {
  own.answer((response) => response.writeHead(307, { location: `${other.url}/x` }).end())
  const port = new URL(other.url).port
  const hosts = [
    '127.0.0.1',
    'localhost',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '１２７.0.0.1',
    '0.0.0.0',
    '[::]',
  ]
  for (const host of hosts)
    for (const place of [`${host}:${port}`, host, `${host}:443`]) await refused(`http://${place}/x`)
  await refused(`${own.url}/redirected`)
  // Without an own host, every private address is refused.
  await refused(`${own.url}/x`, { ownHost: null })
  for (const address of [
    'nonsense',
    'file:///etc/passwd',
    'ftp://example.com/x',
    'data:text/plain,x',
    'http://user@example.com/',
    'https://:pw@example.com/',
    'https://example.com:8443/',
  ])
    await refused(address)
  assert.equal(other.received.length, 0)
})
