import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { generateKey, MANAGEMENT_PREFIX } from '../../src/access/api-key.ts'
import { randomIds } from '../../src/base/ids.ts'
import { signedUp, topUp } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'
import type { Answer } from '../harness/server.ts'

/** A management key, made in the cabinet, makes and manages API keys of its account. */

const HELLO = { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }

const server = await gateway({ catalog: 'rate_limit: { requests: 100000, window: 60 }' })
const one = await signedUp(server, 'one@example.com')
await topUp(server, one.accountId, 100)
const made = await one.browser.post('management-keys', { name: 'provisioning' })
assert.equal(made.status, 201, made.text)
const manager = made.body.key
const managerId = made.body.id

function keys(method: string, path = '', body?: unknown, key = manager): Promise<Answer> {
  return server.request(method, `/v1/keys${path}`, { key, ...(body === undefined ? {} : { body }) })
}

function chat(key: string): Promise<Answer> {
  return server.post('/v1/chat/completions', key, HELLO)
}

test('a management key is shown once, listed without its text, and opens no model', async () => {
  assert.match(manager, /^sk-tgm-[0-9A-Za-z]{38}$/)
  const listed = await one.browser.get('management-keys')
  assert.deepEqual(
    listed.body.data.map(({ id, name }: { id: string; name: string }) => [id, name]),
    [[managerId, 'provisioning']],
  )
  assert.doesNotMatch(listed.text, new RegExp(manager))
  refused(await chat(manager), 403, 'access_denied', /^This is a management key: it opens \/v1\/keys/)
  for (const path of ['/v1/models', '/v1/credits', '/v1/generation', '/v1/videos'])
    refused(await server.get(path, manager), 403, 'access_denied')
  refused(await server.get('/admin/v1/accounts', manager), 403, 'access_denied')
  const { data } = (await server.get('/v1/key', manager)).body
  assert.deepEqual([data.is_management_key, data.is_provisioning_key, data.name], [true, true, 'provisioning'])
})

test("OpenRouter's client makes, lists, reads, changes and deletes a key that works meanwhile", async () => {
  const client = new OpenRouter({ apiKey: manager, serverURL: `${server.url}/v1` })
  assert.equal((await client.apiKeys.getCurrentKeyMetadata()).data.isManagementKey, true)
  const made = await client.apiKeys.create({ requestBody: { name: 'customer', limit: 5, limitReset: 'monthly' } })
  const { hash } = made.data
  assert.deepEqual([made.data.limit, made.data.limitRemaining, made.data.limitReset], [5, 5, 'monthly'])
  assert.match(made.key, /^sk-tg-[0-9A-Za-z]{38}$/)
  assert.equal((await chat(made.key)).status, 200)
  const { data: read } = await client.apiKeys.get({ hash })
  assert.ok(read.usage > 0 && read.usage === read.usageDaily)
  assert.ok((await client.apiKeys.list()).data.some((key) => key.hash === hash))
  const { data: changed } = await client.apiKeys.update({ hash, requestBody: { disabled: true, name: 'off' } })
  assert.deepEqual([changed.disabled, changed.name], [true, 'off'])
  refused(await chat(made.key), 403, 'key_deactivated')
  assert.ok(!(await client.apiKeys.list()).data.some((key) => key.hash === hash), 'the list leaves it out')
  assert.ok((await client.apiKeys.list({ includeDisabled: true })).data.some((key) => key.hash === hash))
  assert.deepEqual(await client.apiKeys.delete({ hash }), { deleted: true })
  refused(await chat(made.key), 401, 'invalid_api_key')
  refused(await keys('GET', `/${hash}`), 404, 'not_found')
  refused(await keys('DELETE', `/${hash}`), 404, 'not_found')
})

