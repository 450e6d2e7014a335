import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { exchangeRaw, isWhole, parseRaw, pump, type RawAnswer } from '../../test/harness/raw-http.ts'
import { ApiError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import { randomIds } from '../lib/ids.ts'
import { HIJACKED, type Call, type MaintenanceNotice, type Route } from './edge.ts'
import type { LogFields } from './request-log.ts'
import { createEdge, type Edge } from './server.ts'

const lines: LogFields[] = []
const bugs: unknown[] = []
let maintenance: MaintenanceNotice | null = null
let handled = 0
let edge: Edge
let port = 0

const echo = (call: Call<string>): { status: number; body: unknown } => {
  handled += 1
  return { status: 200, body: { json: call.json, params: call.params, q: call.query.get('q'), bytes: call.rawBody?.length, principal: call.principal } }
}
const routes: Route<string>[] = [
  { method: 'GET', path: '/v1/health', plane: 'open', body: 'none', handle: echo },
  { method: 'POST', path: '/v1/echo', plane: 'key', body: 'json', handle: async (call) => echo(call) },
  { method: 'POST', path: '/v1/audio', plane: 'key', body: 'json-or-multipart', handle: echo },
  { method: 'GET', path: '/v1/models/*id', plane: 'key', body: 'none', handle: echo },
  { method: 'POST', path: '/admin/v1/accounts', plane: 'admin', body: 'json', handle: echo },
  { method: 'GET', path: '/v1/bug', plane: 'open', body: 'none', handle: () => { throw new Error('secret detail') } },
  { method: 'GET', path: '/v1/refused', plane: 'open', body: 'none', handle: async () => { throw new ApiError('service_unavailable', 'busy', { retryAfterSeconds: 61 }) } },
  { method: 'GET', path: '/v1/odd', plane: 'open', body: 'none', handle: () => ({ status: 200, body: 'x', contentType: 'text/plain', headers: { 'Cache-Control': 'max-age=1' } }) },
  { method: 'GET', path: '/v1/bigint', plane: 'open', body: 'none', handle: () => ({ status: 200, body: { amount: 1n } }) },
  {
    method: 'GET', path: '/v1/endless', plane: 'open', body: 'none',
    handle: (call) => {
      call.response.writeHead(200, call.baseHeaders).write('on and on')
      return HIJACKED
    },
  },
  {
    method: 'GET', path: '/v1/cut', plane: 'open', body: 'none',
    handle: async (call) => {
      call.response.writeHead(200, call.baseHeaders).write('half')
      await new Promise((resolve) => setTimeout(resolve, 30))
      throw new Error('after the head')
    },
  },
  {
    method: 'GET', path: '/v1/stream', plane: 'open', body: 'none',
    handle: (call) => {
      call.log.set({ model: 'm', prompt: 'must not be printed' })
      call.response.writeHead(200, call.baseHeaders).end('streamed')
      return HIJACKED
    },
  },
]

function newEdge(): Edge {
  return createEdge<string>({
    routes,
    access: {
      admit(request, plane) {
        const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '299', 'x-ratelimit-reset': '1' }
        const { authorization } = request.headers
        if (authorization === 'Bearer late') return new Promise((resolve) => setImmediate(() => resolve({ principal: 'late', headers })))
        if (authorization === 'Bearer good') return { principal: 'someone', headers: plane === 'key' ? headers : {} }
        return { error: new ApiError('missing_api_key', 'no key'), headers: { ...headers, 'x-ratelimit-limit': '60' } }
      },
      anonymousHeaders: () => ({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1' }),
    },
    clock: systemClock,
    ids: randomIds(),
    log: { line: (fields) => lines.push({ ...fields }), bug: (thrown) => bugs.push(thrown) },
    maintenance: () => maintenance,
    trustedProxies: [],
    describe: (principal) => ({ account_id: principal }),
    timeouts: { headers: 300, request: 400, upload: 800, check: 100 },
    bodyBudgetBytes: 12_000_000,
  })
}

before(async () => {
  edge = newEdge()
  port = (await edge.listen('127.0.0.1', 0)).port
})
after(() => edge.close(1_000))
beforeEach(() => {
  maintenance = null
  handled = 0
  lines.length = 0
  bugs.length = 0
})

async function send(head: string, headers: Record<string, string> = {}, body: string | Buffer = ''): Promise<RawAnswer> {
  const all: Record<string, string> = { Host: 'x', Connection: 'close', ...(body.length > 0 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}), ...headers }
  const text = `${head} HTTP/1.1\r\n${Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return parseRaw(await exchangeRaw(port, Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body)]), { until: isWhole }))
}

function errorType(answer: RawAnswer): string {
  const { error } = JSON.parse(answer.body)
  assert.equal(error.code, answer.status)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  return error.metadata.error_type
}

const KEY = { Authorization: 'Bearer good' }
const JSON_TYPE = { 'Content-Type': 'application/json' }
const GZIP = { 'Content-Encoding': 'gzip' }
const HUGE = { 'Content-Length': '10485761' }

test('D-7.3: with several faults at once the earliest check of the order answers', async () => {
  maintenance = { message: null, retryAfter: 120 }
  assert.equal((await send('OPTIONS /nowhere', HUGE)).status, 204)
  assert.equal(errorType(await send('DELETE /v1/nowhere', HUGE)), 'endpoint_not_found')
  const wrongMethod = await send('PUT /v1/echo', HUGE)
  assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST'])
  const paused = await send('POST /v1/echo', HUGE)
  assert.deepEqual([errorType(paused), paused.headers.get('retry-after')], ['maintenance_mode', '60'])
  assert.equal((await send('GET /v1/health')).status, 200)
  assert.equal((await send('POST /admin/v1/accounts', { ...KEY, ...JSON_TYPE }, '{}')).status, 200)
  maintenance = { message: 'back soon', retryAfter: null }
  const open = await send('POST /v1/echo')
  assert.deepEqual([open.headers.get('x-should-retry'), open.headers.get('retry-after')], ['false', undefined])
  maintenance = null
  const noKey = await send('POST /v1/echo', { ...HUGE, ...GZIP })
  assert.deepEqual([errorType(noKey), noKey.headers.get('www-authenticate')], ['missing_api_key', 'Bearer'])
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...HUGE })), 'unsupported_media_type')
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...HUGE, ...JSON_TYPE, ...GZIP })), 'unsupported_media_type')
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...HUGE, ...JSON_TYPE }, '{')), 'request_too_large')
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, '{')), 'invalid_json')
  assert.equal(handled, 2)
})

test('every answer of /v1 carries the rate headers, CORS, a request id, nosniff and no-store', async () => {
  const answers = [
    await send('OPTIONS /v1/echo'), await send('GET /v1/none'), await send('GET /v1/echo'), await send('POST /v1/echo'),
    await send('GET /v1/health'), await send('GET /v1/bug'), await send('GET /v1/models/a', KEY), await send('GET /v1/stream'),
    await send('GET /v1/health', { 'X-Bad Name': '1' }), await send('GET http://x/v1/health'), await send('GET /v1/models/a', { Authorization: 'Bearer late' }),
  ]
  assert.deepEqual(answers.map(({ status }) => status), [204, 404, 405, 401, 200, 500, 200, 200, 400, 400, 200])
  for (const { headers } of answers) {
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) assert.match(headers.get(name) ?? '', /^\d+$/)
    assert.match(headers.get('x-request-id') ?? '', /^req-\d+-[0-9A-Za-z]{20}$/)
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.match(headers.get('access-control-expose-headers') ?? '', /X-Request-Id.*Retry-After/)
    assert.deepEqual([headers.get('x-content-type-options'), headers.get('cache-control')], ['nosniff', 'no-store'])
  }
  assert.equal(answers[0]?.headers.get('access-control-allow-headers'), '*, Authorization')
  const admin = await send('POST /admin/v1/accounts', { ...KEY, ...JSON_TYPE }, '{}')
  assert.deepEqual([admin.headers.has('access-control-allow-origin'), admin.headers.has('x-request-id')], [false, true])
})

test('D-7.6: a harmless X-Request-Id is echoed, any other is replaced', async () => {
  assert.equal((await send('GET /v1/health', { 'X-Request-Id': 'a.B_c:1-2' })).headers.get('x-request-id'), 'a.B_c:1-2')
  for (const id of ['with space', 'x'.repeat(129), '<b>', '\xe9', 'a,b']) {
    assert.match((await send('GET /v1/health', { 'X-Request-Id': id })).headers.get('x-request-id') ?? '', /^req-/, id)
  }
})

test('HEAD answers the head of GET, and parameters, query and body reach the handler', async () => {
  const get = await send('GET /v1/models/openai%2Fgpt?q=%D1%8F', KEY)
  const head = await send('HEAD /v1/models/openai%2Fgpt?q=%D1%8F', KEY)
  assert.deepEqual(JSON.parse(get.body), { params: { id: 'openai/gpt' }, q: 'я', principal: 'someone' })
  assert.deepEqual([head.status, head.body, head.headers.get('content-length')], [200, '', get.headers.get('content-length')])
  assert.deepEqual((await send('HEAD /v1/nowhere')).body, '')
  const post = await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, '{"a":"я"}')
  assert.deepEqual(JSON.parse(post.body), { json: { a: 'я' }, params: {}, q: null, bytes: 10, principal: 'someone' })
  const odd = await send('GET /v1/odd')
  assert.deepEqual([odd.body, odd.headers.get('content-type'), odd.headers.get('cache-control')], ['x', 'text/plain', 'max-age=1'])
})

test('D-7.4: media types', async () => {
  const table: [string | null, string, number][] = [
    ['application/json', '/v1/echo', 200], ['Application/JSON; Charset="UTF-8"', '/v1/echo', 200], ['application/json;charset=utf-8;', '/v1/echo', 200],
    ['application/json; charset=latin1', '/v1/echo', 415], ['application/json; q=1', '/v1/echo', 415], ['text/plain', '/v1/echo', 415], [null, '/v1/echo', 415],
    ['multipart/form-data; boundary=x', '/v1/echo', 415], ['multipart/form-data; boundary=x', '/v1/audio', 200], ['application/json', '/v1/audio', 200],
  ]
  for (const [type, path, status] of table) {
    const answer = await send(`POST ${path}`, { ...KEY, ...(type === null ? {} : { 'Content-Type': type }) }, '{}')
    assert.equal(answer.status, status, `${type} ${path}`)
  }
  assert.equal((await send('POST /v1/echo', { ...KEY, ...JSON_TYPE, 'Content-Encoding': 'Identity' }, '{}')).status, 200)
})

test('F46: what Node lets through and we do not is a 400 and a closed connection', async () => {
  const many = Array.from({ length: 101 }, (_, index) => `h${index}: 1\r\n`).join('')
  const heads = [
    'GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET http://x/v1/health HTTP/1.1\r\nHost: a\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    `GET /v1/health HTTP/1.1\r\nHost: a\r\n${many}\r\n`,
    'GET /v1/health HTTP/1.1\r\n\r\n',
    'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'GET /v1/health HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n',
    'GET /v1/health HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n',
    'GET /v1/health HTTP/1.1\nHost: a\n\n',
    'nonsense\r\n\r\n',
    `GET /v1/health HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
  ]
  for (const head of heads) {
    const text = await exchangeRaw(port, head, { idleMs: 5_000 })
    const answer = parseRaw(text)
    assert.equal(answer.status, 400, head.slice(0, 80))
    assert.equal(answer.headers.get('connection'), 'close')
    assert.equal(errorType(answer), 'invalid_input')
  }
  assert.equal(handled, 0)
  assert.equal(lines.length, heads.length)
})

