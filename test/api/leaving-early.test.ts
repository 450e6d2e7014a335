import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'

/**
 * An answer whose client leaves early is read on, keeps its places and is charged: a provider that makes a whole answer
 * bills it in any case.
 */

const REQUESTS = 50
let waiting: ServerResponse[] = []

const upstream = await startScriptedUpstream()
const server = await movingGateway({
  catalog: `
rate_limit: { requests: 100000, window: 60 }
markup: 1
providers:
  p: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, cancel_stops_billing: true, timeouts: { first_byte: 600, progress: 600 } }
  keeps: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, timeouts: { first_byte: 600, progress: 600 } }
models:
  - { id: test/chat, type: chat, context_length: 100000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1000000, completion: 1000000 } }] }
  - { id: test/thinks, type: chat, context_length: 100000, endpoints: [{ provider: keeps, model: m, price: { currency: RUB, prompt: 1000000, completion: 1000000 } }] }
  - { id: test/vectors, type: embeddings, context_length: 100000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1000000 } }] }
  - { id: test/image, type: image, endpoints: [{ provider: p, model: m, price: { currency: RUB, image_output: 2 } }] }
`,
})
upstream.answer((response) => waiting.push(response))

function leaving(key: string, path: string, body: unknown): Socket {
  const text = JSON.stringify(body)
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
  return socket
}

const chat = { model: 'test/chat', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }
const ANSWER =
  '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"one"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":2}}'

async function rowsOf(account: string, total: number): Promise<readonly Readonly<Record<string, unknown>>[]> {
  let rows: readonly Readonly<Record<string, unknown>>[] = []
  await until(20_000, 'the log rows', async () => {
    rows = (await server.admin('GET', `/admin/v1/generations?account=${account}&limit=100`)).body.data
    return rows.length >= total
  })
  return rows
}

async function askAndLeave(key: string, count: number, path: string, body: unknown): Promise<void> {
  const before = waiting.length
  const sockets = Array.from({ length: count }, () => leaving(key, path, body))
  await until(20_000, 'the requests upstream', () => waiting.length === before + count)
  for (const socket of sockets) {
    socket.destroy()
    await once(socket, 'close')
  }
}

test('rule 8: each of 50 whole answers whose client left is read to its end and charged', async () => {
  const account = await server.createAccount({ balance: 10_000 })
  await askAndLeave(account.key, REQUESTS, '/v1/chat/completions', chat)
  // They keep their places: the key has fewer left.
  const more = await server.get('/v1/user/balance', account.key)
  assert.ok(more.body.reserved > 0)
  await until(20_000, 'the answers that are read on', async () =>
    /tollgate_drains 50\b/.test((await server.request('GET', '/metrics')).text),
  )
  for (const response of waiting.splice(0)) response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
  const rows = await rowsOf(account.id, REQUESTS)
  assert.deepEqual(
    new Set(rows.map((row) => `${row['status']} ${row['billing_basis']} ${row['total_cost']}`)),
    new Set(['cancelled drained 10']),
  )
  assert.equal((await server.get('/v1/user/balance', account.key)).body.balance, 10_000 - REQUESTS * 10)
})

for (const [name, path, body, worst] of [
  ['a chat', '/v1/chat/completions', chat, null],
  ['embeddings', '/v1/embeddings', { model: 'test/vectors', input: 'Hello' }, 13],
  ['a streamed image', '/v1/images/generations', { model: 'test/image', prompt: 'x', stream: true }, 2],
] as const) {
  test(`rule 8: ${name} of which nothing came in two minutes costs nothing, and the most that it may cost is the operator's loss`, async () => {
    const account = await server.createAccount({ balance: 10_000 })
    await askAndLeave(account.key, 1, path, body)
    const { reserved } = (await server.get('/v1/user/balance', account.key)).body
    assert.ok(worst === null || reserved === worst, String(reserved))
    await until(20_000, 'the answers that are read on', async () =>
      /tollgate_drains 1\b/.test((await server.request('GET', '/metrics')).text),
    )
    server.clock.advance(121_000)
    const [row = {}] = await rowsOf(account.id, 1)
    assert.deepEqual(
      [row['status'], row['billing_basis'], row['total_cost'], row['insured']],
      ['cancelled', 'free', 0, reserved],
    )
    for (const response of waiting.splice(0)) response.destroy()
  })
}

