import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, ConsoleClient, signedUp, topUp } from '../harness/console-client.ts'
import { startTollgate, type Answer } from '../harness/server.ts'
import { refused } from '../harness/refused.ts'
import { lasting } from '../harness/lasting.ts'

const tollgate = await lasting(startTollgate())
const admin = await administrator(tollgate, 'root@example.com')

test('users are found, disabled and promoted, which ends their sessions; the last administrator stays', async () => {
  const { browser, userId, email, accountId } = await signedUp(tollgate, 'zoe@example.com')
  const found = (await admin.get('/admin/v1/users?query=ZOE')).body
  assert.deepEqual(
    [found.total, found.data[0].id, found.data[0].account, found.data[0].role, found.data[0].totp],
    [1, userId, accountId, 'user', false],
  )
  assert.equal((await admin.get(`/admin/v1/users?account=${accountId}`)).body.total, 1)
  assert.equal((await admin.request('PATCH', `/admin/v1/users/${userId}`, { disabled: true })).body.disabled, true)
  refused(await browser.get('profile'), 401, 'unauthorized')
  refused(await browser.signIn(email), 401, 'unauthorized')
  await admin.request('PATCH', `/admin/v1/users/${userId}`, { disabled: false })
  const root = (await admin.get('/admin/v1/users?role=admin')).body.data[0]
  refused(await admin.request('PATCH', `/admin/v1/users/${root.id}`, { role: 'user' }), 409, 'conflict')
  refused(await tollgate.admin('PATCH', `/admin/v1/users/${root.id}`, { disabled: true }), 409, 'conflict', /last/)
  await browser.signIn(email)
  assert.equal((await admin.request('PATCH', `/admin/v1/users/${userId}`, { role: 'admin' })).body.role, 'admin')
  refused(await browser.get('profile'), 401, 'unauthorized')
  await browser.signIn(email)
  assert.equal((await browser.get('/admin/v1/users')).status, 200)
  assert.equal((await browser.request('PATCH', `/admin/v1/users/${root.id}`, { role: 'user' })).status, 200)
  refused(await admin.get('/admin/v1/users'), 401, 'unauthorized')
  await browser.request('PATCH', `/admin/v1/users/${root.id}`, { role: 'admin' })
  await admin.signIn('root@example.com')
  refused(await admin.request('PATCH', `/admin/v1/users/${userId}`, { role: 'king' }), 400, 'invalid_input')
  refused(await admin.request('PATCH', '/admin/v1/users/usr_none', { disabled: true }), 404, 'not_found')
})

test('of owners who are disabled, or demoted, at once one stays', async () => {
  const owners = (await tollgate.admin('GET', '/admin/v1/users?role=admin')).body.data.map(
    ({ id }: { id: string }) => id,
  )
  assert.ok(owners.length >= 2)
  const all = (body: object): Promise<Answer[]> =>
    Promise.all(owners.map((id: string) => tollgate.admin('PATCH', `/admin/v1/users/${id}`, body)))
  for (const [takes, gives] of [
    [{ disabled: true }, { disabled: false }],
    [{ role: 'user' }, { role: 'admin' }],
    [{ operator_role: 'support' }, { operator_role: 'owner' }],
  ] as const) {
    const answers = await all(takes)
    assert.equal(answers.filter(({ status }) => status === 200).length, owners.length - 1)
    for (const answer of answers) if (answer.status !== 200) refused(answer, 409, 'conflict', /last owner/)
    for (const answer of await all(gives)) assert.equal(answer.status, 200, answer.text)
  }
  await admin.signIn('root@example.com')
})

