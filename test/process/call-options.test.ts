import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat } from '../harness/chat-fold.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const CASES = {
  mistral: 'mistral/chat/mistralai-chat-with-cache-tokens',
  cohere: 'cohere/chat/cohere-model-thinking-part-2',
  groq: 'groq/chat/tool-use-failed-error-2',
} as const
type Package = keyof typeof CASES

const TOOL = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    strict: true,
  },
}
const PIXEL = 'iVBORw0KGgo='

const replay = await startReplayUpstream()
const names = Object.keys(CASES)
const providers = names.map(
  (name) =>
    `  ${name}: { adapter: ai-sdk, package: "@ai-sdk/${name}", base_url: ${replay.url}/slot/${name}, api_key: [upstream-canary-key] }\n`,
)
const model = (id: string, provider: string, upstream: string, more = ''): string =>
  `  - { id: test/${id}, type: chat, context_length: 100000, input_modalities: [text, image, file, audio], endpoints: [{ provider: ${provider}, model: ${upstream}, price: { currency: RUB, prompt: 1, completion: 1 }${more} }] }\n`
const tollgate = await lasting(
  startTollgate({
    catalog: `providers:\n${providers.join('')}models:\n${names.map((name) => model(name, name, `${name}-model`)).join('')}${model('thinking', 'mistral', 'magistral-medium', ', supported_parameters: [max_tokens, temperature, reasoning]')}${model('gpt-oss', 'groq', 'openai/gpt-oss-20b')}${model('quirky', 'mistral', 'mistral-large', ', dialect: { fixed: { temperature: 1, top_p: null }, strict: all_or_none, schema_words: { $comment: drop } }')}${model('opus', 'mistral', 'claude-opus-5-5')}${model('listed', 'mistral', 'mistral-large', ', supported_parameters: [max_tokens, tools, parallel_tool_calls, response_format, structured_outputs]')}`,
  }),
)
const key = (await tollgate.createAccount()).key

/** The provider's request for a client's request. */
async function sent(
  provider: Package,
  body: Record<string, unknown>,
  model: string = provider,
): Promise<{ readonly body: Record<string, unknown>; readonly headers: Record<string, string> }> {
  await replay.slot(provider, [{ case: CASES[provider] }])
  const answer = await chat(tollgate.url, key, {
    model: `test/${model}`,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hello' }],
    ...body,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.error))
  const last = (await replay.requests()).at(-1)
  assert.ok(last)
  // Every one of these providers takes a JSON object as its body.
  return { body: last.json as Record<string, unknown>, headers: last.headers }
}

test("the key and the address are the row's; the prompt and the bound arrive", async () => {
  const { body, headers } = await sent('mistral', {})
  assert.equal(headers['authorization'], 'Bearer upstream-canary-key')
  assert.equal(headers['accept-encoding'], 'identity')
  assert.deepEqual(body, {
    model: 'mistral-model',
    max_tokens: 50,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  })
})

test("sampling parameters arrive under the provider's own names, and nothing that the SDK has no word for", async () => {
  const parameters = {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    seed: 7,
    stop: ['END', 'FIN'],
    logit_bias: { 1: 2 },
    user: 'u',
    metadata: { a: 'b' },
  }
  const { body } = await sent('cohere', parameters)
  const { messages, ...rest } = body
  assert.deepEqual(messages, [{ role: 'user', content: 'Hello' }])
  assert.deepEqual(rest, {
    model: 'cohere-model',
    max_tokens: 50,
    temperature: 0.5,
    p: 0.9,
    k: 40,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    seed: 7,
    stop_sequences: ['END', 'FIN'],
  })
  assert.deepEqual((await sent('groq', { stop: 'END' })).body['stop'], ['END'])
})

test('an endpoint that lists its parameters gets no others, and earlier reasoning only if it lists that', async () => {
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi', reasoning: 'A greeting.' },
    { role: 'user', content: 'Again' },
  ]
  const listed = (await sent('mistral', { temperature: 0.5, top_p: 0.9, seed: 7, messages }, 'thinking')).body
  assert.equal(listed['temperature'], 0.5)
  assert.equal(listed['top_p'], undefined)
  assert.equal(listed['random_seed'], undefined)
  assert.match(JSON.stringify(listed['messages']), /A greeting/)
  assert.doesNotMatch(JSON.stringify((await sent('mistral', { messages })).body['messages']), /A greeting/)
})

