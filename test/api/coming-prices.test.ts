import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { completion } from '../harness/provider-answers.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'

/** Prices that count from a time on: each request is charged by one price version, whatever happens around that time. */
const HOUR_MS = 3_600_000
const told: {
  readonly type: string
  readonly account: string | null
  readonly data: Readonly<Record<string, unknown>>
}[] = []
interface Change {
  readonly id: string
  readonly from: string
  readonly failure: string | null
  readonly models: readonly {
    readonly id: string
    readonly before: Readonly<Record<string, string>>
    readonly after: Readonly<Record<string, string>>
  }[]
}
/** Answers that the provider holds back. */
let held: (() => void)[] | null = null
const provider = await listen((response, { path, json }) => {
  if (path === '/hook') {
    told.push(json as (typeof told)[number])
    return sendJson(response, {})
  }
  const answer = (): void =>
    sendJson(response, completion({ content: 'x' }, { usage: { prompt_tokens: 1_000, completion_tokens: 0 } }))
  if (held === null) answer()
  else held.push(answer)
})

const model = (id: string, more = ''): string =>
  `  - { id: acme/${id}, type: chat, context_length: 8000, max_completion_tokens: 100, endpoints: [{ provider: acme, model: ${id}, price: { currency: RUB, prompt: 1000, completion: 1000 }${more} }] }`
const options = {
  catalog: `
bundled: false
markup: 1
providers:
  acme: { adapter: openai, base_url: '${provider.url}/v1', api_key: k }
models:
${model('a')}
${model('b', ', sell: { prompt: 5000, completion: 5000 }')}
`,
  env: { ALLOW_PRIVATE_UPSTREAMS: 'true' },
}
const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-coming-'))
after(() => rmSync(dataDir, { recursive: true, force: true }))
const server = await movingGateway(options)

