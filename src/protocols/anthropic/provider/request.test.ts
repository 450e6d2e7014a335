import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestsOf, WEATHER } from '../../../../test/harness/protocol-read.ts'
import { anthropicProtocol } from './anthropic.ts'

const { requestOf, bodyOf, messagesOf } = requestsOf(anthropicProtocol, {
  model: 'claude-sonnet-4-5',
  apiKey: 'upstream-key',
  sendMaxTokens: 10_000,
})

test('path, headers and the smallest body', () => {
  const { path, headers, body } = requestOf({})
  assert.equal(path, '/messages')
  assert.deepEqual(headers, { 'anthropic-version': '2023-06-01', 'x-api-key': 'upstream-key' })
  assert.deepEqual(body, {
    model: 'claude-sonnet-4-5',
    max_tokens: 10_000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  })
  assert.equal(bodyOf({ stream: true })['stream'], true)
})

test('max_tokens is always sent: the plan, else the maximum of the endpoint, else a small number', () => {
  assert.equal(bodyOf({}, { sendMaxTokens: 77 })['max_tokens'], 77)
  assert.equal(bodyOf({}, { sendMaxTokens: null, maxCompletionTokens: 64_000 })['max_tokens'], 64_000)
  assert.equal(bodyOf({}, { sendMaxTokens: null })['max_tokens'], 4_096)
})

test('sampling, stop and user; unknown parameters are dropped', () => {
  const body = bodyOf(
    {
      temperature: 1.7,
      top_p: 0.9,
      top_k: 40,
      stop: 'END',
      user: 'u-1',
      seed: 5,
      logit_bias: { 1: 2 },
      frequency_penalty: 1,
      logprobs: true,
      metadata: { a: 'b' },
      min_p: 0.1,
    },
    { model: 'claude-3-5-haiku-20241022' },
  )
  const { messages: _messages, ...rest } = body
  assert.deepEqual(rest, {
    model: 'claude-3-5-haiku-20241022',
    max_tokens: 10_000,
    temperature: 1,
    top_p: 0.9,
    top_k: 40,
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' },
  })
  assert.deepEqual(bodyOf({ stop: ['a', 'b'] })['stop_sequences'], ['a', 'b'])
})

test('newer models take one of temperature and top_p, the newest take neither', () => {
  const sampled = (model: string): unknown => {
    const { temperature, top_p: topP, top_k: topK } = bodyOf({ temperature: 0.2, top_p: 0.9, top_k: 40 }, { model })
    return [temperature, topP, topK]
  }
  assert.deepEqual(sampled('claude-sonnet-4-20250514'), [0.2, 0.9, 40])
  assert.deepEqual(sampled('claude-opus-4-1-20250805'), [0.2, undefined, 40])
  assert.deepEqual(sampled('claude-opus-4-7'), [undefined, undefined, undefined])
  assert.deepEqual(sampled('anthropic/claude-sonnet-5'), [undefined, undefined, undefined])
  assert.deepEqual(sampled('kimi-k2'), [0.2, 0.9, 40])
})

test("an endpoint's list of parameters limits the sent ones", () => {
  const asked = {
    temperature: 0.5,
    top_p: 0.5,
    stop: 'x',
    user: 'u',
    tools: [WEATHER],
    tool_choice: 'required',
    reasoning_effort: 'high',
    response_format: { type: 'json_object' },
  }
  const { messages: _messages, ...rest } = bodyOf(asked, {
    model: 'claude-3-7-sonnet',
    supportedParameters: ['max_tokens', 'top_p'],
  })
  assert.deepEqual(rest, { model: 'claude-3-7-sonnet', max_tokens: 10_000, top_p: 0.5 })
})

