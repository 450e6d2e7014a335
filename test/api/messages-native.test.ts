import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeDetails } from '../../src/kinds/answer/provenance.ts'
import { loggedRow } from '../harness/money-check.ts'
import { type FoldedMessage, say } from '../harness/protocol-folds.ts'
import { startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'

const UPSTREAM_KEY = 'upstream-canary-key'
const PRICES = 'currency: RUB, prompt: 3, completion: 15'

const { account, key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  claude: { name: Claude, adapter: anthropic, base_url: ${url}/v1, api_key: ${UPSTREAM_KEY} }
  second: { name: Second, adapter: anthropic, base_url: ${url}/v1, api_key: ${UPSTREAM_KEY} }
  chats: { name: Chats, adapter: openai, base_url: ${url}, api_key: ${UPSTREAM_KEY} }
models:
  - id: anthropic/claude
    aliases: [claude-x]
    type: chat
    context_length: 200000
    input_modalities: [text, image, file]
    endpoints: [{ provider: claude, model: claude-sonnet-4-6, price: { ${PRICES}, input_cache_read: 1, input_cache_write: 4, search: 2 }, native_messages: true }]
  - id: anthropic/plain
    type: chat
    context_length: 200000
    endpoints: [{ provider: claude, model: claude-sonnet-4-6, price: { ${PRICES} } }]
  - id: anthropic/short
    type: chat
    context_length: 200000
    max_completion_tokens: 8000
    endpoints: [{ provider: claude, model: claude-sonnet-4-6, price: { ${PRICES} } }]
  - id: test/both
    type: chat
    context_length: 200000
    endpoints:
      - { provider: chats, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 5 } }
      - { provider: second, model: claude-sonnet-4-6, price: { ${PRICES} } }
  - id: test/chat
    type: chat
    context_length: 200000
    endpoints: [{ provider: chats, model: upstream-model, price: { ${PRICES} } }]
`,
  10_000,
)

const USAGE = {
  input_tokens: 20,
  cache_creation_input_tokens: 6,
  cache_read_input_tokens: 8,
  cache_creation: { ephemeral_5m_input_tokens: 6, ephemeral_1h_input_tokens: 0 },
  output_tokens: 10,
  service_tier: 'standard',
}

function ask(fields: Record<string, unknown>, headers: Record<string, string> = {}): Promise<FoldedMessage> {
  const messages = [{ role: 'user', content: 'Hello, how are you doing today? '.repeat(10) }]
  return say(tollgate.url, key, { model: 'anthropic/claude', max_tokens: 1_000, messages, ...fields }, headers)
}

function answerWhole(fields: Record<string, unknown> = {}): void {
  const message = {
    id: 'msg_up',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: [{ type: 'text', text: 'Fine.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: USAGE,
    ...fields,
  }
  upstream.answer(answers(message))
}

function eventText(event: Readonly<Record<string, unknown>>): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`
}

const START = {
  type: 'message_start',
  message: {
    id: 'msg_up',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: [],
    stop_reason: null,
    usage: { ...USAGE, output_tokens: 1 },
  },
}
const CONTENT = [
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '', made_up: [1] } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Fine.' } },
  { type: 'content_block_stop', index: 1 },
]
const END = [
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null, safeguard_results: { a: 1 } },
    usage: { output_tokens: 10 },
  },
  { type: 'message_stop' },
]

function answerEvents(events: readonly Readonly<Record<string, unknown>>[]): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map(eventText).join(''))
  })
}

/** 20 plain tokens at 3, 8 read at 1, 6 written at 4, 10 of output at 15 µRUB. */
const COST = (20 * 3 + 8 + 6 * 4 + 10 * 15) / 1_000_000

test("the provider gets the client's own body and headers, but for what is ours", async () => {
  answerWhole()
  const answer = await ask(
    {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cch=1' },
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true, made_up: 1 }],
      thinking: { type: 'adaptive', display: 'summarized' },
      safeguards: { categories: ['x'] },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }] },
      service_tier: 'auto',
      speed: 'fast',
      container: 'container_of_another',
      metadata: { user_id: '{"session_id":"s"}' },
      made_up: { deep: [1] },
      provider: { only: ['claude'] },
      session_id: 's',
    },
    {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-1,b-2',
      'anthropic-made-up': 'yes',
      'anthropic-workspace-id': 'of another',
      'x-made-up': '1',
    },
  )
  assert.equal(answer.status, 200, answer.raw)
  const { path, headers } = upstream.received.at(-1) ?? assert.fail()
  assert.equal(path, '/v1/messages')
  assert.deepEqual(
    [headers['x-api-key'], headers['anthropic-version'], headers['anthropic-beta'], headers['x-made-up']],
    [UPSTREAM_KEY, '2026-10-21', 'a-1,b-2', undefined],
  )
  assert.deepEqual([headers['anthropic-made-up'], headers['anthropic-workspace-id']], ['yes', undefined])
  const { metadata, ...sent } = upstream.requests.at(-1) ?? assert.fail()
  assert.match(JSON.stringify(metadata), /^\{"user_id":"[\w-]{22}"\}$/)
  assert.deepEqual(sent, {
    model: 'claude-sonnet-4-6',
    max_tokens: 1_000,
    stream: false,
    messages: [{ role: 'user', content: 'Hello, how are you doing today? '.repeat(10) }],
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cch=1' },
      // An hour has no price here.
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true, made_up: 1 }],
    thinking: { type: 'adaptive', display: 'summarized' },
    safeguards: { categories: ['x'] },
    context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
    service_tier: 'standard_only',
    made_up: { deep: [1] },
  })
  assert.equal(answer.headers['x-tollgate-dropped'], 'speed, container, context_management')
})