test('its text is in no other answer, its limits are set here too, and what is done stands in the audit log', async () => {
  const made = await keys('POST', '', { name: 'limited', requests_per_minute: 1, allowed_ips: ['127.0.0.1'] })
  assert.equal(made.status, 201, made.text)
  const { data, key } = made.body
  assert.deepEqual([data.requests_per_minute, data.allowed_ips], [1, ['127.0.0.1']])
  assert.deepEqual([(await chat(key)).status, (await chat(key)).status], [200, 429])
  const changed = await keys('PATCH', `/${data.hash}`, { requests_per_minute: null, model_limits: {} })
  assert.deepEqual([changed.body.data.requests_per_minute, changed.body.data.model_limits], [null, null])
  assert.deepEqual(changed.body.data.allowed_ips, ['127.0.0.1'])
  for (const path of ['', `/${data.hash}`]) assert.ok(!(await keys('GET', path)).text.includes(key))
  assert.equal((await keys('DELETE', `/${data.hash}`)).status, 200)
  const events = (await server.admin('GET', '/admin/v1/events?limit=1000')).body.data
  const label = `${manager.slice(0, 9)}…${manager.slice(-3)}`
  const own = events.filter(
    ({ actor, object }: { actor: string; object: string }) => actor === label && object === data.hash,
  )
  assert.deepEqual(
    own.map(({ action }: { action: string }) => action),
    ['key.delete', 'key.update', 'key.create'],
  )
  assert.ok(!JSON.stringify(events).includes(key))
  assert.ok(events.some(({ action }: { action: string }) => action === 'management_key.create'))
})

test('a page has 100 keys, the newest first', async () => {
  const two = await signedUp(server, 'many@example.com')
  const { body } = await two.browser.post('management-keys', { name: 'm' })
  for (let count = 0; count < 103; count += 1)
    assert.equal((await keys('POST', '', { name: `k${count}` }, body.key)).status, 201)
  const first = (await keys('GET', '', undefined, body.key)).body.data
  const rest = (await keys('GET', '?offset=100', undefined, body.key)).body.data
  assert.deepEqual([first.length, rest.length], [100, 3])
  assert.equal(new Set([...first, ...rest].map(({ hash }: { hash: string }) => hash)).size, 103)
})

test('a stranger, an API key and a made-up key manage nothing', async () => {
  const two = await signedUp(server, 'two@example.com')
  const other = (await two.browser.post('management-keys', { name: 'x' })).body
  const mine = (await keys('POST', '', { name: 'mine' })).body
  for (const [method, body] of [['GET'], ['PATCH', { name: 'taken' }], ['DELETE']] as const)
    refused(await keys(method, `/${mine.data.hash}`, body, other.key), 404, 'not_found')
  assert.ok(!(await keys('GET', '', undefined, other.key)).text.includes(mine.data.hash))
  refused(await two.browser.request('DELETE', `management-keys/${managerId}`), 404, 'not_found')
  refused(await keys('POST', '', { name: 'x' }, mine.key), 403, 'access_denied', /^This needs a management key/)
  refused(await keys('GET', '', undefined, generateKey(randomIds(), MANAGEMENT_PREFIX)), 401, 'invalid_api_key')
  refused(await keys('GET', '', undefined, manager.replace('sk-tgm-', 'sk-tg-')), 401, 'invalid_api_key')
  refused(await server.request('GET', '/v1/keys'), 401, 'missing_api_key')
  refused(await server.post('/cabinet/v1/management-keys', manager, { name: 'x' }), 403, 'access_denied')
})

test('hostile bodies are refused in one sentence, and a management key makes no management key', async () => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{}, /^name/],
    [{ name: '' }, /^name/],
    [{ name: 'x'.repeat(101) }, /^name/],
    [{ name: 'x', limit: -1 }, /^limit/],
    [{ name: 'x', limit: 1e18 }, /^limit/],
    [{ name: 'x', limit_reset: 'daily' }, /^limit_reset/],
    [{ name: 'x', limit_reset: 'hourly' }, /^limit_reset/],
    [{ name: 'x', expires_at: 'soon' }, /^expires_at/],
    [{ name: 'x', is_management_key: true }, /^Unknown field: is_management_key/],
    [{ name: 'x', account_id: one.accountId }, /^Unknown field: account_id/],
    [{ name: 'x', hash: 'key_x' }, /^Unknown field: hash/],
    [{ name: 'x', allowed_ips: ['10.0.0.0/8', 7] }, /^allowed_ips/],
  ]
  for (const [body, message] of wrong) refused(await keys('POST', '', body), 400, 'invalid_input', message)
  refused(await keys('POST', '', { name: 'x', allowed_models: ['m'.repeat(20_000)] }), 413, 'request_too_large')
  refused(await keys('GET', '?offset=-1'), 400, 'invalid_input', /^offset/)
  refused(await keys('GET', '?include_disabled=maybe'), 400, 'invalid_input', /^include_disabled/)
  for (const hash of ['..%2f..%2fadmin', "'%20OR%201=1--", 'x'.repeat(2_000), managerId])
    refused(await keys('GET', `/${hash}`), 404, 'not_found')
})