test('reasoning is a budget: the shares of each effort, at least 1024, always below max_tokens', () => {
  const budget = (fields: Record<string, unknown>, sendMaxTokens = 10_000): unknown =>
    Object(bodyOf(fields, { sendMaxTokens })['thinking']).budget_tokens
  for (const [effort, tokens] of [
    ['max', 9_500],
    ['xhigh', 9_500],
    ['high', 8_000],
    ['medium', 5_000],
    ['low', 2_000],
    ['minimal', 1_024],
  ]) {
    assert.equal(budget({ reasoning_effort: effort }), tokens, String(effort))
    assert.equal(budget({ reasoning: { effort } }), tokens, String(effort))
  }
  assert.deepEqual(bodyOf({ reasoning: { enabled: true } })['thinking'], { type: 'enabled', budget_tokens: 5_000 })
  assert.equal(budget({ reasoning: { max_tokens: 3_000 } }), 3_000)
  assert.equal(budget({ reasoning: { max_tokens: 10 } }), 1_024)
  assert.equal(budget({ reasoning: { max_tokens: 50_000 } }), 9_999)
  assert.equal(budget({ reasoning_effort: 'high' }, 400_000), 128_000)
  assert.equal(budget({ reasoning_effort: 'high' }, 1_025), 1_024)
  for (const off of [
    { reasoning_effort: 'none' },
    { reasoning: { enabled: false } },
    { reasoning: { exclude: true } },
    { reasoning: { max_tokens: 0 } },
    {},
  ])
    assert.equal(budget(off), undefined)
  assert.equal(budget({ reasoning_effort: 'high' }, 1_024), undefined, 'no room for it')
})

test('a model without thinking is not asked for it', () => {
  assert.equal(bodyOf({ reasoning_effort: 'high' }, { model: 'claude-3-5-sonnet-20241022' })['thinking'], undefined)
})

test('thinking leaves out what does not go with it', () => {
  const body = bodyOf({ reasoning_effort: 'low', temperature: 0.3, top_k: 5, top_p: 0.97 })
  assert.deepEqual([body['temperature'], body['top_k'], body['top_p']], [undefined, undefined, 0.97])
  assert.equal(bodyOf({ reasoning_effort: 'low', top_p: 0.5 })['top_p'], undefined)
})

test('thinking is left out where a call is forced, an answer begun, or its own earlier thinking missing', () => {
  const thinks = (fields: Record<string, unknown>): boolean =>
    bodyOf({ reasoning_effort: 'high', ...fields })['thinking'] !== undefined
  assert.ok(thinks({ tools: [WEATHER], tool_choice: 'auto' }))
  assert.ok(!thinks({ tools: [WEATHER], tool_choice: 'required' }))
  assert.ok(
    !thinks({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'The' },
      ],
    }),
  )
  const loop = (details: unknown): Record<string, unknown> => ({
    tools: [WEATHER],
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        reasoning_details: details,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'd', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'd', content: 'ok' },
    ],
  })
  assert.ok(!thinks(loop(undefined)))
  assert.ok(
    thinks(loop([{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 }])),
  )
})

test('adaptive models get an effort in place of a budget', () => {
  const asked = (fields: Record<string, unknown>, model = 'claude-opus-4-7'): unknown => {
    const { thinking, output_config: output } = bodyOf(fields, { model })
    return [thinking, output]
  }
  assert.deepEqual(asked({ reasoning_effort: 'xhigh' }), [
    { type: 'adaptive', display: 'summarized' },
    { effort: 'xhigh' },
  ])
  assert.deepEqual(asked({ reasoning: { effort: 'minimal', exclude: true } }), [
    { type: 'adaptive', display: 'omitted' },
    { effort: 'low' },
  ])
  assert.deepEqual(asked({ reasoning: { max_tokens: 2_000 } }), [
    { type: 'adaptive', display: 'summarized' },
    undefined,
  ])
  assert.deepEqual(asked({ reasoning_effort: 'none' }), [{ type: 'disabled' }, undefined])
  assert.deepEqual(asked({ reasoning_effort: 'none' }, 'claude-sonnet-5-5'), [{ type: 'between_tools' }, undefined])
  for (const model of ['claude-fable-5', 'claude-opus-5-5', 'claude-saga-6'])
    assert.deepEqual(asked({ reasoning: { enabled: false } }, model), [undefined, { effort: 'low' }], model)
  assert.deepEqual(asked({}), [undefined, undefined])
})

