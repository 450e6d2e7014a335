import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestsOf, WEATHER } from '../../../../test/harness/protocol-read.ts'
import { anthropicProtocol } from './anthropic.ts'

const { bodyOf, messagesOf, refuses } = requestsOf(anthropicProtocol, {
  model: 'claude-sonnet-4-5',
  apiKey: 'upstream-key',
  sendMaxTokens: 10_000,
})

test('system and developer messages become system blocks in their order, wherever they stand', () => {
  const body = bodyOf({
    messages: [
      { role: 'system', content: 'One' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: [{ type: 'text', text: 'Two', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
      { role: 'user', content: 'there' },
    ],
  })
  assert.deepEqual(body['system'], [
    { type: 'text', text: 'One' },
    { type: 'text', text: 'Two', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ])
  assert.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'text', text: 'there' },
      ],
    },
  ])
})

test('a prompt of only system messages is the question', () => {
  const body = bodyOf({ messages: [{ role: 'system', content: 'Say hello' }] })
  assert.equal(body['system'], undefined)
  assert.deepEqual(body['messages'], [{ role: 'user', content: [{ type: 'text', text: 'Say hello' }] }])
})

test('text of only white space is left out, and a conversation of nothing else is refused', () => {
  assert.deepEqual(
    messagesOf([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: ' \n' },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'you' },
        ],
      },
    ]),
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'you' },
        ],
      },
    ],
  )
  refuses({ messages: [{ role: 'user', content: '  ' }] }, /^messages: /)
})

test('calls and their results: ids are made legal, results come first in one user message', () => {
  assert.deepEqual(
    messagesOf([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'functions.get_weather:0',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city": "Rome"}' },
          },
          { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '' } },
          { id: 'call_3', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Ro' } },
        ],
      },
      { role: 'tool', tool_call_id: 'functions.get_weather:0', content: 'Sunny' },
      { role: 'user', content: 'And?' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: [{ type: 'text', text: 'Rain', cache_control: { type: 'ephemeral' } }],
      },
      { role: 'tool', tool_call_id: 'call_3', content: '' },
    ]),
    [
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'functions_get_weather_0', name: 'get_weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
          { type: 'tool_use', id: 'call_3', name: 'get_weather', input: { arguments: '{"city": "Ro' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'functions_get_weather_0', content: [{ type: 'text', text: 'Sunny' }] },
          {
            type: 'tool_result',
            tool_use_id: 'call_2',
            content: [{ type: 'text', text: 'Rain' }],
            cache_control: { type: 'ephemeral' },
          },
          { type: 'tool_result', tool_use_id: 'call_3' },
          { type: 'text', text: 'And?' },
        ],
      },
    ],
  )
})

test('arguments that are a bomb are refused before they are parsed', () => {
  const call = (text: string): Record<string, unknown> => ({
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
      },
    ],
  })
  refuses(call('['.repeat(100_000)), /^messages\[1\]\.tool_calls\[0\]\.function\.arguments: /)
  refuses(call(`[${'1,'.repeat(200_000)}1]`), /too many values/)
  const code = JSON.stringify({ text: '{[:,'.repeat(100_000) })
  assert.ok(bodyOf(call(code)))
})

test('a history with calls but without tools names them, so that the provider takes it, and allows none', () => {
  const body = bodyOf({
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ],
  })
  assert.deepEqual(
    [body['tools'], body['tool_choice']],
    [[{ name: 'f', input_schema: { type: 'object' } }], { type: 'none' }],
  )
})

