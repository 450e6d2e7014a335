import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { startTollgate, type Tollgate } from '../harness/server.ts'

let tollgate: Tollgate
let client: OpenRouter

before(async () => {
  tollgate = await startTollgate()
  client = new OpenRouter({ apiKey: (await tollgate.createAccount()).key, serverURL: `${tollgate.url}/v1` })
})

after(() => tollgate.stop())

test('models, count, endpoints and providers pass the strict schemas', async () => {
  const models = await client.models.list({})
  assert.ok(JSON.stringify(models).includes('sandbox/chat'))
  assert.ok(JSON.stringify(await client.models.count({})).includes('1'))
  assert.ok(JSON.stringify(await client.endpoints.list({ author: 'sandbox', slug: 'chat' })).includes('Sandbox'))
  assert.ok(JSON.stringify(await client.providers.list()).includes('Sandbox'))
})

test('chat, plain and streamed', async () => {
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const answer = await client.chat.send({ chatRequest: { model: 'sandbox/chat', messages, stream: false } })
  assert.ok(JSON.stringify(answer).includes('Hello from the sandbox'))
  const stream = await client.chat.send({ chatRequest: { model: 'sandbox/chat', messages, stream: true } })
  assert.ok(Symbol.asyncIterator in stream)
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  assert.equal(text, 'Hello from the sandbox. You said: Hello')
})

test('the generation, key and credits records pass the strict schemas', async () => {
  const answer = await client.chat.send({ chatRequest: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], stream: false } })
  const id = JSON.parse(JSON.stringify(answer)).id
  const generation = await client.generations.getGeneration({ id })
  assert.ok(JSON.stringify(generation).includes(id))
  assert.ok(JSON.stringify(await client.apiKeys.getCurrentKeyMetadata()).includes('sk-tg-'))
  const credits = await client.credits.getCredits()
  assert.ok(JSON.stringify(credits).includes('100'))
})

test('an error is thrown with its status', async () => {
  await assert.rejects(client.chat.send({ chatRequest: { model: 'no/such', messages: [{ role: 'user', content: 'x' }], stream: false } }), (error: unknown) => {
    assert.ok(error instanceof Error)
    assert.match(error.message, /not found or inactive/)
    return true
  })
})