test('safeguards reach the provider byte for byte: numbers, escapes and order as the client wrote them', async () => {
  answerWhole()
  const safeguards = '{ "b": 1.0, "10": "\\u00e9", "2": 12345678901234567890,\n "b": [1e2, "\\/"] }'
  for (const stream of [false, true]) {
    if (stream) answerEvents([START, ...CONTENT, ...END])
    const answer = await tollgate.post(
      '/v1/messages',
      key,
      `{"model":"anthropic/claude","max_tokens":100,"stream":${stream},"safeguards":${safeguards},"messages":[{"role":"user","content":"Hi"}]}`,
    )
    assert.equal(answer.status, 200, answer.text)
    const { body } = upstream.received.at(-1) ?? assert.fail()
    assert.ok(body.toString().includes(`"safeguards":${safeguards}`), body.toString())
    assert.equal(JSON.parse(body.toString()).model, 'claude-sonnet-4-6')
  }
})

test('long messages and tools reach the provider as the client wrote them, unless something in them must change', async () => {
  answerWhole()
  const long = 'A long question, which nobody writes again. '.repeat(200)
  const text = (more: string): string => `{ "type": "text", "text": ${JSON.stringify(long)}${more} }`
  const turn = (block: string): string => `[ {"role": "user", "content": [${block}]} ]`
  const tools = `[ {"name": "read", "description": "${long}", "input_schema": {"type": "object", "maximum": 1.0}} ]`
  const sent = async (model: string, messages: string): Promise<string> => {
    const body = `{"model":"${model}","max_tokens":100,"tools":${tools},"messages":${messages}}`
    const answer = await tollgate.post('/v1/messages', key, body)
    assert.equal(answer.status, 200, answer.text)
    const got = (upstream.received.at(-1) ?? assert.fail()).body.toString()
    assert.ok(got.includes(`"tools":${tools}`))
    return got
  }
  const marked = turn(text(', "cache_control": {"type": "ephemeral"}'))
  const plain = turn(text(''))
  assert.ok((await sent('anthropic/claude', marked)).includes(`"messages":${marked}`))
  assert.ok((await sent('anthropic/plain', plain)).includes(`"messages":${plain}`))
  const rewritten = {
    'a mark without a price': [marked, [{ role: 'user', content: [{ type: 'text', text: long }] }]],
    'a name that comes twice': [
      turn(text(', "text": "Hi"')),
      [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    ],
  } as const
  for (const [name, [messages, expected]] of Object.entries(rewritten)) {
    const got = await sent('anthropic/plain', messages)
    assert.deepEqual(JSON.parse(got).messages, expected, name)
    assert.equal(got.split('"text":').length, 2, name)
  }
})

test('a max_tokens beyond the model is lowered, and the budget for thinking with it', async () => {
  answerWhole()
  const { status, raw } = await ask({
    model: 'anthropic/short',
    max_tokens: 64_000,
    thinking: { type: 'enabled', budget_tokens: 32_000 },
  })
  assert.equal(status, 200, raw)
  assert.partialDeepStrictEqual(upstream.requests.at(-1), {
    max_tokens: 8_000,
    thinking: { type: 'enabled', budget_tokens: 4_000 },
  })
})

test('words that are newer than we are pass to the provider, and are refused where nobody speaks the protocol', async () => {
  for (const fields of [
    { thinking: { type: 'made_up' } },
    { output_config: { effort: 'made_up' } },
    { tools: [{ name: 'f', input_schema: { type: 'object' } }], tool_choice: { type: 'made_up' } },
    { top_p: 0 },
    { top_k: 0 },
  ]) {
    answerWhole()
    const answer = await ask(fields)
    assert.equal(answer.status, 200, answer.raw)
    assert.partialDeepStrictEqual(upstream.requests.at(-1), fields)
    if (!answer.raw.includes('made_up') && ('top_p' in fields || 'top_k' in fields)) continue
    const refused = await ask({ model: 'test/chat', ...fields })
    assert.equal(refused.status, 400)
    assert.match(
      refused.error?.['message'] ?? '',
      /'made_up' is offered only with models of Anthropic's protocol, not with 'test\/chat'$/,
    )
  }
})

test('a whole answer comes as it is, with our id and model, and each meter at its price', async () => {
  answerWhole({ made_up: 1, safeguard_results: { a: 1 } })
  const { message, headers } = await ask({ model: 'claude-x' })
  assert.partialDeepStrictEqual(message, {
    model: 'anthropic/claude',
    content: [{ type: 'text', text: 'Fine.' }],
    made_up: 1,
    safeguard_results: { a: 1 },
    usage: { ...USAGE, cost: COST, currency: 'RUB' },
  })
  const id = String(headers['x-generation-id'])
  assert.equal(message.id, id.replace('gen-', 'msg_'))
  const row = await loggedRow(tollgate, key, id)
  assert.partialDeepStrictEqual(row, { type: 'messages', total_cost: COST, finish_reason: 'stop', cached_tokens: 8 })
})

test('a stream comes byte for byte, its end with the charge', async () => {
  answerEvents([START, { type: 'ping' }, ...CONTENT, { type: 'made_up', more: 1 }, ...END])
  const answer = await ask({ stream: true }).catch((thrown: unknown) => String(thrown))
  // The fold does not know an event of a later version, and reports it.
  assert.match(String(answer), /made_up/)
  answerEvents([START, { type: 'ping' }, ...CONTENT, ...END])
  const { raw, message, thinking } = await ask({ stream: true })
  for (const event of CONTENT) assert.ok(raw.includes(eventText(event)), JSON.stringify(event))
  assert.equal(raw.includes('msg_up'), false)
  assert.equal(thinking, 'Hm')
  assert.equal(message.content[0].signature, 'sig')
  assert.deepEqual(message.safeguard_results, { a: 1 })
  assert.partialDeepStrictEqual(message, { stop_reason: 'end_turn', usage: { ...USAGE, cost: COST } })
})

test('marks for a cache without a price are taken out wherever they stand', async () => {
  answerWhole({ usage: { input_tokens: 20, output_tokens: 10 } })
  const mark = { cache_control: { type: 'ephemeral' } }
  await ask({
    model: 'anthropic/plain',
    ...mark,
    system: [{ type: 'text', text: 'a', ...mark }],
    tools: [{ name: 'f', input_schema: {}, ...mark }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'x', ...mark }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {}, ...mark }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'y', ...mark }], ...mark }],
      },
    ],
  })
  assert.equal(JSON.stringify(upstream.requests.at(-1)).includes('cache_control'), false)
})

