import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseChat } from './call.ts'
import { verdict } from '../../../../../test/harness/refused.ts'

const HI = [{ role: 'user', content: 'hi' }]

function refusal(body: unknown): string {
  return verdict(() => parseChat(body))
}

function refusedWith(fields: Readonly<Record<string, unknown>>, expected: string): void {
  assert.equal(refusal({ messages: HI, ...fields }), expected)
}

function message(fields: Readonly<Record<string, unknown>>): string {
  return refusal({ messages: [fields] })
}

const PART = 'messages[0].content[0]'
const part = (fields: Readonly<Record<string, unknown>>): string => message({ role: 'user', content: [fields] })

test('a body that is no object is invalid_json', () => {
  for (const body of [null, [], 'x', 5, undefined])
    assert.equal(refusal(body), 'invalid_json | Request body is not valid JSON: the top level must be an object')
})

test('missing_messages comes before every other refusal', () => {
  const expected = "missing_messages | Parameter 'messages' or 'prompt' is required"
  for (const body of [{}, { messages: [] }, { prompt: '' }, { messages: null, prompt: null }, { temperature: 9 }])
    assert.equal(refusal(body), expected)
})

test('prompt becomes one user message, and messages win over it', () => {
  assert.deepEqual(parseChat({ prompt: 'p' }).messages, [{ role: 'user', content: 'p' }])
  assert.equal(parseChat({ prompt: 'p', messages: HI }).messages[0]?.content, 'hi')
  assert.equal(refusal({ prompt: 5 }), 'invalid_input | prompt: must be a string')
})

test('numbers outside their range, in quotes or not finite are refused with the range', () => {
  const ranges: Readonly<Record<string, readonly [string, readonly unknown[], readonly unknown[]]>> = {
    temperature: ['must be between 0 and 2', ['0.7', -0.1, 2.1, Number.NaN, Infinity, true, [1]], [0, 2]],
    top_p: ['must be greater than 0 and at most 1', [0, 1.01, '1'], [0.01, 1]],
    top_k: ['must be at least 1', [0, -1, '5'], [1, 500]],
    frequency_penalty: ['must be between -2 and 2', [-2.1, 2.1], [-2, 2]],
    presence_penalty: ['must be between -2 and 2', [-2.1, 2.1], [-2, 2]],
    repetition_penalty: ['must be greater than 0 and at most 2', [0, 2.1], [0.1, 2]],
    min_p: ['must be between 0 and 1', [-0.1, 1.1], [0, 1]],
    top_a: ['must be between 0 and 1', [-0.1, 1.1], [0, 1]],
    seed: ['must be a number', ['1'], [-5, 7]],
    top_logprobs: ['must be an integer between 0 and 20', [-1, 21, 1.5], [0, 20]],
    n: ['must be an integer between 1 and 10', [0, 11, 1.5, '2'], [1, 10]],
    max_tokens: ['must be an integer of at least 1, or -1 for no limit', [0, -2, 1.5, '10', Infinity], [1, -1]],
    max_completion_tokens: ['must be an integer of at least 1, or -1 for no limit', [0, -2, 1.5], [1, -1]],
  }
  for (const [name, [what, bad, good]] of Object.entries(ranges)) {
    for (const value of bad) refusedWith({ [name]: value }, `invalid_input | ${name}: ${what}`)
    for (const value of [...good, null]) refusedWith({ [name]: value }, 'accepted')
  }
})

test('wrong types are refused by parameter', () => {
  refusedWith({ model: 5 }, 'invalid_input | model: must be a string')
  refusedWith({ stream: 'true' }, 'invalid_input | stream: must be a boolean')
  refusedWith({ stream_options: [] }, 'invalid_input | stream_options: must be an object')
  refusedWith(
    { stream_options: { include_usage: 1 } },
    'invalid_input | stream_options.include_usage: must be a boolean',
  )
  refusedWith({ user: 5 }, 'invalid_input | user: must be a string')
  refusedWith({ logprobs: 'yes' }, 'invalid_input | logprobs: must be a boolean')
  refusedWith({ metadata: 'x' }, 'invalid_input | metadata: must be an object')
  refusedWith({ modalities: ['text', 1] }, 'invalid_input | modalities: must be an array of strings')
  for (const bias of [{ x: 1 }, { '5': '1' }, { '-1': 1 }])
    refusedWith({ logit_bias: bias }, 'invalid_input | logit_bias: must map numeric token ids to numbers')
  refusedWith({ logit_bias: { '50256': -100 } }, 'accepted')
})

