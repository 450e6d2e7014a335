import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCohere } from '@ai-sdk/cohere'
import { OpenRouter } from '@openrouter/sdk'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const MODEL = 'sandbox/rerank'
const DOCUMENTS = ['Berlin is a city', 'Paris is the capital of France', 'Lyon is in France']
const QUERY = 'capital of France'

let tollgate: Tollgate
let key: string

before(async () => {
  tollgate = await startTollgate()
  key = (await tollgate.createAccount()).key
})

after(() => tollgate.stop())

test('@openrouter/sdk: rerank passes the strict schema', async () => {
  const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })
  const answer = await client.rerank.rerank({ requestBody: { model: MODEL, query: QUERY, documents: [DOCUMENTS[0] ?? '', { text: DOCUMENTS[1] ?? '' }, DOCUMENTS[2] ?? ''], topN: 2 } })
  assert.ok(typeof answer === 'object')
  assert.deepEqual(answer.results.map(({ index, document }) => [index, document.text]), [[1, DOCUMENTS[1]], [2, DOCUMENTS[2]]])
  assert.deepEqual([answer.model, answer.provider, answer.usage?.searchUnits, answer.usage?.cost], [MODEL, 'Sandbox', 1, 0.2])
})

/** What the client of version 1 of cohere-ai sends and reads; the package itself is not among the project's. */
test('the request of the cohere-ai client, version 1', async () => {
  const headers = { 'x-client-name': 'cohere-ai', 'x-fern-language': 'JavaScript' }
  const body = { model: MODEL, query: QUERY, documents: DOCUMENTS.map((text) => ({ text })), top_n: 1, return_documents: true, max_chunks_per_doc: 10, rank_fields: ['text'] }
  const answer = await tollgate.request('POST', '/v1/rerank', { key, body, headers })
  assert.equal(answer.status, 200, answer.text)
  const { id, results, meta } = answer.body
  assert.match(id, /^gen-/)
  assert.deepEqual(results, [{ index: 1, relevance_score: 1, document: { text: DOCUMENTS[1] } }])
  assert.deepEqual(meta, { billed_units: { search_units: 1 } })
})

test("AI SDK: Cohere's reranking model at our address", async () => {
  const model = createCohere({ baseURL: `${tollgate.url}/v1`, apiKey: key }).rerankingModel(MODEL)
  const { ranking } = await model.doRerank({ query: QUERY, documents: { type: 'text', values: DOCUMENTS }, topN: 2 })
  assert.deepEqual(ranking.map(({ index }) => index), [1, 2])
})
