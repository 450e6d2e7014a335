import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenRouter } from '@openrouter/sdk'
import { embed, embedMany } from 'ai'
import OpenAI, { BadRequestError, InternalServerError } from 'openai'
import { gateway } from '../harness/gateway.ts'

const MODEL = 'sandbox/embeddings'

const tollgate = await gateway()
const key = (await tollgate.createAccount()).key
const client = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })

test('openai: asks for base64 by itself and reads the numbers that a plain request gets', async () => {
  const { data, model, usage } = await client.embeddings.create({ model: MODEL, input: ['Hello', 'you'] })
  const plain = await client.embeddings.create({ model: MODEL, input: ['Hello', 'you'], encoding_format: 'float' })
  assert.equal(model, MODEL)
  assert.deepEqual(data, plain.data)
  assert.deepEqual(
    data.map(({ index, embedding }) => [index, embedding.length]),
    [
      [0, 64],
      [1, 64],
    ],
  )
  assert.ok(Math.abs(Math.hypot(...(data[0]?.embedding ?? [])) - 1) < 1e-6)
  assert.deepEqual(usage, { prompt_tokens: 3, total_tokens: 3, cost: 0.000006, currency: 'RUB' })
})

test('openai: dimensions, tokens, and as many as 2,048 inputs', async () => {
  const short = await client.embeddings.create({ model: MODEL, input: 'Hello', dimensions: 7 })
  assert.equal(short.data[0]?.embedding.length, 7)
  const tokens = await client.embeddings.create({ model: MODEL, input: [[1, 2, 3], [4]] })
  assert.deepEqual([tokens.data.length, tokens.usage.prompt_tokens], [2, 4])
  const many = await client.embeddings.create({
    model: MODEL,
    input: Array.from({ length: 2_048 }, (_value, index) => `text ${index}`),
  })
  assert.deepEqual([many.data.length, many.data.at(-1)?.index], [2_048, 2_047])
})

test('openai: errors are of its classes', async () => {
  const refused = await client.embeddings.create({ model: MODEL, input: '' }).catch((error: unknown) => error)
  assert.ok(refused instanceof BadRequestError)
  assert.deepEqual(refused.error, {
    code: 400,
    message: 'input: must not be empty',
    metadata: { error_type: 'invalid_input' },
  })
  await assert.rejects(client.embeddings.create({ model: MODEL, input: 'sandbox: status=500' }), InternalServerError)
})

test('@openrouter/sdk: embeddings in both forms, and the list of models', async () => {
  const router = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })
  const generate = async (encodingFormat: 'float' | 'base64') => {
    const answer = await router.embeddings.generate({ requestBody: { model: MODEL, input: ['Hello'], encodingFormat } })
    assert.ok(typeof answer === 'object')
    return answer
  }
  const numbers = await generate('float')
  const text = await generate('base64')
  assert.ok(Array.isArray(numbers.data[0]?.embedding))
  assert.equal(Buffer.from(String(text.data[0]?.embedding), 'base64').length, 64 * 4)
  assert.deepEqual([numbers.usage?.promptTokens, numbers.usage?.cost, numbers.model], [2, 0.000004, MODEL])
  const models = await router.embeddings.listModels()
  assert.ok(JSON.stringify(models).includes(MODEL))
})

test('AI SDK: embed and embedMany', async () => {
  const model = createOpenAICompatible({ name: 'tollgate', baseURL: `${tollgate.url}/v1`, apiKey: key }).embeddingModel(
    MODEL,
  )
  const one = await embed({ model, value: 'Hello' })
  assert.deepEqual([one.embedding.length, one.usage.tokens], [64, 2])
  const many = await embedMany({ model, values: ['Hello', 'you', 'there'] })
  assert.equal(many.embeddings.length, 3)
  assert.deepEqual(many.embeddings[0], one.embedding)
})

test('openai: moderations of a text, of several, and of parts with a picture', async () => {
  const moderation = 'sandbox/moderation'
  const one = await client.moderations.create({ model: moderation, input: 'a quiet lake' })
  assert.deepEqual([one.model, one.results.map(({ flagged }) => flagged)], [moderation, [false]])
  const many = await client.moderations.create({ model: moderation, input: ['a quiet lake', 'violence and hate'] })
  assert.deepEqual(
    many.results.map(({ flagged, categories }) => [flagged, categories.violence, categories.hate, categories.sexual]),
    [
      [false, false, false, false],
      [true, true, true, false],
    ],
  )
  const parts = await client.moderations.create({
    model: moderation,
    input: [
      { type: 'text', text: 'violence' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ],
  })
  assert.deepEqual(parts.results[0]?.category_applied_input_types.violence, ['text', 'image'])
  // A client that names no model means OpenAI's, which this catalogue does not have.
  await assert.rejects(client.moderations.create({ input: 'x' }), BadRequestError)
})
