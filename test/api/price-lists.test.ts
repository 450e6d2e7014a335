import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { parsePriceList } from '../../src/catalog/feeds/price-list-api.ts'
import { startMovingServer, type MovingServer } from '../harness/moving-server.ts'
import { until } from '../harness/patience.ts'

/** Prices that follow a provider's own list: a real source on loopback, and what a hostile one may say. */
type Pricing = Readonly<Record<string, unknown>>
interface Change {
  readonly id: string
  readonly model: string
  readonly reason: string | null
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
}

let answer: (response: ServerResponse) => void = () => undefined
let asked = 0
const source = createServer((request, response) => {
  if (request.url?.endsWith('/models') === true) {
    asked += 1
    answer(response)
  } else
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 20, completion_tokens: 3 },
      }),
    )
})
let server: MovingServer

before(async () => {
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with it.
  const { port } = source.address() as AddressInfo
  const row = (id: string, price: string, sell = ''): string =>
    `  - { id: acme/${id}, type: chat, context_length: 8000, max_completion_tokens: 100, endpoints: [{ provider: acme, model: ${id}, price: { ${price} }${sell} }] }`
  server = await startMovingServer(`
rates: { USD: 100 }
markup: 1
providers:
  acme: { adapter: openai, base_url: 'http://127.0.0.1:${port}/v1', api_key: k, price_list: { api: openrouter, rise: 10 } }
models:
${row('a', 'currency: USD, prompt: 1, completion: 4, input_cache_read: 0.1')}
${row('b', 'currency: USD, prompt: 2, completion: 8')}
${row('c', 'currency: USD, prompt: 3, completion: 9', ', sell: { prompt: 310, completion: 920 }')}
${row('d', 'currency: RUB, prompt: 300, completion: 900')}
`)
})
after(async () => {
  await server.stop()
  source.closeAllConnections()
  source.close()
})

/** Prices of a million tokens, as the list writes them. */
function perToken(prompt: number, completion: number, more: Pricing = {}): Pricing {
  return { prompt: (prompt / 1e6).toFixed(12), completion: (completion / 1e6).toFixed(12), request: '0', ...more }
}

function lists(models: Readonly<Record<string, Pricing>>): void {
  const data = Object.entries(models).map(([id, pricing]) => ({ id, pricing }))
  answer = (response) => void response.writeHead(200).end(JSON.stringify({ data }))
}

async function fetchNow(): Promise<{ applied: readonly Change[]; held: readonly Change[]; failure: string | null }> {
  const { status, body, text } = await server.admin('POST', '/admin/v1/price-changes/fetch', {})
  assert.equal(status, 200, text)
  return body.data[0]
}

async function price(id: string): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await server.admin('GET', '/admin/v1/catalog')
  return body.models.find((model: { readonly id: string }) => model.id === id).endpoints[0].price
}

async function events(): Promise<readonly string[]> {
  const { data } = (await server.admin('GET', '/admin/v1/events?action=prices.')).body
  return data.map(({ action, actor }: { action: string; actor: string }) => `${actor} ${action}`).toReversed()
}

const version = async (): Promise<number> =>
  (await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})).body.price_version

test('small changes are applied as one version; what is doubtful waits, each with its reason; nothing is deleted', async () => {
  const before = await version()
  lists({
    a: perToken(1.1, 3.9, { input_cache_read: '0.0000001' }),
    b: perToken(2.5, 8),
    c: perToken(3.2, 9),
    d: perToken(3, 9),
    'not/ours': perToken(1, 1),
  })
  const { applied, held } = await fetchNow()
  assert.deepEqual(
    applied.map(({ model }) => model),
    ['acme/a'],
  )
  assert.deepEqual(
    held.map(({ model, reason }) => [model, reason]),
    [
      ['acme/b', 'rise'],
      ['acme/c', 'below_cost'],
      ['acme/d', 'currency'],
    ],
  )
  assert.deepEqual(await price('acme/a'), { currency: 'USD', prompt: 1.1, completion: 3.9, input_cache_read: 0.1 })
  assert.deepEqual(await price('acme/b'), { currency: 'USD', prompt: 2, completion: 8 })
  assert.equal(await version(), before + 1)
  assert.deepEqual(await events(), ['token prices.applied', 'token prices.held'])
  await fetchNow()
  assert.deepEqual([await version(), (await events()).length], [before + 1, 2], 'the same list changes nothing')
  lists({ a: perToken(1.1, 3.9) })
  assert.deepEqual((await fetchNow()).held, [], 'half a list: what is not in it stays')
  assert.deepEqual(await price('acme/b'), { currency: 'USD', prompt: 2, completion: 8 })
})

