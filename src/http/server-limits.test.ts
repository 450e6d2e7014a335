import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { exchangeRaw, parseRaw, pump, type RawAnswer } from '../../test/harness/raw-http.ts'
import { lines, notices, port, newEdge, send, until, errorType, KEY, JSON_TYPE, serveEdge } from './server-fixture.ts'

serveEdge()

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
    // Like many clients, it sends its whole body whatever comes back.
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
    // Our side closes as soon as the answer is sent.
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
  // 26 declared lengths add up to the budget: they must reserve nothing before their bytes come.
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
  // A third address takes the free half, less than 256; a fourth still gets in.
  for (let count = 0; count < 160; count += 1) idle.push(await dial('127.0.0.4'))
  assert.equal((await send('GET /v1/health', {}, '', at)).status, 200)
  // Busy connections are not replaced: the newest is refused.
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
