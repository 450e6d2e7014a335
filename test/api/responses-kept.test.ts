import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { until } from '../harness/patience.ts'
import { respond } from '../harness/protocol-folds.ts'
import { answerJson, ask, key, logged, serveResponses, tollgate, upstream } from '../harness/responses-world.ts'
import { refused } from '../harness/refused.ts'
import { completion } from '../harness/provider-answers.ts'

await serveResponses()

const of = (id: unknown, rest = ''): string => `/v1/responses/${String(id)}${rest}`
const read = (id: unknown, as = key): Promise<Answer> => tollgate.get(of(id), as)
const CHAT_ANSWER = completion(
  { content: 'Yes.' },
  { id: 'c0', usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 } },
)
const messagesSent = (): unknown => upstream.requests.at(-1)?.['messages']

test('store: true keeps what the client got, whole and streamed, with its cost; without it nothing is kept', async () => {
  for (const stream of [false, true]) {
    const { response } = await ask({ store: true, stream, metadata: { a: 'b' } })
    assert.equal(response.store, true)
    assert.ok(response.usage.cost > 0)
    // A stream without X-Request-Id has no events that could be asked for: this one is read from the store.
    const kept = await read(response.id)
    assert.deepEqual([kept.status, kept.body], [200, response])
    const events = await tollgate.get(of(response.id, '?stream=true'), key)
    assert.equal(events.status, 404)
    assert.match(
      events.body.error.message,
      /^The events of response .* are not kept: .* Ask for the answer without stream$/,
    )
    assert.equal((await logged(response.id.replace('resp-', 'gen-')))['total_cost'], response.usage.cost)
  }
  for (const store of [undefined, false]) {
    const { response } = await ask({ store })
    assert.equal(response.store, false)
    assert.deepEqual(
      [(await read(response.id)).status, (await read(response.id)).body.error.metadata.error_type],
      [404, 'stream_not_found'],
    )
  }
})

test('a kept answer is the account’s: another account neither reads, continues nor removes it', async () => {
  const { response } = await ask({ store: true })
  const other = (await tollgate.createAccount()).key
  for (const [method, rest] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
  ] as const)
    assert.equal((await tollgate.request(method, of(response.id, rest), { key: other })).status, 404, method + rest)
  const { status, response: body } = await respond(tollgate.url, other, {
    model: 'test/sandbox',
    input: 'x',
    previous_response_id: response.id,
  })
  assert.deepEqual(
    [status, body.error.code, body.error.param, body.error.metadata.error_type],
    [400, 'previous_response_not_found', 'previous_response_id', 'previous_response_not_found'],
  )
  assert.equal((await read(response.id)).status, 200)
})

test('previous_response_id brings the turns before, with calls and their results, and not the instructions', async () => {
  answerJson(
    completion(
      {
        content: 'Let me look.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }],
      },
      { id: 'c1', usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 }, finish: 'tool_calls' },
    ),
  )
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
  const first = await ask({ model: 'test/chat', input: 'What is at x?', instructions: 'Be brief.', tools, store: true })
  answerJson(
    completion(
      { content: 'A cat.' },
      { id: 'c2', usage: { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 } },
    ),
  )
  const second = await ask({
    model: 'test/chat',
    input: [{ type: 'function_call_output', call_id: 'call_1', output: 'cat' }],
    previous_response_id: first.response.id,
    store: true,
    tools,
  })
  assert.equal(second.response.previous_response_id, first.response.id)
  const turns = [
    { role: 'user', content: 'What is at x?' },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'Let me look.' }],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'cat' },
  ]
  assert.deepEqual(messagesSent(), turns)
  const third = await ask({ model: 'test/chat', input: 'Sure?', previous_response_id: second.response.id })
  assert.equal(third.status, 200)
  assert.deepEqual(messagesSent(), [
    ...turns,
    { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] },
    { role: 'user', content: 'Sure?' },
  ])

  const items = async (query: string): Promise<Answer['body']> =>
    (await tollgate.get(of(second.response.id, `/input_items?${query}`), key)).body
  const all = await items('order=asc')
  assert.deepEqual(
    all.data.map(({ type }: { type: string }) => type),
    ['message', 'message', 'function_call', 'function_call_output'],
  )
  assert.deepEqual(all.data[0].content, [{ type: 'input_text', text: 'What is at x?' }])
  assert.equal(all.has_more, false)
  const newest = await items('limit=3')
  assert.deepEqual(
    [newest.data[0].type, newest.has_more, newest.last_id],
    ['function_call_output', true, newest.data[2].id],
  )
  assert.deepEqual(
    (await items(`limit=3&after=${newest.last_id}`)).data.map(({ id }: { id: string }) => id),
    [all.data[0].id],
  )
  for (const query of ['after=msg-none', 'limit=0', 'order=up'])
    assert.equal((await tollgate.get(of(second.response.id, `/input_items?${query}`), key)).status, 400)
})

