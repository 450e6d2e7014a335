import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendJson, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { checkBooks } from '../harness/money-check.ts'
import { candidate } from '../harness/provider-answers.ts'

const MESSAGES = [{ role: 'user', content: 'x' }]
/** 10 tokens of input and 10 of output. */
const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
const TOKEN_USAGE = { input_tokens: 10, output_tokens: 10, total_tokens: 20 }
/** Rubles: all tokens at 1, 0.5 and 4 rubles a million. */
const COST = { default: 0.00002, flex: 0.00001, priority: 0.00008 } as const

/** The tier that the provider says; undefined = it says none. */
let served: string | undefined
/** The tier that Gemini says in the head of its answer. */
let headTier: string | undefined

const upstream = await startScriptedUpstream({ forgets: true })
const provider = (name: string, adapter: string, dialect: Record<string, unknown>): Record<string, unknown> => ({
  name,
  adapter,
  base_url: upstream.url,
  api_key: 'k',
  dialect,
})
const plain = { currency: 'RUB', prompt: 1, completion: 1, input_cache_write: 1 }
const tiers = { flex: { prompt: 0.5, completion: 0.5 }, priority: { prompt: 4, completion: 4 } }
const plainTier = { prompt: 2, completion: 2 }
const priced = { ...plain, service_tiers: tiers }
const model = (id: string, endpoints: readonly Record<string, unknown>[]): Record<string, unknown> => ({
  id: `v/${id}`,
  type: 'chat',
  context_length: 10_000,
  max_completion_tokens: 100,
  endpoints,
})
const tollgate = await gateway({
  catalog: JSON.stringify({
    bundled: false,
    markup: 1,
    providers: {
      pinned: provider('Pinned', 'openai', { service_tier: 'default' }),
      other: provider('Other', 'openai', {}),
      claude: provider('Claude', 'anthropic', { service_tier: 'standard_only' }),
      google: provider('Google', 'gemini', {}),
      vertex: {
        ...provider('Vertex', 'gemini', {}),
        base_url: `${upstream.url}/v1/projects/p/locations/global/publishers/google`,
      },
      aws: { ...provider('AWS', 'bedrock', {}), api_key: 'AKIAEXAMPLE00000:secret:us-east-1' },
    },
    models: [
      model('priced', [{ provider: 'pinned', model: 'm', price: priced }]),
      model('plain', [{ provider: 'pinned', model: 'm', price: plain }]),
      model('worded', [
        {
          provider: 'other',
          model: 'm',
          price: {
            ...plain,
            service_tiers: { on_demand_flex: tiers.flex, fast: tiers.priority, standard: plainTier },
          },
        },
      ]),
      model('unpinned', [{ provider: 'other', model: 'm', price: priced }]),
      model('other', [{ provider: 'other', model: 'm', price: plain }]),
      model('native', [{ provider: 'pinned', model: 'm', price: priced, native_responses: true }]),
      model('claude', [{ provider: 'claude', model: 'claude-sonnet-4-5', price: plain }]),
      model('claude-priced', [{ provider: 'claude', model: 'claude-sonnet-4-5', price: priced }]),
      model('gemini', [{ provider: 'google', model: 'gemini-2.5-flash', price: priced }]),
      model('vertex', [{ provider: 'vertex', model: 'gemini-2.5-flash', price: priced }]),
      model('aws-fast', [
        {
          provider: 'aws',
          model: 'amazon.nova-lite-v1:0',
          price: { ...plain, service_tiers: { optimized: tiers.priority } },
        },
      ]),
      model('google-plain', [{ provider: 'google', model: 'gemini-2.5-flash', price: plain }]),
      model('bedrock', [{ provider: 'aws', model: 'amazon.nova-lite-v1:0', price: priced }]),
      model('two', [
        { provider: 'other', model: 'cheap', price: { currency: 'RUB', prompt: 0.001, completion: 0.001 } },
        { provider: 'pinned', model: 'm', price: priced },
      ]),
    ],
  }),
})
const made = await tollgate.createAccount({ balance: 1_000 })
const account = made
const key = made.key
answer()

