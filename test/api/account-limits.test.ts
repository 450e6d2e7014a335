import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, topUp, type ConsoleClient } from '../harness/console-client.ts'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { refused, refusedInWords } from '../harness/refused.ts'

/** The limit that an operator sets for all keys of an account together. */

let browser: ConsoleClient
let accountId: string

const server = await movingGateway({
  catalog: 'timezone: UTC\nrate_limit: { requests: 1000, window: 60 }\n',
  startUnixMs: Date.parse('2026-11-10T23:50:00Z'),
})
;({ browser, accountId } = await signedUp(server, 'owner@example.com'))
await topUp(server, accountId, 100)
const made = await Promise.all(['one', 'two'].map((name) => browser.post('keys', { name })))
const keys = [made[0]?.body.key, made[1]?.body.key]

const path = (): string => `/admin/v1/accounts/${accountId}`
const patch = (body: object): ReturnType<MovingGateway['admin']> => server.admin('PATCH', path(), body)

function chat(key: string, more: object = {}): ReturnType<MovingGateway['request']> {
  return server.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  })
}

test('a limit of an account is set, shown with what is used, and taken off; a period needs a limit', async () => {
  refusedInWords(await patch({ limit_reset: 'daily' }), 400, 'invalid_input', /limit_reset: needs a limit/)
  refusedInWords(await patch({ limit: -1 }), 400, 'invalid_input', /^limit: /)
  const set = await patch({ limit: 50, limit_reset: 'monthly' })
  assert.equal(set.status, 200, set.text)
  const { limit, limit_reset: reset, limit_used: used, limit_remaining: left, limit_resets_at: resetsAt } = set.body
  assert.deepEqual([limit, reset, used, left, resetsAt], [50, 'monthly', 0, 50, '2026-12-01T00:00:00Z'])
  assert.deepEqual((await browser.get('summary')).body.account_limit, {
    limit: 50,
    limit_reset: 'monthly',
    limit_used: 0,
    limit_remaining: 50,
    limit_resets_at: '2026-12-01T00:00:00Z',
  })
  const off = await patch({ limit: null })
  assert.deepEqual([off.body.limit, off.body.limit_reset, off.body.limit_used], [null, null, null])
  assert.equal((await browser.get('summary')).body.account_limit, null)
})

test('the 429 says that it is the limit of the account, of what, and when it renews; then each key goes on', async () => {
  assert.equal((await chat(keys[0])).status, 200)
  await patch({ limit: 50, limit_reset: 'daily' })
  const used = Number((await server.admin('GET', path())).body.limit_used)
  assert.ok(used > 0, 'what was spent before counts')
  await patch({ limit: used })
  for (const key of keys) {
    const answer = await chat(key)
    refused(
      answer,
      429,
      'limit_exceeded',
      /^Account limit exceeded \(daily limit\): spent [\d.]+ RUB of [\d.]+ RUB, this request needs up to [\d.]+ RUB\. The limit resets at 2026-11-11T00:00:00Z\.$/,
    )
    const { limit_of: of, limit, spent, resets_at: resetsAt } = answer.body.error.metadata
    assert.deepEqual([of, limit, spent, resetsAt], ['account', used, used, '2026-11-11T00:00:00Z'])
    assert.deepEqual([answer.headers['x-should-retry'], answer.headers['retry-after']], ['false', undefined])
  }
  refused(await chat(keys[1], { stream: true }), 429, 'limit_exceeded')
  const video = { model: 'sandbox/video', prompt: 'A lake', duration: 4 }
  refused(await server.post('/v1/videos', keys[0], video), 429, 'limit_exceeded')
  const repeated = { 'idempotency-key': 'one' }
  refused(
    await server.request('POST', '/v1/chat/completions', {
      key: keys[0],
      headers: repeated,
      body: { model: 'sandbox/chat', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
    }),
    429,
    'limit_exceeded',
  )
  server.clock.advance(11 * 60_000)
  const { body } = await server.admin('GET', path())
  assert.deepEqual([body.limit_used, body.limit_resets_at], [0, '2026-11-12T00:00:00Z'])
  await patch({ limit: 50 })
  for (const key of keys) assert.equal((await chat(key)).status, 200)
})

test('without max_tokens the answer is as long as the limit of the account allows', async () => {
  const { body } = await server.admin('GET', path())
  await patch({ limit: Number(body.limit_used) + 0.02 })
  const answer = await chat(keys[0], { max_tokens: undefined })
  assert.equal(answer.status, 200, answer.text)
  const after = await server.admin('GET', path())
  assert.ok(after.body.limit_used > body.limit_used && after.body.limit_used <= after.body.limit)
  await patch({ limit: null })
})

test('people of the account cannot change its limit, and an API key cannot', async () => {
  refused(await server.request('PATCH', path(), { key: keys[0], body: { limit: 1 } }), 403, 'access_denied')
  assert.equal((await browser.request('PATCH', 'profile', { limit: 1 })).status, 400)
})
