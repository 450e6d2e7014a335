import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { Pool } from 'undici'
import { foldStream } from '../../harness/chat-fold.ts'
import { percentile, spread } from '../../harness/figures.ts'
import { form, isChaos } from '../../harness/form.ts'
import { checkBooks } from '../../harness/money-check.ts'
import { movingGateway } from '../../harness/gateway.ts'
import { paced, askedAgain, patient, until } from '../../harness/patience.ts'
import { exchangeRaw, parseRaw } from '../../harness/raw-http.ts'
import { startTollgate } from '../../harness/server.ts'
import { lasting } from '../../harness/lasting.ts'

// Faults of the process and of its connections (guarantees.md F7, F8, F42, F43, F54), each with its money check.

const DAY_MS = 86_400_000
const FDS = 96
/** The delay allowed to other requests beside idle streams, on a shared machine. */
const OTHERS_MS = 20

const body = (line: string, stream = false): string =>
  JSON.stringify({
    model: 'sandbox/chat',
    stream,
    max_tokens: 200,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
  })

test('F7: out of file descriptors the node lives, connections it has go on and pay, and it recovers when they are freed', async () => {
  const tollgate = await startTollgate({ command: ['prlimit', `--nofile=${FDS}:${FDS}`] })
  const port = Number(new URL(tollgate.url).port)
  const pool = new Pool(tollgate.url, { connections: 1, pipelining: 1, keepAliveTimeout: 60_000 })
  const account = await tollgate.createAccount({ balance: 100 })
  const ask = async (): Promise<number> => {
    const answer = await pool.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: body('words=3'),
    })
    await answer.body.dump()
    return answer.statusCode
  }
  const sockets: Socket[] = []
  try {
    assert.equal(await ask(), 200)
    const opened = Array.from({ length: 3 * FDS }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      sockets.push(socket)
      return socket
    })
    await until(20_000, 'it has no descriptor left', () => readdirSync(`/proc/${tollgate.pid}/fd`).length >= FDS - 2)
    for (let count = 0; count < 5; count += 1) assert.equal(await ask(), 200, 'a connection that it has')
    assert.equal(tollgate.exitCode, null)
    for (const socket of opened) socket.destroy()
    await until(5_000, 'it serves again', () =>
      tollgate.request('GET', '/healthz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    const { rows } = await checkBooks(tollgate, account, 100)
    assert.equal(rows.length, 6)
  } finally {
    for (const socket of sockets) socket.destroy()
    await pool.destroy()
    await tollgate.stop()
  }
})

test('F8: the wall clock jumps 40 days ahead and an hour back: no running hold expires, limits of requests follow real time, the books are right', async () => {
  const server = await movingGateway({ catalog: 'rate_limit: { requests: 4, window: 60 }\n' })
  const account = await server.createAccount({ balance: 100, key: { limit: 50, limit_reset: 'monthly' } })
  const pool = new Pool(server.url, { connections: 10 })
  const ask = (line: string, stream = false) =>
    pool.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: body(line, stream),
    })
  const streams = await Promise.all([ask('words=100 gap_ms=2000', true), ask('words=100 gap_ms=2000', true)])
  const texts = streams.map((answer) => answer.body.text())
  await server.pass(10)
  server.clock.jump(40 * DAY_MS)
  // Two beats of the leases and several sweeps.
  await server.pass(50)
  assert.equal((await ask('words=1').then(async (answer) => (await answer.body.dump(), answer))).statusCode, 200)
  server.clock.jump(-3_600_000)
  await server.pass(20)
  // Three were sent within the last minute of real time, whatever the wall clock says; their window ends a minute
  // later.
  assert.equal((await ask('words=1').then(async (answer) => (await answer.body.dump(), answer))).statusCode, 200)
  server.clock.jump(DAY_MS)
  await server.pass(150)
  for (const [index, answer] of streams.entries()) {
    const { done, error } = foldStream(answer.statusCode, await (texts[index] ?? ''), {})
    assert.ok(done && error === null)
  }
  const { rows } = await checkBooks(server, account, 100)
  assert.equal(rows.length, 4)
  assert.ok(rows.every(({ status }) => status === 'completed'))
  for (let count = 0; count < 4; count += 1)
    assert.equal((await ask('words=1').then(async (one) => (await one.body.dump(), one))).statusCode, 200)
  server.clock.jump(365 * DAY_MS)
  const limited = await ask('words=1')
  await limited.body.dump()
  assert.equal(limited.statusCode, 429, 'a jump of the wall clock opens no window')
  await pool.destroy()
  await checkBooks(server, account, 100)
  assert.deepEqual(
    server.notices.filter((notice) => notice.startsWith('bug')),
    [],
  )
})

