import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serveSandbox } from '../harness/gateway.ts'

const { key, tollgate } = await serveSandbox('', 100)

function embed(input: unknown, fields: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
  return tollgate.post('/v1/embeddings', key, { model: 'sandbox/embeddings', input, ...fields })
}

function rerank(
  query: string,
  documents: readonly unknown[] = ['blue sky', 'green grass'],
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  return tollgate.post('/v1/rerank', key, { model: 'sandbox/rerank', query, documents, ...fields })
}

test('a vector depends only on its text, in any list, form and at any time', async () => {
  const [one, two, text] = await Promise.all([
    embed('Hello'),
    embed(['other', 'Hello'], { provider: {} }),
    embed('Hello', { encoding_format: 'base64' }),
  ])
  const vector = one.body.data[0].embedding
  assert.deepEqual(two.body.data[1].embedding, vector)
  assert.notDeepEqual(two.body.data[0].embedding, vector)
  assert.deepEqual(Buffer.from(text.body.data[0].embedding, 'base64'), Buffer.from(Float32Array.from(vector).buffer))
  const short = (await embed('Hello', { dimensions: 8 })).body.data[0].embedding
  assert.equal(short.length, 8)
  assert.ok(Math.abs(Math.hypot(...short) - 1) < 1e-6)
})

test('more dimensions than the sandbox makes are refused', async () => {
  const {
    status,
    body: { error },
  } = await embed('Hello', { dimensions: 4_097 })
  assert.deepEqual([status, error.message], [400, 'dimensions: must be at most 4096'])
})

test('a ranking is by shared words, without the lines of the script', async () => {
  const { body } = await rerank('green grass\nsandbox: delay_ms=1', ['blue sky', 'Green, as the GRASS', 'green paint'])
  assert.deepEqual(
    body.results.map(({ index, relevance_score: score }: { index: number; relevance_score: number }) => [index, score]),
    [
      [1, 1],
      [2, 0.5],
      [0, 0],
    ],
  )
})

for (const [kind, ask] of [
  ['embeddings', (line: string) => embed(['a', `b\nsandbox: ${line}`])],
  ['rerank', (line: string) => rerank(`a\nsandbox: ${line}`)],
] as const) {
  for (const [line, status, type] of [
    ['status=500', 502, 'provider_error'],
    ['status=429', 503, 'provider_unavailable'],
    ['status=401', 502, 'provider_error'],
    ['status=422', 400, 'invalid_input'],
    ['status=408', 504, 'provider_timeout'],
    ['words=0', 502, 'empty_response'],
    ['error=0', 502, 'provider_error'],
  ] as const) {
    test(`${kind}: ${line} is ${status} ${type}, free`, async () => {
      const answer = await ask(line)
      assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [status, type])
      const {
        body: {
          logs: [log],
        },
      } = await tollgate.get(`/v1/generation?generation_id=${answer.headers['x-generation-id']}`, key)
      assert.deepEqual([log.type, log.status, log.total_cost], [kind, 'error', 0])
    })
  }

  test(`${kind}: delay_ms delays`, async () => {
    const startedMs = performance.now()
    assert.equal((await ask('delay_ms=300')).status, 200)
    assert.ok(performance.now() - startedMs >= 300)
  })
}