test('item_reference: an item of a kept answer, or of what it answers, stands where it is named', async () => {
  const first = await ask({ input: 'My name is Ada.', store: true })
  const said = first.response.output[0]
  const asked = (await tollgate.get(of(first.response.id, '/input_items'), key)).body.data[0]
  const references = [{ type: 'item_reference', id: asked.id }, { id: said.id }, { role: 'user', content: 'And?' }]
  const inWords = [
    { role: 'user', content: asked.content },
    { role: 'assistant', content: said.content },
    { role: 'user', content: 'And?' },
  ]
  answerJson(CHAT_ANSWER)
  const { status, raw } = await ask({ model: 'test/chat', input: inWords })
  assert.equal(status, 200, raw)
  const expected = messagesSent()
  answerJson(CHAT_ANSWER)
  const second = await ask({ model: 'test/chat', input: references, store: true })
  assert.equal(second.status, 200, second.raw)
  assert.deepEqual(messagesSent(), expected)
  // What is kept of it are the items themselves: it goes on without the answer that it named.
  await tollgate.request('DELETE', of(first.response.id), { key })
  answerJson(CHAT_ANSWER)
  const third = await ask({ model: 'test/chat', input: 'Go on.', previous_response_id: second.response.id })
  assert.equal(third.status, 200, third.raw)
  assert.deepEqual((messagesSent() as unknown[]).slice(0, 3), expected)
})

test('item_reference: 404 of what is not kept, removed, running, of another account, or no id; 400 of no text', async () => {
  const kept = await ask({ store: true })
  const { id } = kept.response.output[0]
  const unkept = (await ask({})).response.output[0].id
  const removed = await ask({ store: true })
  await tollgate.request('DELETE', of(removed.response.id), { key })
  const running = await ask({ background: true, input: 'sandbox: delay_ms=60000' })
  const refer = (named: unknown, as = key): ReturnType<typeof respond> =>
    respond(tollgate.url, as, { model: 'test/sandbox', input: [{ type: 'item_reference', id: named }] })
  assert.equal((await refer(id)).status, 200)
  const other = (await tollgate.createAccount()).key
  for (const [named, as] of [
    [unkept, key],
    [removed.response.output[0].id, key],
    [running.response.id.replace(/^resp-(.*)$/, 'msg-$1-0'), key],
    [id.replace(/-0$/, '-1'), key],
    [id, other],
    ['msg_1', key],
    ["'; --", key],
    [`msg-${'a'.repeat(100_000)}-0`, key],
  ] as const) {
    const refused = await refer(named, as)
    const { code, param, message, metadata } = refused.response.error
    assert.deepEqual(
      [refused.status, code, param, metadata.error_type],
      [404, 'item_not_found', 'input', 'item_not_found'],
    )
    assert.match(message, /^Item with id '.{1,128}' not found/)
  }
  for (const named of ['', 7, {}, null]) {
    const refused = await refer(named)
    assert.deepEqual([refused.status, refused.response.error.metadata.error_type], [400, 'invalid_input'])
  }
  await tollgate.request('POST', of(running.response.id, '/cancel'), { key })
})

test('item_reference: many names of a large item are refused before they are put together', async () => {
  const { response } = await ask({ input: 'word '.repeat(20_000), store: true, max_output_tokens: 8 })
  const items = (await tollgate.get(of(response.id, '/input_items'), key)).body.data
  const input = Array.from({ length: 9_000 }, () => ({ type: 'item_reference', id: items[0].id }))
  const refused = await ask({ input })
  assert.deepEqual([refused.status, refused.response.error.metadata.error_type], [413, 'request_too_large'])
  assert.match(refused.response.error.message, /^The conversation of item_reference is larger than .* 10 MB/)
})