test('F47: 10 485 760 bytes pass; one more is a 413 that the client sees, with and without a length', async () => {
  const exact = `{"a":"${'x'.repeat(10_485_760 - 8)}"}`
  assert.equal((await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, exact)).status, 200)
  const head = 'POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n'
  const chunk = Buffer.alloc(1_048_576, 0x20)
  for (const [framing, open, part] of [
    ['length', `Content-Length: ${60 * 1_048_576}\r\n\r\n`, chunk],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n', Buffer.concat([Buffer.from('100000\r\n'), chunk, Buffer.from('\r\n')])],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    let failed: unknown = null
    socket.on('data', (data) => (text += data.toString()))
    socket.on('error', (error) => (failed = error))
    socket.write(head + open)
    await pump(socket, part, 60)
    if (framing === 'chunked') socket.write('0\r\n\r\n')
    if (!socket.closed) await once(socket, 'close')
    assert.equal(failed, null, framing)
    assert.equal(errorType(parseRaw(text)), 'request_too_large')
  }
})

test('F55: bodies beyond the node budget are refused before they are read, and the budget comes back', async () => {
  const half = `{"a":"${'x'.repeat(7_000_000)}"}`
  const waiting = connect(port, '127.0.0.1')
  waiting.on('error', () => undefined)
  waiting.write('POST /v1/audio HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: multipart/form-data\r\nContent-Length: 7000000\r\n\r\n')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const refused = await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, half)
  assert.equal(errorType(refused), 'service_unavailable')
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-5]$/)
  waiting.destroy()
  await once(waiting, 'close')
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (let count = 0; count < 3; count += 1) assert.equal((await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, half)).status, 200)
})