test('a hand approves or rejects, as itself; a rejected change is not proposed again; who is concerned is told', async () => {
  lists({ a: perToken(1.1, 3.9), b: perToken(2.5, 8), c: perToken(3.2, 9) })
  const account = await server.createAccount({ balance: 1_000 })
  const body = { model: 'acme/b', messages: [{ role: 'user', content: 'x' }] }
  assert.equal((await server.request('POST', '/v1/chat/completions', { key: account.key, body })).status, 200)
  const { held } = await fetchNow()
  const [b, c] = held
  assert.deepEqual([b?.model, c?.model], ['acme/b', 'acme/c'])
  const concerned = { total: 1, data: [{ account: account.id, requests: 1, revenue: 0.0064 }] }
  for (const query of ['', '?model=acme/b'])
    assert.deepEqual((await server.admin('GET', `/admin/v1/price-changes/accounts${query}`)).body, concerned)
  const token = await server.admin('POST', '/admin/v1/tokens', {
    name: 'pricer',
    scopes: ['catalog:read', 'catalog:write'],
  })
  const asPricer = (path: string): ReturnType<MovingServer['request']> =>
    server.request('POST', `/admin/v1/price-changes/${path}`, { key: String(token.body.token), body: {} })
  assert.equal((await asPricer(`${b?.id}/approve`)).status, 200)
  assert.deepEqual(await price('acme/b'), { currency: 'USD', prompt: 2.5, completion: 8 })
  assert.equal((await asPricer(`${c?.id}/reject`)).status, 200)
  for (const decision of ['approve', 'reject'])
    assert.equal((await asPricer(`${b?.id}/${decision}`)).status, 404, 'it is decided')
  assert.deepEqual((await fetchNow()).held, [])
  assert.deepEqual((await server.admin('GET', '/admin/v1/price-changes')).body.data, [])
  assert.deepEqual((await events()).slice(-2), ['token:pricer prices.approved', 'token:pricer prices.rejected'])
  lists({ c: perToken(3.21, 9) })
  const [another] = (await fetchNow()).held
  assert.equal(another?.model, 'acme/c', 'another price is another change')
  // The operator was quicker.
  const entry = (await server.admin('GET', '/admin/v1/catalog')).body.models.find(
    ({ id }: { readonly id: string }) => id === 'acme/c',
  )
  entry.endpoints[0].price.prompt = 3.01
  assert.equal((await server.admin('PUT', '/admin/v1/models/acme/c', entry)).status, 200)
  assert.equal((await asPricer(`${another?.id}/approve`)).status, 404)
  assert.deepEqual(await price('acme/c'), { currency: 'USD', prompt: 3.01, completion: 9 })
})

test('a list is fetched every six hours; one that cannot be used is one event until it can', async () => {
  const count = (await events()).length
  const turn = async (): Promise<void> => {
    const before = asked
    await until(20_000, 'it is fetched', () => {
      server.clock.advance(6 * 3_600_000)
      return asked > before
    })
  }
  const cases: readonly (readonly [what: string, answer: typeof answer])[] = [
    ['it answered 302', (response) => void response.writeHead(302, { location: '/v1/other/models' }).end()],
    ['the answer is longer than 8388608 bytes', (response) => void response.writeHead(200).end('x'.repeat(10_000_000))],
    ['the answer is not JSON', (response) => void response.writeHead(200).end('{"data":[{"id":"b","pricing":')],
    ['the answer is no list of prices', (response) => void response.writeHead(200).end('{"data":[]}')],
  ]
  for (const [what, given] of cases) {
    answer = given
    assert.equal((await fetchNow()).failure, what)
  }
  await turn()
  assert.deepEqual((await events()).slice(count), ['token prices.failed'])
  assert.deepEqual(await price('acme/b'), { currency: 'USD', prompt: 2.5, completion: 8 })
  lists({ b: perToken(2.6, 8) })
  await turn()
  await until(20_000, 'it is followed', async () => (await events()).at(-1) === 'system prices.applied')
  assert.equal((await price('acme/b'))['prompt'], 2.6)
})

test('a price that is none, or beyond belief, leaves its model as it was; a price of zero and a new fee wait', async () => {
  const before = await price('acme/b')
  for (const prompt of [
    'NaN',
    '-0.0000026',
    '1e308',
    1e308,
    '',
    ' 1',
    '0x1',
    'many',
    true,
    {},
    [],
    '9'.repeat(100),
    5,
  ]) {
    lists({ a: perToken(1.1, 3.9), b: { prompt, completion: '0.000008' } })
    const { applied, held } = await fetchNow()
    assert.deepEqual([applied, held], [[], []], String(prompt))
  }
  const reasonFor = async (pricing: Pricing): Promise<unknown> => {
    lists({ b: pricing })
    return (await fetchNow()).held[0]?.reason
  }
  assert.equal(await reasonFor(perToken(0, 8)), 'free')
  assert.equal(await reasonFor(perToken(2.6e-6, 8)), 'fall', 'another unit')
  assert.equal(await reasonFor(perToken(2.6, 8, { request: '0.01' })), 'new_fee')
  assert.equal(
    await reasonFor(perToken(2.6, 8, { input_cache_read: '0.00000026' })),
    undefined,
    'cheaper than the prompt',
  )
  assert.equal(await reasonFor(perToken(2.6, 8, { constructor: '1', __proto__: '1', lunar: '7' })), undefined)
  assert.deepEqual(await price('acme/b'), before)
  const bare = JSON.parse('{"data":[null,1,{"id":{},"pricing":null},{"id":"x","pricing":[]},{"id":"y"}]}') as unknown
  assert.equal(parsePriceList('openrouter', bare), null)
  assert.equal(parsePriceList('openrouter', { data: { length: 1 } }), null)
})
