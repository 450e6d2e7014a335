import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  KEY,
  VECTORS,
  BASE64,
  tollgate,
  upstream,
  other,
  account,
  embed,
  answers,
  listOf,
  balance,
  serveEmbeddings,
} from '../harness/embeddings-world.ts'
import { refused } from '../harness/refused.ts'

serveEmbeddings()

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

for (const [what, body] of [
  ['fewer vectors than inputs', listOf(VECTORS.slice(0, 1))],
  [
    'an index that is not there',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 2, embedding: [1] },
      ],
    },
  ],
  [
    'an index twice',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
    },
  ],
  ['a vector that is none', listOf(['abc', 'abc'])],
  ['a vector of texts', listOf([['a'], ['b']])],
  ['no list', { object: 'list' }],
  ['an error inside the 200', { error: { message: `secret of ${KEY}`, code: 500 } }],
] as const) {
  test(`${what} is no answer: 502, free, and in the log`, async () => {
    upstream.answer(answers(body))
    const before = await balance()
    const answer = await embed({ model: 'test/plain', input: ['a', 'b'] })
    refused(answer, 502, 'provider_error')
    assert.doesNotMatch(answer.text, /canary/)
    assert.deepEqual(await balance(), before)
    const {
      body: {
        logs: [log],
      },
    } = await tollgate.request('GET', `/v1/generation?generation_id=${answer.headers['x-generation-id']}`, {
      key: account.key,
    })
    assert.deepEqual([log.type, log.status, log.total_cost, log.billing_basis], ['embeddings', 'error', 0, 'free'])
  })
}

test('no vector at all is an empty response', async () => {
  upstream.answer(answers(listOf([])))
  const answer = await embed({ model: 'test/plain', input: 'a' })
  refused(answer, 502, 'empty_response')
})

test('one provider fails, the next one answers, one charge', async () => {
  upstream.answer(answers({ error: { message: 'down' } }, 500))
  other.answer(answers(listOf(VECTORS)))
  const before = await balance()
  const answer = await embed({ model: 'test/two', input: ['a', 'b'], provider: { order: ['one', 'two'] } })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.usage.cost, 0.004)
  const after = await balance()
  assert.deepEqual([Math.round((before.balance - after.balance) * 1e6), after.reserved], [4_000, 0])
  const {
    body: { logs, total },
  } = await tollgate.request('GET', `/v1/generation?generation_id=${answer.body.id}`, { key: account.key })
  assert.deepEqual([total, logs[0].provider_name, logs[0].total_cost], [1, 'Two', 0.004])
})

test("a 400 of the provider's is the client's, with its words", async () => {
  upstream.answer(
    answers(
      { error: { message: "-1 is less than the minimum of 1 - 'dimensions'", type: 'invalid_request_error' } },
      400,
    ),
  )
  const {
    status,
    body: { error },
  } = await embed({ model: 'test/plain', input: 'a' })
  assert.deepEqual([status, error.metadata], [400, { error_type: 'invalid_input', provider_name: 'One' }])
  assert.match(error.message, /less than the minimum/)
})
