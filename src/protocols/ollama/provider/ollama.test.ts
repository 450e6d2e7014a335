import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ollamaProtocol } from './ollama.ts'
import { requestsOf } from '../../../../test/harness/protocol-read.ts'

const PROTOCOL = ollamaProtocol
const { callOf, bodyOf, messagesOf, refuses } = requestsOf(PROTOCOL)
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Now',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const TIME = { type: 'function', function: { name: 'get_time' } }
const PIXEL = 'iVBORw0KGgo='

test('path, credentials and the smallest body, which says that it wants no stream', () => {
  const { path, headers, body } = PROTOCOL.request(callOf({ surprise: 1 }))
  assert.equal(path, '/api/chat')
  assert.deepEqual(headers, {})
  assert.deepEqual(body, { model: 'upstream-model', messages: [{ role: 'user', content: 'Hello' }], stream: false })
  assert.deepEqual(PROTOCOL.request(callOf({}, { apiKey: 'upstream-key' })).headers, {
    authorization: 'Bearer upstream-key',
  })
  assert.equal(bodyOf({ stream: true })['stream'], true)
})

test('options', () => {
  const { options } = bodyOf(
    {
      temperature: 1.5,
      top_p: 0.8,
      top_k: 40.4,
      min_p: 0.1,
      seed: -7,
      stop: 'END',
      repetition_penalty: 1.1,
      frequency_penalty: -0.5,
      presence_penalty: 0.25,
      logit_bias: { 1: 1 },
      top_a: 0.5,
      user: 'u',
    },
    { sendMaxTokens: 99 },
  )
  assert.deepEqual(options, {
    num_predict: 99,
    temperature: 1.5,
    top_p: 0.8,
    min_p: 0.1,
    repeat_penalty: 1.1,
    frequency_penalty: -0.5,
    presence_penalty: 0.25,
    top_k: 40,
    seed: -7,
    stop: ['END'],
  })
  assert.deepEqual(bodyOf({ seed: 1.5, stop: ['a', 'b'] })['options'], { stop: ['a', 'b'] })
})

test('an endpoint gets only what it declares', () => {
  const fields = {
    temperature: 0.3,
    top_p: 0.8,
    top_k: 4,
    seed: 1,
    stop: 'x',
    tools: [WEATHER],
    response_format: { type: 'json_object' },
    reasoning: { effort: 'low' },
  }
  assert.deepEqual(Object.keys(bodyOf(fields, { supportedParameters: [] })), ['model', 'messages', 'stream'])
  assert.deepEqual(bodyOf(fields, { supportedParameters: ['top_k'] })['options'], { top_k: 4 })
  refuses({ n: 2 }, /^n:/)
})

test('tools: none where none may be called, and only the named one where it must be', () => {
  const tools = (choice?: unknown): unknown =>
    bodyOf({ tools: [WEATHER, TIME], ...(choice === undefined ? {} : { tool_choice: choice }) })['tools']
  const time = { type: 'function', function: { name: 'get_time', parameters: { type: 'object', properties: {} } } }
  assert.deepEqual(tools(), [WEATHER, time])
  assert.deepEqual(tools('required'), [WEATHER, time])
  assert.equal(tools('none'), undefined)
  assert.deepEqual(tools({ type: 'function', function: { name: 'get_time' } }), [time])
  refuses({ tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'other' } } }, /^tool_choice/)
  assert.equal(bodyOf({ tools: [WEATHER], tool_choice: 'required' })['tool_choice'], undefined)
})

test('JSON with and without a schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } }
  assert.equal(bodyOf({ response_format: { type: 'json_object' } })['format'], 'json')
  assert.deepEqual(
    bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } } })['format'],
    schema,
  )
  assert.equal(bodyOf({})['format'], undefined)
})

test('thinking: off, on, by level', () => {
  const think = (fields: Record<string, unknown>): unknown => bodyOf(fields)['think']
  assert.equal(think({}), undefined)
  for (const off of [
    { reasoning: { effort: 'none' } },
    { reasoning: { enabled: false } },
    { reasoning: { max_tokens: 0 } },
  ])
    assert.equal(think(off), false)
  for (const on of [{ reasoning: { enabled: true } }, { reasoning: { max_tokens: 500 } }, { include_reasoning: true }])
    assert.equal(think(on), true)
  assert.deepEqual(
    ['minimal', 'low', 'medium', 'high', 'xhigh'].map((effort) => think({ reasoning_effort: effort })),
    ['low', 'low', 'medium', 'high', 'high'],
  )
})

test('roles and parts: images stand beside the text, as bytes', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }
  assert.deepEqual(
    messagesOf([
      { role: 'developer', content: 'Be brief' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'What is' }, image, { type: 'text', text: 'this?' }],
        name: 'Ann',
      },
    ]),
    [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'What is\nthis?', images: [PIXEL] },
    ],
  )
  for (const url of ['https://pictures.test/a.png', 'data:image/svg+xml,<svg/>']) {
    refuses(
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'x' },
              { type: 'image_url', image_url: { url } },
            ],
          },
        ],
      },
      /^messages\[0\]\.content\[1\]\.image_url\.url: .*data URL/,
    )
  }
  refuses(
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }] },
    /input_audio/,
  )
})

test('arguments go as objects; a result names its tool', () => {
  const call = (id: string, text: string): unknown => ({
    id,
    type: 'function',
    function: { name: `f_${id}`, arguments: text },
  })
  assert.deepEqual(
    messagesOf([
      {
        role: 'assistant',
        content: null,
        reasoning: 'Hm',
        tool_calls: [call('a', '{"x":{"y":[1]}}'), call('b', ''), call('c', 'null'), call('d', '{"cut')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'z', content: 'lost', name: 'f_z' },
    ]),
    [
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'a', function: { name: 'f_a', arguments: { x: { y: [1] } } } },
          { id: 'b', function: { name: 'f_b', arguments: {} } },
          { id: 'c', function: { name: 'f_c', arguments: {} } },
          { id: 'd', function: { name: 'f_d', arguments: { arguments: '{"cut' } } },
        ],
      },
      { role: 'tool', content: 'ok', tool_name: 'f_a', tool_call_id: 'a' },
      { role: 'tool', content: 'lost', tool_name: 'f_z', tool_call_id: 'z' },
    ],
  )
  refuses(
    { messages: [{ role: 'assistant', tool_calls: [call('a', `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`)] }] },
    /^messages\[0\]\.tool_calls\[0\]\.function\.arguments/,
  )
})

test('earlier reasoning goes to models that read it; a refusal is sent as text', () => {
  const messages = [
    { role: 'assistant', content: 'Hi', reasoning: 'Hm' },
    { role: 'assistant', refusal: 'No' },
  ]
  assert.deepEqual(messagesOf(messages), [
    { role: 'assistant', content: 'Hi' },
    { role: 'assistant', content: 'No' },
  ])
  assert.deepEqual(messagesOf(messages, { supportedParameters: ['reasoning'] }), [
    { role: 'assistant', content: 'Hi', thinking: 'Hm' },
    { role: 'assistant', content: 'No' },
  ])
})
