import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCohere } from '@ai-sdk/cohere'
import { OpenRouter } from '@openrouter/sdk'
import { CohereClient, CohereError } from 'cohere-ai'
import { serveSandbox } from '../harness/gateway.ts'

const MODEL = 'sandbox/rerank'
const DOCUMENTS = ['Berlin is a city', 'Paris is the capital of France', 'Lyon is in France']
const QUERY = 'capital of France'

const { key, tollgate } = await serveSandbox('', 100)

test('@openrouter/sdk: rerank passes the strict schema', async () => {
  const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })
  const answer = await client.rerank.rerank({
    requestBody: {
      model: MODEL,
      query: QUERY,
      documents: [DOCUMENTS[0] ?? '', { text: DOCUMENTS[1] ?? '' }, DOCUMENTS[2] ?? ''],
      topN: 2,
    },
  })
  assert.ok(typeof answer === 'object')
  assert.deepEqual(
    answer.results.map(({ index, document }) => [index, document.text]),
    [
      [1, DOCUMENTS[1]],
      [2, DOCUMENTS[2]],
    ],
  )
  assert.deepEqual(
    [answer.model, answer.provider, answer.usage?.searchUnits, answer.usage?.cost],
    [MODEL, 'Sandbox', 1, 0.2],
  )
})

test('cohere-ai, version 1 of its interface: rerank, and an error that it raises', async () => {
  const client = new CohereClient({ token: key, environment: tollgate.url })
  const answer = await client.rerank({
    model: MODEL,
    query: QUERY,
    documents: [...DOCUMENTS],
    topN: 1,
    returnDocuments: true,
  })
  assert.match(answer.id ?? '', /^gen-/)
  assert.deepEqual(
    answer.results.map(({ index, relevanceScore, document }) => [index, relevanceScore, document?.text]),
    [[1, 1, DOCUMENTS[1]]],
  )
  assert.equal(answer.meta?.billedUnits?.searchUnits, 1)
  await assert.rejects(
    client.rerank({ model: MODEL, query: '', documents: [...DOCUMENTS] }, { maxRetries: 0 }),
    (error: unknown) => error instanceof CohereError && error.statusCode === 400,
  )
})

test("AI SDK: Cohere's reranking model at our address", async () => {
  const model = createCohere({ baseURL: `${tollgate.url}/v1`, apiKey: key }).rerankingModel(MODEL)
  const { ranking } = await model.doRerank({ query: QUERY, documents: { type: 'text', values: DOCUMENTS }, topN: 2 })
  assert.deepEqual(
    ranking.map(({ index }) => index),
    [1, 2],
  )
})
