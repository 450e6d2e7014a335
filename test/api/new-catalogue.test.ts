import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen } from '../harness/scripted-upstream.ts'

/** The published lists on loopback, and what a look makes of them: everything waits for a person's decision. */
interface Change {
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly reason: string
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>>
  readonly row?: Readonly<Record<string, unknown>>
}

const NEW = {
  id: 'gpt-9-sol',
  name: 'GPT-9 Sol',
  match: { equals: 'gpt-9-sol' },
  context_window: 900_000,
  prices: { input_mtok: { base: 2, tiers: [{ start: 272_000, price: 4 }] }, output_mtok: 10 },
}
const KNOWN = {
  id: 'gpt-4o',
  match: { equals: 'gpt-4o' },
  context_window: 256_000,
  prices: { input_mtok: 2.6, cache_read_mtok: 1.25, output_mtok: 10 },
}
const LIMITS = {
  'gpt-9-sol': {
    input_cost_per_token: 2e-6,
    output_cost_per_token: 1e-5,
    max_output_tokens: 128_000,
    supports_vision: true,
  },
  'gpt-4o': {
    input_cost_per_token: 2.6e-6,
    output_cost_per_token: 1e-5,
    max_output_tokens: 16_384,
    supports_vision: true,
  },
}

const lists: { prices: unknown; limits: unknown; answer: ((response: ServerResponse) => void) | null; asked: number } =
  {
    prices: [],
    limits: {},
    answer: null,
    asked: 0,
  }
const source = await listen((response, { path }) => {
  lists.asked += 1
  if (lists.answer !== null) return lists.answer(response)
  response.end(JSON.stringify(path === '/prices' ? lists.prices : lists.limits))
})

const at = (path: string): string => `${source.url}/${path}`
const server = await movingGateway({
  catalog: 'rates: { USD: 100 }\nmarkup: 1',
  env: { OPENAI_API_KEY: 'sk-upstream', TOLLGATE_PRICES_URL: at('prices'), TOLLGATE_LIMITS_URL: at('limits') },
})
function publish(models: readonly unknown[], limits: unknown = LIMITS): void {
  Object.assign(lists, {
    prices: [{ id: 'openai', pricing_urls: ['https://p.example'], models }],
    limits,
    answer: null,
  })
}

async function waiting(): Promise<readonly Change[]> {
  return (await server.admin('GET', '/admin/v1/price-changes')).body.data
}

async function day(): Promise<void> {
  const { asked } = lists
  await until(20_000, 'it has looked', () => {
    server.clock.advance(3_600_000)
    return lists.asked > asked
  })
}

async function model(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { body } = await server.admin('GET', '/admin/v1/catalog')
  return body.models.find((one: { readonly id: string }) => one.id === id)
}

test('a day after the start it looks: a new model with its steps and limits, other limits and small changes wait, and nothing is sold by itself', async () => {
  publish([NEW, KNOWN])
  assert.equal(lists.asked, 0, 'a start asks nobody')
  const version = (await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})).body.price_version
  await day()
  await until(20_000, 'it waits', async () => (await waiting()).some(({ reason }) => reason === 'unasked'))
  const found = (await waiting()).filter(({ reason }) => reason !== 'gone')
  assert.deepEqual(found.map((change) => `${change.model} ${change.reason}`).toSorted(), [
    'openai/gpt-4o limits',
    'openai/gpt-4o unasked',
    'openai/gpt-9-sol new_model',
  ])
  const added = found.find(({ reason }) => reason === 'new_model')
  assert.equal(added?.before, null)
  assert.deepEqual(added.after, { currency: 'USD', prompt: 2, completion: 10, tiers: [{ above: 272_000, prompt: 4 }] })
  assert.deepEqual(added.row, {
    type: 'chat',
    name: 'GPT-9 Sol',
    context_length: 900_000,
    max_completion_tokens: 128_000,
    input_modalities: ['text', 'image'],
  })
  assert.equal(await model('openai/gpt-9-sol'), undefined)
  assert.equal((await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})).body.price_version, version)
})

test('a hand approves the model, which is then on sale, and the limits; a rejected change is not proposed again', async () => {
  const found = await waiting()
  const idOf = (reason: string): string => found.find((change) => change.reason === reason)?.id ?? ''
  for (const reason of ['new_model', 'limits'])
    assert.equal((await server.admin('POST', `/admin/v1/price-changes/${idOf(reason)}/approve`, {})).status, 200)
  assert.equal((await server.admin('POST', `/admin/v1/price-changes/${idOf('unasked')}/reject`, {})).status, 200)
  const [sold, changed] = [await model('openai/gpt-9-sol'), await model('openai/gpt-4o')]
  assert.equal(sold?.['max_completion_tokens'], 128_000)
  assert.equal(changed?.['context_length'], 256_000)
  const listed = (await server.admin('GET', '/admin/v1/models')).body.data
  assert.ok(listed.some(({ id }: { readonly id: string }) => id === 'openai/gpt-9-sol'))
  await day()
  await until(20_000, 'it was looked', async () => (await waiting()).every(({ reason }) => reason === 'gone'))
})

