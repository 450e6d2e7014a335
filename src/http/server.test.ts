import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { exchangeRaw, parseRaw } from '../../test/harness/raw-http.ts'
import {
  lines,
  bugs,
  maintain,
  handled,
  port,
  newEdge,
  send,
  until,
  errorType,
  KEY,
  JSON_TYPE,
  serveEdge,
} from './server-fixture.ts'

serveEdge()

const ZEBRA = { 'Content-Encoding': 'zebra' }
const HUGE = { 'Content-Length': '10485761' }

test('D-7.3: with several faults at once the earliest check of the order answers', async () => {
  maintain({ message: null, retryAfter: 120 })
  assert.equal((await send('OPTIONS /nowhere', HUGE)).status, 204)
  assert.equal(errorType(await send('DELETE /v1/nowhere', HUGE)), 'endpoint_not_found')
  const wrongMethod = await send('PUT /v1/echo', HUGE)
  assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST'])
  const paused = await send('POST /v1/echo', HUGE)
  assert.deepEqual([errorType(paused), paused.headers.get('retry-after')], ['maintenance_mode', '60'])
  assert.equal((await send('GET /v1/health')).status, 200)
  assert.equal((await send('POST /admin/v1/accounts', { ...KEY, ...JSON_TYPE }, '{}')).status, 200)
  maintain({ message: 'back soon', retryAfter: null })
  const open = await send('POST /v1/echo')
  assert.deepEqual([open.headers.get('x-should-retry'), open.headers.get('retry-after')], ['false', undefined])
  maintain(null)
  const noKey = await send('POST /v1/echo', { ...HUGE, ...ZEBRA })
  assert.deepEqual([errorType(noKey), noKey.headers.get('www-authenticate')], ['missing_api_key', 'Bearer'])
  assert.equal(errorType(await send('POST /v1/echo', { ...KEY, ...HUGE })), 'unsupported_media_type')
  assert.equal(
    errorType(await send('POST /v1/echo', { ...KEY, ...HUGE, ...JSON_TYPE, ...ZEBRA })),
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
  // The connection is accepted, and its body has begun.
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