test('stop is a string or one to four non-empty strings', () => {
  const expected = 'invalid_input | stop: must be a non-empty string or 1 to 4 non-empty strings'
  for (const stop of ['', [], ['a', ''], ['a', 'b', 'c', 'd', 'e'], 5, [1]]) refusedWith({ stop }, expected)
  assert.deepEqual(parseChat({ messages: HI, stop: ['a', 'b', 'c', 'd'] }).parameters['stop'], ['a', 'b', 'c', 'd'])
  assert.equal(parseChat({ messages: HI, stop: 'x' }).parameters['stop'], 'x')
})

test('max_completion_tokens wins over max_tokens', () => {
  assert.equal(parseChat({ messages: HI, max_tokens: 5, max_completion_tokens: 7 }).maxTokens, 7)
  assert.equal(parseChat({ messages: HI, max_tokens: 5 }).maxTokens, 5)
  assert.equal(parseChat({ messages: HI, max_tokens: null }).maxTokens, null)
})

test('roles: developer is accepted, function and others are invalid_message_role', () => {
  assert.equal(message({ role: 'developer', content: 'x' }), 'accepted')
  const allowed = 'is not allowed. Allowed: system, developer, user, assistant, tool'
  assert.equal(
    message({ role: 'function', content: 'x', name: 'f' }),
    `invalid_message_role | messages[0].role 'function' ${allowed}`,
  )
  assert.equal(
    message({ role: 'constructor', content: 'x' }),
    `invalid_message_role | messages[0].role 'constructor' ${allowed}`,
  )
  assert.equal(message({ content: 'x' }), 'invalid_message_format | messages[0]: role is required')
  assert.equal(message({ role: 5, content: 'x' }), 'invalid_message_format | messages[0]: role must be a string')
})

test('malformed messages are invalid_message_format with their path', () => {
  const format = (what: string): string => `invalid_message_format | ${what}`
  assert.equal(refusal({ messages: 'hi' }), format('messages: must be an array'))
  assert.equal(refusal({ messages: [HI[0], 5] }), format('messages[1]: must be an object'))
  assert.equal(message({ role: 'user' }), format('messages[0]: content is required'))
  assert.equal(message({ role: 'system', content: null }), format('messages[0]: content is required'))
  assert.equal(message({ role: 'assistant', content: null }), format('messages[0]: content is required'))
  assert.equal(
    message({ role: 'assistant', content: null, tool_calls: [] }),
    format('messages[0]: content is required'),
  )
  assert.equal(message({ role: 'user', content: [] }), format('messages[0]: content must not be an empty array'))
  assert.equal(
    message({ role: 'user', content: 5 }),
    format('messages[0]: content must be a string or an array of content parts'),
  )
  assert.equal(message({ role: 'user', content: 'x', name: 1 }), format('messages[0]: name must be a string'))
  assert.equal(message({ role: 'tool', content: 'x' }), format('messages[0]: tool_call_id is required for role tool'))
  const calls = (call: unknown): string => message({ role: 'assistant', content: null, tool_calls: [call] })
  assert.equal(
    calls({ type: 'function', function: { name: 'f', arguments: '{}' } }),
    format('messages[0].tool_calls[0]: id is required'),
  )
  assert.equal(
    calls({ id: 'a', type: 'function', function: {} }),
    format('messages[0].tool_calls[0]: function.name is required'),
  )
  assert.equal(
    calls({ id: 'a', type: 'custom', function: { name: 'f' } }),
    format("messages[0].tool_calls[0]: type must be 'function'"),
  )
  assert.equal(
    calls({ id: 'a', function: { name: 'f', arguments: {} } }),
    format('messages[0].tool_calls[0]: function.arguments must be a string'),
  )
})

test('an assistant message may lack content when it says something else', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra: 1 }
  const { messages } = parseChat({
    messages: [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'r', name: 'f' },
    ],
  })
  assert.deepEqual(messages, [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', content: 'r', name: 'f', tool_call_id: 'a' },
  ])
  for (const other of [{ reasoning: 'r' }, { reasoning_content: 'r' }, { refusal: 'no' }, { audio: { id: 'x' } }])
    assert.equal(message({ role: 'assistant', ...other }), 'accepted')
})