test('tools, the choice among them, calls and their results', async () => {
  const call = (id: string, city: string): object => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ city }) },
  })
  const { body } = await sent('groq', {
    tools: [TOOL],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    messages: [
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'Be short.' },
          { type: 'text', text: 'Be kind.' },
        ],
      },
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [call('call_1', 'Oslo'), call('call_2', 'Bergen')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'more rain' }] },
    ],
  })
  assert.deepEqual(body['tool_choice'], { type: 'function', function: { name: 'weather' } })
  assert.deepEqual(body['tools'], [
    {
      type: 'function',
      function: { name: 'weather', description: 'of a city', parameters: TOOL.function.parameters, strict: true },
    },
  ])
  assert.deepEqual(body['messages'], [
    { role: 'system', content: 'Be short.\nBe kind.' },
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: '', tool_calls: [call('call_1', 'Oslo'), call('call_2', 'Bergen')] },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    { role: 'tool', tool_call_id: 'call_2', content: 'more rain' },
  ])
  assert.equal((await sent('mistral', { tools: [TOOL], tool_choice: 'required' })).body['tool_choice'], 'any')
})

test("a JSON schema arrives as the provider's own form of it", async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema', json_schema: { name: 'person', description: 'who', strict: true, schema } }
  assert.deepEqual((await sent('cohere', { response_format: format })).body['response_format'], {
    type: 'json_object',
    json_schema: schema,
  })
  assert.deepEqual((await sent('mistral', { response_format: format })).body['response_format'], {
    type: 'json_schema',
    json_schema: { schema, strict: false, name: 'person', description: 'who' },
  })
  const listed = await sent('mistral', { response_format: format, tools: [TOOL], parallel_tool_calls: false }, 'listed')
  assert.deepEqual(listed.body['response_format'], {
    type: 'json_schema',
    json_schema: { schema, strict: true, name: 'person', description: 'who' },
  })
  assert.equal(
    listed.body['parallel_tool_calls'],
    false,
    'an option that the packages share, for an endpoint that lists it',
  )
  assert.equal(
    (await sent('mistral', { tools: [TOOL], parallel_tool_calls: false })).body['parallel_tool_calls'],
    undefined,
  )
  assert.deepEqual((await sent('cohere', { response_format: { type: 'json_object' } })).body['response_format'], {
    type: 'json_object',
  })
})

test('quirks of a row and limits of a model hold before a package says them, and are named', async () => {
  const parameters = { type: 'object', $comment: 'x', properties: {} }
  const tools = [TOOL, { type: 'function', function: { name: 'g', parameters } }]
  const { body } = await sent('mistral', { temperature: 0.2, top_p: 0.5, tools }, 'quirky')
  assert.deepEqual([body['temperature'], body['top_p']], [1, undefined])
  assert.equal(JSON.stringify(body['tools']).includes('$comment'), false)
  assert.equal(JSON.stringify(body['tools']).includes('"strict":true'), false)
  const opus = await sent('mistral', { temperature: 0.2, tools, tool_choice: 'required' }, 'opus')
  assert.deepEqual([opus.body['temperature'], opus.body['tool_choice']], [undefined, 'auto'])
  assert.match(JSON.stringify(opus.body['messages']), /Call one of the tools now/)
  const answer = await fetch(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test/quirky',
      max_tokens: 5,
      top_p: 0.5,
      messages: [{ role: 'user', content: 'x' }],
    }),
  })
  assert.equal(answer.headers.get('x-tollgate-dropped'), 'top_p')
  await answer.text()
})

test('images and documents as data URLs, addresses where the model takes them', async () => {
  const content = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'https://papers.example/a.pdf' } },
  ]
  assert.deepEqual((await sent('mistral', { messages: [{ role: 'user', content }] })).body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: `data:image/png;base64,${PIXEL}` },
        { type: 'document_url', document_url: 'https://papers.example/a.pdf' },
      ],
    },
  ])
  const linked = await sent('groq', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://pictures.example/cat.png' } },
          { type: 'text', text: 'A cat?' },
        ],
      },
    ],
  })
  assert.deepEqual(linked.body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'https://pictures.example/cat.png' } },
        { type: 'text', text: 'A cat?' },
      ],
    },
  ])
})

test('an effort of reasoning arrives where the model takes one, however it is asked for', async () => {
  for (const [asked, effort] of [
    [{ reasoning_effort: 'low' }, 'low'],
    [{ reasoning: { effort: 'high' } }, 'high'],
    [{ reasoning: { enabled: true } }, 'medium'],
    [{ reasoning: { max_tokens: 2_000 } }, 'medium'],
    [{}, undefined],
  ] as const) {
    assert.equal((await sent('groq', asked, 'gpt-oss')).body['reasoning_effort'], effort, JSON.stringify(asked))
  }
})

test('a client that wants no reasoning is not shown it, and pays for it', async () => {
  await replay.slot('groq', [{ case: CASES.groq }])
  const shown = await chat(tollgate.url, key, {
    model: 'test/groq',
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const hidden = await chat(tollgate.url, key, {
    model: 'test/groq',
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Hello' }],
    reasoning: { exclude: true },
  })
  assert.notEqual(shown.choices.get(0)?.reasoning, '')
  assert.equal(hidden.choices.get(0)?.reasoning, '')
  assert.equal(hidden.usage?.['cost'], shown.usage?.['cost'])
})