test('F43: a silent connection is closed in 15 s, slow headers get 408 in 15 s, a slow body in 60 s; others are served meanwhile', async () => {
  const tollgate = await lasting(startTollgate())
  const port = Number(new URL(tollgate.url).port)
  const account = await tollgate.createAccount({ balance: 100 })
  const timed = async (bytes: string, idleMs: number): Promise<{ readonly text: string; readonly tookMs: number }> => {
    const startedMs = performance.now()
    return { text: await exchangeRaw(port, bytes, { idleMs }), tookMs: performance.now() - startedMs }
  }
  const slow = [timed('', 30_000), timed('GET /v1/health HTTP/1.1\r\nHost: x\r\nX-A: b', 30_000)]
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"model":`
  const slowBody = isChaos ? timed(head, 90_000) : null
  assert.equal((await tollgate.post('/v1/chat/completions', account.key, JSON.parse(body('words=1')))).status, 200)
  const [silent, headers] = await Promise.all(slow)
  // Node looks every five seconds.
  assert.ok(silent !== undefined && silent.tookMs < patient(21_000), `${silent?.tookMs} ms`)
  assert.ok(
    headers !== undefined && headers.tookMs < patient(21_000) && parseRaw(headers.text).status === 408,
    headers?.text,
  )
  const late = await slowBody
  if (late !== null)
    assert.ok(late.tookMs < patient(61_500) && parseRaw(late.text).status === 408, `${late.tookMs} ms: ${late.text}`)
  assert.equal((await checkBooks(tollgate, account, 100)).rows.length, 1)
})

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1_024
}

test('F54, R10: idle streams cost little memory each and leave other requests alone; each is charged once', async (context) => {
  const streams = form({ short: 100, long: 200, chaos: 1_000 })
  const idle = form({ short: 300, long: 500, chaos: 5_000 })
  // A thousand connections stand for those that a proxy brings.
  const tollgate = await startTollgate({
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    catalog:
      'rate_limit: { requests: 100000, window: 60 }\nproviders: { s1: { adapter: sandbox }, s2: { adapter: sandbox }, s3: { adapter: sandbox } }\nmodels:\n' +
      [1, 2, 3]
        .map(
          (index) =>
            `  - { id: test/s${index}, type: chat, context_length: 100000, endpoints: [{ provider: s${index}, model: chat, price: { currency: RUB, prompt: 1, completion: 1 } }] }\n`,
        )
        .join(''),
  })
  const pool = new Pool(tollgate.url, { connections: streams + 10, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const sockets: Socket[] = []
  try {
    const accounts = await Promise.all(
      Array.from({ length: Math.ceil(streams / 100) }, () => tollgate.createAccount({ balance: 100 })),
    )
    // Leaves out what the first hundred make the process load.
    const ask = async (index: number, line: string, stream: boolean): Promise<string> => {
      const request = { ...JSON.parse(body(line, stream)), model: `test/s${1 + (index % 3)}` }
      const send = async (): Promise<{ readonly status: number; readonly text: string }> => {
        const answer = await pool.request({
          path: '/v1/chat/completions',
          method: 'POST',
          headers: {
            authorization: `Bearer ${accounts[index % accounts.length]?.key}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify(request),
        })
        return { status: answer.statusCode, text: await answer.body.text() }
      }
      // A thousand at once overload a busy machine: the refused requests are sent again after a second, as their Retry-After says.
      return (await askedAgain(send, ({ status }) => status === 503, 1_000)).text
    }
    for (let round = 0; round < form({ short: 2, long: 5 }); round += 1)
      await Promise.all(Array.from({ length: 100 }, (_value, index) => ask(index, 'words=2', true)))
    const balances = async (): Promise<number[]> => {
      const took: number[] = []
      for (let count = 0; count < 100; count += 1) {
        const startedMs = performance.now()
        // Never refused, however busy the machine is.
        assert.equal((await tollgate.get('/v1/user/balance', accounts[0]?.key ?? '')).status, 200)
        took.push(performance.now() - startedMs)
      }
      return took
    }
    const quiet = await balances()
    const before = residentBytes(tollgate.pid)
    const running = Array.from({ length: streams }, (_value, index) =>
      ask(index, `words=3 gap_ms=${isChaos ? 40_000 : 8_000}`, true),
    )
    // The reported failure is the first one, not those that it causes.
    for (const one of running) one.catch(() => undefined)
    await until(
      35_000,
      'all streams run',
      async () =>
        Number(/^tollgate_in_flight (\d+)$/m.exec((await tollgate.request('GET', '/metrics')).text)?.[1]) >= streams,
    )
    const perStream = (residentBytes(tollgate.pid) - before) / streams
    context.diagnostic(`${streams} idle streams: ${(perStream / 1_024).toFixed(0)} kB each`)
    // CI's few streams include the noise of the garbage collector.
    assert.ok(perStream < form({ short: 256, long: 192, chaos: 64 }) * 1_024, `${perStream} bytes a stream`)
    for (let count = 0; count < idle; count += 1)
      sockets.push(connect(Number(new URL(tollgate.url).port), '127.0.0.1').on('error', () => undefined))
    const busy = await balances()
    context.diagnostic(
      `a balance asked for before: ${spread(quiet)}; beside ${streams} streams and ${idle} idle connections: ${spread(busy)}`,
    )
    assert.ok(percentile(busy, 0.5) < 2 * percentile(quiet, 0.5) + patient(OTHERS_MS), spread(busy))
    for (const text of await Promise.all(running)) assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-200))
    for (const account of accounts) await checkBooks(tollgate, account, 100)
  } finally {
    for (const socket of sockets) socket.destroy()
    await pool.destroy()
    await tollgate.stop()
  }
})

