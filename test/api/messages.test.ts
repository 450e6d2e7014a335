import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serveSandbox } from '../harness/gateway.ts'
import { loggedRow } from '../harness/money-check.ts'
import { type FoldedMessage, say } from '../harness/protocol-folds.ts'

const world = await serveSandbox(`
providers: { second: { name: Second, adapter: sandbox } }
models:
  - { id: test/small, type: chat, context_length: 1000, endpoints: [{ provider: second, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
  - { id: test/vectors, type: embeddings, endpoints: [{ provider: second, model: vectors, price: { currency: RUB, prompt: 1 } }] }
`)
const { key, tollgate } = world

const HELLO = [{ role: 'user', content: 'Hello' }]
const TOOLS = [{ name: 'edit', description: 'Edits a file', input_schema: { type: 'object', properties: {} } }]

function ask(fields: Record<string, unknown>): Promise<FoldedMessage> {
  return say(tollgate.url, key, { model: 'sandbox/chat', max_tokens: 1_000, messages: HELLO, ...fields })
}

async function spent(): Promise<number> {
  const { body } = await tollgate.get('/v1/credits', key)
  return body.data.total_usage
}

for (const stream of [false, true]) {
  test(`a conversation of three turns with a tool call, ${stream ? 'streamed' : 'whole'}: the ledger is exact`, async () => {
    const before = await spent()
    const messages: unknown[] = [{ role: 'user', content: 'sandbox: tool=edit' }]
    const calls = await ask({ stream, messages, tools: TOOLS, system: 'Be brief.' })
    assert.equal(calls.message.stop_reason, 'tool_use')
    const call = calls.message.content.find(({ type }: { type: string }) => type === 'tool_use')
    assert.equal(call.name, 'edit')
    messages.push(
      { role: 'assistant', content: calls.message.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: call.id, content: 'no such file', is_error: true },
          { type: 'text', text: 'Then say why' },
        ],
      },
    )
    const why = await ask({ stream, messages, tools: TOOLS })
    assert.equal(why.message.stop_reason, 'end_turn')
    messages.push({ role: 'assistant', content: why.message.content }, { role: 'user', content: 'Thanks' })
    const last = await ask({ stream, messages, tools: TOOLS })
    assert.equal(last.text, 'Hello from the sandbox. You said: Thanks')
    const micro = [calls, why, last].reduce((sum, { message }) => sum + Math.round(message.usage.cost * 1e6), 0)
    assert.equal(Math.round((await spent()) * 1e6) - Math.round(before * 1e6), micro)
    const row = await loggedRow(tollgate, key, last.headers['x-generation-id'])
    assert.partialDeepStrictEqual(row, {
      type: 'messages',
      streamed: stream,
      total_cost: last.message.usage.cost,
      input_tokens: last.message.usage.input_tokens,
      output_tokens: last.message.usage.output_tokens,
    })
  })
}

test('the tokens of a message are counted for nothing', async () => {
  const before = await spent()
  const count = (body: unknown): Promise<Answer> => tollgate.post('/v1/messages/count_tokens?beta=true', key, body)
  const small = await count({ model: 'sandbox/chat', messages: HELLO })
  const large = await count({ model: 'sandbox/chat', messages: HELLO, tools: TOOLS, system: 'Be brief.' })
  assert.equal(small.status, 200, small.text)
  assert.ok(small.body.input_tokens > 0 && large.body.input_tokens > small.body.input_tokens, large.text)
  assert.equal((await count({ model: 'no/such', messages: HELLO })).body.error.type, 'not_found_error')
  assert.equal((await count({ messages: HELLO, model: 'test/vectors' })).status, 400)
  assert.equal(await spent(), before)
})

test('models come in the shape of the client that asks', async () => {
  const headers = { 'anthropic-version': '2023-06-01' }
  const get = (path: string): Promise<Answer> => tollgate.request('GET', path, { key, headers })
  const all = await get('/v1/models?limit=1000')
  assert.partialDeepStrictEqual(all.body, { has_more: false })
  const ids: readonly string[] = all.body.data.map(({ id }: { id: string }) => id)
  assert.ok(ids.includes('sandbox/chat') && !ids.includes('test/vectors'))
  assert.deepEqual([all.body.first_id, all.body.last_id], [ids[0], ids.at(-1)])
  const seen: string[] = []
  for (let after = ''; ;) {
    const page = await get(`/v1/models?limit=1${after}`)
    seen.push(...page.body.data.map(({ id }: { id: string }) => id))
    if (page.body.has_more === false) break
    after = `&after_id=${encodeURIComponent(page.body.last_id)}`
  }
  assert.deepEqual(seen, ids)
  const before = await get(`/v1/models?limit=1&before_id=${encodeURIComponent(ids.at(-1) ?? '')}`)
  assert.equal(before.body.data[0].id, ids.at(-2))
  const one = await get('/v1/models/sandbox/chat')
  assert.partialDeepStrictEqual(one.body, { type: 'model', id: 'sandbox/chat', max_input_tokens: 128_000 })
  assert.equal((await get('/v1/models/no/such')).body.error.type, 'not_found_error')
  assert.equal((await get('/v1/models?after_id=no')).body.error.type, 'invalid_request_error')
  const plain = await tollgate.get('/v1/models/no/such', key)
  assert.equal(plain.body.error.metadata.error_type, 'model_not_found')
})

test('whoever looks whether somebody is there finds it', async () => {
  for (const path of ['/', '/api/hello']) assert.equal((await tollgate.request('HEAD', path)).status, 200, path)
})