test('Expect: 100-continue is granted only to a request that is let in', async () => {
  const head = 'HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'
  assert.match(await exchangeRaw(port, `POST /v1/echo ${head}Authorization: Bearer good\r\n\r\n{}`), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200/)
  assert.match(await exchangeRaw(port, `POST /v1/echo ${head}\r\n`, { idleMs: 300 }), /^HTTP\/1.1 401/)
})

test('F43: slow headers, a slow body and silence end in 408 or a close', async () => {
  const slowHead = parseRaw(await exchangeRaw(port, 'GET /v1/health HTTP/1.1\r\nHo', { idleMs: 5_000 }))
  assert.equal(errorType(slowHead), 'request_timeout')
  const slowBody = parseRaw(
    await exchangeRaw(port, 'POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{', { idleMs: 5_000 }),
  )
  assert.deepEqual([errorType(slowBody), slowBody.headers.get('connection')], ['request_timeout', 'close'])
})

test('F44: pipelined requests are answered in order', async () => {
  const one = 'GET /v1/health?q=N HTTP/1.1\r\nHost: x\r\n\r\n'
  const bytes = Array.from({ length: 200 }, (_, index) => one.replace('N', String(index))).join('')
  const text = await exchangeRaw(port, bytes, { idleMs: 300 })
  assert.deepEqual([...text.matchAll(/"q":"(\d+)"/g)].map((match) => Number(match[1])), Array.from({ length: 200 }, (_, index) => index))
})