test('deleted or expired, or with a locked account, it opens nothing; the keys that it made stay', async () => {
  const two = await signedUp(server, 'three@example.com')
  await topUp(server, two.accountId, 10)
  const { id, key } = (await two.browser.post('management-keys', { name: 'm' })).body
  const made = (await keys('POST', '', { name: 'stays' }, key)).body
  const late = (await two.browser.post('management-keys', { name: 'late', expires_at: '2020-01-01T00:00:00Z' })).body
  refused(await keys('GET', '', undefined, late.key), 401, 'key_expired')
  await server.admin('PATCH', `/admin/v1/accounts/${two.accountId}`, { status: 'locked' })
  refused(await keys('GET', '', undefined, key), 403, 'api_locked')
  await server.admin('PATCH', `/admin/v1/accounts/${two.accountId}`, { status: 'active' })
  assert.equal((await keys('GET', '', undefined, key)).status, 200)
  assert.deepEqual((await two.browser.request('DELETE', `management-keys/${id}`)).body, { id, deleted: true })
  refused(await keys('GET', '', undefined, key), 401, 'invalid_api_key')
  assert.equal((await chat(made.key)).status, 200)
})

test('an account makes 600 changes a minute, its owner the last 60 of them; what is so already makes no event', async () => {
  const { browser } = await signedUp(server, 'restless@example.com')
  const { key: own } = (await browser.post('management-keys', { name: 'm' })).body
  const { data } = (await keys('POST', '', { name: 'k' }, own)).body
  const events = async (): Promise<number> => (await server.admin('GET', '/admin/v1/events?limit=1')).body.total
  const before = await events()
  const same = { name: 'k', disabled: false, limit: null, limit_reset: null, allowed_models: null, model_limits: {} }
  const answers = [
    ...(await Promise.all(Array.from({ length: 20 }, () => browser.request('PATCH', `keys/${data.hash}`, same)))),
    await keys('PATCH', `/${data.hash}`, same, own),
    await browser.request('PATCH', 'notices', { low_balance: null }),
    await browser.request('PATCH', 'profile', { language: null, theme: 'auto', default_model: null }),
    await server.admin('PATCH', `/admin/v1/keys/${data.hash}`, { name: 'k' }),
  ]
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(await events(), before)
  // With the two that were made, 25 changes of the account.
  const change = (call: number): Promise<Answer> => keys('PATCH', `/${data.hash}`, { disabled: call % 2 === 0 }, own)
  for (let call = 25; call < 540; call += 1) assert.equal((await change(call)).status, 200, String(call))
  const refusal = await change(540)
  refused(
    refusal,
    429,
    'rate_limit_exceeded',
    /^At most 600 changes of an account a minute, the last 60 by its owners alone\. Retry after \d+ seconds$/,
  )
  assert.ok(Number(refusal.headers['retry-after']) > 0)
  const rest = Array.from({ length: 70 }, (_, call) =>
    browser.request('PATCH', `keys/${data.hash}`, { name: `n${call}` }),
  )
  const last = (await Promise.all(rest)).map(({ status }) => status)
  assert.deepEqual(
    [last.filter((status) => status === 200).length, last.filter((status) => status === 429).length],
    [60, 10],
  )
  assert.equal((await browser.get('keys')).status, 200, 'looks go on')
  assert.equal((await one.browser.post('keys', { name: 'another account' })).status, 201)
})
