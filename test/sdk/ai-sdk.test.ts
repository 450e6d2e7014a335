import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai'
import { gateway } from '../harness/gateway.ts'

type ChatModel = ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']>

const tollgate = await gateway()
const { key } = await tollgate.createAccount()
const model = chatModel(key)

function chatModel(apiKey: string, includeUsage = true): ChatModel {
  return createOpenAICompatible({ name: 'tollgate', baseURL: `${tollgate.url}/v1`, apiKey, includeUsage }).chatModel(
    'sandbox/chat',
  )
}

test('generateText: text and usage', async () => {
  const { text, usage } = await generateText({ model, prompt: 'Hello' })
  assert.equal(text, 'Hello from the sandbox. You said: Hello')
  assert.equal(usage.inputTokens, 6)
  assert.equal(usage.outputTokens, 7)
})

test('streamText: text and usage from the last chunk', async () => {
  const result = streamText({ model, prompt: 'Hello' })
  let text = ''
  for await (const part of result.textStream) text += part
  assert.equal(text, 'Hello from the sandbox. You said: Hello')
  assert.equal((await result.usage).outputTokens, 7)
})

test('tools: a forced call comes back parsed', async () => {
  const weather = tool({
    inputSchema: jsonSchema<{ input: string }>({ type: 'object', properties: { input: { type: 'string' } } }),
    execute: ({ input }) => Promise.resolve(input),
  })
  const { toolCalls, finishReason } = await generateText({
    model,
    prompt: 'Moscow',
    tools: { weather },
    toolChoice: 'required',
  })
  assert.equal(toolCalls[0]?.toolName, 'weather')
  assert.deepEqual(toolCalls[0]?.input, { input: 'Moscow' })
  assert.equal(finishReason, 'tool-calls')
})

test('a break after the first byte is an error of the stream', async () => {
  const errors: unknown[] = []
  const result = streamText({
    model,
    prompt: 'Hello\nsandbox: error=2 words=5',
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await Array.fromAsync(result.textStream).catch(() => undefined)
  assert.ok(errors.length > 0)
})

test('a provider failure is an APICallError with our status and type', async () => {
  await assert.rejects(
    generateText({ model, prompt: 'Hello\nsandbox: status=500', maxRetries: 0 }),
    (error: unknown) => {
      assert.ok(APICallError.isInstance(error))
      assert.equal(error.statusCode, 502)
      assert.match(error.responseBody ?? '', /provider_error/)
      return true
    },
  )
})

test('streamText without include_usage: usage comes with the finish chunk', async () => {
  const { key } = await tollgate.createAccount()
  const result = streamText({ model: chatModel(key, false), prompt: 'Hello' })
  assert.equal(await result.text, 'Hello from the sandbox. You said: Hello')
  assert.equal((await result.usage).outputTokens, 7)
  assert.equal(await result.finishReason, 'stop')
})

test('streamText: a streamed tool call comes back parsed', async () => {
  const weather = tool({
    inputSchema: jsonSchema<{ input: string }>({ type: 'object', properties: { input: { type: 'string' } } }),
    execute: ({ input }) => Promise.resolve(input),
  })
  const result = streamText({ model, prompt: 'Moscow', tools: { weather }, toolChoice: 'required' })
  const [call] = await result.toolCalls
  assert.deepEqual([call?.toolName, call?.input], ['weather', { input: 'Moscow' }])
})

test('402 is not retryable and names the missing amount', async () => {
  const { key } = await tollgate.createAccount({ balance: 0 })
  await assert.rejects(generateText({ model: chatModel(key), prompt: 'Hello' }), (error: unknown) => {
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 402)
    assert.equal(error.isRetryable, false)
    assert.match(error.message, /Insufficient balance/)
    return true
  })
})