test('a bug is a 500 without its detail, the process lives, and each request has exactly one line', async () => {
  const bug = await send('GET /v1/bug')
  assert.deepEqual([errorType(bug), bug.body.includes('secret')], ['internal_error', false])
  assert.equal(errorType(await send('GET /v1/bigint')), 'internal_error')
  const refused = await send('GET /v1/refused')
  assert.deepEqual([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')], ['61', 'false'])
  await send('GET /v1/stream')
  await send('GET /v1/models/secret-id', KEY)
  assert.deepEqual(lines.map(({ route, status, error_type }) => [route, status, error_type]), [
    ['/v1/bug', 500, 'internal_error'], ['/v1/bigint', 500, 'internal_error'], ['/v1/refused', 503, 'service_unavailable'],
    ['/v1/stream', 200, undefined], ['/v1/models/*id', 200, undefined],
  ])
  assert.deepEqual([lines[3]?.['model'], lines[3]?.['prompt'], lines[4]?.['account_id']], ['m', undefined, 'someone'])
  assert.equal(bugs.length, 2)
})

test('a handler that dies after its head breaks the connection instead of ending it', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /v1/cut HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.resume()
  const [error] = await once(socket, 'error')
  assert.equal(error.code, 'ECONNRESET')
  assert.deepEqual(lines.map(({ status, error_type }) => [status, error_type]), [[500, 'internal_error']])
})

test('a client that leaves inside its body has one line and no answer', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write('POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{')
  await new Promise((resolve) => setTimeout(resolve, 30))
  socket.destroy()
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(lines.map(({ status, aborted }) => [status, aborted]), [[499, true]])
})

test('F10: a closing edge ends idle connections at once, lets running answers go on until the drain limit, and then cuts them', async () => {
  const closing = newEdge()
  const at = (await closing.listen('127.0.0.1', 0)).port
  const idle = connect(at, '127.0.0.1')
  idle.write('GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const running = connect(at, '127.0.0.1')
  running.on('error', () => undefined)
  running.write('GET /v1/endless HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(running, 'data')
  const startedMs = performance.now()
  const closed = closing.close(300)
  await once(idle.resume(), 'close')
  assert.ok(performance.now() - startedMs < 250)
  assert.equal(running.closed, false)
  await closed
  assert.ok(performance.now() - startedMs >= 290)
  assert.deepEqual(lines.map(({ route, status, aborted }) => [route, status, aborted]), [['/v1/health', 200, undefined], ['/v1/endless', 200, true]])
  running.destroy()
})