test('content parts are rebuilt, others are refused by name', () => {
  assert.equal(
    part({ type: 'x' }),
    `invalid_message_format | ${PART}: type 'x' is not allowed. Allowed: text, image_url, input_audio, file, video_url, refusal`,
  )
  assert.equal(part({}), `invalid_message_format | ${PART}: type is required`)
  assert.equal(part({ type: 'text' }), `invalid_message_format | ${PART}: text must be a string`)
  assert.equal(
    part({ type: 'image_url', image_url: {} }),
    `invalid_message_format | ${PART}: image_url.url must be a non-empty string`,
  )
  assert.equal(
    part({ type: 'file', file: { file_id: 'f' } }),
    `invalid_input | ${PART}.file.file_id: files are not stored here, send file_data instead`,
  )
  assert.equal(
    part({ type: 'input_audio', input_audio: { data: '!!', format: 'wav' } }),
    'invalid_base64 | input_audio.data is not valid base64',
  )
  assert.equal(
    part({ type: 'input_audio', input_audio: { data: 'AAAA' } }),
    `invalid_message_format | ${PART}: input_audio.format must be a non-empty string`,
  )
  const content = [
    { type: 'text', text: 'a', cache_control: { type: 'ephemeral' }, junk: 1 },
    { type: 'image_url', image_url: 'http://x/i.png' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'original', junk: 1 } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { filename: 'f', file_data: 'data:application/pdf;base64,AA' } },
    { type: 'video_url', video_url: { url: 'http://x/v' } },
  ]
  const request = parseChat({ messages: [{ role: 'user', content }] })
  assert.deepEqual(request.messages[0]?.content, [
    { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'image_url', image_url: { url: 'http://x/i.png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'original' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { filename: 'f', file_data: 'data:application/pdf;base64,AA' } },
    { type: 'video_url', video_url: { url: 'http://x/v' } },
  ])
  assert.deepEqual([...request.inputModalities].toSorted(), ['audio', 'file', 'image', 'video'])
})

test('tools: function only, schema optional; functions and function_call become tools and tool_choice', () => {
  refusedWith({ tools: [{ type: 'web_search' }] }, "invalid_input | tools[0].type: must be 'function'")
  refusedWith({ tools: [{ type: 'function', function: {} }] }, 'invalid_input | tools[0].function.name: is required')
  refusedWith({ tools: {} }, 'invalid_input | tools: must be an array')
  const { tools } = parseChat({
    messages: HI,
    tools: [{ type: 'function', function: { name: 'f', strict: true, junk: 1 } }],
  })
  assert.deepEqual(tools, [{ type: 'function', function: { name: 'f', strict: true } }])
  assert.equal(parseChat({ messages: HI, tools: [] }).tools, null)
  const old = parseChat({
    messages: HI,
    functions: [{ name: 'f', description: 'd', parameters: { type: 'object' } }],
    function_call: { name: 'f' },
  })
  assert.deepEqual(old.tools, [
    { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } },
  ])
  assert.deepEqual(old.toolChoice, { type: 'function', function: { name: 'f' } })
  for (const choice of ['none', 'auto', 'required'])
    assert.equal(parseChat({ messages: HI, tool_choice: choice }).toolChoice, choice)
  const expected =
    "invalid_input | tool_choice: must be 'none', 'auto', 'required' or {type: 'function', function: {name}}"
  for (const choice of ['any', { type: 'allowed_tools' }, { type: 'function' }, 5])
    refusedWith({ tool_choice: choice }, expected)
})

test('response_format: text is none, anything unknown is invalid_response_format', () => {
  assert.equal(parseChat({ messages: HI, response_format: { type: 'text' } }).responseFormat, null)
  assert.deepEqual(parseChat({ messages: HI, response_format: { type: 'json_object', x: 1 } }).responseFormat, {
    type: 'json_object',
  })
  const json_schema = { name: 's', schema: { type: 'object' } }
  assert.deepEqual(parseChat({ messages: HI, response_format: { type: 'json_schema', json_schema } }).responseFormat, {
    type: 'json_schema',
    json_schema,
  })
  const refused = (response_format: unknown, what: string): void =>
    refusedWith({ response_format }, `invalid_response_format | Invalid response_format: ${what}`)
  refused({ type: 'grammar' }, "type 'grammar' is not supported. Allowed: text, json_object, json_schema")
  refused({}, 'type is required')
  refused('json', 'must be an object')
  refused({ type: 'json_schema' }, 'json_schema is required')
  refused({ type: 'json_schema', json_schema: { schema: {} } }, 'json_schema.name is required')
  refused({ type: 'json_schema', json_schema: { name: 's' } }, 'json_schema.schema is required and must be an object')
  refused(
    { type: 'json_schema', json_schema: { name: 's', schema: {}, strict: 1 } },
    'json_schema.strict must be a boolean',
  )
})

