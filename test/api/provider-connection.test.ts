import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderTrial } from '../../src/api/admin/catalog-contract.ts'
import { gateway } from '../harness/gateway.ts'
import { startModelLister } from '../harness/model-lister.ts'

const KEY = 'sk-right-key-of-north'

const server = await gateway({ env: { ALLOW_PRIVATE_UPSTREAMS: 'true' } })
const north = await startModelLister(KEY, [
  { id: 'gpt-4o-mini' },
  { id: 'north/large', context_window: 64_000 },
  { id: 'north-embed' },
  { id: `north/${'x'.repeat(180)}` },
  { id: 'claude-sonnet-4.5' },
])

const tried = async (slug: string, provider: object): Promise<ProviderTrial> =>
  (await server.admin('POST', '/admin/v1/providers/try', { slug, provider })).body

test('16: trying a provider asks it with the key, and tells its models with known prices; nothing is kept', async () => {
  const { outcome, status, models } = await tried('openai', { adapter: 'openai', base_url: north.url, api_key: KEY })
  assert.deepEqual([outcome, status], ['listed', 200])
  assert.deepEqual(
    models.slice(0, 3).map(({ listed, bundled, exists, entry }) => [listed, bundled, exists, entry.id, entry.type]),
    [
      [true, true, false, 'openai/gpt-4o-mini', 'chat'],
      [true, false, false, 'north/large', 'chat'],
      [true, false, false, 'openai/north-embed', 'embeddings'],
    ],
  )
  assert.equal(models[0]?.entry.endpoints[0]?.price.currency, 'USD')
  assert.equal(models[1]?.entry.context_length, 64_000)
  const [large, embed, long, claude] = models.slice(1, 5)
  assert.deepEqual(
    [large, embed, long].map(
      (model) => (model?.entry as { readonly guessed?: readonly string[] } | undefined)?.guessed,
    ),
    [undefined, undefined, ['context_length']],
    'a window that nobody has stated is a guess',
  )
  assert.equal(long?.entry.id, `north/${'x'.repeat(180)}`, 'no id is cut')
  assert.equal(claude?.bundled, false)
  assert.equal(claude.alike?.id, 'anthropic/claude-sonnet-4.5', 'another provider has prices for it')
  assert.ok(models.slice(5).every(({ listed, bundled }) => !listed && bundled))
  const { body } = await server.admin('GET', '/admin/v1/catalog')
  assert.equal(body.providers.openai, undefined)
})

test('16: each way in which a provider can be wrong has its own word, and no answer repeats the key', async () => {
  const wrong = 'sk-wrong-key-of-north'
  const outcomes: string[] = []
  const refused = await tried('north', { adapter: 'openai', base_url: north.url, api_key: wrong })
  assert.match(refused.said ?? '', /Incorrect API key/)
  assert.equal(JSON.stringify(refused).includes(wrong), false)
  outcomes.push(refused.outcome)
  for (const [status, body] of [
    [404, { error: { message: 'no such page' } }],
    [429, {}],
    [400, {}],
    [503, {}],
    [302, {}],
    [200, { hello: 'world' }],
  ] as const) {
    north.answer = { status, body }
    outcomes.push((await tried('north', { adapter: 'openai', base_url: north.url, api_key: KEY })).outcome)
  }
  north.answer = null
  for (const base of ['http://127.0.0.1:1/v1', 'http://no-such-host.invalid/v1'])
    outcomes.push((await tried('north', { adapter: 'openai', base_url: base })).outcome)
  outcomes.push((await tried('aws', { adapter: 'bedrock', base_url: north.url })).outcome)
  assert.deepEqual(outcomes, [
    'refused',
    'not_found',
    'limited',
    'rejected',
    'failed',
    'unreadable',
    'unreadable',
    'closed',
    'unknown_host',
    'no_list',
  ])
})

