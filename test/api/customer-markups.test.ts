import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditClean } from '../harness/api-client.ts'
import { gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { videoUntil } from '../harness/video-jobs.ts'

const SOLD = {
  provider: 'sandbox',
  model: 'chat',
  price: { currency: 'USD', prompt: 0.1, completion: '0.3000000001' },
}
const MODEL = { type: 'chat', context_length: 8_000, endpoints: [SOLD] }

const server = await gateway()
await server.admin('PATCH', '/admin/v1/settings', { rates: { USD: 90 }, markup: 1.2 })
await server.admin('PUT', '/admin/v1/models/acme/m', MODEL)

async function made(markup: number | string, name: string): Promise<string> {
  const { status, body, text } = await server.admin('POST', '/admin/v1/account-groups', { name, markup })
  assert.equal(status, 201, text)
  return body.id
}

async function patch(account: string, body: object): Promise<void> {
  const { status, text } = await server.admin('PATCH', `/admin/v1/accounts/${account}`, body)
  assert.equal(status, 200, text)
}

/** The cost of an answer, and that without any markup of a customer, before it is rounded. */
async function ask(
  key: string,
  content = 'Say something',
): Promise<{ readonly cost: number; readonly listed: number }> {
  const { status, body, text } = await server.post('/v1/chat/completions', key, {
    model: 'acme/m',
    messages: [{ role: 'user', content }],
  })
  assert.equal(status, 200, text)
  const { prompt_tokens: read, completion_tokens: written, cost } = body.usage
  // The tokens are few, so the double is exact to far below a micro-ruble.
  return { cost, listed: (1.2 * 90 * (read * 0.1 + written * 0.3000000001)) / 1e6 }
}

const charged = (listed: number, markup: number): number => Math.ceil(listed * markup * 1e6) / 1e6

async function pays(key: string, markup: number): Promise<void> {
  const { cost, listed } = await ask(key)
  assert.equal(cost, charged(listed, markup), `at ${markup}`)
}

test('16: the markup of an account comes before that of its group, and multiplies what everybody pays', async () => {
  const { key, id: accountId } = await server.createAccount()
  const group = await made('0.9', 'Partners')
  await pays(key, 1)
  await patch(accountId, { group })
  await pays(key, 0.9)
  await server.admin('PATCH', `/admin/v1/account-groups/${group}`, { markup: 0.5 })
  await pays(key, 0.5)
  await patch(accountId, { markup: '1.3333333333' })
  await pays(key, 1.333_333_333_3)
  await patch(accountId, { markup: null })
  await pays(key, 0.5)

  const { body } = await server.admin('GET', `/admin/v1/generations?account=${accountId}`)
  assert.deepEqual(
    body.data.map(({ markup }: { markup: string | null }) => markup),
    ['0.5', '1.3333333333', '0.5', '0.9', null],
  )
  const [{ generation_id: id }] = body.data
  const one = await server.admin('GET', `/admin/v1/generations/${id}`)
  assert.equal(Math.ceil(Number(one.body.bill_total) * 1e6) / 1e6, one.body.total_cost, 'the bill adds up')

  const full = await server.admin('DELETE', `/admin/v1/account-groups/${group}`)
  assert.equal(full.status, 409)
  assert.match(full.body.error.message, /'Partners' has accounts/)
  await patch(accountId, { group: null })
  await pays(key, 1)
  assert.equal((await server.admin('DELETE', `/admin/v1/account-groups/${group}`)).status, 200)
  await auditClean(server)
})

test('16: a request that runs while its rule changes is billed by the one with which it was held', async () => {
  const { key, id: accountId } = await server.createAccount()
  const group = await made(2, 'Held')
  await patch(accountId, { group })
  const running = ask(key, 'Wait\nsandbox: delay_ms=2000')
  await until(10_000, 'the request runs', () => server.app.running > 0)
  await server.admin('PATCH', `/admin/v1/account-groups/${group}`, { markup: 3 })
  const before = await running
  assert.equal(before.cost, charged(before.listed, 2))
  await pays(key, 3)
})

test('16: a video is held, shown, charged and audited by the markup with which it was ordered', async () => {
  const { key, id: accountId } = await server.createAccount({ balance: 100 })
  await patch(accountId, { markup: 0.25 })
  const created = await server.post('/v1/videos', key, {
    model: 'sandbox/video',
    prompt: 'A lake\nsandbox: delay_ms=300',
    duration: 8,
    size: '1920x1080',
  })
  assert.equal(created.body.usage.estimated_cost, 1.8)
  await patch(accountId, { markup: 4 })
  const done = await videoUntil(server, key, created.body.id, 'completed')
  assert.equal(done.usage.cost, 1.8)
  await auditClean(server)
})

test('16: a customer sees own prices, and the operator what each pays and by which rules', async () => {
  const { key, id: accountId } = await server.createAccount()
  const group = await made('0.5', 'Half')
  await patch(accountId, { group })
  const shown = async (): Promise<string> => (await server.get('/v1/models/acme/m', key)).body.pricing.prompt
  // 0.1 USD × 90 × 1.2 × 0.5 a million tokens.
  assert.equal(await shown(), '0.0000054')
  const listed = (await server.get('/v1/models', key)).body.data
  assert.equal(listed.find(({ id }: { id: string }) => id === 'acme/m').pricing.prompt, '0.0000054')

  const table = (await server.admin('GET', `/admin/v1/customer-prices?account=${accountId}&query=acme`)).body
  assert.equal(table.total, 1)
  const [row] = table.data
  assert.deepEqual([row.group, row.rule, row.markup], ['Half', 'group', '0.5'])
  assert.deepEqual([row.endpoints[0].rule, row.endpoints[0].markup], ['service', '1.2'])
  assert.deepEqual(row.endpoints[0].lines[0], {
    price: 'prompt',
    cost: '9',
    listed: '10.8',
    paid: '5.4',
    margin_percent: -66.7,
  })

  await server.admin('PUT', '/admin/v1/models/acme/m', {
    ...MODEL,
    endpoints: [{ ...SOLD, sell: { prompt: 20, completion: 60 } }],
  })
  assert.equal(await shown(), '0.00001', 'a price by hand is multiplied too')
  const everybody = (await server.admin('GET', '/admin/v1/customer-prices?model=acme/m')).body.data
  const own = everybody.find(({ account }: { account: string }) => account === accountId)
  assert.deepEqual([own.endpoints[0].rule, own.endpoints[0].lines[0].paid], ['sell', '10'])
  const other = everybody.find(({ rule }: { rule: string }) => rule === 'none')
  assert.equal(other.endpoints[0].lines[0].paid, '20')
  await server.admin('PUT', '/admin/v1/models/acme/m', MODEL)
})

test('16: what is no markup, an unknown group and a taken name are refused with a sentence', async () => {
  const { id: accountId } = await server.createAccount()
  for (const markup of [0, -1, 1_001, '0', '1e4', '0.0', 'x', '9999', true]) {
    const { status, body } = await server.admin('PATCH', `/admin/v1/accounts/${accountId}`, { markup })
    assert.equal(status, 400, String(markup))
    assert.match(body.error.message, /^markup: /)
  }
  const unknown = await server.admin('PATCH', `/admin/v1/accounts/${accountId}`, { group: 'grp_none' })
  assert.match(unknown.body.error.message, /group: there is no group 'grp_none'/)
  await made(1, 'Taken')
  const taken = await server.admin('POST', '/admin/v1/account-groups', { name: 'Taken', markup: 1 })
  assert.match(taken.body.error.message, /'Taken' is the name of another group/)
  const neither = await server.admin('GET', '/admin/v1/customer-prices')
  assert.match(neither.body.error.message, /account: is required, or model in its place/)
})
