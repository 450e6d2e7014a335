import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, topUp } from '../harness/console-client.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

/** Why a call failed is found by the customer and the operator, though the call cost nothing. */

const CATALOG = `
bundled: false
rate_limit: { requests: 1000, window: 60 }
providers:
  sandbox: { name: Sandbox, adapter: sandbox }
  closed: { name: closed, adapter: openai, base_url: "http://127.0.0.1:1", api_key: k }
models:
  - { id: test/chat, type: chat, context_length: 8000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 100, completion: 100000 } }] }
  - { id: test/closed, type: chat, context_length: 8000, endpoints: [{ provider: closed, model: chat, price: { currency: RUB, prompt: 1, completion: 1 } }] }
`

// oxlint-disable-next-line typescript/no-explicit-any
type Body = any

const tollgate = await gateway({ catalog: CATALOG })
const { browser, accountId } = await signedUp(tollgate, 'refused@example.com')
await topUp(tollgate, accountId, 10)

async function newKey(body: object): Promise<{ readonly id: string; readonly key: string }> {
  return (await browser.post('keys', body)).body
}

function chat(key: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  return tollgate.request('POST', '/v1/chat/completions', {
    key,
    headers,
    body: { model: 'test/chat', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...body },
  })
}

/** The rows of a key, once there are so many requests in them. */
async function refused(key: string, times: number): Promise<readonly Body[]> {
  let rows: readonly Body[] = []
  await until(20_000, `${times} refusals`, async () => {
    const { status, body } = await browser.get(`refusals?key=${key}&limit=300`)
    assert.equal(status, 200)
    rows = body.data
    return rows.reduce((sum, row) => sum + row.times, 0) >= times
  })
  return rows
}

test('a refusal has its cause, its figures, its request and its path; the same again is counted', async () => {
  const key = await newKey({ name: 'Staging', limit: 1 })
  const answer = await chat(key.key, { max_tokens: 500 }, { 'x-request-id': 'req-mine' })
  assert.equal(answer.status, 429)
  await chat(key.key, { max_tokens: 500 })
  assert.equal((await chat(key.key, { model: 'test/none' })).status, 400)
  assert.equal((await chat(key.key, { temperature: 'hot' })).status, 400)
  const rows = await refused(key.id, 4)
  const limit = rows.filter((row) => row.error_type === answer.body.error.metadata.error_type)
  assert.equal(
    limit.reduce((sum, row) => sum + row.times, 0),
    2,
  )
  const [newest] = limit
  assert.deepEqual(
    [newest.status, newest.model, newest.key, newest.key_name, newest.path, newest.account],
    [429, 'test/chat', key.id, 'Staging', '/v1/chat/completions', accountId],
  )
  assert.equal(newest.message, answer.body.error.message)
  const { error_type: _cause, ...figures } = answer.body.error.metadata
  assert.deepEqual(newest.figures, figures)
  assert.ok(rows.some((row) => row.model === 'test/none' && row.error_type === 'model_not_found'))
  const poor = await newKey({ name: 'poor' })
  assert.equal((await chat(poor.key, { max_tokens: 5000 })).status, 402)
  const [broke] = await refused(poor.id, 1)
  assert.ok(broke.figures.required > broke.figures.available, JSON.stringify(broke))
  assert.ok(rows.some((row) => /temperature/.test(row.message)))
  const { body: found } = await tollgate.admin('GET', '/admin/v1/refusals?request_id=' + newest.request_id)
  assert.deepEqual([found.total, found.data[0].account_name], [1, 'refused@example.com'])
  const csv = await browser.get(`refusals?key=${key.id}&format=csv`)
  assert.match(csv.text, /test\/none/)
})

test('keys that may not be used, and requests beyond their rate, are refusals of their key', async () => {
  const stopped = await newKey({ name: 'stopped' })
  await browser.request('PATCH', `keys/${stopped.id}`, { disabled: true })
  assert.equal((await chat(stopped.key)).status, 403)
  assert.equal((await refused(stopped.id, 1))[0]?.error_type, 'key_deactivated')
  const { status } = await tollgate.admin('PATCH', `/admin/v1/accounts/${accountId}`, {
    rate_limit: { requests: 1, window: 60 },
  })
  assert.equal(status, 200)
  const busy = await newKey({ name: 'busy' })
  await chat(busy.key)
  const late = await chat(busy.key)
  assert.equal(late.status, 429)
  const [row] = await refused(busy.id, 1)
  assert.deepEqual([row.error_type, row.figures.retry_after], ['rate_limit_exceeded', late.body.error.retry_after])
  await tollgate.admin('PATCH', `/admin/v1/accounts/${accountId}`, { rate_limit: null })
})

test('what failed at a provider is in the usage log, and is no refusal; an answer is none', async () => {
  const key = await newKey({ name: 'plain' })
  assert.equal((await chat(key.key, { model: 'test/closed' })).status, 503)
  assert.equal((await chat(key.key)).status, 200)
  await chat(key.key, { model: 'test/none' })
  assert.deepEqual(
    (await refused(key.id, 1)).map((row) => [row.error_type, row.times]),
    [['model_not_found', 1]],
  )
})

test('a flood of names of models is bounded, and counted whole', async () => {
  const key = await newKey({ name: 'flood' })
  const calls = Array.from({ length: 300 }, (_, index) => chat(key.key, { model: `none/${index}` }))
  await Promise.all(calls)
  const rows = await refused(key.id, 300)
  assert.ok(rows.length <= 104, `${rows.length} rows`)
  assert.ok(rows.some((row) => row.model === null && row.times > 100))
})

test('the first pages say what was refused, and by what; another account sees nothing of it', async () => {
  const key = await newKey({ name: 'Home', limit: 1 })
  await chat(key.key, { max_tokens: 500 })
  await refused(key.id, 1)
  const { body: home } = await browser.get('summary')
  const own = home.refused_today.find((one: Body) => one.newest.key === key.id)
  assert.deepEqual([own.times, own.newest.key_name], [1, 'Home'])
  const { body: overview } = await tollgate.admin('GET', '/admin/v1/overview')
  assert.ok(overview.refused.some((one: Body) => one.newest.account === accountId && one.times > 0))
  const { browser: other } = await signedUp(tollgate, 'other@example.com')
  assert.deepEqual((await other.get(`refusals?key=${key.id}`)).body.data, [])
  assert.deepEqual((await other.get('summary')).body.refused_today, [])
})

test('a text with NUL, a long name and a lone surrogate are kept as far as a store keeps them', async () => {
  const key = await newKey({ name: 'odd' })
  await chat(key.key, { model: 'a\u0000b' })
  await chat(key.key, { model: 'x'.repeat(5_000) })
  await chat(key.key, { model: '\ud800' })
  const rows = await refused(key.id, 3)
  assert.ok(rows.every((row) => (row.model ?? '').length <= 200))
})

test('what a refusal quotes of a prompt is stored nowhere', async () => {
  const key = await newKey({ name: 'private' })
  const secret = 'the-secret-of-the-prompt'
  const role = await chat(key.key, { messages: [{ role: secret, content: secret }] })
  assert.match(role.text, new RegExp(secret), 'the answer itself may say it')
  await chat(key.key, { model: `${secret} and more words` })
  await chat(key.key, { response_format: { type: secret } })
  await chat(key.key, { tools: [{ type: secret }] })
  const rows = await refused(key.id, 4)
  assert.doesNotMatch(JSON.stringify(rows), new RegExp(secret))
  assert.ok(rows.every((row) => row.message.length > 0))
})
