import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { exchangeRaw, isWhole, parseRaw, pump, type RawAnswer } from '../../test/harness/raw-http.ts'
import { ApiError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import { randomIds } from '../lib/ids.ts'
import { HIJACKED, type Call, type MaintenanceNotice, type Route } from './edge.ts'
import type { LogFields } from './request-log.ts'
import type { Edge, EdgeOptions } from './edge-options.ts'
import { createEdge } from './server.ts'

const lines: LogFields[] = []
const bugs: unknown[] = []
const notices: string[] = []
let maintenance: MaintenanceNotice | null = null
let handled = 0
let edge: Edge
let port = 0

const echo = (call: Call<string>): { status: number; body: unknown } => {
  handled += 1
  return {
    status: 200,
    body: {
      json: call.json,
      params: call.params,
      q: call.query.get('q'),
      bytes: call.rawBody?.length,
      principal: call.principal,
    },
  }
}
const routes: Route<string>[] = [
  { method: 'GET', path: '/v1/health', plane: 'open', body: 'none', handle: echo },
  { method: 'POST', path: '/v1/echo', plane: 'key', body: 'json', handle: async (call) => echo(call) },
  {
    method: 'POST',
    path: '/open',
    plane: 'open',
    body: 'json',
    refuse: ({ headers }) => (headers.origin === undefined ? null : new ApiError('access_denied', 'from elsewhere')),
    handle: echo,
  },
  { method: 'POST', path: '/v1/audio', plane: 'key', body: 'json-or-multipart', handle: echo },
  { method: 'GET', path: '/v1/models/*id', plane: 'key', body: 'none', handle: echo },
  { method: 'POST', path: '/admin/v1/accounts', plane: 'admin', body: 'json', handle: echo },
  {
    method: 'GET',
    path: '/v1/bug',
    plane: 'open',
    body: 'none',
    handle: () => {
      throw new Error('secret detail')
    },
  },
  {
    method: 'GET',
    path: '/v1/refused',
    plane: 'open',
    body: 'none',
    handle: async () => {
      throw new ApiError('service_unavailable', 'busy', { retryAfterSeconds: 61, refusedBy: 'test' })
    },
  },
  {
    method: 'GET',
    path: '/v1/odd',
    plane: 'open',
    body: 'none',
    handle: () => ({ status: 200, body: 'x', contentType: 'text/plain', headers: { 'Cache-Control': 'max-age=1' } }),
  },
  {
    method: 'GET',
    path: '/v1/bigint',
    plane: 'open',
    body: 'none',
    handle: () => ({ status: 200, body: { amount: 1n } }),
  },
  {
    method: 'GET',
    path: '/v1/endless',
    plane: 'open',
    body: 'none',
    handle: (call) => {
      call.response.writeHead(200, call.baseHeaders).write('on and on')
      return HIJACKED
    },
  },
  {
    method: 'GET',
    path: '/v1/cut',
    plane: 'open',
    body: 'none',
    handle: async (call) => {
      call.response.writeHead(200, call.baseHeaders).write('half')
      await new Promise((resolve) => setTimeout(resolve, 30))
      throw new Error('after the head')
    },
  },
  {
    method: 'GET',
    path: '/v1/stream',
    plane: 'open',
    body: 'none',
    handle: (call) => {
      call.log.set({ model: 'm', prompt: 'must not be printed' })
      call.response.writeHead(200, call.baseHeaders).end('streamed')
      return HIJACKED
    },
  },
]

function newEdge(options: Partial<EdgeOptions<string>> = {}): Edge {
  return createEdge<string>({
    routes,
    access: {
      admit(request, plane) {
        const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '299', 'x-ratelimit-reset': '1' }
        const { authorization } = request.headers
        if (authorization === 'Bearer late')
          return new Promise((resolve) => setImmediate(() => resolve({ principal: 'late', headers })))
        if (authorization === 'Bearer good') return { principal: 'someone', headers: plane === 'key' ? headers : {} }
        if (authorization === 'Bearer third' || authorization === 'Bearer fourth')
          return { principal: authorization, headers }
        return { error: new ApiError('missing_api_key', 'no key'), headers: { ...headers, 'x-ratelimit-limit': '60' } }
      },
      anonymousHeaders: () => ({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1' }),
    },
    clock: systemClock,
    ids: randomIds(),
    log: { line: (fields) => lines.push({ ...fields }), bug: (thrown) => bugs.push(thrown) },
    maintenance: () => maintenance,
    isSecure: ({ headers }) => headers['x-forwarded-proto'] === 'https',
    trustedProxies: [],
    describe: (principal) => ({ account_id: principal }),
    timeouts: { headers: 300, request: 400, upload: 800, check: 100 },
    bodyBudgetBytes: 12_000_000,
    accountOf: (principal) => principal,
    notice: (message) => notices.push(message),
    ...options,
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
  notices.length = 0
})

async function send(
  head: string,
  headers: Record<string, string> = {},
  body: string | Buffer = '',
  at = port,
): Promise<RawAnswer> {
  const all: Record<string, string> = {
    Host: 'x',
    Connection: 'close',
    ...(body.length > 0 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}),
    ...headers,
  }
  const text = `${head} HTTP/1.1\r\n${Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
  return parseRaw(
    await exchangeRaw(at, Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body)]), { until: isWhole }),
  )
}

/** Turns of the event loop until something has come to pass; the runner's own limit ends what never does. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve))
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
  assert.equal(
    errorType(await send('POST /v1/echo', { ...KEY, ...HUGE, ...JSON_TYPE, ...GZIP })),
    'unsupported_media_type',
  )
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...HUGE, ...JSON_TYPE }, '{')), 'request_too_large')
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, '{')), 'invalid_json')
  assert.equal(handled, 2)
})

test('every answer of /v1 carries the rate headers, CORS, a request id, nosniff and no-store', async () => {
  const answers = [
    await send('OPTIONS /v1/echo'),
    await send('GET /v1/none'),
    await send('GET /v1/echo'),
    await send('POST /v1/echo'),
    await send('GET /v1/health'),
    await send('GET /v1/bug'),
    await send('GET /v1/models/a', KEY),
    await send('GET /v1/stream'),
    await send('GET /v1/health', { 'X-Bad Name': '1' }),
    await send('GET http://x/v1/health'),
    await send('GET /v1/models/a', { Authorization: 'Bearer late' }),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [204, 404, 405, 401, 200, 500, 200, 200, 400, 400, 200],
  )
  for (const { headers } of answers) {
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
      assert.match(headers.get(name) ?? '', /^\d+$/)
    assert.match(headers.get('x-request-id') ?? '', /^req-\d+-[0-9A-Za-z]{20}$/)
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.match(headers.get('access-control-expose-headers') ?? '', /X-Request-Id.*Retry-After/)
    assert.deepEqual([headers.get('x-content-type-options'), headers.get('cache-control')], ['nosniff', 'no-store'])
  }
  assert.equal(answers[0]?.headers.get('access-control-allow-headers'), '*, Authorization')
  for (const [path, headers] of [
    ['GET /v1/health', {}],
    ['GET /v1/none', {}],
    ['POST /v1/echo', KEY],
  ] as const) {
    assert.equal(
      (await send(path, { ...headers, 'X-Forwarded-Proto': 'https' })).headers.get('strict-transport-security'),
      'max-age=31536000',
      path,
    )
    assert.equal(
      (await send(path, headers)).headers.has('strict-transport-security'),
      false,
      'plain http promises nothing',
    )
  }
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
  assert.deepEqual(
    [head.status, head.body, head.headers.get('content-length')],
    [200, '', get.headers.get('content-length')],
  )
  assert.deepEqual((await send('HEAD /v1/nowhere')).body, '')
  const post = await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, '{"a":"я"}')
  assert.deepEqual(JSON.parse(post.body), { json: { a: 'я' }, params: {}, q: null, bytes: 10, principal: 'someone' })
  const odd = await send('GET /v1/odd')
  assert.deepEqual(
    [odd.body, odd.headers.get('content-type'), odd.headers.get('cache-control')],
    ['x', 'text/plain', 'max-age=1'],
  )
})

test('D-7.4: media types', async () => {
  const table: [string | null, string, number][] = [
    ['application/json', '/v1/echo', 200],
    ['Application/JSON; Charset="UTF-8"', '/v1/echo', 200],
    ['application/json;charset=utf-8;', '/v1/echo', 200],
    ['application/json; charset=latin1', '/v1/echo', 415],
    ['application/json; q=1', '/v1/echo', 415],
    ['text/plain', '/v1/echo', 415],
    [null, '/v1/echo', 415],
    ['multipart/form-data; boundary=x', '/v1/echo', 415],
    ['multipart/form-data; boundary=x', '/v1/audio', 200],
    ['application/json', '/v1/audio', 200],
  ]
  for (const [type, path, status] of table) {
    const answer = await send(`POST ${path}`, { ...KEY, ...(type === null ? {} : { 'Content-Type': type }) }, '{}')
    assert.equal(answer.status, status, `${type} ${path}`)
  }
  assert.equal(
    (await send('POST /v1/echo', { ...KEY, ...JSON_TYPE, 'Content-Encoding': 'Identity' }, '{}')).status,
    200,
  )
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

test('F47: 10 485 760 bytes pass; one more is a 413 that the client sees, with and without a length, fast or slow', async () => {
  const patient = newEdge({ timeouts: {}, bodyBudgetBytes: 24_000_000 })
  const at = (await patient.listen('127.0.0.1', 0)).port
  const exact = `{"a":"${'x'.repeat(10_485_760 - 8)}"}`
  assert.equal((await send('POST /v1/echo', { ...KEY, ...JSON_TYPE }, exact, at)).status, 200)
  const head = 'POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n'
  const chunk = Buffer.alloc(1_048_576, 0x20)
  for (const [framing, open, part] of [
    ['length', `Content-Length: ${60 * 1_048_576}\r\n\r\n`, chunk],
    [
      'chunked',
      'Transfer-Encoding: chunked\r\n\r\n',
      Buffer.concat([Buffer.from('100000\r\n'), chunk, Buffer.from('\r\n')]),
    ],
  ] as const) {
    // A client that sends all of its body whatever comes back meanwhile, as many do.
    const socket = connect({ port: at, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    let failed: unknown = null
    socket.on('data', (data) => (text += data.toString()))
    socket.on('error', (error) => (failed = error))
    socket.write(head + open)
    await pump(socket, part, 60)
    socket.end(framing === 'chunked' ? '0\r\n\r\n' : '')
    if (!socket.closed) await once(socket, 'close')
    assert.equal(failed, null, framing)
    assert.equal(errorType(parseRaw(text)), 'request_too_large')
  }
  await patient.close(0)
})

test('F47: the rest of a refused body is read while it comes, and no longer than an upload may take, 64 MB or 5 s of silence', async () => {
  const moving = movingClock()
  const lingering = newEdge({ clock: moving, timeouts: {} })
  const at = (await lingering.listen('127.0.0.1', 0)).port
  const accepted: Socket[] = []
  lingering.server.on('connection', (socket) => accepted.push(socket))
  const refuse = async (): Promise<Socket> => {
    const socket = connect({ port: at, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined).resume()
    socket.write(`POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: ${1_000_000_000}\r\n\r\n`)
    // Our side is closed as soon as the answer is out.
    await once(socket, 'end')
    return socket
  }
  const slow = await refuse()
  for (let seconds = 4; seconds < 120; seconds += 4) {
    const heard = accepted[0]?.bytesRead ?? 0
    slow.write(Buffer.alloc(1_000))
    await until(() => (accepted[0]?.bytesRead ?? 0) >= heard + 1_000)
    moving.advance(4_000)
  }
  assert.equal(lingering.sockets.open, 1, 'a piece each four seconds is a slow upload')
  moving.advance(4_000)
  await until(() => lingering.sockets.open === 0)
  const silent = await refuse()
  moving.advance(4_999)
  assert.equal(lingering.sockets.open, 1)
  moving.advance(1)
  await until(() => lingering.sockets.open === 0)
  const endless = await refuse()
  await pump(endless, Buffer.alloc(1_048_576), 80)
  await until(() => lingering.sockets.open === 0)
  const last = await refuse()
  await lingering.close(120_000)
  for (const socket of [slow, silent, endless, last]) socket.destroy()
})

test('F55: bodies take the budget as they arrive, an address no more than is left free, and it all comes back', async () => {
  const shared = newEdge({ trustedProxies: ['127.0.0.1'], timeouts: {} })
  const at = (await shared.listen('127.0.0.1', 0)).port
  const open = async (address: string, key: string, bytes: number): Promise<Socket> => {
    const socket = connect(at, '127.0.0.1')
    socket.on('error', () => undefined)
    const before = shared.bodyBytes
    socket.write(
      `POST /v1/audio HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data\r\nContent-Length: 10485760\r\n\r\n`,
    )
    socket.write(Buffer.alloc(bytes))
    await until(() => shared.bodyBytes === before + bytes)
    return socket
  }
  const post = (address: string, key: string, bytes: number): Promise<RawAnswer> =>
    send(
      'POST /v1/echo',
      { 'X-Forwarded-For': address, Authorization: `Bearer ${key}`, ...JSON_TYPE },
      `{"a":"${'x'.repeat(bytes - 8)}"}`,
      at,
    )
  // What 26 heads declared was once the whole budget, before any of them had sent a byte.
  const idle = await Promise.all(Array.from({ length: 30 }, () => open('203.0.113.1', 'good', 0)))
  assert.equal((await post('203.0.113.2', 'late', 5_000_000)).status, 200)
  const greedy = [await open('203.0.113.1', 'good', 5_900_000)]
  const refused = await post('203.0.113.1', 'late', 500_000)
  assert.deepEqual(
    [errorType(refused), refused.headers.get('retry-after')],
    ['rate_limit_exceeded', '1'],
    'the address has its share',
  )
  assert.equal(errorType(await post('203.0.113.3', 'good', 500_000)), 'rate_limit_exceeded', 'so has the account')
  assert.equal((await post('203.0.113.2', 'late', 3_000_000)).status, 200, 'others are served')
  greedy.push(await open('203.0.113.4', 'late', 3_000_000), await open('203.0.113.5', 'third', 1_500_000))
  assert.equal((await post('203.0.113.6', 'fourth', 700_000)).status, 200, 'and there is always something left')
  assert.equal(errorType(await post('203.0.113.6', 'fourth', 2_000_000)), 'service_unavailable')
  assert.deepEqual(
    lines.filter(({ status }) => status === 503).map(({ refused_by }) => refused_by),
    ['body_budget'],
  )
  for (const socket of [...idle, ...greedy]) socket.destroy()
  await until(() => shared.bodyBytes === 0)
  assert.equal((await post('203.0.113.1', 'good', 5_900_000)).status, 200)
  await shared.close(0)
})

test('bodies of many small pieces are put together whole', async () => {
  const text = `{"a":"${'я'.repeat(30_000)}"}`
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 5_003) {
    const part = bytes.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  const answer = await send(
    'POST /v1/echo',
    { ...KEY, ...JSON_TYPE, 'Transfer-Encoding': 'chunked', 'Content-Length': '' },
    Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]),
  )
  assert.deepEqual(JSON.parse(answer.body).json, JSON.parse(text))
})

test('routes that need no key take 16 kB, and judge where a request comes from before its body', async () => {
  assert.equal((await send('POST /open', JSON_TYPE, `{"a":"${'x'.repeat(16_384 - 8)}"}`)).status, 200)
  for (const headers of [{ ...JSON_TYPE }, { ...JSON_TYPE, 'Content-Length': '16385' }]) {
    const answer = await send('POST /open', headers, `{"a":"${'x'.repeat(16_385 - 8)}"}`)
    assert.deepEqual(
      [errorType(answer), JSON.parse(answer.body).error.message],
      ['request_too_large', 'Payload Too Large: request body exceeds 16 kB'],
    )
  }
  const foreign = await send(
    'POST /open',
    { ...JSON_TYPE, Origin: 'https://evil.example', 'Content-Length': '1000' },
    '{',
  )
  assert.equal(errorType(foreign), 'access_denied', 'answered without its body')
})

test('an address has 256 connections: its own idle ones make room, busy ones stay, and other addresses never notice', async () => {
  const shared = newEdge({ trustedProxies: ['127.0.0.9'], timeouts: {}, connectionsMax: 400 })
  const at = (await shared.listen('127.0.0.1', 0)).port
  const dial = async (localAddress: string): Promise<Socket> => {
    const before = shared.sockets.open + shared.sockets.refused + shared.sockets.replaced
    const socket = connect({ port: at, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    await until(() => shared.sockets.open + shared.sockets.refused + shared.sockets.replaced > before)
    return socket
  }
  const busy = await dial('127.0.0.2')
  busy.write('GET /v1/endless HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(busy, 'data')
  const victim = await dial('127.0.0.3')
  const idle: Socket[] = []
  while (idle.length < 300) idle.push(await dial('127.0.0.2'))
  await until(() => shared.sockets.open <= 258)
  assert.ok(shared.sockets.replaced >= 44, `${shared.sockets.replaced} were replaced`)
  assert.deepEqual([shared.sockets.refused, busy.closed, notices.length], [0, false, 1])
  assert.match(notices[0] ?? '', /127\.0\.0\.2 has \d+ connections.*TRUSTED_PROXIES/)
  victim.write('GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.match(String((await once(victim, 'data'))[0]), /^HTTP\/1\.1 200/)
  // A third one fills what is free, and finds less than its 256; a fourth still gets in.
  for (let count = 0; count < 160; count += 1) idle.push(await dial('127.0.0.4'))
  assert.equal((await send('GET /v1/health', {}, '', at)).status, 200)
  // Busy connections do not make room: the newest is refused.
  const streams = [busy]
  for (const socket of idle.splice(0)) socket.destroy()
  await until(() => shared.sockets.open <= 2)
  while (shared.sockets.refused === 0 && streams.length < 300) {
    const socket = await dial('127.0.0.2')
    if (socket.closed || shared.sockets.refused > 0) break
    socket.write('GET /v1/endless HTTP/1.1\r\nHost: x\r\n\r\n')
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    streams.push(socket)
  }
  assert.deepEqual([shared.sockets.refused > 0, busy.closed], [true, false])
  for (const socket of streams) socket.destroy()
  await until(() => shared.sockets.open <= 1)
  // One proxy stands for all its clients.
  const proxied: Socket[] = []
  while (proxied.length < 300) proxied.push(await dial('127.0.0.9'))
  assert.ok(shared.sockets.open >= 300)
  for (const socket of [...proxied, victim]) socket.destroy()
  await shared.close(0)
})

test('Expect: 100-continue is granted only to a request that is let in', async () => {
  const head =
    'HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'
  assert.match(
    await exchangeRaw(port, `POST /v1/echo ${head}Authorization: Bearer good\r\n\r\n{}`),
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200/,
  )
  assert.match(await exchangeRaw(port, `POST /v1/echo ${head}\r\n`, { idleMs: 300 }), /^HTTP\/1.1 401/)
})

test('F43: slow headers, a slow body and silence end in 408 or a close', async () => {
  const slowHead = parseRaw(await exchangeRaw(port, 'GET /v1/health HTTP/1.1\r\nHo', { idleMs: 5_000 }))
  assert.equal(errorType(slowHead), 'request_timeout')
  const slowBody = parseRaw(
    await exchangeRaw(
      port,
      'POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      { idleMs: 5_000 },
    ),
  )
  assert.deepEqual([errorType(slowBody), slowBody.headers.get('connection')], ['request_timeout', 'close'])
})

test('F44: pipelined requests are answered in order', async () => {
  const one = 'GET /v1/health?q=N HTTP/1.1\r\nHost: x\r\n\r\n'
  const bytes = Array.from({ length: 200 }, (_, index) => one.replace('N', String(index))).join('')
  const text = await exchangeRaw(port, bytes, { idleMs: 300 })
  assert.deepEqual(
    [...text.matchAll(/"q":"(\d+)"/g)].map((match) => Number(match[1])),
    Array.from({ length: 200 }, (_, index) => index),
  )
})

test('a bug is a 500 without its detail, the process lives, and each request has exactly one line', async () => {
  const bug = await send('GET /v1/bug')
  assert.deepEqual([errorType(bug), bug.body.includes('secret')], ['internal_error', false])
  assert.equal(errorType(await send('GET /v1/bigint')), 'internal_error')
  const refused = await send('GET /v1/refused')
  assert.deepEqual([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')], ['61', 'false'])
  await send('GET /v1/stream')
  await send('GET /v1/models/secret-id', KEY)
  assert.deepEqual(
    lines.map(({ route, status, error_type }) => [route, status, error_type]),
    [
      ['/v1/bug', 500, 'internal_error'],
      ['/v1/bigint', 500, 'internal_error'],
      ['/v1/refused', 503, 'service_unavailable'],
      ['/v1/stream', 200, undefined],
      ['/v1/models/*id', 200, undefined],
    ],
  )
  assert.deepEqual([lines[3]?.['model'], lines[3]?.['prompt'], lines[4]?.['account_id']], ['m', undefined, 'someone'])
  assert.equal(bugs.length, 2)
})

test('a handler that dies after its head breaks the connection instead of ending it', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /v1/cut HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.resume()
  const [error] = await once(socket, 'error')
  assert.equal(error.code, 'ECONNRESET')
  assert.deepEqual(
    lines.map(({ status, error_type }) => [status, error_type]),
    [[500, 'internal_error']],
  )
})

test('a client that leaves inside its body has one line and no answer', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n{',
  )
  // Let in, and so within its body.
  await once(socket, 'data')
  socket.destroy()
  await until(() => lines.length > 0)
  assert.deepEqual(
    lines.map(({ status, aborted }) => [status, aborted]),
    [[499, true]],
  )
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
  const closed = closing.close(1_000)
  await once(idle.resume(), 'close')
  assert.equal(running.closed, false)
  await closed
  assert.ok(performance.now() - startedMs >= 990)
  assert.deepEqual(
    lines.map(({ route, status, aborted }) => [route, status, aborted]),
    [
      ['/v1/health', 200, undefined],
      ['/v1/endless', 200, true],
    ],
  )
  running.destroy()
})
