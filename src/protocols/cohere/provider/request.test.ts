import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cohereProtocol } from './cohere.ts'
import { readWhole, requestsOf, WEATHER, type Circumstances } from '../../../../test/harness/protocol-read.ts'

const PROTOCOL = cohereProtocol
const { callOf, bodyOf, messagesOf, refuses } = requestsOf(PROTOCOL)
const TIME = { type: 'function', function: { name: 'get_time' } }
const EMPTY_SCHEMA = { type: 'object', properties: {} }

test('path, credentials and the smallest body', () => {
  const { path, headers, body } = PROTOCOL.request(callOf({ surprise: 1 }, { apiKey: 'upstream-key' }))
  assert.equal(path, '/v2/chat')
  assert.deepEqual(headers, { authorization: 'Bearer upstream-key' })
  assert.deepEqual(body, { model: 'upstream-model', messages: [{ role: 'user', content: 'Hello' }], stream: false })
  assert.deepEqual(PROTOCOL.request(callOf()).headers, {})
  assert.deepEqual(bodyOf({ stream: true })['stream'], true)
})

test('parameters have the protocol’s names and ranges', () => {
  const { model, messages, stream, ...rest } = bodyOf(
    {
      temperature: 0.3,
      top_p: 0.8,
      top_k: 40,
      seed: 7,
      stop: 'END',
      frequency_penalty: 0.5,
      presence_penalty: 0.25,
      logit_bias: { 1: 1 },
      min_p: 0.1,
      user: 'u',
      verbosity: 'low',
    },
    { sendMaxTokens: 99 },
  )
  assert.deepEqual(rest, {
    max_tokens: 99,
    temperature: 0.3,
    p: 0.8,
    frequency_penalty: 0.5,
    presence_penalty: 0.25,
    k: 40,
    seed: 7,
    stop_sequences: ['END'],
  })
  assert.deepEqual([model, stream, Array.isArray(messages)], ['upstream-model', false, true])
  const wide = bodyOf({
    temperature: 2,
    top_p: 1,
    top_k: 1_000,
    seed: -1.5,
    stop: ['a', 'b'],
    frequency_penalty: -2,
    presence_penalty: 2,
  })
  assert.deepEqual(
    [
      wide['temperature'],
      wide['p'],
      wide['k'],
      wide['seed'],
      wide['stop_sequences'],
      wide['frequency_penalty'],
      wide['presence_penalty'],
    ],
    [1, 0.99, 500, undefined, ['a', 'b'], 0, 1],
  )
})

test('an endpoint gets only what it declares', () => {
  const fields = {
    temperature: 0.3,
    top_p: 0.8,
    top_k: 4,
    seed: 1,
    stop: 'x',
    tools: [WEATHER],
    tool_choice: 'required',
    response_format: { type: 'json_object' },
    reasoning: { effort: 'low' },
  }
  assert.deepEqual(Object.keys(bodyOf(fields, { supportedParameters: [] })), ['model', 'messages', 'stream'])
  const some = bodyOf(fields, { supportedParameters: ['tools', 'top_k'] })
  assert.deepEqual(Object.keys(some), ['model', 'messages', 'stream', 'tools', 'k'])
  refuses({ n: 2 }, /^n:/)
})

test('tools, and the choices of them that there are', () => {
  const fields = (choice: unknown): Readonly<Record<string, unknown>> =>
    bodyOf({ tools: [WEATHER, TIME], ...(choice === null ? {} : { tool_choice: choice }) })
  const tools = [WEATHER, { type: 'function', function: { name: 'get_time', parameters: EMPTY_SCHEMA } }]
  assert.deepEqual([fields(null)['tools'], fields(null)['tool_choice']], [tools, undefined])
  assert.equal(fields('auto')['tool_choice'], undefined)
  assert.equal(fields('none')['tool_choice'], 'NONE')
  assert.equal(fields('required')['tool_choice'], 'REQUIRED')
  const named = fields({ type: 'function', function: { name: 'get_time' } })
  assert.deepEqual([named['tools'], named['tool_choice']], [tools.slice(1), 'REQUIRED'])
  refuses({ tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'other' } } }, /^tool_choice/)
  assert.equal(bodyOf({ tool_choice: 'required' })['tool_choice'], undefined)
})