/** Answers in the protocol of each path, in the served tier. */
function answer(): void {
  upstream.answer((response, { path, json }) => {
    // Parsed by the harness, from what the server under test has written.
    const streams = (json as Record<string, unknown> | undefined)?.['stream'] === true || path.includes('stream')
    const tier = served === undefined ? {} : { service_tier: served }
    if (path.endsWith('/messages')) return sendMessage(response, streams, tier)
    if (path.endsWith('/responses')) return sendResponse(response, streams, tier)
    if (path.includes('GenerateContent') || path.includes('generateContent')) {
      if (headTier !== undefined) response.setHeader('x-gemini-service-tier', headTier)
      return send(response, streams, [
        candidate([{ text: 'y' }], {
          promptTokenCount: 10,
          candidatesTokenCount: 10,
          totalTokenCount: 20,
          ...(served === undefined ? {} : { trafficType: served }),
        }),
      ])
    }
    if (path.includes('/converse'))
      return sendJson(response, {
        output: { message: { role: 'assistant', content: [{ text: 'y' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 10, outputTokens: 10, totalTokens: 20 },
        ...(served === undefined ? {} : { serviceTier: { type: served === 'optimized' ? 'default' : served } }),
        ...(served === undefined
          ? {}
          : { performanceConfig: { latency: served === 'optimized' ? served : 'standard' } }),
      })
    const head = { id: 'c', object: 'chat.completion', ...tier }
    if (!streams) {
      const message = { role: 'assistant', content: 'y' }
      return sendJson(response, {
        ...head,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: CHAT_USAGE,
      })
    }
    return send(response, true, [
      { ...head, service_tier: 'auto', choices: [{ index: 0, delta: { role: 'assistant', content: 'y' } }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...head, choices: [], usage: CHAT_USAGE },
      '[DONE]',
    ])
  })
}

type Response = Parameters<typeof sendJson>[0]

function send(response: Response, streams: boolean, events: readonly unknown[]): void {
  if (!streams) return sendJson(response, events[0])
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(
    events
      .map((event) => {
        const name = (event as { type?: string }).type
        return `${name === undefined ? '' : `event: ${name}\n`}data: ${event === '[DONE]' ? event : JSON.stringify(event)}\n\n`
      })
      .join(''),
  )
}

function sendMessage(response: Response, streams: boolean, tier: Record<string, unknown>): void {
  const head = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
  const usage = { input_tokens: 10, output_tokens: 10, ...tier }
  if (!streams)
    return sendJson(response, { ...head, content: [{ type: 'text', text: 'y' }], stop_reason: 'end_turn', usage })
  send(response, true, [
    { type: 'message_start', message: { ...head, usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'y' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ])
}

function sendResponse(response: Response, streams: boolean, tier: Record<string, unknown>): void {
  const output = [
    { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'y', annotations: [] }] },
  ]
  const whole = { id: 'r', object: 'response', status: 'completed', output, usage: TOKEN_USAGE, ...tier }
  send(
    response,
    streams,
    streams
      ? [
          {
            type: 'response.created',
            response: { ...whole, status: 'in_progress', output: [], usage: null, service_tier: 'auto' },
          },
          { type: 'response.completed', response: whole },
        ]
      : [whole],
  )
}

interface Seen {
  /** What the provider was sent. */
  readonly sent: unknown
  readonly dropped: string | undefined
  readonly text: string
  readonly cost: number
  /** The row of the usage log. */
  readonly logged: unknown
}

async function ask(path: string, body: Record<string, unknown>): Promise<Seen> {
  upstream.received.length = 0
  const answered: Answer = await tollgate.post(path, key, body)
  assert.equal(answered.status, 200, `${path} ${answered.text}`)
  // Parsed by the harness, from what the server under test has written.
  const sent = upstream.received[0]?.json as Record<string, unknown>
  const { service_tier: word, serviceTier: tier, performanceConfig: performance } = sent
  const header = upstream.received[0]?.headers['x-vertex-ai-llm-shared-request-type']
  const id = answered.headers['x-generation-id']
  const { body: row } = await tollgate.get(`/v1/generation?id=${String(id)}`, key)
  return {
    sent: word ?? header ?? Object(tier).type ?? Object(performance).latency,
    dropped: answered.headers['x-tollgate-dropped'],
    text: answered.text,
    cost: row.data.total_cost,
    logged: row.data.service_tier,
  }
}

const chat = (model: string, fields: Record<string, unknown> = {}): Promise<Seen> =>
  ask('/v1/chat/completions', { model: `v/${model}`, messages: MESSAGES, max_tokens: 10, ...fields })

test('a tier with a price is asked for, paid for as it is served, logged and told; in every door, whole and as events', async () => {
  const doors: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['/v1/chat/completions', { model: 'v/priced', messages: MESSAGES }, /"service_tier":"(\w+)"/],
    ['/v1/responses', { model: 'v/native', input: 'x' }, /"service_tier":"(\w+)"/],
    ['/v1/responses', { model: 'v/priced', input: 'x' }, /"service_tier":"(\w+)"/],
    ['/v1/messages', { model: 'v/priced', max_tokens: 10, messages: MESSAGES }, /"service_tier":"(\w+)"/],
  ]
  for (const [path, body, told] of doors)
    for (const stream of [false, true])
      for (const [wish, given] of [
        ['flex', 'flex'],
        ['priority', 'priority'],
        ['priority', 'default'],
      ] as const) {
        served = given
        const what = `${path} ${wish} served ${given}, stream ${stream}`
        const seen = await ask(path, { ...body, stream, service_tier: wish })
        assert.deepEqual([seen.sent, seen.dropped], [wish, undefined], what)
        assert.deepEqual([seen.logged, seen.cost], [given, COST[given]], what)
        const word = path === '/v1/messages' && given === 'default' ? 'standard' : given
        assert.equal(told.exec(seen.text)?.[1], word, `${what} ${seen.text}`)
      }
})

test('without a price, or a wish, the plain tier is asked for by name where the service would choose', async () => {
  served = 'default'
  for (const [model, wish, sent, dropped] of [
    ['priced', undefined, 'default', undefined],
    ['priced', 'auto', 'default', undefined],
    ['priced', 'default', 'default', undefined],
    ['priced', 'scale', 'default', 'service_tier'],
    ['plain', undefined, 'default', undefined],
    ['plain', 'priority', 'default', 'service_tier'],
    ['other', undefined, undefined, undefined],
    ['other', 'priority', undefined, 'service_tier'],
    ['other', 'default', undefined, undefined],
  ] as const) {
    const seen = await chat(model, wish === undefined ? {} : { service_tier: wish })
    assert.deepEqual([seen.sent, seen.dropped, seen.cost], [sent, dropped, COST.default], `${model} ${wish}`)
  }
  const { sent, dropped } = await ask('/v1/responses', { model: 'v/native', input: 'x', service_tier: 'scale' })
  assert.deepEqual([sent, dropped], ['default', 'service_tier'])
})

test("Anthropic's words: always standard_only, but where priority has a price and is wished", async () => {
  served = 'standard'
  for (const [model, wish, sent, dropped] of [
    ['claude', undefined, 'standard_only', undefined],
    ['claude', 'auto', 'standard_only', undefined],
    ['claude', 'priority', 'standard_only', 'service_tier'],
    ['claude-priced', undefined, 'standard_only', undefined],
    ['claude-priced', 'priority', 'auto', undefined],
    ['claude-priced', 'flex', 'standard_only', 'service_tier'],
  ] as const)
    for (const [path, body] of [
      ['/v1/messages', { max_tokens: 10, messages: MESSAGES }],
      ['/v1/chat/completions', { messages: MESSAGES }],
      ['/v1/responses', { input: 'x' }],
    ] as const) {
      const seen = await ask(path, {
        model: `v/${model}`,
        ...body,
        ...(wish === undefined ? {} : { service_tier: wish }),
      })
      assert.deepEqual([seen.sent, seen.dropped], [sent, dropped], `${path} ${model} ${wish}`)
      assert.deepEqual([seen.logged, seen.cost], ['default', COST.default], `${path} ${model} ${wish}`)
    }
  served = 'priority'
  for (const stream of [false, true]) {
    const seen = await ask('/v1/messages', {
      model: 'v/claude-priced',
      max_tokens: 10,
      messages: MESSAGES,
      service_tier: 'priority',
      stream,
    })
    assert.match(seen.text, /"service_tier":"priority"/)
    assert.deepEqual([seen.logged, seen.cost], ['priority', COST.priority])
  }
})

test("the tier that is served is read in Google's and Amazon's words, and decides the price", async () => {
  for (const [word, tier] of [
    ['ON_DEMAND', 'default'],
    ['ON_DEMAND_FLEX', 'flex'],
    ['ON_DEMAND_PRIORITY', 'priority'],
  ] as const) {
    served = word
    for (const stream of [false, true]) {
      const seen = await chat('gemini', { stream })
      assert.deepEqual([seen.logged, seen.cost], [tier, COST[tier]], `${word} ${stream}`)
      assert.match(seen.text, new RegExp(`"service_tier":"${tier}"`))
    }
    const native = await ask('/v1beta/models/v/gemini:generateContent', { contents: [{ parts: [{ text: 'x' }] }] })
    assert.match(native.text, new RegExp(`"trafficType":"${word}"`))
    assert.equal(native.logged, tier)
    served = tier
    const other = await ask('/v1beta/models/v/priced:generateContent', {
      contents: [{ parts: [{ text: 'x' }] }],
      ...(tier === 'default' ? {} : { serviceTier: tier }),
    })
    assert.match(other.text, new RegExp(`"trafficType":"${word}"`))
    assert.deepEqual([other.sent, other.dropped], [tier, undefined])
    const bedrock = await chat('bedrock')
    assert.deepEqual([bedrock.logged, bedrock.cost], [tier, COST[tier]])
  }
})

test('Google and Amazon are asked for a tier with a price, each in its own place; for no other', async () => {
  const contents = [{ parts: [{ text: 'x' }] }]
  const native = (model: string, serviceTier: string): Promise<Seen> =>
    ask(`/v1beta/models/v/${model}:generateContent`, { contents, serviceTier })
  for (const tier of ['flex', 'priority'] as const) {
    served = tier
    for (const model of ['gemini', 'vertex', 'bedrock']) {
      const seen = await chat(model, { service_tier: tier })
      assert.deepEqual([seen.sent, seen.dropped, seen.logged, seen.cost], [tier, undefined, tier, COST[tier]], model)
      if (model === 'bedrock') continue
      const { sent, dropped, cost } = await native(model, tier)
      assert.deepEqual([sent, dropped, cost], [tier, undefined, COST[tier]], model)
    }
  }
  served = 'optimized'
  const fast = await chat('aws-fast', { service_tier: 'optimized' })
  assert.deepEqual([fast.sent, fast.logged, fast.cost], ['optimized', 'optimized', COST.priority])
  served = 'default'
  for (const model of ['gemini', 'vertex', 'bedrock'])
    for (const [wish, dropped] of [
      [undefined, undefined],
      ['default', undefined],
      ['scale', 'service_tier'],
    ] as const) {
      const seen = await chat(model, { service_tier: wish })
      assert.deepEqual([seen.sent, seen.dropped], [undefined, dropped], `${model} ${wish}`)
    }
  const unpriced = await native('google-plain', 'flex')
  assert.deepEqual([unpriced.sent, unpriced.dropped], [undefined, 'serviceTier'])
})

test('the Gemini API tells the tier in a header, and its clients are told in the answer', async () => {
  served = undefined
  headTier = 'priority'
  for (const stream of [false, true])
    assert.partialDeepStrictEqual(await chat('gemini', { stream }), { logged: 'priority', cost: COST.priority })
  const method = 'v/gemini:streamGenerateContent?alt=sse'
  for (const path of ['v/gemini:generateContent', method]) {
    const seen = await ask(`/v1beta/models/${path}`, { contents: [{ parts: [{ text: 'x' }] }] })
    assert.match(seen.text, /"trafficType":"ON_DEMAND_PRIORITY"/)
    assert.equal(seen.cost, COST.priority)
  }
  headTier = undefined
})

test('a provider that says nothing is not said to have served anything', async () => {
  served = undefined
  const seen = await chat('priced', { service_tier: 'priority' })
  assert.deepEqual([seen.logged, seen.cost], [null, COST.default])
  assert.doesNotMatch(seen.text, /service_tier/)
  const { text } = await ask('/v1/responses', { model: 'v/native', input: 'x' })
  assert.match(text, /"service_tier":null/)
})

test('a request for a tier goes first to an endpoint that has a price for it', async () => {
  served = 'priority'
  for (let turn = 0; turn < 5; turn += 1)
    assert.equal((await chat('two', { service_tier: 'priority' })).sent, 'priority')
})

test('a tier without a price is charged as the plain one, told as it is, and the operator learns of it once', async () => {
  served = 'priority'
  for (let turn = 0; turn < 2; turn += 1) {
    const seen = await chat('plain')
    assert.deepEqual([seen.logged, seen.cost], ['priority', COST.default])
    assert.match(seen.text, /"service_tier":"priority"/)
  }
  const { body } = await tollgate.admin('GET', '/admin/v1/events?action=usage.tier_unpriced')
  const told = body.data.filter(({ after }: { after: string }) => JSON.stringify(after).includes('v/plain'))
  assert.equal(told.length, 1, JSON.stringify(body))
  assert.match(JSON.stringify(told[0]), /priority/)
})

test("a price by a service's own word for a tier is the price of that tier", async () => {
  for (const [word, cost] of [
    ['flex', COST.flex],
    ['ON_DEMAND_FLEX', COST.flex],
    ['priority', COST.priority],
    ['default', 0.00004],
    [undefined, COST.default],
  ] as const) {
    served = word
    assert.equal((await chat('worded', { service_tier: 'flex' })).cost, cost, word)
  }
})

test('a tier that nobody asks for is not held for where the provider serves what it is asked for', async () => {
  served = 'default'
  for (const [model, wish, status] of [
    ['priced', undefined, 200],
    ['priced', 'flex', 200],
    ['priced', 'priority', 402],
    ['unpinned', undefined, 402],
  ] as const) {
    // Enough for the worst case of the plain tier.
    const { key: poor } = await tollgate.createAccount({ balance: 0.00006 })
    const body = { model: `v/${model}`, messages: MESSAGES, max_tokens: 10, service_tier: wish }
    const answered = await tollgate.post('/v1/chat/completions', poor, body)
    assert.equal(answered.status, status, `${model} ${wish} ${answered.text}`)
  }
})

test('the books agree with the log', async () => {
  await checkBooks(tollgate, account, 1_000)
})
