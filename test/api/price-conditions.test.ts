import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { claudeMessage, completion } from '../harness/provider-answers.ts'

const HOUR_MS = 3_600_000

/** The time of day in UTC, some hours from now. */
function timeIn(hours: number): string {
  return new Date(Date.now() + hours * HOUR_MS).toISOString().slice(11, 16)
}

const TIERS = '[{ above: 200000, prompt: 4, completion: 18, input_cache_read: 0.4 }]'
const PRICE = `currency: RUB, prompt: 2, completion: 12, input_cache_read: 0.2, tiers: ${TIERS}`

const world = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 1.5
providers:
  scripted: { name: Scripted, adapter: openai, base_url: ${url}, api_key: k }
  claude: { name: Claude, adapter: anthropic, base_url: ${url}, api_key: k }
models:
${row('long', 'scripted', `price: { ${PRICE} }`)}
${row('claude', 'claude', `price: { ${PRICE} }`)}
${row('flat', 'scripted', `price: { ${PRICE} }, sell: { prompt: 5, completion: 20 }`)}
${row('night', 'scripted', `price: { currency: RUB, prompt: 2, completion: 12, hours: [${hours(-1, 1, 1)}] }`)}
${row('day', 'scripted', `price: { currency: RUB, prompt: 2, completion: 12, hours: [${hours(2, 3, 1)}, ${hours(3, 4, 1)}] }`)}
  - id: t/clip
    type: video
    supported_resolutions: [720p, 1080p]
    endpoints:
      - provider: scripted
        model: m
        price: { currency: RUB, video_second: { 720p: 4, 1080p: 8 }, hours: [{ from: "${timeIn(2)}", to: "${timeIn(3)}", video_second: { 720p: 2, 1080p: 3 } }] }
  - id: t/vectors
    type: embeddings
    context_length: 1000000
    endpoints: [{ provider: scripted, model: m, price: { currency: RUB, prompt: 1, tiers: [{ above: 10, prompt: 7 }] } }]