test('a model that was rejected does not come back when its price or name changes', async () => {
  const shy = { ...NEW, id: 'gpt-9-shy', match: { equals: 'gpt-9-shy' } }
  const limits = { ...LIMITS, 'gpt-9-shy': LIMITS['gpt-9-sol'], 'gpt-9-late': LIMITS['gpt-9-sol'] }
  const look = async (models: readonly unknown[]): Promise<readonly Change[]> => {
    publish([NEW, KNOWN, ...models], limits)
    await day()
    // A later look begins when the one before has ended, and so does an update.
    await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})
    return (await waiting()).filter(({ model: id }) => /gpt-9-(?:shy|late)/.test(id))
  }
  const [found, ...others] = await look([shy])
  assert.deepEqual([found?.model, others], ['openai/gpt-9-shy', []])
  assert.equal((await server.admin('POST', `/admin/v1/price-changes/${found?.id}/reject`, {})).status, 200)
  const dearer = { ...shy, name: 'Shy', prices: { input_mtok: 3, output_mtok: 12 } }
  const late = { ...NEW, id: 'gpt-9-late', match: { equals: 'gpt-9-late' } }
  assert.deepEqual(
    (await look([dearer, late])).map((change) => change.model),
    ['openai/gpt-9-late'],
  )
})

test('what the lists no longer have is told, and stays on sale', async () => {
  const gone = (await waiting()).filter(({ reason }) => reason === 'gone')
  assert.ok(gone.some((change) => change.model === 'openai/gpt-4o-mini'))
  assert.ok(
    gone.every((change) => change.model !== 'openai/omni-moderation-latest'),
    'the lists have no such types',
  )
  const [first] = gone
  assert.equal((await server.admin('POST', `/admin/v1/price-changes/${first?.id}/approve`, {})).status, 200)
  assert.ok(
    (await waiting()).every(({ id }) => id !== first?.id),
    'noted',
  )
  assert.notEqual(await model(first?.model ?? ''), undefined)
})

test('lists that cannot be read change nothing, are one event, and the update says so', async () => {
  for (const answer of [
    (response: ServerResponse) => void response.writeHead(302, { location: '/other' }).end(),
    (response: ServerResponse) => void response.end('x'.repeat(17_000_000)),
    (response: ServerResponse) => void response.end('{"a":'),
    (response: ServerResponse) => void response.end('[{"id":"elsewhere","models":[]}]'),
  ]) {
    lists.answer = answer
    const { status, body } = await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})
    assert.equal(status, 200)
    assert.match(body.failure, /302|longer than|not JSON|no price data set/)
  }
  const { data } = (await server.admin('GET', '/admin/v1/events?action=prices.failed')).body
  assert.equal(data.length, 1)
})

test('catalog update shows and takes new models by hand; a hostile row is left out; with hours: 0 nobody looks', async () => {
  publish(
    [
      { ...NEW, id: 'gpt-10', match: { equals: 'gpt-10' } },
      { ...NEW, id: 'evil//row', match: { equals: 'evil//row' } },
      { ...NEW, id: 'gpt-free', match: { equals: 'gpt-free' }, prices: { input_mtok: -1, output_mtok: 1 } },
    ],
    { ...LIMITS, 'gpt-10': LIMITS['gpt-9-sol'] },
  )
  const shown = await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})
  assert.deepEqual(shown.body.changes, ['+ model openai/gpt-10'])
  assert.equal(shown.body.failure, null)
  assert.equal((await server.admin('POST', '/admin/v1/catalog/update', {})).status, 200)
  assert.notEqual(await model('openai/gpt-10'), undefined)
  assert.equal((await server.admin('PATCH', '/admin/v1/settings', { catalog_look: { hours: 0 } })).status, 200)
  const { asked } = lists
  for (let hour = 0; hour < 60; hour += 1) server.clock.advance(3_600_000)
  await server.pass(1)
  assert.equal(lists.asked, asked)
})

test('nothing waits for a model that bundled_models leave out, and nobody is asked where the bundle is not sold', async () => {
  const chosen = { name: 'OpenAI', adapter: 'openai', base_url: 'https://api.openai.com/v1', api_key: 'sk-own' }
  const provider = { ...chosen, bundled_models: ['openai/gpt-4.1'] }
  assert.equal((await server.admin('PUT', '/admin/v1/providers/openai', provider)).status, 200)
  publish([{ ...KNOWN, prices: { input_mtok: 9, cache_read_mtok: 9, output_mtok: 99 } }], {})
  const held = async (): Promise<readonly string[]> =>
    (await server.admin('POST', '/admin/v1/catalog/update?dry_run=1', {})).body.held.map((one: Change) => one.model)
  assert.deepEqual(await held(), [])
  await server.admin('PUT', '/admin/v1/providers/openai', { ...chosen, bundled_models: ['openai/gpt-4o'] })
  assert.deepEqual(await held(), ['openai/gpt-4o'])
  const { body } = await server.admin('GET', '/admin/v1/catalog')
  assert.equal((await server.admin('PUT', '/admin/v1/catalog', { ...body, bundled: false, models: [] })).status, 200)
  const { asked } = lists
  assert.deepEqual(await held(), [])
  assert.equal(lists.asked, asked)
  assert.deepEqual(await waiting(), [])
})
