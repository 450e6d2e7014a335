import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { parsePriceList } from '../../src/catalog/feeds/price-list-api.ts'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

/** Prices that follow a provider's own list: a real source on loopback, and what a hostile one may say. */
type Pricing = Readonly<Record<string, unknown>>
interface Change {
  readonly id: string
  readonly model: string
  readonly reason: string | null
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
  readonly row?: Readonly<Record<string, unknown>>
}

let answer: (response: ServerResponse) => void = () => undefined
let asked = 0
const source = await listen((response, { path }) => {
  if (path.endsWith('/models')) {
    asked += 1
    answer(response)
  } else sendJson(response, completion({ content: 'x' }, { usage: { prompt_tokens: 20, completion_tokens: 3 } }))
})

const row = (id: string, price: string, sell = ''): string =>
  `  - { id: acme/${id}, type: chat, context_length: 8000, max_completion_tokens: 100, endpoints: [{ provider: acme, model: ${id}, price: { ${price} }${sell} }] }`
const server = await movingGateway({
  catalog: `
rates: { USD: 100 }
markup: 1
providers:
  acme: { adapter: openai, base_url: '${source.url}/v1', api_key: k, price_list: { api: openrouter, rise: 10 } }
models:
${row('a', 'currency: USD, prompt: 1, completion: 4, input_cache_read: 0.1')}
${row('b', 'currency: USD, prompt: 2, completion: 8')}
${row('c', 'currency: USD, prompt: 3, completion: 9', ', sell: { prompt: 310, completion: 920 }')}
${row('d', 'currency: RUB, prompt: 300, completion: 900')}
${row('e', 'currency: USD, prompt: 2.5, completion: 8')}
${row('f', 'currency: USD, prompt: 3, completion: 9', ', sell: { prompt: 310, completion: 920 }')}
`,
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
  assert.equal((await server.post('/v1/chat/completions', account.key, body)).status, 200)
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
  const asPricer = (path: string): ReturnType<MovingGateway['request']> =>
    server.post(`/admin/v1/price-changes/${path}`, String(token.body.token), {})
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
  const late = await asPricer(`${another?.id}/approve`)
  assert.deepEqual([late.status, late.body.error.metadata.reason], [409, 'price_overtaken'])
  assert.deepEqual(await price('acme/c'), { currency: 'USD', prompt: 3.01, completion: 9 })
})

test('a change that waits says what it would do: prices, margins, rubles a day, and who would pay more; many are decided at once', async () => {
  lists({ e: perToken(5, 8), f: perToken(3.4, 9) })
  const account = await server.createAccount({ balance: 1_000 })
  const body = { model: 'acme/e', messages: [{ role: 'user', content: 'x' }] }
  assert.equal((await server.post('/v1/chat/completions', account.key, body)).status, 200)
  await fetchNow()
  const { data } = (await server.admin('GET', '/admin/v1/price-changes')).body
  const [e, f] = data
  assert.deepEqual([e.model, e.reason, f.model], ['acme/e', 'rise', 'acme/f'])
  // Twenty tokens of input for 250, which will be 500 a million, and three of output for 800.
  assert.deepEqual(e.effect.lines, [
    {
      price: 'prompt',
      condition: null,
      cost: '250',
      cost_after: '500',
      sell: '250',
      sell_after: '500',
      margin_percent: 0,
      margin_percent_after: 0,
    },
  ])
  const [mine] = e.effect.customers.filter((one: { readonly account: string }) => one.account === account.id)
  assert.equal(mine.day, 0.000714, '20 tokens × 250 rubles a million more, over seven days')
  assert.ok(e.effect.day.cost > 0 && e.effect.day.cost === e.effect.day.revenue)
  assert.ok(e.effect.customer_count >= 1)
  const [line] = f.effect.lines
  assert.deepEqual(
    [line.cost_after, line.sell, line.sell_after, line.margin_percent_after],
    ['340', '310', '310', -9.7],
    'a fixed price stays, and its margin falls below nothing',
  )
  assert.deepEqual([f.effect.day, f.effect.customers, e.effect.limits.context_length], [null, [], 8_000])
  const decide = (ids: readonly string[], decision: string): ReturnType<typeof server.admin> =>
    server.admin('POST', '/admin/v1/price-changes/decide', { ids, decision })
  const before = await version()
  assert.deepEqual((await decide([e.id, f.id, 'prc_none'], 'approve')).body, { decided: 2, overtaken: [] })
  assert.equal(await version(), before + 1, 'one price version for all changes of a provider')
  assert.deepEqual([(await price('acme/e'))['prompt'], (await price('acme/f'))['prompt']], [5, 3.4])
  assert.deepEqual((await decide([e.id], 'reject')).body, { decided: 0, overtaken: [] })
  assert.equal((await decide([], 'approve')).status, 400)
})

