import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTollgate, type Tollgate } from '../harness/server.ts'

/** Links to stored files name the scheme that the client used: a trusted proxy says it, anyone else is not believed. */

let tollgate: Tollgate
let key: string

before(async () => {
  tollgate = await startTollgate({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
  key = (await tollgate.createAccount()).key
})

after(() => tollgate.stop())

async function pictureUrl(headers: Record<string, string>): Promise<string> {
  const { body } = await tollgate.request('POST', '/v1/images', { key, body: { model: 'sandbox/image', prompt: 'a lake' }, headers })
  return body.data[0].url
}

test('behind a trusted proxy that was asked by https, links are https', async () => {
  assert.match(await pictureUrl({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }), /^https:\/\/127\.0\.0\.1:\d+\/v1\/images\/content\?/)
})

test('without a proxy between, the header is not believed', async () => {
  assert.match(await pictureUrl({ 'x-forwarded-proto': 'https' }), /^http:\/\//)
})
