import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

const MODEL = {
  type: 'chat',
  context_length: 8_000,
  endpoints: [
    { provider: 'sandbox', model: 'chat', price: { currency: 'USD', prompt: 0.1, completion: '0.3000000001' } },
  ],
}
const SANDBOX = { name: 'Sandbox', adapter: 'sandbox', cancel_stops_billing: true }

const server = await gateway()
await server.admin('PATCH', '/admin/v1/settings', { rates: { USD: 90 }, markup: 1.2 })

const put = (path: string, body: object) => server.admin('PUT', `/admin/v1/${path}`, body)

async function ask(key: string, content: string): Promise<{ readonly cost: number; readonly exact: number }> {
  const { status, body } = await server.post('/v1/chat/completions', key, {
    model: 'acme/m',
    messages: [{ role: 'user', content }],
  })
  assert.equal(status, 200)
  const { prompt_tokens: read, completion_tokens: written, cost } = body.usage
  // RUB without a markup; the tokens are few, so the double is exact to far below a micro-ruble.
  return { cost, exact: (90 * (read * 0.1 + written * 0.3000000001)) / 1e6 }
}

/** The cost rounded up once. */
const charged = (exact: number, markup: number): number => Math.ceil(exact * markup * 1e6) / 1e6

test('16: the markup of a model comes before that of its provider, and that before the one of the service', async () => {
  const { key } = await server.createAccount()
  await put('models/acme/m', MODEL)
  const sells = async (): Promise<string> => {
    const { body } = await server.admin('GET', '/admin/v1/models')
    return body.data.find(({ id }: { id: string }) => id === 'acme/m').endpoints[0].lines[0].sell
  }
  for (const [change, markup, prompt] of [
    [() => put('models/acme/m', MODEL), 1.2, '10.8'],
    [() => put('providers/sandbox', { ...SANDBOX, markup: '1.5' }), 1.5, '13.5'],
    [() => put('models/acme/m', { ...MODEL, markup: 1.75 }), 1.75, '15.75'],
    [() => put('providers/sandbox', SANDBOX), 1.75, '15.75'],
    [() => put('models/acme/m', MODEL), 1.2, '10.8'],
  ] as const) {
    const { status, text } = await change()
    assert.ok(status < 300, text)
    assert.equal(await sells(), prompt)
    const { cost, exact } = await ask(key, 'Say something')
    assert.equal(cost, charged(exact, markup), `at a markup of ${markup}`)
  }
})

test('16: a request that runs while its markup changes is billed by the one with which it was held', async () => {
  const { key } = await server.createAccount()
  await put('models/acme/m', { ...MODEL, markup: 2 })
  const running = ask(key, 'Wait\nsandbox: delay_ms=2000')
  await until(10_000, 'the request runs', () => server.app.running > 0)
  await put('models/acme/m', { ...MODEL, markup: 3 })
  const before = await running
  assert.equal(before.cost, charged(before.exact, 2))
  const later = await ask(key, 'Wait')
  assert.equal(later.cost, charged(later.exact, 3))
})

test('16: a markup of 0 is refused, one below 1 warns, and an exact text comes back as it was', async () => {
  const zero = await put('models/acme/m', { ...MODEL, markup: 0 })
  assert.equal(zero.status, 400)
  assert.match(zero.body.error.message, /markup: must be above 0/)
  const low = await put('models/acme/m', { ...MODEL, markup: '0.9' })
  assert.equal(low.body.warnings[0].warning, 'markup_below_of')
  const exact = '1.1234567890123456789'
  assert.equal((await put('providers/sandbox', { ...SANDBOX, markup: exact })).body.markup, exact)
  assert.match((await server.admin('GET', '/admin/v1/catalog?format=yaml')).text, /markup: "?1\.1234567890123456789/)
})
