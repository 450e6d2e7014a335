import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../harness/patience.ts'
import { frame, RawSocket, RefusedHandshake, TurnClient } from '../harness/turn-client.ts'
import { key, logged, serveResponses, tollgate, upstream } from '../harness/responses-world.ts'

await serveResponses()

const open = (as = key, headers: Record<string, string> = {}): Promise<TurnClient> =>
  TurnClient.open(tollgate.url, { authorization: `Bearer ${as}`, ...headers })
const generationOf = (id: string): string => id.replace('resp-', 'gen-')

test('turns of one socket: the events of the stream as messages, each held and charged as a request', async () => {
  const account = await tollgate.createAccount()
  const client = await open(account.key, { 'openai-beta': 'responses_websockets=2026-02-06' })
  let before = 100
  for (const input of ['Hello', 'Again']) {
    const events = await client.turn({ input })
    assert.deepEqual(
      events.map(({ sequence_number: number }) => number),
      events.map((_event, index) => index),
    )
    assert.deepEqual([events[0].type, events.at(-1).type], ['response.created', 'response.completed'])
    const { response } = events.at(-1)
    assert.equal(response.output[0].content[0].text, `Hello from the sandbox. You said: ${input}`)
    const row = await logged(generationOf(response.id), account.key)
    assert.deepEqual([row['status'], row['streamed'], row['total_cost']], ['completed', true, response.usage.cost])
    const { body } = await tollgate.get('/v1/user/balance', account.key)
    assert.ok(Math.abs(before - body.balance - response.usage.cost) < 1e-9)
    before = body.balance
  }
  client.socket.close()
  await client.closed
})

test('the next turn names the answer before it, which is nowhere but in the socket', async () => {
  const client = await open()
  const first = (await client.turn({ input: 'My name is Ada.' })).at(-1).response
  assert.equal(first.store, false)
  const second = (await client.turn({ input: 'And?', previous_response_id: first.id })).at(-1).response
  assert.ok(second.usage.input_tokens > first.usage.input_tokens)
  assert.equal(second.previous_response_id, first.id)
  // Only the newest is remembered, and only here.
  const stale = (await client.turn({ input: 'x', previous_response_id: first.id })).at(-1)
  assert.deepEqual(
    [stale.type, stale.status, stale.error.code, stale.error.param],
    ['error', 400, 'previous_response_not_found', 'previous_response_id'],
  )
  const other = await open()
  const strange = (await other.turn({ input: 'x', previous_response_id: second.id })).at(-1)
  assert.equal(strange.error.code, 'previous_response_not_found')
  // A turn that is kept takes with it what was only remembered.
  const kept = (await client.turn({ input: 'Keep.', previous_response_id: second.id, store: true })).at(-1).response
  const elsewhere = (await other.turn({ input: 'Go on.', previous_response_id: kept.id })).at(-1).response
  assert.ok(elsewhere.usage.input_tokens > kept.usage.input_tokens)
  const items = await tollgate.get(`/v1/responses/${kept.id}/input_items?order=asc`, key)
  assert.deepEqual(
    items.body.data.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'user', 'assistant', 'user'],
  )
  for (const { socket } of [client, other]) socket.close()
})

test('generate: false asks nobody, costs nothing, and can be continued without input', async () => {
  const account = await tollgate.createAccount()
  const client = await open(account.key)
  const asked = upstream.requests.length
  const warm = await client.turn({ model: 'test/sandbox', input: 'Hello', generate: false })
  assert.deepEqual(
    warm.map(({ type }) => type),
    ['response.created', 'response.completed'],
  )
  const { id } = warm[1].response
  const { body } = await tollgate.get('/v1/generation', account.key)
  assert.deepEqual([body.total, upstream.requests.length], [0, asked])
  const events = await client.turn({ input: [], previous_response_id: id })
  assert.equal(events.at(-1).response.output[0].content[0].text, 'Hello from the sandbox. You said: Hello')
  client.socket.close()
})