async function post(
  options: { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return tollgate.request('POST', '/v1/messages', {
    key,
    body: { model: 'sandbox/chat', max_tokens: 100, messages: HELLO },
    ...options,
  })
}

async function withAccount(options: Parameters<typeof world.tollgate.createAccount>[0]): Promise<Answer> {
  const { key } = await tollgate.createAccount(options)
  const answer = await post({ key })
  // With a limit the first one is let through.
  return answer.status === 200 ? post({ key }) : answer
}

const body = (fields: Record<string, unknown>): { readonly body: unknown } => ({
  body: { model: 'sandbox/chat', max_tokens: 100, messages: HELLO, ...fields },
})
const script = (line: string): { readonly body: unknown } =>
  body({ messages: [{ role: 'user', content: `sandbox: ${line}` }] })

const ROWS: readonly (readonly [string, () => Promise<Answer>, number, string, RegExp])[] = [
  ['no limit', () => post(body({ max_tokens: null })), 400, 'invalid_request_error', /^max_tokens: is required$/],
  ['broken JSON', () => post({ body: '{"model":' }), 400, 'invalid_request_error', /not valid JSON/],
  [
    'another kind of model',
    () => post(body({ model: 'test/vectors' })),
    400,
    'invalid_request_error',
    /does not support messages/,
  ],
  [
    'too long',
    () => post(body({ model: 'test/small', messages: [{ role: 'user', content: 'hello '.repeat(2_000) }] })),
    400,
    'invalid_request_error',
    /^prompt is too long: \d+ tokens > \d+ maximum$/,
  ],
  [
    'too long with its answer',
    () => post(body({ model: 'test/small', max_tokens: 990, messages: [{ role: 'user', content: 'a '.repeat(50) }] })),
    400,
    'invalid_request_error',
    /^input length and `max_tokens` exceed context limit: \d+ \+ 990 > 1000/,
  ],
  ['no key', () => post({ key: '' }), 401, 'authentication_error', /^Missing Authorization header/],
  ['wrong key', () => post({ key: 'sk-tg-x' }), 401, 'authentication_error', /^Invalid API key$/],
  ['two keys', () => post({ headers: { 'x-api-key': 'sk-tg-x' } }), 401, 'authentication_error', /different API keys/],
  ['no money', () => withAccount({ balance: 0 }), 402, 'billing_error', /balance/i],
  [
    'a model that the key may not use',
    () => withAccount({ key: { allowed_models: ['test/small'] } }),
    403,
    'permission_error',
    /no access to model/,
  ],
  ['unknown model', () => post(body({ model: 'claude-nope' })), 404, 'not_found_error', /'claude-nope' not found/],
  ['unknown path', () => tollgate.post('/v1/messages/batches', key, {}), 404, 'not_found_error', /Unknown endpoint/],
  ['wrong method', () => tollgate.get('/v1/messages', key), 405, 'invalid_request_error', /Method GET is not allowed/],
  ['too large', () => post({ body: 'x'.repeat(10_485_761) }), 413, 'request_too_large', /larger than 10 MB|10 MB/],
  [
    'another type',
    () => post({ headers: { 'content-type': 'text/plain' } }),
    415,
    'invalid_request_error',
    /application\/json/,
  ],
  [
    'too many',
    () => withAccount({ account: { rate_limit: { requests: 1, window: 60 } } }),
    429,
    'rate_limit_error',
    /Too many requests\. Retry after \d+ seconds/,
  ],
  ['a provider that refuses', () => post(script('status=400')), 400, 'invalid_request_error', /./],
  ['a provider that fails', () => post(script('status=500')), 502, 'api_error', /Provider returned an error/],
  ['a busy provider', () => post(script('status=529')), 503, 'overloaded_error', /busy or unavailable/],
]

for (const [what, provoke, status, type, words] of ROWS) {
  test(`${what}: ${status} ${type}`, async () => {
    const answer = await provoke()
    assert.deepEqual([answer.status, answer.body.type, answer.body.error.type], [status, 'error', type], answer.text)
    assert.match(answer.body.error.message, words)
    assert.equal(answer.body.request_id, answer.headers['request-id'])
    assert.deepEqual(Object.keys(answer.body.error), ['type', 'message'])
    if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
  })
}

test('a stream that fails after its beginning ends with an error event', async () => {
  const { error, raw } = await ask({ stream: true, messages: [{ role: 'user', content: 'sandbox: error=2' }] })
  assert.equal(error?.['type'], 'api_error')
  assert.match(raw, /^event: message_start\n/)
  assert.match(raw, /event: error\ndata: [^\n]*\n\n$/)
})

test('a stream whose client names it can be taken up again, in the same events', async () => {
  const headers = { 'x-request-id': 'messages-1' }
  const first = await tollgate.request('POST', '/v1/messages', {
    key,
    headers,
    body: { model: 'sandbox/chat', max_tokens: 100, stream: true, messages: HELLO },
  })
  const again = await tollgate.get('/v1/streams?id=messages-1&after=2', key)
  assert.ok(first.text.endsWith(again.text))
  assert.match(again.text, /^id: 3\nevent: content_block_delta\n/)
})

test('under an Idempotency-Key a message is answered once', async () => {
  const headers = { 'idempotency-key': 'messages-1' }
  const [first, second] = [await post({ headers }), await post({ headers })]
  assert.equal(second.text, first.text)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  const mismatch = await post({ headers, ...body({ max_tokens: 7 }) })
  assert.deepEqual([mismatch.status, mismatch.body.error.type], [422, 'invalid_request_error'])
})