async function cost(of: MovingGateway, key: string, id = 'a'): Promise<number> {
  const body = { model: `acme/${id}`, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
  const { status, body: answer, text } = await of.post('/v1/chat/completions', key, body)
  assert.equal(status, 200, text)
  return answer.usage.cost
}

async function announce(of: MovingGateway, body: object, status = 201): Promise<Change> {
  const answer = await of.admin('POST', '/admin/v1/coming-prices', body)
  assert.equal(answer.status, status, answer.text)
  return answer.body
}

const at = (of: MovingGateway, aheadMs: number): string => new Date(of.clock.now() + aheadMs).toISOString()

test('a price counts exactly from its time on: a request that began before it pays the old one', async () => {
  const { key } = await server.createAccount()
  const from = at(server, HOUR_MS)
  const change = await announce(server, { from, markup: 1.5 })
  assert.deepEqual([change.from, change.failure, change.models.map(({ id }) => id)], [from, null, ['acme/a']])
  assert.deepEqual([change.models[0]?.before['prompt'], change.models[0]?.after['prompt']], ['1000', '1500'])
  // Another change of the catalogue keeps it, and is kept by it.
  assert.equal((await server.admin('PATCH', '/admin/v1/settings', { timezone: 'Europe/Moscow' })).status, 200)
  assert.equal(await cost(server, key), 1)
  server.clock.advance(Date.parse(from) - server.clock.now() - 1_000)
  held = []
  const early = cost(server, key)
  await until(5_000, 'the provider is asked', () => held?.length === 1)
  server.clock.advance(1_001)
  const late = cost(server, key)
  await until(5_000, 'the provider is asked again', () => held?.length === 2)
  for (const answer of held) answer()
  held = null
  assert.deepEqual([await early, await late, await cost(server, key)], [1, 1.5, 1.5])
  assert.deepEqual((await server.admin('GET', '/admin/v1/coming-prices')).body.data, [])
  const { body: settings } = await server.admin('GET', '/admin/v1/settings')
  assert.deepEqual([settings.markup, settings.timezone], [1.5, 'Europe/Moscow'])
  // The books are audited from the price versions when the server stops.
})

test('only prices of a model change: what else was changed meanwhile stays, and what is gone stays gone', async () => {
  const { key } = await server.createAccount()
  const entry = (await server.admin('GET', '/admin/v1/models/acme/b')).body
  const [endpoint] = entry.endpoints
  const dearer = {
    ...entry,
    name: 'Old name',
    endpoints: [{ ...endpoint, sell: { prompt: 7_000, completion: 7_000 } }],
  }
  const from = at(server, HOUR_MS)
  await announce(server, { from, models: [dearer] })
  assert.equal((await server.admin('PUT', '/admin/v1/models/acme/b', { ...entry, name: 'New name' })).status, 200)
  assert.equal(await cost(server, key, 'b'), 5)
  server.clock.advance(HOUR_MS)
  assert.equal(await cost(server, key, 'b'), 7)
  const now = (await server.admin('GET', '/admin/v1/models/acme/b')).body
  assert.deepEqual([now.name, now.endpoints.length], ['New name', 1])
})

test('each customer who used the model hears once what they will pay, at prices of their own', async () => {
  const target = `${provider.url}/hook`
  await server.admin('POST', '/admin/v1/notices/channels', { target, kinds: ['prices.coming'] })
  const [plain, other, none] = [
    await server.createAccount(),
    await server.createAccount(),
    await server.createAccount(),
  ]
  assert.equal((await server.admin('PATCH', `/admin/v1/accounts/${other.id}`, { markup: 2 })).status, 200)
  const [before] = [await cost(server, plain.key), await cost(server, other.key)]
  await until(5_000, 'the usage is counted', async () => {
    const { data } = (await server.admin('GET', '/admin/v1/price-changes/accounts?model=acme/a')).body
    return [plain, other].every(({ id }) => data.some(({ account }: { account: string }) => account === id))
  })
  const from = at(server, 48 * HOUR_MS)
  const change = await announce(server, { from, providers: { acme: 3 } })
  const of = (id: string) => told.filter(({ account }) => account === id).map(({ data }) => data)
  await until(10_000, 'both are told', () => {
    server.clock.advance(5_000)
    return of(plain.id).length > 0 && of(other.id).length > 0
  })
  server.clock.advance(3 * HOUR_MS)
  const line = (was: string, is: string) => [
    { model: 'acme/a', prices: ['prompt', 'completion'].map((price) => ({ price, before: was, after: is })) },
  ]
  assert.equal(before, 1.5)
  assert.deepEqual([of(plain.id).length, of(plain.id)[0]?.['models']], [1, line('1500', '3000')])
  assert.deepEqual([of(other.id).length, of(other.id)[0]?.['models']], [1, line('3000', '6000')])
  assert.deepEqual([of(none.id), of(plain.id)[0]?.['from']], [[], Date.parse(from)])
  const withdrawn = await server.admin('DELETE', `/admin/v1/coming-prices/${change.id}`)
  assert.equal(withdrawn.status, 200, withdrawn.text)
  server.clock.advance(48 * HOUR_MS)
  assert.equal(await cost(server, plain.key), 1.5)
})

test('a change without a later time, or without a difference, is refused', async () => {
  await announce(server, { from: at(server, -1_000), markup: 9 }, 400)
  await announce(server, { from: at(server, 59_000), markup: 9 }, 400)
  await announce(server, { from: at(server, 400 * 24 * HOUR_MS), markup: 9 }, 400)
  await announce(server, { from: at(server, HOUR_MS), markup: 1.5 }, 400)
  await announce(server, { from: at(server, HOUR_MS) }, 400)
  await announce(server, { from: at(server, HOUR_MS), markup: 0 }, 400)
  await announce(server, { from: 'tomorrow', markup: 2 }, 400)
  assert.equal((await server.admin('DELETE', '/admin/v1/coming-prices/cpr_none')).status, 404)
})

test('a change that became due while the server was down counts before its first request', async () => {
  const env = {
    ...options.env,
    TOLLGATE_KEK: Buffer.alloc(32, 7).toString('base64'),
    TOLLGATE_ADMIN_TOKEN: 'a'.repeat(32),
  }
  const first = await movingGateway({ ...options, env, dataDir })
  const { key } = await first.createAccount()
  await announce(first, { from: at(first, HOUR_MS), markup: 4 })
  assert.equal(await cost(first, key), 1)
  await first.stop()
  const second = await movingGateway({ env, dataDir, startUnixMs: first.clock.now() + 2 * HOUR_MS })
  assert.equal(second.app.catalog.coming().length, 0)
  assert.equal(await cost(second, key), 4)
  await second.stop()
})

test('so many at once as may wait are noted, and the next one is refused', async () => {
  const other = await movingGateway(options)
  const markups = Array.from({ length: 51 }, (_, index) => 2 + index / 100)
  const answers = await Promise.all(
    markups.map((markup) => other.admin('POST', '/admin/v1/coming-prices', { from: at(other, HOUR_MS), markup })),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.deepEqual(
    refused.map(({ status, body }) => [status, body.error.metadata.check]),
    [[400, 'coming_most']],
  )
  assert.equal(other.app.catalog.coming().length, 50)
  await other.stop()
})
