import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateObject, generateText, jsonSchema, streamText, tool, type ModelMessage } from 'ai'
import { gateway } from '../harness/gateway.ts'

/** The AI SDK's provider of OpenAI's own protocols, against the product: `openai(model)` speaks Responses. */

const tollgate = await gateway()
const { key } = await tollgate.createAccount()
const openai = createOpenAI({ baseURL: `${tollgate.url}/v1`, apiKey: key })

const weather = tool({
  inputSchema: jsonSchema<{ input: string }>({ type: 'object', properties: { input: { type: 'string' } } }),
  execute: ({ input }) => Promise.resolve(input),
})

test('responses: text, usage and id', async () => {
  const { text, usage, response } = await generateText({ model: openai.responses('sandbox/chat'), prompt: 'Hello' })
  assert.equal(text, 'Hello from the sandbox. You said: Hello')
  assert.equal(usage.outputTokens, 7)
  assert.match(response.id, /^resp-/)
})

test('responses: a stream with reasoning, and its finish', async () => {
  const result = streamText({
    model: openai.responses('sandbox/chat'),
    prompt: 'Hello',
    providerOptions: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } },
  })
  assert.equal(await result.text, 'Hello from the sandbox. You said: Hello')
  assert.match((await result.reasoningText) ?? '', /sandbox thinks/)
  assert.equal(await result.finishReason, 'stop')
})

test('responses: a forced tool call comes back parsed', async () => {
  const { toolCalls, finishReason } = await generateText({
    model: openai.responses('sandbox/chat'),
    prompt: 'Moscow',
    tools: { weather },
    toolChoice: 'required',
  })
  assert.deepEqual(toolCalls[0]?.input, { input: 'Moscow' })
  assert.equal(finishReason, 'tool-calls')
})

test('responses: a second turn names the kept items of the first (item_reference)', async () => {
  const asked: string[] = []
  const sent = createOpenAI({
    baseURL: `${tollgate.url}/v1`,
    apiKey: (await tollgate.createAccount()).key,
    fetch: (url, init) => {
      asked.push(String(init?.body))
      return fetch(url, init)
    },
  })
  const options = { model: sent.responses('sandbox/chat'), providerOptions: { openai: { store: true } } }
  const first = await generateText({ ...options, prompt: 'Hello' })
  const messages: ModelMessage[] = [
    { role: 'user', content: 'Hello' },
    ...first.response.messages,
    { role: 'user', content: 'Again' },
  ]
  const second = await generateText({ ...options, messages })
  assert.match(asked[1] ?? '', /\{"type":"item_reference","id":"msg-/)
  assert.equal(second.text, 'Hello from the sandbox. You said: Again')
  assert.ok((second.usage.inputTokens ?? 0) > (first.usage.inputTokens ?? 0) + 10)
})

test('responses: an answer cut by its limit says so', async () => {
  const { finishReason } = await generateText({
    model: openai.responses('sandbox/chat'),
    prompt: 'Hello\nsandbox: words=50',
    maxOutputTokens: 16,
  })
  assert.equal(finishReason, 'length')
})

test('responses: a failure before and after the first byte is an error', async () => {
  await assert.rejects(
    generateText({ model: openai.responses('sandbox/chat'), prompt: 'Hello\nsandbox: status=500', maxRetries: 0 }),
    (error: unknown) => APICallError.isInstance(error) && error.statusCode === 502,
  )
  const errors: unknown[] = []
  const result = streamText({
    model: openai.responses('sandbox/chat'),
    prompt: 'Hello\nsandbox: error=2 words=5',
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await Array.fromAsync(result.textStream).catch(() => undefined)
  assert.ok(errors.length > 0)
})

test('chat: text, a stream, and the two-event error', async () => {
  assert.equal(
    (await generateText({ model: openai.chat('sandbox/chat'), prompt: 'Hello' })).text,
    'Hello from the sandbox. You said: Hello',
  )
  const errors: unknown[] = []
  const result = streamText({
    model: openai.chat('sandbox/chat'),
    prompt: 'Hello\nsandbox: error=2 words=5',
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await Array.fromAsync(result.textStream).catch(() => undefined)
  assert.ok(errors.length > 0)
})

test('completions: text', async () => {
  assert.equal(
    (await generateText({ model: openai.completion('sandbox/chat'), prompt: 'Hello' })).text.includes('sandbox'),
    true,
  )
})

const RECIPE = jsonSchema<{ name: string; minutes: number; steps: string[]; level: string }>({
  type: 'object',
  properties: {
    name: { type: 'string' },
    minutes: { type: 'integer', minimum: 1 },
    steps: { type: 'array', items: { type: 'string' }, minItems: 2 },
    level: { enum: ['easy', 'hard'] },
  },
  required: ['name', 'minutes', 'steps', 'level'],
  additionalProperties: false,
})

test('generateObject: the sandbox answers by the given schema, over Responses and chat', async () => {
  for (const model of [openai.responses('sandbox/chat'), openai.chat('sandbox/chat')]) {
    const { object, finishReason } = await generateObject({ model, schema: RECIPE, prompt: 'A recipe for soup' })
    assert.deepEqual(object, {
      name: 'A recipe for soup',
      minutes: 1,
      steps: ['A recipe for soup', 'A recipe for soup'],
      level: 'easy',
    })
    assert.equal(finishReason, 'stop')
  }
})

test('a forced tool is called with what its own schema asks for, and the one that is named', async () => {
  const cook = tool({ inputSchema: RECIPE, execute: () => Promise.resolve('done') })
  const other = tool({
    inputSchema: jsonSchema<{ input: string }>({ type: 'object', properties: { input: { type: 'string' } } }),
    execute: () => Promise.resolve('done'),
  })
  const { toolCalls } = await generateText({
    model: openai.chat('sandbox/chat'),
    prompt: 'Soup',
    tools: { other, cook },
    toolChoice: { type: 'tool', toolName: 'cook' },
  })
  assert.equal(toolCalls[0]?.toolName, 'cook')
  assert.deepEqual(toolCalls[0]?.input, { name: 'Soup', minutes: 1, steps: ['Soup', 'Soup'], level: 'easy' })
})