test('thoughts that we wrapped, and those without a signature, do not reach the provider', async () => {
  answerWhole()
  await ask({
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'a', signature: encodeDetails([{ made: 'elsewhere' }]) },
          { type: 'thinking', thinking: 'b', signature: '' },
          { type: 'thinking', thinking: 'c', signature: 'sig' },
          { type: 'text', text: 'd' },
        ],
      },
      { role: 'user', content: 'y' },
    ],
  })
  assert.partialDeepStrictEqual(upstream.requests.at(-1), {
    messages: [
      { content: 'x' },
      {
        content: [
          { type: 'thinking', thinking: 'c', signature: 'sig' },
          { type: 'text', text: 'd' },
        ],
      },
      { content: 'y' },
    ],
  })
})

test('a tool that the provider runs needs a price, and its calls are bounded and charged', async () => {
  const search = { type: 'web_search_20260209', name: 'web_search' }
  answerWhole({ usage: { ...USAGE, server_tool_use: { web_search_requests: 2 } } })
  const { message } = await ask({ tools: [search] })
  assert.deepEqual(Object(upstream.requests.at(-1))['tools'], [{ ...search, max_uses: 8 }])
  assert.equal(message.usage.cost, COST + 2 * 2)
  const sent = upstream.requests.length
  const rows: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ model: 'anthropic/plain', tools: [search] }, /'web_search_20260209' is not offered .* it has no price there/],
    [{ tools: [{ type: 'code_execution_20260521', name: 'code_execution' }] }, /it has no price there/],
    [{ tools: [{ type: 'made_up_20990101', name: 'x' }] }, /it has no price there/],
    [{ model: 'test/chat', tools: [search] }, /Only functions of your own are/],
    [{ model: 'claude-nope', tools: [search] }, /not found/],
  ]
  for (const [fields, words] of rows) {
    const refused = await ask(fields)
    assert.ok(refused.status === 400 || refused.status === 404, refused.raw)
    assert.match(refused.error?.['message'] ?? '', words)
  }
  assert.equal(upstream.requests.length, sent)
})