`,
)
const { key, tollgate } = world

function hours(from: number, to: number, prompt: number): string {
  return `{ from: "${timeIn(from)}", to: "${timeIn(to)}", prompt: ${prompt} }`
}

function row(name: string, provider: string, prices: string): string {
  return `  - { id: t/${name}, type: chat, context_length: 1000000, max_completion_tokens: 1000, endpoints: [{ provider: ${provider}, model: m, ${prices} }] }`
}

async function ask(model: string, usage: Record<string, unknown>, bytes = 250_000): Promise<Answer> {
  const { tollgate, upstream, key } = world
  upstream.answer(
    model === 't/claude'
      ? answers(claudeMessage([{ type: 'text', text: 'Hello' }], usage, { id: 'u' }))
      : answers(completion({ content: 'Hello' }, { id: 'u', usage })),
  )
  const answer = await tollgate.post('/v1/chat/completions', key, {
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'a'.repeat(bytes) }],
  })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

function tokens(prompt: number, cached = 0): Record<string, unknown> {
  return {
    prompt_tokens: prompt,
    completion_tokens: 10,
    total_tokens: prompt + 10,
    prompt_tokens_details: { cached_tokens: cached },
  }
}

/** The operator's view of the newest request. */
async function newest(): Promise<Answer['body']> {
  const { body } = await tollgate.admin('GET', '/admin/v1/generations?limit=1')
  const { body: one } = await tollgate.admin('GET', `/admin/v1/generations/${body.data[0].generation_id}`)
  return one
}

/** RUB of units × price per million, with the markup of 1.5. */
function sold(...terms: readonly (readonly [units: number, price: number])[]): number {
  return Math.ceil(terms.reduce((sum, [units, price]) => sum + units * price, 0) * 1.5) / 1e6
}

test('the whole request has the price of its length, and the row, the bill and the hold say which', async () => {
  assert.equal(
    (await ask('t/long', tokens(200_000, 150_000))).body.usage.cost,
    sold([50_000, 2], [150_000, 0.2], [10, 12]),
  )
  const below = await newest()
  assert.equal(below['price_condition'], null)
  // It could have been longer than that.
  assert.ok(below['hold'].amount >= sold([250_000, 4], [100, 18]))
  assert.equal(
    (await ask('t/long', tokens(200_001, 150_000))).body.usage.cost,
    sold([50_001, 4], [150_000, 0.4], [10, 18]),
  )
  const above = await newest()
  assert.equal(above['price_condition'], 'above 200000')
  assert.ok(above['total_cost'] <= above['hold'].amount)
  assert.deepEqual(
    above['bill'].map(({ meter, price }: { meter: string; price: string }) => [meter, price]),
    [
      ['input', '0.000006'],
      ['cache_read', '0.0000006'],
      ['output', '0.000027'],
      ['request', '0'],
    ],
  )
  assert.equal(above['provider_cost'], 0.260184)
})

test('max_price is about the price that the request meets: of its length and of its hour', async () => {
  const { tollgate, key } = world
  for (const [model, content, prompt, status] of [
    // By its bytes it might be long.
    ['t/long', 'a'.repeat(250_000), 3, 200],
    ['t/long', 'a b '.repeat(110_000), 3, 404],
    ['t/long', 'a b '.repeat(110_000), 6, 200],
    ['t/night', 'a', 1.5, 200],
    ['t/night', 'a', 1.4, 404],
    ['t/day', 'a', 1.5, 404],
  ] as const) {
    const body = { model, max_tokens: 10, messages: [{ role: 'user', content }], provider: { max_price: { prompt } } }
    const { status: told, text } = await tollgate.post('/v1/chat/completions', key, body)
    assert.equal(told, status, `${model} ${content.length} ${prompt} ${text}`)
  }
})

test('a short request is held at the price of short ones', async () => {
  await ask('t/long', tokens(10), 1_000)
  const { hold } = await newest()
  assert.ok(hold.amount < sold([2_000, 2], [100, 12]), String(hold.amount))
})

test('a provider that tells the cached part apart is priced by all of its input', async () => {
  const usage = {
    input_tokens: 1,
    cache_read_input_tokens: 150_000,
    cache_creation_input_tokens: 49_999,
    output_tokens: 10,
  }
  assert.equal((await ask('t/claude', usage)).body.usage.cost, sold([50_000, 2], [150_000, 0.2], [10, 12]))
  const longer = { ...usage, input_tokens: 2 }
  assert.equal((await ask('t/claude', longer)).body.usage.cost, sold([50_001, 4], [150_000, 0.4], [10, 18]))
})

test('an own price without conditions stays what it is, while the provider’s bill follows its own', async () => {
  assert.equal((await ask('t/flat', tokens(200_001))).body.usage.cost, Math.ceil(200_001 * 5 + 10 * 20) / 1e6)
  const one = await newest()
  assert.deepEqual([one['price_condition'], one['provider_price_condition']], [null, 'above 200000'])
  assert.equal(one['provider_cost'], 0.800184)
})

test('the hour of the arrival decides; hours that are over or to come cost nothing', async () => {
  assert.equal((await ask('t/night', tokens(100), 100)).body.usage.cost, sold([100, 1], [10, 12]))
  assert.match((await newest())['price_condition'], /^\d\d:\d\d-\d\d:\d\d UTC$/)
  assert.equal((await ask('t/day', tokens(100), 100)).body.usage.cost, sold([100, 2], [10, 12]))
})

test('a kind without an answer by tokens has lengths too, and is held for them', async () => {
  const { tollgate, upstream, key } = world
  upstream.answer(
    answers({ object: 'list', data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 11, total_tokens: 11 } }),
  )
  const { body, status, text } = await tollgate.post('/v1/embeddings', key, {
    model: 't/vectors',
    input: 'some words to embed',
  })
  assert.equal(status, 200, text)
  assert.equal(body.usage.cost, sold([11, 7]))
  const { hold, price_condition: condition } = await newest()
  assert.ok(hold.amount >= sold([19, 7]))
  assert.equal(condition, 'above 10')
})

test('the margin and the export of costs tell the conditions of a price apart, and add up to the same', async () => {
  const { tollgate } = world
  const { body: report } = await tollgate.admin('GET', '/admin/v1/margin')
  const rows = report.conditions.filter(({ id }: { id: string }) => id === 't/long')
  const total = report.models.find(({ id }: { id: string }) => id === 't/long')
  assert.deepEqual(
    rows.map(({ condition, requests }: Answer['body']) => [condition, requests]),
    [
      [null, 2],
      ['above 200000', 3],
    ],
  )
  for (const name of ['requests', 'revenue', 'provider_cost'])
    assert.ok(Math.abs(rows[0][name] + rows[1][name] - total[name]) < 1e-9, name)
  assert.deepEqual(
    rows.map(({ revenue, provider_cost: cost }: Answer['body']) => (revenue / cost).toFixed(4)),
    ['1.5000', '1.5000'],
  )
  // Its own price has no conditions.
  assert.ok(!report.conditions.some(({ id }: { id: string }) => id === 't/flat'))
  const today = report.to
  const { text } = await tollgate.admin('GET', `/admin/v1/focus.csv?from=${today}&to=${today}`)
  const [head = '', ...lines] = text.split('\r\n')
  const at = head.split(',').indexOf('x_PriceCondition')
  assert.deepEqual(
    lines.filter((line) => line.includes(',t/long,')).map((line) => line.split(',')[at]),
    ['', 'above 200000'],
  )
})

test('the list of models shows prices under conditions, lengths as OpenRouter does', async () => {
  const { body } = await tollgate.get('/v1/models?limit=100', key)
  const pricing = (id: string): Answer['body'] => body.data.find((model: { id: string }) => model.id === id).pricing
  assert.deepEqual(pricing('t/long'), {
    currency: 'RUB',
    prompt: '0.000003',
    completion: '0.000018',
    input_cache_read: '0.0000003',
    overrides: [
      { min_prompt_tokens: 200_001, prompt: '0.000006', completion: '0.000027', input_cache_read: '0.0000006' },
    ],
  })
  assert.equal(pricing('t/flat').overrides, undefined)
  assert.deepEqual(
    pricing('t/day').hours.map((one: { prompt: string; timezone: string }) => [one.prompt, one.timezone]),
    [
      ['0.0000015', 'UTC'],
      ['0.0000015', 'UTC'],
    ],
  )
  // Of the first resolution, like the plain price of a video.
  assert.deepEqual([pricing('t/clip').video_second, pricing('t/clip').hours[0].video_second], ['6', '3'])
  const { body: margins } = await tollgate.admin('GET', '/admin/v1/models')
  const flat = margins.data.find(({ id }: { id: string }) => id === 't/flat').endpoints[0]
  assert.deepEqual(
    flat.conditions.map(({ condition, lines }: Answer['body']) => [
      condition,
      lines.map(({ price, cost, sell }: Answer['body']) => [price, cost, sell]),
    ]),
    [
      [
        'above 200000',
        [
          ['prompt', '4', '5'],
          ['completion', '18', '20'],
          ['input_cache_read', '0.4', '5'],
        ],
      ],
    ],
  )
})

test('a customer’s markup is in every condition, and the page of a model shows them', async () => {
  const { tollgate } = world
  const { id: accountId, key } = await tollgate.createAccount()
  await tollgate.admin('PATCH', `/admin/v1/accounts/${accountId}`, { markup: 2 })
  const { body } = await tollgate.get('/v1/models?limit=100', key)
  const { pricing } = body.data.find((model: { id: string }) => model.id === 't/long')
  assert.equal(pricing.overrides[0].prompt, '0.000012')
  const { body: customers } = await tollgate.admin('GET', `/admin/v1/customer-prices?account=${accountId}&model=t/long`)
  assert.deepEqual(customers.data[0].endpoints[0].conditions, [
    {
      condition: 'above 200000',
      lines: [
        { price: 'prompt', cost: '4', listed: '6', paid: '12', margin_percent: 66.7 },
        { price: 'completion', cost: '18', listed: '27', paid: '54', margin_percent: 66.7 },
        { price: 'input_cache_read', cost: '0.4', listed: '0.6', paid: '1.2', margin_percent: 66.7 },
      ],
    },
  ])
})
