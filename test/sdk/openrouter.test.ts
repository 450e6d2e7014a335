import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { gateway } from '../harness/gateway.ts'
import {
  BadGatewayResponseError,
  BadRequestResponseError,
  PaymentRequiredResponseError,
  ServiceUnavailableResponseError,
  TooManyRequestsResponseError,
  UnauthorizedResponseError,
} from '@openrouter/sdk/models/errors'

const tollgate = await gateway()
const key = (await tollgate.createAccount()).key
const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })

test('models, count, endpoints and providers pass the strict schemas', async () => {
  const models = await client.models.list({})
  assert.ok(JSON.stringify(models).includes('sandbox/chat'))
  assert.equal(
    (await client.models.count({})).data.count,
    (await tollgate.get('/v1/models/count', key)).body.data.count,
  )
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
  const answer = await client.chat.send({
    chatRequest: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], stream: false },
  })
  const id = JSON.parse(JSON.stringify(answer)).id
  const generation = await client.generations.getGeneration({ id })
  assert.ok(JSON.stringify(generation).includes(id))
  assert.ok(JSON.stringify(await client.apiKeys.getCurrentKeyMetadata()).includes('sk-tg-'))
  const credits = await client.credits.getCredits()
  assert.ok(JSON.stringify(credits).includes('100'))
})

test('an error is thrown with its status', async () => {
  await assert.rejects(
    client.chat.send({ chatRequest: { model: 'no/such', messages: [{ role: 'user', content: 'x' }], stream: false } }),
    (error: unknown) => {
      assert.ok(error instanceof Error)
      assert.match(error.message, /not found or inactive/)
      return true
    },
  )
})

test('a forced tool call passes the schema, plain and streamed', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }]
  const request = {
    model: 'sandbox/chat',
    messages: [{ role: 'user' as const, content: 'Moscow' }],
    tools,
    toolChoice: 'required' as const,
  }
  const answer = await client.chat.send({ chatRequest: { ...request, stream: false } })
  assert.ok('choices' in answer)
  assert.equal(answer.choices[0]?.message.toolCalls?.[0]?.function.name, 'weather')
  const stream = await client.chat.send({ chatRequest: { ...request, stream: true } })
  assert.ok(Symbol.asyncIterator in stream)
  let name = ''
  for await (const chunk of stream) name += chunk.choices[0]?.delta.toolCalls?.[0]?.function?.name ?? ''
  assert.equal(name, 'weather')
})

test('a break after the first byte is seen as an error in the stream', async () => {
  const messages = [{ role: 'user' as const, content: 'Hello\nsandbox: error=2 words=5' }]
  const stream = await client.chat.send({ chatRequest: { model: 'sandbox/chat', messages, stream: true } })
  assert.ok(Symbol.asyncIterator in stream)
  const errors: unknown[] = []
  try {
    for await (const chunk of stream) if (chunk.error !== undefined) errors.push(chunk.error.code)
  } catch (error) {
    errors.push(error)
  }
  assert.ok(errors.includes(502), JSON.stringify(errors))
})

test('errors: each status is the class the SDK has for it', async () => {
  const send = (apiKey: string, content: string): Promise<unknown> =>
    new OpenRouter({ apiKey, serverURL: `${tollgate.url}/v1`, retryConfig: { strategy: 'none' } }).chat.send({
      chatRequest: { model: 'sandbox/chat', messages: [{ role: 'user', content }], stream: false },
    })
  const { key: rich } = await tollgate.createAccount()
  const poor = await tollgate.createAccount({ balance: 0 })
  const limited = await tollgate.createAccount({ key: { limit: 0 } })
  await assert.rejects(send('sk-tg-wrong', 'x'), UnauthorizedResponseError)
  await assert.rejects(send(poor.key, 'x'), PaymentRequiredResponseError)
  await assert.rejects(send(limited.key, 'x'), TooManyRequestsResponseError)
  await assert.rejects(send(rich, 'sandbox: status=400'), BadRequestResponseError)
  await assert.rejects(send(rich, 'sandbox: status=500'), BadGatewayResponseError)
  await assert.rejects(send(rich, 'sandbox: status=503'), ServiceUnavailableResponseError)
})

test('responses pass the strict schemas: whole, with a tool, incomplete, streamed', async () => {
  const base = { model: 'sandbox/chat', input: 'Hello' }
  const send = (more: Record<string, unknown>): Promise<unknown> =>
    client.beta.responses.send({ responsesRequest: { ...base, ...more } })
  assert.match(JSON.stringify(await send({})), /Hello from the sandbox/)
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: null }]
  assert.match(
    JSON.stringify(await send({ tools, toolChoice: 'required', reasoning: { effort: 'low' } })),
    /call_sandbox_weather/,
  )
  assert.match(JSON.stringify(await send({ maxOutputTokens: 3 })), /max_output_tokens/)
  for (const more of [
    {},
    { tools, toolChoice: 'required', reasoning: { effort: 'low' } },
    { maxOutputTokens: 3 },
    { input: 'Hello\nsandbox: error=2 words=5' },
  ]) {
    const stream = await client.beta.responses.send({ responsesRequest: { ...base, ...more, stream: true } as never })
    assert.ok(Symbol.asyncIterator in stream)
    const types: string[] = []
    for await (const event of stream) types.push(JSON.parse(JSON.stringify(event)).type)
    assert.equal(types[0], 'response.created')
    assert.match(types.at(-1) ?? '', /^response\.(completed|incomplete|failed)$/)
  }
})