test("more searches than the cap that the provider was sent are its bill, and not the customer's", async () => {
  const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 3 }
  answerWhole({ usage: { ...USAGE, server_tool_use: { web_search_requests: 30 } } })
  const { message } = await ask({ tools: [search] })
  assert.equal(message.usage.cost, COST + 3 * 2)
  const { body } = await tollgate.admin('GET', `/admin/v1/generations?account=${account.id}&limit=1`)
  const [row] = body.data
  assert.deepEqual([row['total_cost'], row['provider_cost'], row['flagged']], [COST + 3 * 2, COST + 30 * 2, true])
})

test('an error of the provider keeps its words, without those of the account', async () => {
  const fail = (status: number, type: string, message: string): void =>
    upstream.answer((response) =>
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_up' })),
    )
  const rows: readonly (readonly [number, string, string, number, string, RegExp])[] = [
    [400, 'invalid_request_error', 'messages.0: bad', 400, 'invalid_request_error', /^messages\.0: bad$/],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 208310 tokens > 200000 maximum',
      400,
      'invalid_request_error',
      /^prompt is too long: 208310 tokens > 200000 maximum$/,
    ],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease input length',
      400,
      'invalid_request_error',
      /^input length and `max_tokens` exceed context limit: 199000 \+ 4096 > 200000/,
    ],
    [
      400,
      'invalid_request_error',
      `key ${UPSTREAM_KEY} is bad`,
      400,
      'invalid_request_error',
      /^key \[redacted\] is bad$/,
    ],
    [401, 'authentication_error', 'invalid x-api-key', 502, 'api_error', /^Provider returned an error$/],
    [529, 'overloaded_error', 'Overloaded', 503, 'overloaded_error', /busy or unavailable/],
    [500, 'api_error', 'Internal', 502, 'api_error', /^Provider returned an error$/],
  ]
  for (const [status, type, message, told, toldType, words] of rows) {
    fail(status, type, message)
    for (const stream of [false, true]) {
      const { status: got, error, raw } = await ask({ stream })
      assert.deepEqual([got, error?.['type']], [told, toldType], raw)
      assert.match(error?.['message'] ?? '', words)
      assert.equal(raw.includes(UPSTREAM_KEY), false)
    }
  }
})

test('a refusal of the request passes whole, with our id and without what names the account', async () => {
  const refusal = {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: `messages.0: bad. ${'Long words. '.repeat(80)}`,
      details: { visibility: 'user', account: 'org-12345678', key: UPSTREAM_KEY, places: [1, null, { a: true }] },
    },
    request_id: 'req_up',
    made_up: 1,
  }
  for (const [status, type, told] of [
    [400, 'invalid_request_error', 400],
    [413, 'request_too_large', 413],
    [422, 'invalid_request_error', 400],
  ] as const) {
    upstream.answer((response) =>
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...refusal, error: { ...refusal.error, type } })),
    )
    for (const stream of [false, true]) {
      const answer = await ask({ stream })
      assert.equal(answer.status, told, answer.raw)
      assert.deepEqual(JSON.parse(answer.raw), {
        ...refusal,
        error: {
          ...refusal.error,
          type,
          details: { ...refusal.error.details, account: '[redacted]', key: '[redacted]' },
        },
        request_id: answer.headers['request-id'],
      })
    }
    // In another protocol the table of errors decides.
    const chat = await tollgate.post('/v1/chat/completions', key, {
      model: 'anthropic/plain',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    assert.deepEqual([chat.status, Object.keys(chat.body.error)], [400, ['code', 'message', 'metadata']])
  }
})

test('a stream that breaks off ends with an error event, and costs nothing', async () => {
  const before = await tollgate.get('/v1/credits', key)
  answerEvents([START, ...CONTENT])
  const { error, status } = await ask({ stream: true })
  assert.deepEqual([status, error?.['type']], [200, 'api_error'])
  const now = await tollgate.get('/v1/credits', key)
  assert.deepEqual(now.body, before.body)
})

test('where the first provider fails another protocol answers, translated, and the header says so', async () => {
  upstream.answer((response, { path: url }) => {
    if (url === '/chat/completions') return response.writeHead(500).end('{}')
    return response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end([START, ...CONTENT, ...END].map(eventText).join(''))
  })
  const native = await ask({ model: 'test/both', stream: true, safeguards: { a: 1 } })
  assert.equal(native.text, 'Fine.', native.raw)
  assert.equal(native.headers['x-tollgate-dropped'], undefined)
  upstream.answer(
    answers({
      id: 'c',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
    }),
  )
  const translated = await ask({ model: 'test/chat', safeguards: { a: 1 } })
  assert.equal(translated.text, 'Hi')
  assert.equal(translated.headers['x-tollgate-dropped'], 'safeguards')
})