test('the turns before are counted in the hold and in the limits of a request', async () => {
  const account = await tollgate.createAccount({ balance: 0.31 })
  const said = 'word '.repeat(4_000)
  const first = await respond(tollgate.url, account.key, {
    model: 'test/sandbox',
    input: said,
    store: true,
    max_output_tokens: 16,
  })
  assert.equal(first.status, 200, first.raw)
  const next = await respond(tollgate.url, account.key, {
    model: 'test/sandbox',
    input: 'x',
    previous_response_id: first.response.id,
    max_output_tokens: 16,
  })
  assert.equal(next.status, 402, next.raw)
  const big = await ask({ input: 'y'.repeat(6_000_000), store: true, model: 'test/both', max_output_tokens: 1 })
  assert.equal(big.status, 400)
})

test('a removed turn ends its conversation, and so does one that is no answer', async () => {
  const first = await ask({ store: true })
  const second = await ask({ store: true, previous_response_id: first.response.id })
  const gone = await tollgate.request('DELETE', of(first.response.id), { key })
  assert.deepEqual(gone.body, { id: first.response.id, object: 'response', deleted: true })
  assert.equal((await tollgate.request('DELETE', of(first.response.id), { key })).status, 404)
  assert.equal((await read(first.response.id)).status, 404)
  assert.equal((await read(second.response.id)).status, 200)
  for (const id of [first.response.id, second.response.id, 'resp-none', '', "'; --"]) {
    const { status, response } = await ask({ previous_response_id: id })
    assert.deepEqual([status, response.error.code], [400, 'previous_response_not_found'], id)
  }
  assert.equal((await ask({ previous_response_id: 7 })).response.error.metadata.error_type, 'invalid_input')
})

test('a request that fails keeps nothing and costs nothing', async () => {
  const before = (await tollgate.get('/v1/user/balance', key)).body.balance
  const { status, headers } = await ask({ input: 'sandbox: status=500', store: true })
  assert.equal(status, 502)
  const id = String(headers['x-generation-id']).replace('gen-', 'resp-')
  await until(5_000, 'it has ended', async () => (await read(id)).status === 404)
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.balance, before)
})

test('0 days: store, background and previous_response_id say that nothing is kept', async () => {
  const { response } = await ask({ store: true })
  const settings = (days: number): Promise<Answer> =>
    tollgate.admin('PATCH', '/admin/v1/settings', { kept_responses: { days, megabytes: 1 } })
  assert.equal((await settings(0)).status, 200)
  for (const body of [{ store: true }, { background: true }, { previous_response_id: response.id }]) {
    const answer = await ask(body)
    refused(answer, 400, 'invalid_input', /are not kept on this service/)
  }
  assert.equal((await ask({ store: false })).status, 200)
  assert.equal((await read(response.id)).status, 404)
  assert.equal((await settings(31)).status, 400)
  await settings(30)
  // The newest megabyte of the account stays.
  const long = 'word '.repeat(60_000)
  const ids = []
  for (let turn = 0; turn < 4; turn += 1)
    ids.push((await ask({ model: 'test/sandbox', input: long, store: true, max_output_tokens: 8 })).response.id)
  const kept = await Promise.all(ids.map(async (id) => (await read(id)).status))
  assert.deepEqual(kept, [404, 200, 200, 200])
})

test('in the background: queued at once, read until it is there, charged once', async () => {
  const before = (await tollgate.get('/v1/user/balance', key)).body.balance
  const queued = await ask({ background: true, input: 'sandbox: delay_ms=30', metadata: { job: '1' } })
  assert.deepEqual(
    [queued.status, queued.response.status, queued.response.background, queued.response.store, queued.response.output],
    [200, 'queued', true, true, []],
  )
  const { id } = queued.response
  await until(5_000, 'it has ended', async () => (await read(id)).body.status !== 'in_progress')
  const { body } = await read(id)
  assert.deepEqual([body.status, body.background, body.metadata], ['completed', true, { job: '1' }])
  const after = (await tollgate.get('/v1/user/balance', key)).body.balance
  assert.ok(Math.abs(before - after - body.usage.cost) < 1e-9)
  assert.equal((await ask({ background: true, store: false })).response.error.metadata.error_type, 'invalid_input')
  const next = await ask({ previous_response_id: id })
  assert.equal(next.status, 200)
})

