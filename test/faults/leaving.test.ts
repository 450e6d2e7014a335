import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { form } from '../harness/form.ts'
import { gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'

/**
 * Clients that leave in every way, in the middle of every kind of answer: their requests end, and nothing stays open.
 * The long form has about 300 clients for each way.
 */

/** Of each way and route; an address has 256 connections. */
const CLIENTS = form({ short: 6, long: 34 })
const ADDRESSES = 8
const SSE = { 'content-type': 'text/event-stream' }
const JSON_HEAD = { 'content-type': 'application/json' }
const EVENT =
  'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}\n\n'

/** Running answers, and the function that ends each. */
const underWay = new Set<() => void>()
let nextAddress = 0

const upstream = await startScriptedUpstream()
const model = (id: string, type: string, price: string): string =>
  `  - { id: test/${id}, type: ${type}, ${type === 'chat' ? 'context_length: 10000, ' : ''}endpoints: [{ provider: p, model: m, price: { currency: RUB, ${price} } }] }\n`
const tollgate = await gateway({
  catalog: `
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 100000, window: 60, duration: 1 }
stream_resume: { grace: 1, retention: 1 }
providers: { p: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k } }
models:
${model('chat', 'chat', 'prompt: 1, completion: 1')}${model('vectors', 'embeddings', 'prompt: 1')}${model('voice', 'tts', 'characters: 1')}`,
})
upstream.answer(begun)

/** Begins an answer and keeps it open until the test ends it. */
function begun(response: ServerResponse, { path: url }: Received): void {
  const [head, first, last] = url.endsWith('/chat/completions')
    ? [SSE, EVENT, 'data: [DONE]\n\n']
    : url.endsWith('/audio/speech')
      ? [{ 'content-type': 'audio/mpeg' }, Buffer.alloc(2_000, 0xff), Buffer.alloc(10)]
      : [JSON_HEAD, '{"data":[{"index":0,', '"embedding":[0.5]}],"usage":{"prompt_tokens":1}}']
  response.writeHead(200, head).write(first)
  const end = (): void => {
    underWay.delete(end)
    response.end(last)
  }
  underWay.add(end)
  response.on('close', () => underWay.delete(end))
}

interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

const chat = { model: 'test/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 5 }

const ROUTES: Readonly<Record<string, (number: number) => Asked>> = {
  stream: () => ({ method: 'POST', path: '/v1/chat/completions', body: { ...chat, stream: true } }),
  'stream that can be resumed': (number) => ({
    method: 'POST',
    path: '/v1/chat/completions',
    body: { ...chat, stream: true },
    headers: { 'x-request-id': `leaving-${number}` },
  }),
  'plain answer': () => ({ method: 'POST', path: '/v1/embeddings', body: { model: 'test/vectors', input: 'x' } }),
  sound: () => ({ method: 'POST', path: '/v1/audio/speech', body: { model: 'test/voice', input: 'x', voice: 'a' } }),
  'answer of the server': () => ({ method: 'GET', path: '/openapi.json' }),
  refusal: () => ({ method: 'POST', path: '/v1/embeddings', body: { model: 'test/none', input: 'x' } }),
  picture: () => ({ method: 'POST', path: '/v1/images', body: { model: 'sandbox/image', prompt: 'x' } }),
}

/** Sends the request in its own way and leaves; `came` resolves with the first bytes of the answer. */
type Leave = (socket: Socket, request: Buffer, came: Promise<unknown>) => Promise<void> | void

const WAYS: Readonly<Record<string, Leave>> = {
  'FIN at once': (socket, request) => void socket.end(request, () => socket.destroy()),
  'FIN inside of the answer': async (socket, request, came) => {
    socket.write(request)
    await came
    socket.destroy()
  },
  'RST at once': (socket, request) => void socket.write(request, () => socket.resetAndDestroy()),
  'RST inside of the answer': async (socket, request, came) => {
    socket.write(request)
    await came
    socket.resetAndDestroy()
  },
  // The server ends the connection then, as its sockets show.
  'half-closed at once': (socket, request) => void socket.end(request),
  'half-closed inside of the answer': async (socket, request, came) => {
    socket.write(request)
    await came
    socket.end()
  },
  'FIN inside of the request': (socket, request) =>
    void socket.write(request.subarray(0, request.length - 5), () => socket.destroy()),
  'RST inside of the request': (socket, request) =>
    void socket.write(request.subarray(0, request.length - 5), () => socket.resetAndDestroy()),
  'RST with another request in the queue': async (socket, request, came) => {
    socket.write(Buffer.concat([request, request, request]))
    await came
    socket.resetAndDestroy()
  },
  'garbage after the request': async (socket, request, came) => {
    socket.write(Buffer.concat([request, Buffer.from('\0\r\n\r\n')]))
    await came
    socket.destroy()
  },
  'RST without reading': async (socket, request) => {
    socket.pause()
    socket.write(request)
    await until(10_000, 'it has come', () => underWay.size > 0 || socket.bytesWritten === request.length)
    socket.resetAndDestroy()
  },
}

function bytesOf({ method, path, body, headers = {} }: Asked, key: string): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host: 'x',
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
}

/** `isPlain`: the answer comes all at once. */
async function left(leave: Leave, request: Buffer, isPlain: boolean): Promise<void> {
  nextAddress += 1
  const socket = connect({
    port: Number(new URL(tollgate.url).port),
    host: '127.0.0.1',
    localAddress: `127.0.1.${1 + (nextAddress % ADDRESSES)}`,
    allowHalfOpen: true,
  })
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const came = new Promise((resolve) => socket.once('data', resolve))
  const begun = isPlain ? until(10_000, 'its provider was asked', () => underWay.size > 0) : came
  await leave(socket, request, Promise.race([begun, closed]))
  socket.once('end', () => socket.end())
  await Promise.race([closed, until(10_000, 'nobody works on it', () => underWay.size > 0)])
}

async function figures(): Promise<Readonly<Record<string, number>>> {
  const { text } = await tollgate.request('GET', '/metrics')
  const sums: Record<string, number> = {}
  for (const [, name = '', value] of text.matchAll(/^(tollgate_\w+)(?:\{[^}]*\})? (\d+)$/gm))
    sums[name] = (sums[name] ?? 0) + Number(value)
  return sums
}