/** Begins a stream whose model has thought unseen, and reads all of its text. */
async function readThoughtful(
  key: string,
  requestId: string,
): Promise<{ readonly upstream: ServerResponse; readonly id: string }> {
  const before = waiting.length
  const body = { model: 'test/thinks', max_tokens: 500, stream: true, messages: [{ role: 'user', content: 'Hello' }] }
  const answering = request(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': requestId },
  })
  await until(20_000, 'the request upstream', () => waiting.length === before + 1)
  const [response] = waiting.splice(-1)
  assert.ok(response !== undefined)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(
    'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"42"},"finish_reason":null}]}\n\n',
  )
  const client = await answering
  client.body.on('error', () => undefined)
  client.body.resume()
  return { upstream: response, id: String(client.headers['x-generation-id']) }
}

const THOUGHTFUL_END =
  'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":400}}\n\ndata: [DONE]\n\n'

test('rule 8: cancelling a stream just before its end saves nothing where the provider bills cancelled answers', async () => {
  const account = await server.createAccount({ balance: 10_000 })
  const { upstream: answer } = await readThoughtful(account.key, 'late-cancel')
  const cancelled = await server.request('DELETE', '/v1/streams?id=late-cancel', { key: account.key })
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  answer.end(THOUGHTFUL_END)
  const [row = {}] = await rowsOf(account.id, 1)
  assert.deepEqual(
    [row['status'], row['billing_basis'], row['total_cost'], row['provider_cost'], row['insured']],
    ['cancelled', 'drained', 408, 408, 0],
  )
})

test('C2: a stream that is cancelled before its first byte breaks off, though its provider goes on to the end', async () => {
  const account = await server.createAccount({ balance: 10_000 })
  const before = waiting.length
  const body = { model: 'test/thinks', max_tokens: 500, stream: true, messages: [{ role: 'user', content: 'Hello' }] }
  const read = request(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json', 'x-request-id': 'silent' },
  })
    .then(async (client) => client.body.text())
    .then(
      (text) => `ended: ${text}`,
      () => 'broke off',
    )
  await until(20_000, 'the request upstream', () => waiting.length === before + 1)
  const [answer] = waiting.splice(-1)
  const cancelled = await server.request('DELETE', '/v1/streams?id=silent', { key: account.key })
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  answer?.writeHead(200, { 'content-type': 'text/event-stream' })
  answer?.end(
    `data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"42"},"finish_reason":null}]}\n\n${THOUGHTFUL_END}`,
  )
  assert.equal(await read, 'broke off')
  const [row = {}] = await rowsOf(account.id, 1)
  assert.deepEqual([row['status'], row['billing_basis'], row['total_cost']], ['cancelled', 'drained', 408])
})

test("rule 8: an answer cut off after two minutes is charged for its tokens so far; the rest of its worst-case price is the operator's loss", async () => {
  const account = await server.createAccount({ balance: 10_000 })
  const { upstream: answer } = await readThoughtful(account.key, 'long-thought')
  const { reserved } = (await server.get('/v1/user/balance', account.key)).body
  await server.request('DELETE', '/v1/streams?id=long-thought', { key: account.key })
  server.clock.advance(121_000)
  const [row = {}] = await rowsOf(account.id, 1)
  assert.deepEqual(
    [row['status'], row['billing_basis'], Number(row['total_cost']) + Number(row['insured'])],
    ['cancelled', 'counted', reserved],
  )
  assert.ok(Number(row['insured']) > 400, String(row['insured']))
  answer.destroy()
})