test('errors are messages with their status, words for codes, and the socket lives on', async () => {
  const poor = await tollgate.createAccount({ balance: 0 })
  const client = await open(poor.key)
  const cases = [
    [{ input: 'x' }, 402, 'insufficient_quota'],
    [{ model: 'no/such', input: 'x' }, 400, 'model_not_found'],
    [{ input: '' }, 400, 'missing_input'],
    [{ type: 'response.cancel' }, 400, 'invalid_input'],
    [{ input: 'x', stream_id: 'a' }, 400, 'invalid_input'],
    [{ input: 'x', background: true }, 400, 'invalid_input'],
  ] as const
  for (const [body, status, code] of cases) {
    const events = await client.turn(body)
    assert.deepEqual(
      [events.length, events[0].type, events[0].status, events[0].error.code],
      [1, 'error', status, code],
    )
    assert.equal(typeof events[0].error.message, 'string')
    assert.match(events[0].headers['x-request-id'], /^req-/)
  }
  for (const text of ['', '[]', '{"a":', '"x"', '{"a":1}', '[['.repeat(100)]) {
    client.socket.send(text)
    const [event] = await client.rest()
    assert.deepEqual([event.type, event.status], ['error', 400], text)
  }
  client.socket.close()
})

test('each turn is admitted again: a key that was switched off, an address over its rate', async () => {
  const account = await tollgate.createAccount({ account: { rate_limit: { requests: 3, window: 60 } } })
  const client = await open(account.key)
  for (let turn = 0; turn < 2; turn += 1)
    assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
  const over = (await client.turn({ input: 'x' })).at(-1)
  assert.deepEqual([over.status, over.error.code], [429, 'rate_limit_exceeded'])
  assert.ok(Number(over.headers['retry-after']) > 0)
  const other = await tollgate.createAccount()
  const second = await open(other.key)
  assert.equal((await second.turn({ input: 'x' })).at(-1).type, 'response.completed')
  assert.equal((await tollgate.admin('PATCH', `/admin/v1/keys/${other.keyId}`, { disabled: true })).status, 200)
  const off = (await second.turn({ input: 'x' })).at(-1)
  assert.deepEqual([off.status, off.error.code], [403, 'key_deactivated'])
  for (const { socket } of [client, second]) socket.close()
})