test('accounts are found by state; models show what they cost and sell for; margin adds up', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  await topUp(tollgate, accountId, 30)
  const { key } = (await browser.post('keys', { name: 'k' })).body
  await admin.request('PATCH', '/admin/v1/settings', { markup: 2 })
  const answer = await tollgate.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const priced = (await admin.get('/admin/v1/models')).body.data.find(({ id }: { id: string }) => id === 'sandbox/chat')
  for (const line of priced.endpoints[0].lines) assert.equal(line.margin_percent, 50, JSON.stringify(line))
  assert.deepEqual(
    [priced.active, priced.endpoints[0].provider, priced.endpoints[0].upstream_model],
    [true, 'sandbox', 'chat'],
  )
  const margin = (await admin.get('/admin/v1/margin')).body
  assert.equal(margin.days.length, 30)
  assert.equal(margin.days.at(-1).revenue, margin.totals.revenue)
  assert.ok(Math.abs(margin.totals.revenue - answer.body.usage.cost) < 1e-9)
  assert.ok(
    Math.abs(margin.totals.margin - (margin.totals.revenue - margin.totals.provider_cost - margin.totals.insured)) <
      1e-9,
  )
  assert.deepEqual(
    [margin.models[0].id, margin.providers[0].id, margin.accounts[0].id],
    ['sandbox/chat', 'sandbox', accountId],
  )
  assert.ok(margin.totals.margin_percent > 40 && margin.totals.margin_percent <= 50.1)
  refused(await admin.get('/admin/v1/margin?from=yesterday'), 400, 'invalid_input', /^from/)
  await admin.request('PATCH', `/admin/v1/accounts/${accountId}`, { status: 'locked' })
  assert.deepEqual(
    (await admin.get('/admin/v1/accounts?status=locked')).body.data.map(({ id }: { id: string }) => id),
    [accountId],
  )
  refused(await admin.get('/admin/v1/accounts?status=gone'), 400, 'invalid_input')
})

test('the audit log is read by actor, action, object and time', async () => {
  const of = async (query: string): Promise<Answer['body'][]> =>
    (await admin.get(`/admin/v1/events?${query}`)).body.data
  assert.ok((await of('action=user.')).every(({ action }) => action.startsWith('user.')))
  assert.ok((await of('action=user.')).length > 0)
  assert.equal((await of('action=%25')).length, 0)
  assert.ok((await of('actor=root@example.com')).length > 0)
  const [one] = await of('limit=1')
  assert.equal(
    (await of(`object=${one.object}&action=${one.action}`)).some(({ id }) => id === one.id),
    true,
  )
  assert.equal((await of('from=2036-01-01T00:00:00Z')).length, 0)
  assert.equal((await of('to=2020-01-01T00:00:00Z')).length, 0)
})

test('an address that guessed keys is listed and let in again', async () => {
  await admin.request('PATCH', '/admin/v1/settings', { ip_block: { failures: 3, window: 60, duration: 600 } })
  for (let tries = 0; tries < 4; tries += 1) await tollgate.get('/v1/models', 'sk-tg-wrong')
  assert.equal((await tollgate.get('/v1/models', 'sk-tg-wrong')).status, 429)
  const { data } = (await admin.get('/admin/v1/ip-blocks')).body
  assert.deepEqual([data.length, data[0].ip, data[0].times], [1, '127.0.0.1', 1])
  assert.ok(Date.parse(data[0].until) > Date.now())
  assert.deepEqual((await admin.request('DELETE', '/admin/v1/ip-blocks/127.0.0.1')).body, {
    id: '127.0.0.1',
    deleted: true,
  })
  refused(await admin.request('DELETE', '/admin/v1/ip-blocks/127.0.0.1'), 404, 'not_found')
  assert.equal((await tollgate.get('/v1/models', 'sk-tg-wrong')).status, 401)
})

test('codes: wrong amounts are refused, and only an administrator makes them', async () => {
  for (const body of [
    {},
    { amount: 0 },
    { amount: -1 },
    { amount: 1, count: 0 },
    { amount: 1, count: 1001 },
    { amount: 1, uses_max: 0 },
    { amount: 1, expires_at: 'soon' },
    { amount: 1, free: true },
  ]) {
    refused(await admin.post('/admin/v1/codes', body), 400, 'invalid_input')
  }
  const { browser } = await signedUp(tollgate)
  refused(await browser.post('/admin/v1/codes', { amount: 1 }), 403, 'access_denied')
  const [expired] = (await admin.post('/admin/v1/codes', { amount: 5, expires_at: '2020-01-01T00:00:00Z' })).body.data
  refused(await browser.post('codes/redeem', { code: expired.code }), 404, 'not_found')
})

test('the first administrator of a demo has its account, in the cabinet too', async () => {
  const demo = await lasting(startTollgate())
  const token = /\/setup\?token=([\w-]{43})/.exec(demo.logs().join('\n'))?.[1]
  const browser = new ConsoleClient(demo)
  assert.equal((await browser.get('session')).body.service.needs_setup, true)
  assert.deepEqual((await browser.post('setup/check', { token })).body, {
    purpose: 'first_administrator',
    email: null,
    code_required: false,
  })
  assert.equal(
    (await browser.post('setup', { token, email: 'first@example.com', password: 'seven quiet lanterns' })).status,
    201,
  )
  assert.deepEqual(
    [(await browser.get('summary')).body.money.balance, (await browser.get('session')).body.service.needs_setup],
    [100, false],
  )
})