test('reasoning of our own answers goes back as thinking, other reasoning does not', () => {
  const details = [
    { type: 'reasoning.text', text: 'foreign', signature: 'g', format: 'google-gemini-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'foreign', format: 'openai-responses-v1', index: 1 },
    { type: 'reasoning.text', text: 'whole', signature: 'sig-1', format: 'anthropic-claude-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'hidden', format: 'anthropic-claude-v1', index: 1 },
    { type: 'reasoning.text', text: 'in ', format: 'anthropic-claude-v1', index: 2 },
    { type: 'reasoning.text', text: 'pieces', format: 'anthropic-claude-v1', index: 2 },
    { type: 'reasoning.text', signature: 'sig-2', format: 'anthropic-claude-v1', index: 2 },
    { type: 'reasoning.text', text: 'unsigned', format: 'anthropic-claude-v1', index: 3 },
  ]
  const [, assistant] = Object(
    messagesOf([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'Yes', reasoning: 'whole', reasoning_details: details },
      { role: 'user', content: 'y' },
    ]),
  )
  assert.deepEqual(assistant.content, [
    { type: 'thinking', thinking: 'whole', signature: 'sig-1' },
    { type: 'redacted_thinking', data: 'hidden' },
    { type: 'thinking', thinking: 'in pieces', signature: 'sig-2' },
    { type: 'text', text: 'Yes' },
  ])
})

test('a prefill keeps its place and loses the white space at its end', () => {
  assert.deepEqual(
    messagesOf([
      { role: 'user', content: 'Name?' },
      { role: 'assistant', content: 'My name is \n' },
    ]),
    [
      { role: 'user', content: [{ type: 'text', text: 'Name?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'My name is' }] },
    ],
  )
})

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string', enum: ['Rome', 'Oslo'] },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
    note: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
  },
  required: ['city'],
  $defs: { tag: { type: 'object', properties: { name: { type: 'string' } } } },
}

function schemaFormat(schema: unknown): Record<string, unknown> {
  return { response_format: { type: 'json_schema', json_schema: { name: 'place', description: 'A place', schema } } }
}

test('a JSON schema is asked for natively, its objects closed', () => {
  assert.deepEqual(bodyOf(schemaFormat(SCHEMA))['output_config'], {
    format: {
      type: 'json_schema',
      schema: {
        ...SCHEMA,
        additionalProperties: false,
        $defs: { tag: { ...SCHEMA.$defs.tag, additionalProperties: false } },
      },
    },
  })
  const both = bodyOf({ ...schemaFormat(SCHEMA), reasoning_effort: 'high' }, { model: 'claude-opus-4-7' })
  assert.deepEqual(Object.keys(Object(both['output_config'])).toSorted(), ['effort', 'format'])
})

test('a schema that cannot be constrained, or an older model, gets it by a tool that has to be called', () => {
  const bad: readonly unknown[] = [
    { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } },
    { type: 'object', properties: { a: { type: 'string', pattern: '^a+$' } } },
    { type: 'object', properties: { a: { type: 'object' } } },
    { type: 'object', properties: {}, additionalProperties: true },
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } },
    },
  ]
  for (const schema of bad) {
    const body = bodyOf(schemaFormat(schema))
    assert.equal(body['output_config'], undefined, JSON.stringify(schema))
    assert.deepEqual(body['tools'], [
      { name: 'give_answer', description: 'Gives the final answer: A place', input_schema: schema },
    ])
    assert.deepEqual(body['tool_choice'], { type: 'tool', name: 'give_answer', disable_parallel_tool_use: true })
  }
  assert.ok(bodyOf(schemaFormat(SCHEMA), { model: 'claude-3-5-haiku-20241022' })['tools'])
})

test("with the client's own tools the answer tool is one more, under another name", () => {
  const own = { type: 'function', function: { name: 'give_answer', parameters: { type: 'object', properties: {} } } }
  const body = bodyOf(
    { ...schemaFormat(SCHEMA), tools: [own], reasoning_effort: 'high' },
    { model: 'claude-3-7-sonnet' },
  )
  assert.deepEqual(
    Object(body['tools']).map(({ name }: { name: string }) => name),
    ['give_answer', 'give_answer_'],
  )
  assert.deepEqual(body['tool_choice'], { type: 'any', disable_parallel_tool_use: true })
  assert.equal(body['thinking'], undefined)
  const none = bodyOf({ ...schemaFormat(SCHEMA), tools: [own], tool_choice: 'none' }, { model: 'claude-3-7-sonnet' })
  assert.deepEqual(none['tool_choice'], { type: 'tool', name: 'give_answer_', disable_parallel_tool_use: true })
})