test('a handshake needs a key, whatever else it has; its refusal is an HTTP answer', async () => {
  for (const headers of [
    {},
    { authorization: 'Bearer sk-tg-none' },
    { cookie: `tg_sid=${'A'.repeat(43)}`, origin: tollgate.url, 'sec-fetch-site': 'same-origin' },
  ])
    await assert.rejects(
      TurnClient.open(tollgate.url, headers),
      (thrown: unknown) => thrown instanceof RefusedHandshake && thrown.status === 401,
    )
  const half = { upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-version': '13' }
  const refused = await rawHandshake(half)
  assert.match(refused, /^HTTP\/1\.1 400 [^]*Sec-WebSocket-Key: must be 16 bytes in base64/)
  assert.match(await rawHandshake({ ...half, 'sec-websocket-version': '7' }), /^HTTP\/1\.1 400 /)
  // Without an upgrade, and at other paths, nothing has changed.
  assert.equal((await tollgate.get('/v1/responses', key)).status, 405)
})

test('a client that leaves in the middle of a turn is charged for what came', async () => {
  const account = await tollgate.createAccount()
  const client = await open(account.key)
  client.send({ input: 'sandbox: words=400 gap_ms=20' })
  let created = await client.next()
  while (created.type !== 'response.output_text.delta') created = await client.next()
  client.socket.terminate()
  const rows = async (): Promise<Record<string, unknown>[]> =>
    (await tollgate.get('/v1/generation', account.key)).body.logs
  await until(5_000, 'it is settled', async () => (await rows()).length === 1)
  const [row] = await rows()
  assert.equal(row?.['status'], 'cancelled')
  assert.ok(Number(row?.['total_cost']) > 0)
  assert.ok(Number(row?.['output_tokens']) < 200)
})

test('an answer that is faster than its client pauses, and goes on when the client has read', async () => {
  const client = await open()
  const events = await client.turn({ input: 'sandbox: words=3000', max_output_tokens: 4_000 })
  const { response } = events.at(-1)
  assert.equal(response?.status, 'completed', String(events.at(-1).type))
  assert.equal(events.filter(({ type }) => type === 'response.output_text.delta').length, 3_000)
  client.socket.close()
})

test('a conversation beyond the limits of a request is refused with the limit that it is beyond', async () => {
  const client = await open()
  for (const [items, content, limit] of [
    [9_000, 'a', /: it has more than 30000 keys\. /],
    [1, 'a'.repeat(6_000_000), /: it has more than 10 MB\. /],
  ] as const) {
    const input = Array.from({ length: items }, () => ({ role: 'user', content }))
    let previous: string | undefined
    for (let turn = 0; turn < 2; turn += 1)
      previous = (await client.turn({ input, generate: false, previous_response_id: previous })).at(-1).response.id
    const refused = (await client.turn({ input: 'x', previous_response_id: previous })).at(-1)
    assert.deepEqual([refused.status, refused.error.code], [413, 'request_too_large'])
    assert.match(refused.error.message, limit)
  }
  client.socket.close()
})

test('a second turn waits for the first; more than may wait end the socket', async () => {
  const client = await open()
  client.send({ input: 'first\nsandbox: words=6 gap_ms=20' })
  client.send({ input: 'second' })
  const first = await client.rest()
  const second = await client.rest()
  assert.deepEqual([first.at(-1).type, second.at(-1).type], ['response.completed', 'response.completed'])
  assert.equal(second[0].type, 'response.created')
  for (let turn = 0; turn < 8; turn += 1) client.send({ input: 'sandbox: words=40 gap_ms=20' })
  assert.equal(await client.closed, 1_008)
})

/** The whole answer to a handshake that no client of the library would send. */
async function rawHandshake(headers: Readonly<Record<string, string>>): Promise<string> {
  const { hostname, port } = new URL(tollgate.url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ host: 'x', authorization: `Bearer ${key}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.write(`GET /v1/responses HTTP/1.1\r\n${lines.join('')}\r\n`)
  return (await socket.toArray()).map(String).join('')
}

/** The code that the server closes with, after these frames. */
async function raw(frames: readonly Buffer[]): Promise<{ readonly code: number | null }> {
  const socket = await RawSocket.open(tollgate.url, key)
  socket.send(...frames)
  return { code: await socket.closed }
}

test('hostile frames close the socket with their code: mask, length, text that is none, kinds that are none', async () => {
  const text = Buffer.from('{"type":"response.create"}')
  const cases: readonly (readonly [string, readonly Buffer[], number])[] = [
    ['not masked', [frame(0x81, text, { masked: false })], 1_002],
    ['a gigabyte announced', [frame(0x81, text, { length: 1 << 30 })], 1_009],
    ['2^63 bytes announced', [Buffer.concat([Buffer.from([0x81, 0xff, 0x80]), Buffer.alloc(11)])], 1_009],
    ['not UTF-8', [frame(0x81, Buffer.from([0xff, 0xfe]))], 1_007],
    ['reserved bits', [frame(0xf1, text)], 1_002],
    ['an unknown kind', [frame(0x83, text)], 1_002],
    ['a continuation of nothing', [frame(0x80, text)], 1_002],
    ['a ping in pieces', [frame(0x09, text)], 1_002],
    ['binary', [frame(0x82, text)], 1_003],
  ]
  for (const [name, frames, code] of cases) assert.equal((await raw(frames)).code, code, name)
  const client = await open()
  client.socket.send('{"type":', { fin: false })
  client.socket.ping()
  client.socket.send('"response.create"}', { fin: true })
  const [answer] = await client.rest()
  assert.equal(answer.error.code, 'missing_input')
  client.socket.close()
  await client.closed
  await raw(Array.from({ length: 1_200 }, () => frame(0x89, Buffer.alloc(100))))
  await until(5_000, 'no bytes are held', () => tollgate.app.edge.bodyBytes === 0)
})