test('of several decisions at once one wins, and the others are told so', async () => {
  let given = 3.3
  for (const decisions of [
    ['approve', 'reject'],
    ['reject', 'approve', 'reject'],
    ['approve', 'approve'],
  ]) {
    given += 1.7
    lists({ c: perToken(given, 9) })
    const [change] = (await fetchNow()).held
    const before = await price('acme/c')
    const seen = (await events()).length
    const answers = await Promise.all(
      decisions.map((one) => server.admin('POST', `/admin/v1/price-changes/${change?.id}/${one}`, {})),
    )
    const won = answers.findIndex(({ status }) => status === 200)
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.error?.metadata.reason]),
      answers.map((_, index) => (index === won ? [200, undefined] : [409, 'price_overtaken'])),
    )
    const isApproved = decisions[won] === 'approve'
    assert.deepEqual(await price('acme/c'), isApproved ? { ...before, prompt: change?.after['prompt'] } : before)
    assert.equal((await events()).length, seen + 1)
    assert.deepEqual((await fetchNow()).held, [])
  }
})

test('a model that a list has and nobody sells waits with its price and limits, and is sold once a hand approves it', async () => {
  const pricing = perToken(1, 4)
  const models: Record<string, unknown>[] = [
    {
      id: 'new',
      name: 'New',
      created: 2,
      context_length: 200_000,
      top_provider: { max_completion_tokens: 32_000 },
      pricing,
    },
    { id: 'newer/model', created: 3, context_length: 100_000, pricing },
    { id: 'text-embed', created: 1, context_length: 8_000, pricing: perToken(0.1, 0) },
    { id: 'no-window', pricing },
    { id: 'no-price', context_length: 9_000 },
    { id: 'tts-voice', context_length: 9_000, pricing },
    { id: 'other-name', aliases: ['a'], context_length: 9_000, pricing: perToken(1.1, 3.9) },
    { id: 'A', context_length: 9_000, pricing },
    { id: 'bad id', context_length: 9_000, pricing },
  ]
  const fetched = async (all: readonly unknown[]): ReturnType<typeof fetchNow> => {
    answer = (response) => void response.writeHead(200).end(JSON.stringify({ data: all }))
    return fetchNow()
  }
  const before = await version()
  const rows = (await fetched(models)).held.filter(({ reason }) => reason === 'new_model')
  assert.deepEqual(
    rows.map(({ model, after, row }) => [model, after['prompt'], row]),
    [
      [
        'newer/model',
        1,
        { type: 'chat', context_length: 100_000, max_completion_tokens: 25_000, guessed: ['max_completion_tokens'] },
      ],
      ['acme/new', 1, { type: 'chat', name: 'New', context_length: 200_000, max_completion_tokens: 32_000 }],
      ['acme/text-embed', 0.1, { type: 'embeddings', context_length: 8_000 }],
      [
        'acme/bad-id',
        1,
        { type: 'chat', context_length: 9_000, max_completion_tokens: 8_192, guessed: ['max_completion_tokens'] },
      ],
    ],
  )
  assert.equal(await version(), before, 'nothing is sold by itself')
  const decide = async (id: string, decision: string): Promise<number> => {
    const change = rows.find(({ model }) => model === id)
    return (await server.admin('POST', `/admin/v1/price-changes/${change?.id}/${decision}`, {})).status
  }
  assert.deepEqual([await decide('acme/new', 'approve'), await decide('newer/model', 'reject')], [200, 200])
  assert.deepEqual(await price('acme/new'), { currency: 'USD', prompt: 1, completion: 4 })
  const later = (await fetched(models)).held.filter(({ reason }) => reason === 'new_model')
  assert.deepEqual(
    later.map(({ model }) => model),
    ['acme/text-embed', 'acme/bad-id'],
  )
  const many = Array.from({ length: 300 }, (_, created) => ({ ...models[0], id: `m${created}`, created }))
  const most = (await fetched([...many, { id: 'b', pricing: perToken(9, 90) }])).held
  assert.deepEqual(
    [most.length, most[0]?.reason, most[1]?.model, most.at(-1)?.model],
    [51, 'rise', 'acme/m299', 'acme/m250'],
  )
  assert.deepEqual((await fetched([{ id: 'a', pricing: perToken(1.1, 3.9) }])).held, [])
  assert.equal((await server.admin('DELETE', '/admin/v1/models/acme/new', {})).status, 200)
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

test('small steps lead nowhere: each is measured by the price that a person approved last, for every meter', async () => {
  const ends = async (
    step: (prices: readonly [number, number, number]) => readonly [number, number, number],
  ): Promise<string | null> => {
    for (let steps = 0; steps < 12; steps += 1) {
      const { prompt, completion, input_cache_read: read } = await price('acme/a')
      const [p, c, r] = step([Number(prompt), Number(completion), Number(read)])
      lists({ a: perToken(p, c, { input_cache_read: (r / 1e6).toFixed(15) }) })
      const { held } = await fetchNow()
      if (held.length > 0) return held[0]?.reason ?? null
    }
    return null
  }
  const set = async (prompt: number, completion: number, read: number): Promise<void> => {
    const { body } = await server.admin('GET', '/admin/v1/models/acme/a')
    const { warnings: _none, ...model } = body
    model.endpoints[0].price = { currency: 'USD', prompt, completion, input_cache_read: read }
    const put = await server.admin('PUT', '/admin/v1/models/acme/a', model)
    assert.equal(put.status, 200, put.text)
  }
  for (const meter of [0, 1, 2]) {
    for (const [factor, reason] of [
      [1.09, 'rise'],
      [0.6, 'fall'],
    ] as const) {
      await set(1, 4, 0.1)
      assert.equal(
        await ends((prices) => [0, 1, 2].map((at) => (prices[at] ?? 0) * (at === meter ? factor : 1)) as never),
        reason,
      )
      const now = await price('acme/a')
      const [prompt, completion, read] = [now['prompt'], now['completion'], now['input_cache_read']].map(Number)
      const ratio = [prompt, (completion ?? 0) / 4, (read ?? 0) * 10][meter] ?? 0
      assert.ok(ratio > 0.5 && ratio <= 1.25, `${meter}: ${ratio}`)
    }
  }
  await set(1, 4, 0.1)
  assert.equal(await ends(([p, c, r]) => [p * 1.09, c, r]), 'rise')
  // A change of something else approves nothing; a hand does.
  const { body: model } = await server.admin('GET', '/admin/v1/models/acme/a')
  const { warnings: _none, ...entry } = model
  const renamed = await server.admin('PUT', '/admin/v1/models/acme/a', { ...entry, name: 'Another name' })
  assert.equal(renamed.status, 200, renamed.text)
  const [held] = (await fetchNow()).held
  assert.equal(held?.reason, 'rise')
  assert.equal((await server.admin('POST', `/admin/v1/price-changes/${held?.id}/approve`, {})).status, 200)
  const approved = Number((await price('acme/a'))['prompt'])
  lists({ a: perToken(approved * 1.09, 4, { input_cache_read: '0.0000001' }) })
  assert.deepEqual((await fetchNow()).held, [])
})