test('16: a provider and its models are made in one price version; the models that were not chosen stay out', async () => {
  const version = server.app.catalog.current().priceVersion
  const made = await server.admin('POST', '/admin/v1/providers', {
    slug: 'openai',
    provider: { adapter: 'openai', base_url: north.url, api_key: KEY, bundled_models: ['openai/gpt-4o-mini'] },
    models: [
      {
        id: 'north/large',
        type: 'chat',
        context_length: 64_000,
        endpoints: [
          { provider: 'openai', model: 'north/large', price: { currency: 'RUB', prompt: 10, completion: 20 } },
        ],
      },
    ],
  })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.body.api_key, '…orth')
  const { priceVersion, models } = server.app.catalog.current()
  assert.equal(priceVersion, version + 1)
  await server.admin('PATCH', '/admin/v1/settings', { rates: { USD: 90 } })
  assert.deepEqual(
    [...server.app.catalog.current().models.keys()].filter((id) => !id.startsWith('sandbox/')),
    ['openai/gpt-4o-mini', 'north/large'],
  )
  assert.equal(models.has('north/large'), true)
  // The stored key is used again where the address is the same, and never for another one.
  north.asked.splice(0)
  await tried('openai', { adapter: 'openai', base_url: north.url })
  await tried('openai', { adapter: 'openai', base_url: `${north.url}/other` })
  assert.deepEqual(
    north.asked.map((line) => line.includes(KEY)),
    [true, false],
  )
})

test('16: a model that others serve gets one endpoint more, and one that is connected again is replaced', async () => {
  const connect = (price: number) =>
    server.admin('POST', '/admin/v1/providers', {
      slug: 'south',
      provider: { adapter: 'openai', base_url: north.url, api_key: KEY },
      models: [
        {
          id: 'north/large',
          type: 'chat',
          context_length: 64_000,
          endpoints: [{ provider: 'south', model: 'large', price: { currency: 'RUB', prompt: price, completion: 20 } }],
        },
      ],
    })
  assert.equal((await connect(5)).status, 201)
  assert.equal((await connect(6)).status, 200)
  const { body } = await server.admin('GET', '/admin/v1/catalog')
  const { endpoints } = body.models.find(({ id }: { id: string }) => id === 'north/large')
  assert.deepEqual(
    endpoints.map(({ provider, price }: { provider: string; price: { prompt: number } }) => [provider, price.prompt]),
    [
      ['openai', 10],
      ['south', 6],
    ],
  )
})

test('16: a known provider goes with its bundled models, and the rest of the bundle stays bundled', async () => {
  const provider = { adapter: 'openai', base_url: north.url, api_key: KEY }
  assert.equal((await server.admin('POST', '/admin/v1/providers', { slug: 'groq', provider })).status, 201)
  const isGroq = (id: string): boolean =>
    server.app.catalog
      .current()
      .models.get(id)
      ?.endpoints.some((endpoint) => endpoint.provider.slug === 'groq') === true
  assert.ok([...server.app.catalog.current().models.keys()].some(isGroq))
  assert.equal((await server.admin('DELETE', '/admin/v1/providers/groq')).status, 200)
  assert.equal([...server.app.catalog.current().models.keys()].some(isGroq), false)
  assert.equal((await server.admin('GET', '/admin/v1/catalog')).body.bundled, true)
})

test('16: a connection with a mistake names it by its path and changes nothing', async () => {
  const version = server.app.catalog.current().priceVersion
  for (const [body, message] of [
    [{ provider: { adapter: 'openai' } }, /slug: is required/],
    [{ slug: 'x' }, /provider/],
    [{ slug: 'x', provider: { adapter: 'nope' } }, /providers\.x\.adapter: must be one of/],
    [{ slug: 'x', provider: { adapter: 'openai' }, extra: 1 }, /extra/],
    [{ slug: 'x', provider: { adapter: 'openai' }, models: [{ id: 'a/b', type: 'chat' }] }, /models\[0\]/],
    [
      {
        slug: 'x',
        provider: { adapter: 'openai' },
        models: [
          {
            id: 'a/b',
            type: 'chat',
            context_length: 10,
            endpoints: [{ provider: 'y', model: 'b', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
          },
        ],
      },
      /models\[0\]\.endpoints: must name the provider 'x' alone/,
    ],
  ] as const) {
    const refused = await server.admin('POST', '/admin/v1/providers', body)
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.body.error.message, message)
  }
  assert.equal(server.app.catalog.current().priceVersion, version)
})