test('tools and every tool_choice', () => {
  const choice = (fields: Record<string, unknown>): unknown => bodyOf({ tools: [WEATHER], ...fields })['tool_choice']
  assert.deepEqual(bodyOf({ tools: [WEATHER] })['tools'], [
    { name: 'get_weather', description: 'Now', input_schema: WEATHER.function.parameters },
  ])
  assert.deepEqual(bodyOf({ tools: [{ type: 'function', function: { name: 'f' } }] })['tools'], [
    { name: 'f', input_schema: { type: 'object' } },
  ])
  assert.equal(choice({}), undefined)
  assert.deepEqual(choice({ tool_choice: 'auto' }), { type: 'auto' })
  assert.deepEqual(choice({ tool_choice: 'none', parallel_tool_calls: false }), { type: 'none' })
  assert.deepEqual(choice({ tool_choice: 'required' }), { type: 'any' })
  assert.deepEqual(choice({ tool_choice: { type: 'function', function: { name: 'get_weather' } } }), {
    type: 'tool',
    name: 'get_weather',
  })
  assert.deepEqual(choice({ parallel_tool_calls: false }), { type: 'auto', disable_parallel_tool_use: true })
  assert.deepEqual(choice({ tool_choice: 'required', parallel_tool_calls: false }), {
    type: 'any',
    disable_parallel_tool_use: true,
  })
  assert.equal(choice({ parallel_tool_calls: true }), undefined)
  assert.equal(
    bodyOf({ tool_choice: 'auto', parallel_tool_calls: false })['tool_choice'],
    undefined,
    'no choice without tools',
  )
})

test('strict is sent where the schema can be held to, and dropped elsewhere', () => {
  const tools = (parameters: unknown, model: string): unknown =>
    bodyOf({ tools: [{ type: 'function', function: { name: 'f', strict: true, parameters } }] }, { model })['tools']
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  assert.deepEqual(tools(schema, 'claude-sonnet-4-5'), [
    { name: 'f', input_schema: { ...schema, additionalProperties: false }, strict: true },
  ])
  assert.deepEqual(tools(schema, 'claude-3-7-sonnet-20250219'), [{ name: 'f', input_schema: schema }])
  const bounded = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }
  assert.deepEqual(tools(bounded, 'claude-sonnet-4-5'), [{ name: 'f', input_schema: bounded }])
})

test('images by URL and by data URL, documents by both, plain text as text', () => {
  const blocks = (content: unknown): unknown => {
    const [message] = Object(messagesOf([{ role: 'user', content }]))
    return message.content
  }
  const image = (url: string): unknown => [
    { type: 'image_url', image_url: { url }, cache_control: { type: 'ephemeral', ttl: '5m' } },
  ]
  const file = (data: string): unknown => [{ type: 'file', file: { filename: 'a.pdf', file_data: data } }]
  assert.deepEqual(blocks(image('https://x.test/cat.png')), [
    {
      type: 'image',
      source: { type: 'url', url: 'https://x.test/cat.png' },
      cache_control: { type: 'ephemeral', ttl: '5m' },
    },
  ])
  assert.deepEqual(blocks(image('data:image/jpg;base64,AAAA')), [
    {
      type: 'image',
      source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' },
      cache_control: { type: 'ephemeral', ttl: '5m' },
    },
  ])
  assert.deepEqual(blocks(file('data:application/pdf;base64,JVBERi0=')), [
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
  ])
  assert.deepEqual(blocks(file('https://x.test/a.pdf')), [
    { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' }, title: 'a.pdf' },
  ])
  assert.deepEqual(blocks(file('data:text/plain;charset=utf-8;base64,aGk=')), [
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' }, title: 'a.pdf' },
  ])
})

test('what the protocol has no words for is refused with its path', () => {
  const part = (content: unknown): Record<string, unknown> => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, content] }],
  })
  refuses(
    part({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    /^messages\[0\]\.content\[1\]: this provider takes no audio/,
  )
  refuses(part({ type: 'video_url', video_url: { url: 'https://x.test/a.mp4' } }), /takes no video/)
  refuses(
    part({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AAAA' } }),
    /must be a JPEG, PNG, GIF or WebP image/,
  )
  refuses(
    part({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
    /must be an http or https address or a data URL/,
  )
  refuses(part({ type: 'image_url', image_url: { url: 'data:image/png,AAAA' } }), /must be in base64/)
  refuses(
    part({ type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }),
    /must be a PDF or plain text/,
  )
  refuses(part({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }), /cache_control: must be/)
  refuses(part({ type: 'text', text: 'x', cache_control: 'ephemeral' }), /cache_control: must be/)
  refuses(
    {
      messages: [
        { role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }] },
        { role: 'user', content: 'x' },
      ],
    },
    /only hold text/,
  )
  refuses({ stop: ['\n\n'] }, /^stop: /)
  refuses({ n: 2 }, /^n: /)
  refuses(
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'array', items: { type: 'string' } } },
      },
    },
    /^response_format\.json_schema\.schema: /,
  )
})
