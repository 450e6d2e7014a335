import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { eventsOf, respond } from '../harness/protocol-folds.ts'
import { breaksAfter } from '../harness/scripted-upstream.ts'
import { upstream, tollgate, key, ask, answerJson, logged, serveResponses } from '../harness/responses-world.ts'
import { completion } from '../harness/provider-answers.ts'

await serveResponses()

test('one call is one log row of type responses under its gen- id, with the exact charge', async () => {
  for (const stream of [false, true]) {
    const account = await tollgate.createAccount()
    const answer = await respond(tollgate.url, account.key, { model: 'test/sandbox', input: 'Hello', stream })
    assert.equal(answer.text, 'Hello from the sandbox. You said: Hello')
    const id = String(answer.headers['x-generation-id'])
    assert.equal(answer.response.id, id.replace('gen-', 'resp-'))
    assert.equal(answer.response.usage.cost, (6 * 15 + 7 * 60) / 1_000_000)
    const { body } = await tollgate.get('/v1/generation', account.key)
    assert.equal(body.total, 1)
    const [row] = body.logs
    assert.deepEqual(
      [row.generation_id, row.type, row.status, row.total_cost, row.input_tokens, row.output_tokens, row.streamed],
      [id, 'responses', 'completed', 0.00051, 6, 7, stream],
    )
    const balance = await tollgate.get('/v1/user/balance', account.key)
    assert.equal(balance.body.balance, 100 - 0.00051)
  }
})

test('instructions, metadata and options are echoed; -1 and nothing compute the output', async () => {
  const { response, headers } = await ask({
    instructions: 'Be kind.',
    metadata: { a: 'b' },
    temperature: 0.25,
    store: true,
    user: 'u',
    max_output_tokens: -1,
  })
  assert.deepEqual(
    [
      response.instructions,
      response.metadata,
      response.temperature,
      response.store,
      response.user,
      response.max_output_tokens,
    ],
    ['Be kind.', { a: 'b' }, 0.25, true, 'u', -1],
  )
  assert.match(String(headers['x-max-tokens']), /^\d+$/)
})

test('cut by max_output_tokens: incomplete, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const { response } = await ask({ max_output_tokens: 3, stream })
    assert.deepEqual(
      [response.status, response.incomplete_details, response.output[0].status],
      ['incomplete', { reason: 'max_output_tokens' }, 'incomplete'],
    )
  }
})

test('a model that cannot: unknown, of another kind, too small for the output', async () => {
  const typeOf = async (body: Record<string, unknown>): Promise<unknown> =>
    (await ask(body)).response.error.metadata.error_type
  assert.equal(await typeOf({ model: 'no/such' }), 'model_not_found')
  assert.equal(await typeOf({ model: 'test/embeds' }), 'model_not_supported')
  assert.equal(await typeOf({ max_output_tokens: 128_000 }), 'token_limit_exceeded')
  assert.equal(
    await typeOf({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x/y.png' }] }] }),
    'model_not_supported',
  )
  assert.equal(await typeOf({ model: undefined }), 'missing_model')
})

test('a provider of chat gets the chat that the items mean', async () => {
  answerJson(completion({ content: 'Fine.' }, { usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 } }))
  const tools = [{ type: 'function', name: 'w', parameters: { type: 'object' }, strict: true }]
  const input = [
    { role: 'user', content: [{ type: 'input_text', text: 'weather?' }] },
    { type: 'function_call', call_id: 'c1', name: 'w', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'sun' },
  ]
  const answer = await ask({
    model: 'test/chat',
    instructions: 'Be brief.',
    input,
    tools,
    tool_choice: 'auto',
    text: { format: { type: 'json_object' } },
    stop: ['END'],
    max_output_tokens: 50,
    store: true,
    metadata: { a: 'b' },
    include: ['reasoning.encrypted_content'],
  })
  assert.equal(answer.text, 'Fine.')
  assert.deepEqual(upstream.requests.at(-1), {
    model: 'upstream-model',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'weather?' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'w', arguments: '{}' } }],
      },
      { role: 'tool', content: 'sun', tool_call_id: 'c1' },
    ],
    max_tokens: 50,
    tools: [{ type: 'function', function: { name: 'w', parameters: { type: 'object' }, strict: true } }],
    tool_choice: 'auto',
    response_format: { type: 'json_object' },
    stop: ['END'],
  })
})

test('a break, a stall or an error after the first byte is response.failed, and free', async () => {
  for (const [line, type, model] of [
    ['cut', 'provider_error', 'test/chat'],
    ['stall', 'provider_timeout', 'test/chat'],
    ['error=3 words=9', 'provider_error', 'test/sandbox'],
  ] as const) {
    if (line !== 'error=3 words=9') upstream.answer(breaksAfter(3, line))
    // An account whose failures cost more than 20 RUB in an hour is charged for them (guarantees.md rule 20).
    const { key: own } = await tollgate.createAccount({ balance: 1_000 })
    const answer = await respond(tollgate.url, own, {
      model,
      input: `Hello\nsandbox: ${line}`,
      stream: true,
    })
    assert.deepEqual(
      [answer.response.status, answer.response.error_type, answer.response.error.code, answer.response.usage.cost],
      ['failed', type, 'server_error', 0],
      line,
    )
    assert.doesNotMatch(answer.raw, /\[DONE\]/)
    assert.equal((await logged(answer.headers['x-generation-id'], own))['total_cost'], 0)
  }
})

