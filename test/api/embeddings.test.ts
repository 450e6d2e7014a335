import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { badRequestTests, type BadRequest } from '../harness/refused.ts'
import { paced } from '../harness/patience.ts'

const KEY = 'sk-upstream-canary-key-0123456789'

const VECTORS = [
  [0.5, -0.25, 0.125],
  [1, 0, -1],
]

const BASE64 = VECTORS.map((vector) => Buffer.from(Float32Array.from(vector).buffer).toString('base64'))

function embed(body: unknown, key = account.key): Promise<Answer> {
  return tollgate.post('/v1/embeddings', key, body)
}

function listOf(
  vectors: readonly unknown[],
  fields: Readonly<Record<string, unknown>> = { usage: { prompt_tokens: 4, total_tokens: 4 } },
): unknown {
  return {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'e',
    ...fields,
  }
}

async function balance(): Promise<{ balance: number; reserved: number }> {
  return (await tollgate.get('/v1/user/balance', account.key)).body
}

const upstream = await startScriptedUpstream()
const other = await startScriptedUpstream()
const model = (name: string, endpoints: string, fields = ''): string =>
  `  - { id: test/${name}, type: embeddings, tokenizer: o200k_base${fields}, endpoints: [${endpoints}] }\n`
const price = 'price: { currency: RUB, prompt: 1000 }'
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: ${upstream.url}/v1, api_key: ${KEY} }
  two: { name: Two, adapter: openai, base_url: ${other.url}/v1, api_key: ${KEY} }
  octets: { adapter: openai, base_url: ${upstream.url}/v1, api_key: ${KEY}, dialect: { vectors: int8 } }
  cohere: { adapter: cohere, base_url: ${upstream.url}, api_key: ${KEY} }
  mute: { adapter: anthropic, base_url: ${upstream.url}, api_key: ${KEY} }
