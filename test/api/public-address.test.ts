import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'

/** Links to stored files have the scheme that the client used: only a trusted proxy's word counts. */

const tollgate = await gateway({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
const { key } = await tollgate.createAccount()

async function pictureUrl(headers: Record<string, string>): Promise<string> {
  const { body } = await tollgate.request('POST', '/v1/images', {
    key,
    body: { model: 'sandbox/image', prompt: 'a lake' },
    headers,
  })
  return body.data[0].url
}

test('behind a trusted proxy that was asked by https, links are https', async () => {
  assert.match(
    await pictureUrl({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }),
    /^https:\/\/127\.0\.0\.1:\d+\/v1\/images\/content\?/,
  )
})

test('without a proxy between, the header is not believed', async () => {
  assert.match(await pictureUrl({ 'x-forwarded-proto': 'https' }), /^http:\/\//)
})

test('over TLS sessions have a Secure cookie of only this host, and answers forbid plain http; each request counts by its scheme', async () => {
  const credentials = { email: 'one@example.com', password: 'a long passphrase of mine' }
  const enter = async (
    path: string,
    body: unknown,
    headers: Record<string, string>,
  ): Promise<{ readonly cookies: readonly string[]; readonly transport: unknown }> => {
    const {
      status,
      headers: answered,
      text,
    } = await tollgate.request('POST', `/cabinet/v1/${path}`, {
      body,
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
    })
    assert.ok(status === 200 || status === 201, text)
    return {
      cookies: String(answered['set-cookie'] ?? '').split('\n'),
      transport: answered['strict-transport-security'],
    }
  }
  const proxied = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
  await enter('sign-up', { ...credentials, name: 'One' }, {})
  const secure = await enter('sign-in', credentials, proxied)
  assert.match(secure.cookies[0] ?? '', /^__Host-tg_sid=[\w-]{43}; Path=\/; .*; Secure$/)
  assert.ok(secure.cookies.every((cookie) => cookie.endsWith('; Secure')))
  assert.equal(secure.transport, 'max-age=31536000')
  const plain = await enter('sign-in', credentials, {})
  assert.match(plain.cookies[0] ?? '', /^tg_sid=/)
  assert.ok(plain.cookies.every((cookie) => !cookie.includes('Secure')))
  assert.equal(plain.transport, undefined)
  const cookie = secure.cookies[0]?.split(';', 1)[0] ?? ''
  const session = (headers: Record<string, string>): Promise<number> =>
    tollgate.request('GET', '/cabinet/v1/profile', { headers: { cookie, ...headers } }).then(({ status }) => status)
  assert.deepEqual([await session(proxied), await session({})], [200, 401], 'its cookie opens nothing over plain http')
})