test('a failure when only keep-alive comments went out begins the Response and fails it', async () => {
  const answer = await ask(
    { input: 'Hello\nsandbox: delay_ms=11500 status=500', stream: true },
    { 'x-request-id': 'late-failure' },
  )
  // Some decoders take a blank line in a numbered stream for an event (wire.md C9).
  assert.match(answer.raw, /^: PROCESSING\nid: 1\n/)
  assert.deepEqual(
    answer.events.map(({ type }) => type),
    ['response.created', 'response.in_progress', 'response.failed'],
  )
  assert.deepEqual([answer.response.error_type, answer.response.usage.cost], ['provider_error', 0])
  const kept = await tollgate.get(`/v1/responses/${answer.response.id}`, key)
  assert.deepEqual(kept.body, answer.response)
})

test('with X-Request-Id events are numbered from 1; the SDK aliases resume and retrieve', async () => {
  const answer = await ask({ input: 'Hello\nsandbox: words=20', stream: true }, { 'x-request-id': 'resumable' })
  const ids = [...answer.raw.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  assert.deepEqual(
    ids,
    answer.events.map(({ sequence_number: number }) => number + 1),
  )
  const resume = (query: string): Promise<{ readonly text: string }> =>
    tollgate.get(`/v1/responses/${answer.response.id}?stream=true${query}`, key)
  assert.deepEqual(eventsOf((await resume('&starting_after=6')).text), answer.events.slice(7))
  assert.deepEqual(eventsOf((await resume('')).text), answer.events)
  const streams = await tollgate.get(`/v1/streams?id=${answer.response.id}&after=7`, key)
  assert.deepEqual(eventsOf(streams.text), answer.events.slice(7))
  assert.deepEqual((await tollgate.get(`/v1/responses/${answer.response.id}`, key)).body, answer.response)
  const finished = await tollgate.request('POST', `/v1/responses/${answer.response.id}/cancel`, { key })
  assert.deepEqual([finished.status, finished.body.status], [200, 'completed'])
})

test('404: an unknown id, another account, a stream without X-Request-Id that has ended, a chat', async () => {
  const plain = await ask({ stream: true })
  const resumable = await ask({ stream: true }, { 'x-request-id': 'mine' })
  const chat = await tollgate.request('POST', '/v1/chat/completions', {
    key,
    body: { model: 'test/sandbox', stream: true, messages: [{ role: 'user', content: 'x' }] },
    headers: { 'x-request-id': 'chat-stream' },
  })
  const other = await tollgate.createAccount()
  const tries = [
    ['resp-1-none', key],
    [plain.response.id, key],
    [resumable.response.id, other.key],
    [chat.headers['x-generation-id'], key],
  ] as const
  for (const [id, asking] of tries) {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '?stream=true'],
      ['POST', '/cancel'],
    ] as const) {
      const answer = await tollgate.request(method, `/v1/responses/${id}${path}`, { key: asking })
      assert.deepEqual(
        [answer.status, answer.body?.error.metadata.error_type],
        [404, 'stream_not_found'],
        `${method} ${id}${path}`,
      )
    }
  }
})

test('a running Response is in progress; when cancelled it stops, breaks its connection and is charged for the tokens so far', async () => {
  const running = await request(`${tollgate.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': 'to-cancel' },
    body: JSON.stringify({
      model: 'test/sandbox',
      input: 'Hello\nsandbox: words=2000 gap_ms=10',
      stream: true,
      instructions: 'Be kind.',
    }),
  })
  const id = String(running.headers['x-generation-id']).replace('gen-', 'resp-')
  const broke = running.body.text().then(
    () => false,
    () => true,
  )
  const seen = await tollgate.get(`/v1/responses/${id}`, key)
  assert.deepEqual([seen.body.status, seen.body.instructions, seen.body.id], ['in_progress', 'Be kind.', id])
  const cancelled = await tollgate.request('POST', `/v1/responses/${id}/cancel`, { key })
  assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.id], [200, 'cancelled', id])
  assert.equal(await broke, true)
  const row = await logged(id.replace('resp-', 'gen-'))
  assert.deepEqual([row['status'], row['type'], row['billing_basis']], ['cancelled', 'responses', 'counted'])
  assert.equal((await tollgate.get(`/v1/responses/${id}`, key)).body.status, 'cancelled')
})

test('the endpoint is listed', async () => {
  const health = await tollgate.request('GET', '/v1/health')
  for (const name of ['responses', 'responses/{id}', 'responses/{id}/cancel'])
    assert.ok(health.body.endpoints.includes(name), name)
  const model = await tollgate.get('/v1/models/test/sandbox', key)
  assert.ok(model.body.supported_endpoints.includes('responses'))
})