test('reasoning is rebuilt, and two efforts must agree', () => {
  refusedWith(
    { reasoning: { effort: 'low' }, reasoning_effort: 'high' },
    'invalid_input | reasoning_effort: must equal reasoning.effort when both are given',
  )
  refusedWith(
    { reasoning_effort: 'huge' },
    'invalid_input | reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max',
  )
  refusedWith(
    { reasoning: { max_tokens: -1 } },
    'invalid_input | reasoning.max_tokens: must be an integer of at least 0',
  )
  const { parameters } = parseChat({
    messages: HI,
    reasoning: { effort: 'low', exclude: true, junk: 1 },
    reasoning_effort: 'low',
  })
  assert.deepEqual(parameters, { reasoning: { effort: 'low', exclude: true }, reasoning_effort: 'low' })
})

test('models and provider preferences', () => {
  refusedWith(
    { models: ['a', 'b', 'c', 'd', 'e', 'f'] },
    'invalid_input | models: must be an array of at most 5 model ids',
  )
  refusedWith({ provider: { sort: 'best' } }, 'invalid_input | provider.sort: must be price, throughput or latency')
  refusedWith(
    { provider: { order: 'x' } },
    'invalid_input | provider.order: must be an array of at most 100 provider slugs',
  )
  refusedWith(
    { provider: { max_price: { prompt: -1 } } },
    'invalid_input | provider.max_price.prompt: must be a number of at least 0',
  )
  refusedWith({ provider: { allow_fallbacks: 'no' } }, 'invalid_input | provider.allow_fallbacks: must be a boolean')
  refusedWith({ provider: 'x' }, 'invalid_input | provider: must be an object')
  const provider = {
    order: ['OpenAI'],
    only: ['A'],
    sort: { by: 'latency', partition: 'none' },
    max_price: { prompt: 1.5, image: '2' },
    allow_fallbacks: false,
    zdr: true,
  }
  const request = parseChat({ messages: HI, models: ['a'], route: 'fallback', provider, session_id: 's' })
  assert.deepEqual(request.provider, {
    order: ['openai'],
    ignore: [],
    only: ['a'],
    sort: 'latency',
    allowFallbacks: false,
    requireParameters: false,
    maxPrice: { prompt: '1.5', image: '2' },
  })
  assert.deepEqual([request.fallbackModels, request.sessionId], [['a'], 's'])
})

test('null is absent for every optional field, and unknown fields are dropped', () => {
  const names = [
    'model',
    'response_format',
    'stop',
    'stream',
    'tools',
    'tool_choice',
    'provider',
    'user',
    'models',
    'reasoning',
    'logit_bias',
    'stream_options',
    'functions',
    'function_call',
  ]
  const body = Object.fromEntries(names.map((name) => [name, null]))
  assert.deepEqual(
    parseChat({ ...body, transforms: ['x'], plugins: 5, usage: { include: true }, store: true, messages: HI }),
    parseChat({ messages: HI }),
  )
})

test('textBytes counts the UTF-8 bytes of everything a model reads as text', () => {
  assert.equal(parseChat({ prompt: 'при' }).textBytes, 6)
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
  assert.equal(parseChat({ prompt: 'a', tools }).textBytes, 1 + JSON.stringify(tools).length)
})

test('F50: no key of a body reaches a prototype, at any depth', () => {
  const text =
    '{"__proto__":{"stream":true},"constructor":{"prototype":{"x":1}},"messages":[{"role":"user","content":"hi","__proto__":{"name":"evil"}}],"metadata":{"__proto__":{"polluted":1},"a":{"__proto__":{"b":1}}},"logit_bias":{"1":2}}'
  const request = parseChat(JSON.parse(text))
  assert.equal(request.stream, false)
  assert.equal(request.messages[0]?.name, undefined)
  const metadata = request.parameters['metadata']
  assert.ok(typeof metadata === 'object' && metadata !== null)
  assert.equal(Object.getPrototypeOf(metadata), Object.prototype)
  assert.equal('polluted' in metadata, false)
  assert.equal(Reflect.get({}, 'x'), undefined)
})

test('property: any JSON either parses or is refused with a client error', () => {
  const keys = fc.constantFrom(
    'messages',
    'model',
    'stop',
    'tools',
    'provider',
    'reasoning',
    'temperature',
    '__proto__',
    'n',
    'response_format',
    'models',
    'tool_choice',
    'functions',
  )
  fc.assert(
    fc.property(fc.dictionary(keys, fc.jsonValue()), fc.jsonValue(), (body, content) => {
      const answer = refusal({ ...body, messages: [{ role: 'user', content }] })
      assert.match(answer, /^(accepted|invalid_\w+ \| .+)/)
    }),
    { numRuns: 300 },
  )
})