const NAMESPACE = `tollgate-${process.pid}`
const ip = (...words: readonly string[]): void => void execFileSync('ip', words, { stdio: 'pipe' })

/** A network that can be cut; null if that is not permitted. */
function cable(): { readonly host: string; pull(): void; stop(): void } | null {
  if (userInfo().uid !== 0) return null
  try {
    ip('netns', 'add', NAMESPACE)
    ip('link', 'add', 'tg-test0', 'type', 'veth', 'peer', 'name', 'tg-test1', 'netns', NAMESPACE)
    ip('addr', 'add', '10.213.7.1/30', 'dev', 'tg-test0')
    ip('link', 'set', 'tg-test0', 'up')
    ip('-n', NAMESPACE, 'addr', 'add', '10.213.7.2/30', 'dev', 'tg-test1')
    ip('-n', NAMESPACE, 'link', 'set', 'tg-test1', 'up')
  } catch {
    return null
  }
  return {
    host: '10.213.7.1',
    pull: () => ip('-n', NAMESPACE, 'link', 'set', 'tg-test1', 'down'),
    stop: () => ip('netns', 'del', NAMESPACE),
  }
}

if (isChaos)
  test('F42: a client whose cable is pulled is given up within 90 s of its last byte, and pays for the tokens until then', async (context) => {
    const wire = cable()
    assert.ok(wire !== null, 'only root may make a network')
    const tollgate = await startTollgate({ env: { HOST: wire.host } })
    try {
      const account = await tollgate.createAccount({ balance: 100 })
      const request = body('words=100000 gap_ms=5', true).replace('"max_tokens":200', '"max_tokens":100000')
      const script = `fetch('${tollgate.url}/v1/chat/completions',{method:'POST',headers:{authorization:'Bearer ${account.key}','content-type':'application/json'},body:${JSON.stringify(request)}}).then(async(r)=>{for await(const c of r.body);})`
      const { spawn } = await import('node:child_process')
      const child = spawn('ip', ['netns', 'exec', NAMESPACE, process.execPath, '-e', script], { stdio: 'ignore' })
      const running = async (): Promise<number> =>
        Number(/^tollgate_in_flight (\d+)$/m.exec((await tollgate.get('/metrics', tollgate.adminToken)).text)?.[1])
      await until(30_000, 'the answer runs', async () => (await running()) > 0)
      await paced(1_000, 'the client reads some tokens')
      wire.pull()
      const pulledMs = performance.now()
      await until(90_000, 'the client is given up', async () => (await running()) === 0)
      context.diagnostic(`given up ${((performance.now() - pulledMs) / 1_000).toFixed(0)} s after the cable was pulled`)
      child.kill('SIGKILL')
      const { rows } = await checkBooks(tollgate, account, 100)
      assert.equal(rows.length, 1)
    } finally {
      await tollgate.stop()
      wire.stop()
    }
  })