test('JSON without a schema is asked for in words, after the system messages', () => {
  const { system } = bodyOf({
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'x' },
    ],
    response_format: { type: 'json_object' },
  })
  assert.equal(Object(system).length, 2)
  assert.match(Object(system)[1].text, /one valid JSON object/)
})

test('a model that cannot be forced is told in words which tool to call, and thinks', () => {
  const asked = (choice: unknown, fields: Record<string, unknown> = {}): unknown => {
    const body = bodyOf({ tools: [WEATHER], tool_choice: choice, ...fields }, { model: 'claude-opus-5-5' })
    return [body['tool_choice'], Object(body['system'])[0]?.text, Object(body['thinking']).type]
  }
  const words = (call: string): string =>
    `Call ${call} now: your next message must be this call, with no words before it.`
  assert.deepEqual(asked('required'), [{ type: 'auto' }, words('one of the tools'), undefined])
  assert.deepEqual(asked({ type: 'function', function: { name: 'get_weather' } }, { reasoning_effort: 'high' }), [
    { type: 'auto' },
    words('the tool "get_weather"'),
    'adaptive',
  ])
  assert.deepEqual(asked('auto'), [{ type: 'auto' }, undefined, undefined])
  assert.deepEqual(asked('none'), [{ type: 'none' }, undefined, undefined])
  assert.deepEqual(asked('required', { parallel_tool_calls: false }), [
    { type: 'auto', disable_parallel_tool_use: true },
    words('one of the tools'),
    undefined,
  ])
})

test('such a model decodes by the schema with the refused words in descriptions, or is given it in words', () => {
  const asked = (schema: unknown, model = 'claude-fable-5-1'): Record<string, unknown> =>
    bodyOf(schemaFormat(schema), { model })
  const bounded = {
    type: 'object',
    properties: {
      count: { type: 'integer', description: 'How many', minimum: 1, maximum: 5 },
      code: { type: 'string', pattern: '^a+$', maxLength: 3 },
      either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['count'],
    additionalProperties: true,
  }
  const body = asked(bounded)
  assert.deepEqual([body['tools'], body['tool_choice'], body['system']], [undefined, undefined, undefined])
  assert.deepEqual(Object(body['output_config']).format.schema, {
    type: 'object',
    properties: {
      count: { type: 'integer', description: 'How many\nIt must satisfy {"minimum":1,"maximum":5}.' },
      code: { type: 'string', description: 'It must satisfy {"pattern":"^a+$","maxLength":3}.' },
      either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['count'],
    additionalProperties: false,
  })
  for (const open of [
    { type: 'object', additionalProperties: { type: 'integer' } },
    { type: 'object', properties: { map: { type: 'object' } } },
    { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }] },
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } },
    },
  ]) {
    const told = asked(open)
    assert.deepEqual([told['tools'], told['output_config']], [undefined, undefined], JSON.stringify(open))
    assert.ok(Object(told['system'])[0].text.endsWith(`schema: ${JSON.stringify(open)}`))
  }
  assert.ok(asked(bounded, 'claude-opus-5')['tools'], 'one that can be forced has the answer tool')
})

test('a model that takes no beginning of an answer is asked to continue it', () => {
  const turns = (model: string): unknown =>
    messagesOf(
      [
        { role: 'user', content: 'Name?' },
        { role: 'assistant', content: 'My name is ' },
      ],
      { model },
    )
  assert.equal(Object(turns('claude-sonnet-4-5')).length, 2)
  for (const model of ['claude-opus-4-6', 'claude-opus-5-5']) {
    const [, said, asked] = Object(turns(model))
    assert.deepEqual(said, { role: 'assistant', content: [{ type: 'text', text: 'My name is' }] }, model)
    assert.equal(asked.role, 'user', model)
  }
})