test('in the background a failure is kept as one, and a cancelled answer keeps what came and is charged for it', async () => {
  const failing = await ask({ background: true, input: 'sandbox: status=500' })
  await until(5_000, 'it has ended', async () => (await read(failing.response.id)).body.status === 'failed')
  assert.equal((await read(failing.response.id)).body.error.code, 'server_error')

  const slow = await ask({ background: true, input: 'sandbox: delay_ms=300' })
  const cancelled = await tollgate.request('POST', of(slow.response.id, '/cancel'), { key })
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  await until(5_000, 'it has ended', async () => (await read(slow.response.id)).body.status === 'cancelled')
  assert.equal((await logged(slow.response.id.replace('resp-', 'gen-')))['status'], 'cancelled')

  const removed = await ask({ background: true, input: 'sandbox: delay_ms=300' })
  assert.equal((await tollgate.request('DELETE', of(removed.response.id), { key })).status, 200)
  assert.equal((await read(removed.response.id)).status, 404)
})

test('an answer too large to keep: charged and said so where its client had it, free in the background', async () => {
  const big = {
    ...CHAT_ANSWER,
    choices: [{ ...CHAT_ANSWER.choices[0], message: { role: 'assistant', content: 'x'.repeat(9_000_000) } }],
  }
  answerJson(big)
  const balance = async (): Promise<number> => (await tollgate.get('/v1/user/balance', key)).body.balance
  const { response } = await ask({ model: 'test/chat', store: true })
  const { body } = await read(response.id)
  assert.deepEqual([body.status, body.output, body.usage], ['incomplete', [], response.usage])
  assert.match(body.error.message, /was charged, and is not kept/)
  assert.ok(body.usage.cost > 0)
  assert.equal((await ask({ previous_response_id: response.id })).response.error.code, 'previous_response_not_found')

  const before = await balance()
  const queued = await ask({ model: 'test/chat', background: true })
  await until(5_000, 'it has ended', async () => (await read(queued.response.id)).body.status === 'failed')
  const failed = (await read(queued.response.id)).body
  assert.deepEqual([failed.usage, failed.output], [null, []])
  assert.match(failed.error.message, /too large to be kept/)
  assert.equal(await balance(), before)
})

test('a stream in the background runs on without its client and is resumed by its events', async () => {
  const controller = new AbortController()
  const answer = await fetch(`${tollgate.url}/v1/responses`, {
    method: 'POST',
    signal: controller.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test/sandbox',
      input: 'sandbox: words=40 gap_ms=20',
      background: true,
      stream: true,
    }),
  })
  const reader = answer.body?.getReader()
  const first = new TextDecoder().decode((await reader?.read())?.value)
  assert.match(first, /"status":"queued"|"status":"in_progress"/)
  const id = String(answer.headers.get('x-generation-id')).replace('gen-', 'resp-')
  controller.abort()
  const rest = await tollgate.get(of(id, '?stream=true&starting_after=0'), key)
  assert.match(rest.text, /"sequence_number":1[,}]/)
  assert.doesNotMatch(rest.text, /"sequence_number":0[,}]/)
  assert.match(rest.text, /response\.completed/)
  const { body } = await read(id)
  assert.deepEqual([body.status, body.background], ['completed', true])
  assert.equal((await logged(id.replace('resp-', 'gen-')))['status'], 'completed')
})

test('a model that cannot serve, a key that may not use it and an empty account are refused before anything kept is read', async () => {
  const poor = await tollgate.createAccount({ balance: 0 })
  const bound = await tollgate.createAccount({ key: { allowed_models: ['test/chat'] } })
  const kept = [
    { input: [{ type: 'item_reference', id: 'msg-1-none-0' }] },
    { input: 'x', previous_response_id: 'resp-1-none' },
  ]
  for (const fields of kept) {
    const refusalOf = async (model: string, as = key): Promise<Answer> =>
      tollgate.post('/v1/responses', as, { model, ...fields })
    refused(await refusalOf('test/none'), 400, 'model_not_found')
    refused(await refusalOf('test/sandbox', bound.key), 403, 'access_denied')
    const empty = await refusalOf('test/sandbox', poor.key)
    assert.deepEqual([empty.status, empty.body.error.metadata.error_type], [402, 'insufficient_balance'])
    const looked = (await refusalOf('test/sandbox')).body.error.metadata.error_type
    assert.ok(['item_not_found', 'previous_response_not_found'].includes(looked), looked)
  }
})