models:
${model('plain', `{ provider: one, model: e, ${price} }`, ', aliases: [plain-vectors]')}${model('small', `{ provider: one, model: e, ${price} }`, ', context_length: 100')}${model('fixed', `{ provider: one, model: e, ${price}, supported_parameters: [user] }`)}${model('two', `{ provider: one, model: e, ${price} }, { provider: two, model: e, ${price} }`)}${model('mixed', `{ provider: one, model: e, ${price}, supported_parameters: [dimensions] }, { provider: two, model: e, price: { currency: RUB, prompt: 2000 } }`)}${model('batched', `{ provider: cohere, model: e, ${price} }`)}${model('octets', `{ provider: octets, model: e, ${price} }`)}${model('mute', `{ provider: mute, model: e, ${price} }`)}`,
})
const account = await tollgate.createAccount()

const LONG = 'word '.repeat(150)

const REFUSALS: readonly BadRequest[] = [
  ['no model', { model: undefined }, /^Parameter 'model' is required$/, 'missing_model'],
  ['an empty model', { model: '' }, /^Parameter 'model' is required$/, 'missing_model'],
  ['a model that is no text', { model: 4 }, /^model: must be a string$/],
  ['no input', { input: undefined }, /^Parameter 'input' is required$/, 'missing_input'],
  ['null', { input: null }, /^Parameter 'input' is required$/, 'missing_input'],
  ['an empty list', { input: [] }, /^Parameter 'input' is required$/, 'missing_input'],
  ['an empty text', { input: '' }, /^input: must not be empty$/],
  ['an empty text in a list', { input: ['a', ''] }, /^input\[1\]: must not be empty$/],
  ['an empty list of tokens', { input: [[1], []] }, /^input\[1\]: must not be empty$/],
  ['a number', { input: 5 }, /^input: must be a string, an array of strings/],
  ['an object', { input: { text: 'a' } }, /^input: must be/],
  ['a list of objects', { input: [{ text: 'a' }] }, /^input\[0\]: input must be/],
  ['texts and tokens mixed', { input: ['a', [1]] }, /^input\[1\]: input must be/],
  ['tokens and texts mixed', { input: [1, 'a'] }, /^input: tokens must be integers of at least 0$/],
  ['a negative token', { input: [[1, -1]] }, /^input\[0\]: tokens must be integers/],
  ['half a token', { input: [1.5] }, /^input: tokens must be integers/],
  [
    '2,049 items',
    { input: Array.from({ length: 2_049 }, () => 'a') },
    /^input: must hold at most 2048 items, got 2049$/,
  ],
  ['another form', { encoding_format: 'int8' }, /^encoding_format: must be float or base64$/],
  ['no dimension', { dimensions: 0 }, /^dimensions: must be an integer of at least 1$/],
  ['half a dimension', { dimensions: 1.5 }, /^dimensions: must be an integer/],
  ['dimensions in quotes', { dimensions: '3' }, /^dimensions: must be an integer/],
  ['a user that is no text', { user: 1 }, /^user: must be a string$/],
  ['an input_type that is no text', { input_type: [] }, /^input_type: must be a string$/],
  ['an unknown model', { model: 'no/such' }, /^Model 'no\/such' not found or inactive$/, 'model_not_found'],
  [
    'a model of another kind',
    { model: 'sandbox/chat' },
    /^Model 'sandbox\/chat' does not support embeddings\. Supported: chat\/completions/,
    'model_not_supported',
  ],
  ['a model that no provider can embed with', { model: 'test/mute' }, /test\/mute/, 'model_not_found'],
  [
    'an item beyond the context',
    { model: 'test/small', input: ['a', LONG] },
    /^This model's maximum context length is 100 tokens\. Model test\/small: your input is 15\d tokens, the maximum allowed input is 100 tokens\. Please reduce the length of the messages\.$/,
    'input_tokens_exceeded',
  ],
  [
    'tokens beyond the context',
    { model: 'test/small', input: [Array.from({ length: 101 }, () => 1)] },
    /your input is 101 tokens/,
    'input_tokens_exceeded',
  ],
  [
    'fixed dimensions',
    { model: 'test/fixed', dimensions: 3 },
    /^dimensions: this model has a fixed number of dimensions$/,
  ],
]

badRequestTests({ model: 'test/plain', input: 'a' }, REFUSALS, embed, () => upstream.requests.length)

test('many small items may be longer than the context together', async () => {
  upstream.answer(answers(listOf(Array.from({ length: 300 }, () => BASE64[0]))))
  assert.equal(
    (await embed({ model: 'test/small', input: Array.from({ length: 300 }, (_value, index) => `word ${index}`) }))
      .status,
    200,
  )
})

test('preferences hold as for chat, by the parameters of this kind', async () => {
  upstream.answer(answers(listOf(VECTORS.slice(0, 1))))
  other.answer(answers(listOf(VECTORS.slice(0, 1))))
  const ask = (model: string, provider: unknown, fields: Readonly<Record<string, unknown>> = {}): Promise<Answer> =>
    embed({ model, input: 'a', provider, ...fields })
  assert.equal(
    (await ask('test/plain', { require_parameters: true }, { dimensions: 3 })).status,
    200,
    'the protocol carries dimensions',
  )
  for (const [model, provider] of [
    ['test/fixed', { require_parameters: true }],
    ['test/plain', { max_price: { prompt: 999 } }],
    ['test/plain', { only: ['two'] }],
  ] as const) {
    const {
      status,
      body: { error },
    } = await ask(model, provider, { dimensions: 3 })
    assert.deepEqual([status, error.metadata.error_type], [404, 'no_available_provider'])
  }
  const costs = await Promise.all([ask('test/mixed:floor', {}), ask('test/mixed', { order: ['two'] })])
  assert.deepEqual(
    costs.map(({ body }) => body.usage.cost),
    [0.004, 0.008],
    'an endpoint that lists few parameters is as good as one that lists none',
  )
})

test('the provider gets what it has words for, value by value', async () => {
  upstream.answer(answers(listOf(BASE64)))
  await embed({
    model: 'plain-vectors',
    input: ['a', 'b'],
    encoding_format: 'base64',
    dimensions: 3,
    input_type: 'query',
    user: 'u',
    surprise: 1,
    provider: { sort: 'price' },
  })
  // A name goes out in a form of ours.
  const user = upstream.requests.at(-1)?.['user']
  assert.match(String(user), /^[\w-]{22}$/)
  assert.deepEqual(upstream.requests.at(-1), {
    model: 'e',
    input: ['a', 'b'],
    encoding_format: 'base64',
    dimensions: 3,
    input_type: 'query',
    user,
  })
  upstream.answer(answers(listOf(VECTORS.slice(0, 1))))
  await embed({ model: 'test/plain', input: 'a' })
  assert.deepEqual(upstream.requests.at(-1), { model: 'e', input: 'a' })
  await embed({ model: 'test/plain', input: [5, 6] })
  assert.deepEqual(upstream.requests.at(-1), { model: 'e', input: [5, 6] })
  await embed({ model: 'test/fixed', input: 'a', encoding_format: 'base64', user: 'u', input_type: 'query' })
  assert.deepEqual(
    upstream.requests.at(-1),
    { model: 'e', input: 'a', user },
    'an endpoint that lists its parameters gets no others',
  )
})

test('usage: bounded where it cannot be, counted where it is missing, an explicit 0 stays 0', async () => {
  const charge = async (usage: unknown, basis: string): Promise<number> => {
    upstream.answer(answers(listOf(VECTORS.slice(0, 1), { usage })))
    const answer = await embed({ model: 'test/plain', input: 'one two three' })
    const {
      body: {
        logs: [log],
      },
    } = await tollgate.get(`/v1/generation?generation_id=${answer.body.id}`, account.key)
    assert.deepEqual(
      [log.billing_basis, log.total_cost, log.input_tokens],
      [basis, answer.body.usage.cost, answer.body.usage.prompt_tokens],
    )
    return answer.body.usage.prompt_tokens
  }
  assert.equal(await charge({ prompt_tokens: 900 }, 'provider_usage'), 900)
  assert.equal(
    await charge({ prompt_tokens: 1_000_000 }, 'provider_usage'),
    1_021,
    'its 13 bytes and their frame, and a template of 1,000',
  )
  assert.equal(await charge({ prompt_tokens: -5 }, 'counted'), 3)
  assert.equal(await charge({ prompt_tokens: 20.5 }, 'provider_usage'), 21)
  assert.equal(await charge({ prompt_tokens: '20' }, 'provider_usage'), 20)
  assert.equal(await charge({ prompt_tokens: 0 }, 'provider_usage'), 0)
  assert.equal(await charge(undefined, 'counted'), 3)
  assert.equal(await charge({}, 'counted'), 3)
})

test('the hold: bytes while they are affordable, the exact count where they are not, and 402 by the count', async () => {
  upstream.answer(answers(listOf(VECTORS.slice(0, 1), { usage: { prompt_tokens: 3 } })))
  const input = 'international telecommunications organisation'
  assert.equal(
    (await embed({ model: 'test/plain', input }, (await tollgate.createAccount({ balance: 0.004 })).key)).status,
    200,
    'its 45 bytes would cost more than there is',
  )
  const {
    status,
    body: { error },
  } = await embed({ model: 'test/plain', input }, (await tollgate.createAccount({ balance: 0.001 })).key)
  assert.deepEqual([status, error.metadata.error_type, error.metadata.required], [402, 'insufficient_balance', 0.003])
  assert.match(
    error.message,
    /^Insufficient balance: required 0\.01 RUB, available 0\.00 RUB\. Top up your balance or choose a cheaper model\.$/,
  )
  const limited = await tollgate.createAccount({ key: { limit: 0.001 } })
  assert.equal(
    (await embed({ model: 'test/plain', input }, limited.key)).body.error.metadata.error_type,
    'limit_exceeded',
  )
})

test('more inputs than the provider takes at once are asked in batches, in order, and charged as one', async () => {
  const sizes: number[] = []
  upstream.answer((response) => {
    const { texts } = Object(upstream.requests.at(-1))
    sizes.push(texts.length)
    answers({
      embeddings: { float: texts.map((text: string) => [Number(text)]) },
      meta: { billed_units: { input_tokens: texts.length } },
    })(response)
  })
  const answer = await embed({
    model: 'test/batched',
    input: Array.from({ length: 500 }, (_value, index) => String(index)),
    input_type: 'query',
  })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(
    sizes.toSorted((left, right) => right - left),
    [96, 96, 96, 96, 96, 20],
  )
  assert.deepEqual(
    answer.body.data.map(({ index, embedding }: { index: number; embedding: number[] }) => [index, embedding[0]]),
    Array.from({ length: 500 }, (_value, index) => [index, index]),
  )
  assert.equal(answer.body.usage.cost, 0.5)
  assert.equal(Object(upstream.requests.at(-1)).input_type, 'search_query')
})

test('one batch that fails fails them all, free', async () => {
  let count = 0
  upstream.answer((response) => {
    count += 1
    const { texts } = Object(upstream.requests.at(-1))
    if (count === 3) answers({ message: 'down' }, 500)(response)
    else answers({ embeddings: { float: texts.map(() => [1]) }, meta: { billed_units: { input_tokens: 1 } } })(response)
  })
  const before = await balance()
  assert.equal((await embed({ model: 'test/batched', input: Array.from({ length: 500 }, () => 'a') })).status, 502)
  assert.deepEqual(await balance(), before)
})

test('a batch that fails after the others were answered: free, and what those cost the operator is booked as insured', async () => {
  let count = 0
  upstream.answer((response) => {
    count += 1
    const { texts } = Object(upstream.requests.at(-1))
    if (count === 5)
      void paced(300, 'a batch whose failure comes last').then(() => answers({ message: 'down' }, 500)(response))
    else
      answers({ embeddings: { float: texts.map(() => [1]) }, meta: { billed_units: { input_tokens: 10 } } })(response)
  })
  const before = await balance()
  const failed = await embed({ model: 'test/batched', input: Array.from({ length: 500 }, () => 'a') })
  assert.equal(failed.status, 502)
  assert.deepEqual(await balance(), before)
  const { body } = await tollgate.admin('GET', `/admin/v1/generations?request_id=${failed.headers['x-request-id']}`)
  assert.deepEqual([body.total, body.data[0].total_cost, body.data[0].insured], [1, 0, 0.05])
})

test('tokens, to a provider that reads none: 400 and nothing is sent', async () => {
  const sent = upstream.requests.length
  const {
    status,
    body: { error },
  } = await embed({ model: 'test/batched', input: [1, 2] })
  assert.deepEqual([status, error.message], [400, 'input: this provider takes texts and no token numbers'])
  assert.equal(upstream.requests.length, sent)
})

test('the list of models tells the parameters and what comes out', async () => {
  const { body } = await tollgate.get('/v1/embeddings/models', account.key)
  const found = body.data.find(({ id }: { id: string }) => id === 'sandbox/embeddings')
  assert.deepEqual(
    [found.supported_endpoints, found.supported_parameters, found.architecture.output_modalities],
    [['embeddings'], ['dimensions', 'encoding_format', 'input_type', 'user'], ['embeddings']],
  )
})

for (const [sent, given] of [
  ['numbers', VECTORS],
  ['base64', BASE64],
] as const) {
  for (const [format, wanted] of [
    ['float', VECTORS],
    ['base64', BASE64],
  ] as const) {
    test(`the provider answers in ${sent}, the client reads ${format}`, async () => {
      upstream.answer(answers(listOf(given)))
      const { body } = await embed({ model: 'test/plain', input: ['a', 'b'], encoding_format: format })
      assert.deepEqual(
        body.data,
        wanted.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      )
    })
  }
}

test('vectors of 8 bits: asked for by their name, and read as the numbers they are in either form', async () => {
  const octets = [
    [1, -2, 127, -128, 0],
    [5, 4, 3, 2, 1],
  ]
  upstream.answer(
    answers(listOf(octets.map((vector) => Buffer.from(Int8Array.from(vector).buffer).toString('base64')))),
  )
  const numbers = await embed({ model: 'test/octets', input: ['a', 'b'] })
  assert.deepEqual(
    numbers.body.data.map(({ embedding }: { embedding: number[] }) => embedding),
    octets,
    numbers.text,
  )
  assert.deepEqual(upstream.requests.at(-1), { model: 'e', input: ['a', 'b'], encoding_format: 'base64_int8' })
  const floats = await embed({ model: 'test/octets', input: ['a', 'b'], encoding_format: 'base64' })
  assert.deepEqual(
    floats.body.data.map(({ embedding }: { embedding: string }) => [
      ...new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer),
    ]),
    octets,
  )
  upstream.answer(answers(listOf(['no base64!', 'AQID'])))
  assert.equal((await embed({ model: 'test/octets', input: ['a', 'b'] })).status, 502)
})

test('data stands in the order of the inputs, whatever the order of the answer', async () => {
  const data = [
    { index: 1, embedding: [1] },
    { index: 0, embedding: [0] },
  ]
  upstream.answer(answers({ object: 'list', data, usage: { prompt_tokens: 2 } }))
  assert.deepEqual(
    (await embed({ model: 'test/plain', input: ['a', 'b'] })).body.data.map(
      ({ embedding }: { embedding: number[] }) => embedding,
    ),
    [[0], [1]],
  )
})
