import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startReplayUpstream } from '../harness/replay.ts'
import { startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { startTollgate, type Answer } from '../harness/server.ts'
import { refused } from '../harness/refused.ts'
import { lasting } from '../harness/lasting.ts'

const KEY = 'sk-upstream-canary-key-0123456789'

const replay = await startReplayUpstream()
const upstream = await startScriptedUpstream()
const price = 'price: { currency: RUB, prompt: 1000 }'
const row = (pack: string, url: string): string =>
  `{ adapter: ai-sdk, package: "@ai-sdk/${pack}", base_url: ${url}, api_key: ${KEY} }`
const tollgate = await lasting(
  startTollgate({
    catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  recorded: ${row('cohere', `${replay.url}/slot/sdk`)}
  mistral: ${row('mistral', `${replay.url}/slot/sdk`)}
  live: ${row('cohere', upstream.url)}
  groq: ${row('groq', upstream.url)}
models:
  - { id: test/cohere, type: embeddings, endpoints: [{ provider: recorded, model: embed-v4.0, ${price} }] }
  - { id: test/mistral, type: embeddings, endpoints: [{ provider: mistral, model: mistral-embed, ${price} }] }
  - { id: test/live, type: embeddings, endpoints: [{ provider: live, model: embed-v4.0, ${price}, supported_parameters: [dimensions, input_type] }] }
  - { id: test/no-vectors, type: embeddings, endpoints: [{ provider: groq, model: none, ${price} }] }
  - { id: test/ranks, type: rerank, endpoints: [{ provider: recorded, model: rerank-v3.5, price: { currency: RUB, search: 0.2 } }] }
  - { id: test/no-ranks, type: rerank, endpoints: [{ provider: groq, model: none, price: { currency: RUB, search: 0.2 } }] }
`,
  }),
)
const key = (await tollgate.createAccount()).key

function post(path: string, body: unknown): Promise<Answer> {
  return tollgate.post(path, key, body)
}

async function recorded(name: string, path: string, body: unknown): Promise<Answer> {
  await replay.slot('sdk', [{ case: name }])
  return post(path, body)
}

function vectorsOfTexts(response: ServerResponse): void {
  const { texts } = Object(upstream.requests.at(-1))
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      id: 'x',
      texts,
      embeddings: { float: texts.map((text: string) => [Number(text) || 0]) },
      meta: { billed_units: { input_tokens: texts.length } },
    }),
  )
}

test('embeddings of a package, in both forms, at the tokens it reports', async () => {
  for (const [model, name, tokens, dimensions] of [
    ['test/cohere', 'cohere/embeddings/query', 4, 1_536],
    ['test/mistral', 'mistral/embeddings/mistral-embeddings-legacy', 10, 1_024],
  ] as const) {
    const floats = await recorded(name, '/v1/embeddings', { model, input: 'Hello' })
    assert.equal(floats.status, 200, floats.text)
    assert.equal(floats.body.data[0].embedding.length, dimensions)
    assert.deepEqual(floats.body.usage, {
      prompt_tokens: tokens,
      total_tokens: tokens,
      cost: tokens / 1_000,
      currency: 'RUB',
    })
    const text = await recorded(name, '/v1/embeddings', { model, input: 'Hello', encoding_format: 'base64' })
    assert.deepEqual(
      Buffer.from(text.body.data[0].embedding, 'base64'),
      Buffer.from(Float32Array.from(floats.body.data[0].embedding).buffer),
    )
  }
})

test('a ranking of a package, at the search units of the answer behind it', async () => {
  const { status, body } = await recorded('cohere/rerank/v-cohere-reranking', '/v1/rerank', {
    model: 'test/ranks',
    query: 'q',
    documents: ['a', 'b'],
  })
  assert.equal(status, 200)
  assert.deepEqual(
    body.results.map(({ index, relevance_score: score }: { index: number; relevance_score: number }) => [index, score]),
    [
      [1, 0.10183054],
      [0, 0.03762639],
    ],
  )
  assert.deepEqual(
    [body.meta, body.usage],
    [{ billed_units: { search_units: 1 } }, { search_units: 1, cost: 0.2, currency: 'RUB' }],
  )
})

test('more inputs than a model of the package takes are sent in batches of its size', async () => {
  upstream.answer(vectorsOfTexts)
  const { status, body } = await post('/v1/embeddings', {
    model: 'test/live',
    input: Array.from({ length: 200 }, (_value, index) => String(index)),
  })
  assert.equal(status, 200)
  assert.equal(upstream.requests.length, 3)
  assert.deepEqual(
    body.data.map(({ embedding }: { embedding: number[] }) => embedding[0]),
    Array.from({ length: 200 }, (_value, index) => index),
  )
  assert.equal(body.usage.cost, 0.2)
})

test('dimensions and the kind of input go to an endpoint that lists them; without it dimensions are refused', async () => {
  upstream.answer(vectorsOfTexts)
  await post('/v1/embeddings', { model: 'test/live', input: 'a', dimensions: 256, input_type: 'classification' })
  const { output_dimension: dimensions, input_type: inputType } = Object(upstream.requests.at(-1))
  assert.deepEqual([dimensions, inputType], [256, 'classification'])
  const { status, body } = await post('/v1/embeddings', { model: 'test/cohere', input: 'a', dimensions: 256 })
  assert.deepEqual([status, body.error.message], [400, 'dimensions: this model has a fixed number of dimensions'])
})

test('errors are read as everywhere: statuses, words and nothing of ours', async () => {
  upstream.answer((response) =>
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' }).end('{"message":"slow down"}'),
  )
  const busy = await post('/v1/embeddings', { model: 'test/live', input: 'a' })
  assert.deepEqual([busy.status, busy.headers['retry-after']], [503, '7'])
  upstream.answer(answers({ message: `bad input_type for ${KEY}` }, 400))
  const answer = await post('/v1/embeddings', { model: 'test/live', input: 'a' })
  refused(answer, 400, 'invalid_input')
  assert.doesNotMatch(answer.text, /canary/)
  upstream.answer((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"surprise":true}'),
  )
  assert.equal((await post('/v1/embeddings', { model: 'test/live', input: 'a' })).status, 502)
})

test('a package without models of the kind is a provider that is not there', async () => {
  for (const [path, body] of [
    ['/v1/embeddings', { model: 'test/no-vectors', input: 'a' }],
    ['/v1/rerank', { model: 'test/no-ranks', query: 'q', documents: ['a'] }],
  ] as const) {
    const answer = await post(path, body)
    refused(answer, 503, 'provider_unavailable')
    assert.doesNotMatch(answer.text, /ai-sdk|AI_|groq/i)
  }
})
