import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { until } from '../harness/patience.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { badRequestTests, type BadRequest } from '../harness/refused.ts'

const WARM_MS = 10_000

const DOCUMENTS = ['Berlin', 'Paris', 'Lyon']
const QUERY = 'capital'

const upstream = await startScriptedUpstream()
const other = await startScriptedUpstream()
const model = (name: string, endpoints: string, fields = ''): string =>
  `  - { id: test/${name}, type: rerank, tokenizer: o200k_base${fields}, endpoints: [${endpoints}] }\n`
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: ${upstream.url}/v1, api_key: sk-upstream-canary }
  two: { name: Two, adapter: openai, base_url: ${other.url}/v1, api_key: sk-upstream-canary }
  voyage: { name: Voyage, adapter: openai, base_url: ${upstream.url}/v1, api_key: sk-upstream-canary, dialect: { names: { top_n: top_k } } }
models:
${model('tokens', '{ provider: one, model: r, price: { currency: RUB, prompt: 1000 } }')}${model('searches', '{ provider: one, model: r, price: { currency: RUB, search: 0.2 } }')}${model('both', '{ provider: one, model: r, price: { currency: RUB, search: 0.2, prompt: 1000 } }')}${model('small', '{ provider: one, model: r, price: { currency: RUB, search: 0.2 } }', ', context_length: 100')}${model('voyage', '{ provider: voyage, model: r, price: { currency: RUB, prompt: 1000 } }')}${model('narrow', '{ provider: one, model: r, price: { currency: RUB, prompt: 1000 }, supported_parameters: [user] }')}${model('two', '{ provider: one, model: r, price: { currency: RUB, search: 0.2 } }, { provider: two, model: r, price: { currency: RUB, search: 0.3 } }')}`,
})
const account = await tollgate.createAccount()

function rerank(body: unknown, key = account.key): Promise<Answer> {
  return tollgate.post('/v1/rerank', key, body)
}

function ranked(
  scores: readonly number[],
  fields: Readonly<Record<string, unknown>> = { usage: { total_tokens: 10 } },
): unknown {
  return { results: scores.map((score, index) => ({ index, relevance_score: score })), ...fields }
}

async function logOf(id: unknown): Promise<Record<string, unknown>> {
  const { body } = await tollgate.get(`/v1/generation?generation_id=${id}`, account.key)
  assert.equal(body.total, 1)
  return body.logs[0]
}

const REFUSALS: readonly BadRequest[] = [
  ['no model', { model: undefined }, /^Parameter 'model' is required$/, 'missing_model'],
  ['no query', { query: undefined }, /^Parameter 'query' is required$/, 'missing_query'],
  ['an empty query', { query: '' }, /^Parameter 'query' is required$/, 'missing_query'],
  ['a query that is no text', { query: 5 }, /^query: must be a string$/],
  ['no documents', { documents: undefined }, /^Parameter 'documents' is required$/, 'missing_documents'],
  ['null', { documents: null }, /^Parameter 'documents' is required$/, 'missing_documents'],
  ['an empty list', { documents: [] }, /^Parameter 'documents' is required$/, 'missing_documents'],
  ['documents that are no list', { documents: 'a' }, /^documents: must be an array/],
  [
    '1,001 documents',
    { documents: Array.from({ length: 1_001 }, () => 'a') },
    /^documents: must hold at most 1000 items, got 1001$/,
  ],
  [
    'a document that is no text',
    { documents: ['a', 5] },
    /^documents\[1\]: must be a string or an object with a text$/,
  ],
  [
    'a document without a text',
    { documents: [{ title: 'a' }] },
    /^documents\[0\]: must be a string or an object with a text$/,
  ],
  ['top_n of 0', { top_n: 0 }, /^top_n: must be an integer of at least 1$/],
  ['half a top_n', { top_n: 1.5 }, /^top_n: must be an integer/],
  ['return_documents that is no truth', { return_documents: 'no' }, /^return_documents: must be a boolean$/],
  ['an unknown model', { model: 'no/such' }, /^Model 'no\/such' not found or inactive$/, 'model_not_found'],
  [
    'a model of another kind',
    { model: 'sandbox/embeddings' },
    /^Model 'sandbox\/embeddings' does not support rerank\. Supported: embeddings$/,
    'model_not_supported',
  ],
  [
    'a query beyond the context',
    { model: 'test/small', query: 'word '.repeat(150) },
    /^This model's maximum context length is 100 tokens/,
    'input_tokens_exceeded',
  ],
]

badRequestTests(
  { model: 'test/tokens', query: QUERY, documents: DOCUMENTS },
  REFUSALS,
  rerank,
  () => upstream.requests.length,
)

test('best first, ties in the order of the documents, each with its text', async () => {
  upstream.answer(answers(ranked([0.5, 0.9, 0.5])))
  const { body } = await rerank({
    model: 'test/tokens',
    query: QUERY,
    documents: ['Berlin', { text: 'Paris' }, 'Lyon'],
  })
  const { id, ...rest } = body
  assert.match(id, /^gen-/)
  assert.deepEqual(rest, {
    object: 'list',
    model: 'test/tokens',
    provider: 'One',
    results: [
      { index: 1, relevance_score: 0.9, document: { text: 'Paris' } },
      { index: 0, relevance_score: 0.5, document: { text: 'Berlin' } },
      { index: 2, relevance_score: 0.5, document: { text: 'Lyon' } },
    ],
    usage: { total_tokens: 10, cost: 0.01, currency: 'RUB' },
  })
  assert.deepEqual(upstream.requests.at(-1), { model: 'r', query: QUERY, documents: ['Berlin', 'Paris', 'Lyon'] })
})

test('top_n is passed on in the spelling of the service, and holds whatever the service does with it', async () => {
  upstream.answer(answers(ranked([0.1, 0.2, 0.3])))
  const ask = async (model: string, topN: number): Promise<readonly number[]> => {
    const { body } = await rerank({ model, query: QUERY, documents: DOCUMENTS, top_n: topN, return_documents: false })
    assert.ok(body.results.every((result: object) => !('document' in result)))
    return body.results.map(({ index }: { index: number }) => index)
  }
  assert.deepEqual(await ask('test/tokens', 2), [2, 1])
  assert.equal(upstream.requests.at(-1)?.['top_n'], 2)
  assert.deepEqual(await ask('test/voyage', 1), [2])
  assert.deepEqual(upstream.requests.at(-1), { model: 'r', query: QUERY, documents: DOCUMENTS, top_k: 1 })
  assert.deepEqual(await ask('test/narrow', 2), [2, 1])
  assert.deepEqual(upstream.requests.at(-1), { model: 'r', query: QUERY, documents: DOCUMENTS })
  assert.deepEqual(await ask('test/tokens', 50), [2, 1, 0], 'more than there are means all')
})

test('sold by search units: meta, units and no tokens in the log; by both: the sum', async () => {
  upstream.answer(
    answers(ranked([1, 0, 0], { meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 7 } } })),
  )
  const searched = (await rerank({ model: 'test/searches', query: QUERY, documents: DOCUMENTS })).body
  assert.deepEqual(
    [searched.meta, searched.usage],
    [{ billed_units: { search_units: 1 } }, { total_tokens: 7, search_units: 1, cost: 0.2, currency: 'RUB' }],
  )
  const log = await logOf(searched.id)
  assert.deepEqual(
    [log['type'], log['input_tokens'], log['total_cost'], log['billing_basis']],
    ['rerank', 0, 0.2, 'provider_usage'],
  )
  const both = (await rerank({ model: 'test/both', query: QUERY, documents: DOCUMENTS })).body
  assert.deepEqual(both.usage, { total_tokens: 7, search_units: 1, cost: 0.207, currency: 'RUB' })
})

test('usage: bounded where it cannot be, counted where it is missing', async () => {
  const charge = async (model: string, fields: Readonly<Record<string, unknown>>, basis: string): Promise<number> => {
    upstream.answer(answers(ranked([1, 0, 0], fields)))
    const { body } = await rerank({ model, query: QUERY, documents: DOCUMENTS })
    const log = await logOf(body.id)
    assert.deepEqual([log['billing_basis'], log['total_cost']], [basis, body.usage.cost])
    return body.usage.cost
  }
  assert.equal(await charge('test/searches', {}, 'counted'), 0.2)
  assert.equal(
    await charge('test/searches', { meta: { billed_units: { search_units: 5_000 } } }, 'provider_usage'),
    0.2,
    'no more units than its bytes make',
  )
  assert.equal(await charge('test/searches', { meta: { billed_units: { search_units: 0 } } }, 'provider_usage'), 0)
  // The query is read with each of the three documents, of which the last has two tokens: 3 × 1 + 4.
  assert.equal(await charge('test/tokens', {}, 'counted'), 0.007)
  assert.equal(
    await charge('test/tokens', { usage: { total_tokens: 10_000 } }, 'provider_usage'),
    1.084,
    'their bytes and frames, the query beside each, and a template of 1,000',
  )
})

test('more than a hundred documents, and long ones, are more units', async () => {
  const { key } = await tollgate.createAccount({ balance: 0.3 })
  upstream.answer((response) => {
    const { documents } = Object(upstream.requests.at(-1))
    answers(
      ranked(
        documents.map(() => 0),
        {},
      ),
    )(response)
  })
  assert.equal(
    (await rerank({ model: 'test/searches', query: QUERY, documents: Array.from({ length: 101 }, () => 'a') }, key))
      .body.error.metadata.required,
    0.4,
  )
  const long = {
    model: 'test/searches',
    query: QUERY,
    documents: Array.from({ length: 60 }, () => 'word '.repeat(600)),
  }
  // Just after the start, tokens are not counted yet, and bytes are used.
  await until(WARM_MS, 'tokens are counted', async () => (await rerank(long, key)).body.error.metadata.required === 0.4)
  assert.equal(
    (
      await rerank(
        { model: 'test/searches', query: QUERY, documents: Array.from({ length: 60 }, () => 'word '.repeat(300)) },
        key,
      )
    ).body.usage.cost,
    0.2,
    'its bytes alone would be more',
  )
})

test('the list of models tells the parameter and the price', async () => {
  const { body } = await tollgate.get('/v1/rerank/models', account.key)
  const found = body.data.find(({ id }: { id: string }) => id === 'sandbox/rerank')
  assert.deepEqual(
    [found.supported_endpoints, found.supported_parameters, found.pricing],
    [['rerank'], ['top_n'], { currency: 'RUB', prompt: '0', completion: '0', search: '0.2' }],
  )
})