test('strict tools are strict together, and only where each has a required parameter', () => {
  const strict = { ...WEATHER, function: { ...WEATHER.function, strict: true } }
  assert.equal(bodyOf({ tools: [strict] })['strict_tools'], true)
  assert.equal(bodyOf({ tools: [strict, WEATHER] })['strict_tools'], undefined)
  assert.equal(
    bodyOf({ tools: [{ ...TIME, function: { name: 'get_time', strict: true } }] })['strict_tools'],
    undefined,
  )
  assert.deepEqual(bodyOf({ tools: [strict] })['tools'], [WEATHER])
})

test('JSON with and without a schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
  assert.deepEqual(bodyOf({ response_format: { type: 'json_object' } })['response_format'], { type: 'json_object' })
  assert.deepEqual(
    bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } } })[
      'response_format'
    ],
    { type: 'json_object', json_schema: schema },
  )
  assert.equal(bodyOf({ response_format: { type: 'text' } })['response_format'], undefined)
})

test('thinking: off, on, by tokens, by effort', () => {
  const thinking = (fields: Record<string, unknown>, circumstances: Circumstances = {}): unknown =>
    bodyOf(fields, circumstances)['thinking']
  assert.equal(thinking({}), undefined)
  assert.equal(thinking({ reasoning: { exclude: true } }), undefined)
  for (const off of [
    { reasoning: { effort: 'none' } },
    { reasoning: { enabled: false } },
    { reasoning: { max_tokens: 0 } },
    { reasoning_effort: 'none' },
  ])
    assert.deepEqual(thinking(off), { type: 'disabled' })
  assert.deepEqual(thinking({ reasoning: { enabled: true } }), { type: 'enabled' })
  assert.deepEqual(thinking({ reasoning: { max_tokens: 500 } }), { type: 'enabled', token_budget: 500 })
  assert.deepEqual(thinking({ reasoning_effort: 'low' }), { type: 'enabled' })
  assert.deepEqual(thinking({ reasoning_effort: 'low' }, { sendMaxTokens: 1_000 }), {
    type: 'enabled',
    token_budget: 200,
  })
  assert.deepEqual(thinking({ reasoning: { effort: 'high' } }, { maxCompletionTokens: 2_000 }), {
    type: 'enabled',
    token_budget: 1_600,
  })
})

test('roles, parts and images', () => {
  const parts = [
    { type: 'text', text: 'What is it?', cache_control: { type: 'ephemeral' } },
    { type: 'image_url', image_url: { url: 'https://pictures.test/a.png', detail: 'low' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ]
  assert.deepEqual(
    messagesOf([
      { role: 'developer', content: 'Be brief' },
      { role: 'system', content: [{ type: 'text', text: 'Now' }] },
      { role: 'user', content: parts, name: 'Ann' },
    ]),
    [
      { role: 'system', content: 'Be brief' },
      { role: 'system', content: [{ type: 'text', text: 'Now' }] },
      { role: 'user', content: [{ type: 'text', text: 'What is it?' }, parts[1], parts[2]] },
    ],
  )
  refuses(
    { messages: [{ role: 'system', content: [parts[1]] }] },
    /messages\[0\]\.content\[0\]: .*images in user messages/,
  )
  refuses(
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }] },
    /input_audio/,
  )
  refuses(
    {
      messages: [
        { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }] },
      ],
    },
    /file/,
  )
})

test('calls, results and the text before them go back as they came', () => {
  const answer = readWhole(PROTOCOL, {
    id: 'c1',
    message: {
      tool_plan: 'I will look',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    },
    finish_reason: 'TOOL_CALL',
  })
  assert.deepEqual(
    messagesOf([
      { role: 'user', content: 'x' },
      answer.choices[0]?.message,
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
    ]),
    [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        tool_plan: 'I will look',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
    ],
  )
  const foreign = {
    role: 'assistant',
    content: 'Hi',
    reasoning: 'Hm',
    reasoning_details: [{ type: 'reasoning.summary', summary: 'x', format: 'openai-responses-v1' }],
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
  }
  const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
  assert.deepEqual(messagesOf([foreign]), [{ role: 'assistant', content: 'Hi', tool_calls: calls }])
  assert.deepEqual(messagesOf([foreign], { supportedParameters: ['reasoning'] }), [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'text', text: 'Hi' },
      ],
      tool_calls: calls,
    },
  ])
})

test('a refusal is sent as text; an empty assistant message is left out', () => {
  assert.deepEqual(
    messagesOf([
      { role: 'user', content: 'x' },
      { role: 'assistant', refusal: 'No' },
      { role: 'assistant', reasoning: 'Hm' },
    ]),
    [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'No' },
    ],
  )
})