const ENDED = [
  'tollgate_in_flight',
  'tollgate_drains',
  'tollgate_open_streams',
  'tollgate_body_bytes',
  'tollgate_answer_bytes',
  'tollgate_provider_waiting',
  'tollgate_provider_in_flight',
]

for (const [how, leave] of Object.entries(WAYS)) {
  test(`F40: after clients that leave by ${how}, no connection, stream, answer or hold is left`, async () => {
    const account = await tollgate.createAccount({ balance: 1_000 })
    await figures()
    const openBefore = tollgate.app.edge.sockets.open
    const clients = Object.entries(ROUTES).flatMap(([what, asked]) =>
      Array.from({ length: CLIENTS }, (_value, index) =>
        left(leave, bytesOf(asked(nextAddress + index), account.key), what === 'plain answer'),
      ),
    )
    await Promise.all(clients)
    let found: Readonly<Record<string, number>> = {}
    await until(60_000, `nothing is left: ${how}`, async () => {
      for (const end of underWay) end()
      found = await figures()
      const isOver =
        tollgate.app.running === 0 &&
        tollgate.app.edge.sockets.open <= openBefore &&
        ENDED.every((name) => (found[name] ?? 0) === 0)
      return isOver
    }).catch((thrown: unknown) => {
      const rest = ENDED.map((name) => `${name} ${found[name] ?? 0}`).join(', ')
      throw new Error(
        `${String(thrown)}: running ${tollgate.app.running}, sockets ${tollgate.app.edge.sockets.open} of ${openBefore}, ${rest}`,
      )
    })
    const { body } = await tollgate.get('/v1/user/balance', account.key)
    assert.equal(body.reserved, 0)
  })
}
