import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PLAIN_DIALECT } from '../../src/catalog/dialect.ts'
import { createEdge } from '../../src/http/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { randomIds } from '../../src/base/ids.ts'
import { AnswerBudget } from '../../src/protocols/answer-budget.ts'
import { type AttemptFailure, failure } from '../../src/protocols/ports/attempt-failure.ts'
import { FileFetch } from '../../src/protocols/wire/file-fetch.ts'
import { Transport, type HttpRequest } from '../../src/protocols/wire/transport.ts'
import { JobHttp } from '../../src/protocols/wire/job-http.ts'
import { UpstreamResponse } from '../../src/protocols/upstream/response.ts'
import { movingClock, type MovingClock } from '../harness/moving-clock.ts'
import { until } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { lasting } from '../harness/lasting.ts'

const MEGABYTE = 1_048_576
const BUDGET = 8 * MEGABYTE
/** Not a whole number of steps: an answer of known length must not ask for more at its last byte. */
const ANSWER = 3 * MEGABYTE + 1_000
const TEXT = Buffer.alloc(ANSWER, 'x')

const upstream = await startScriptedUpstream()
const answers = new AnswerBudget(BUDGET)
const transport = await lasting(new Transport(systemClock, answers))

/** The request of an exchange with a provider. */
function request(): HttpRequest {
  const timeouts = { connect: 3, first_byte: 60, progress: 60, total: 600 }
  const provider = { baseUrl: upstream.url, timeouts, dialect: PLAIN_DIALECT }
  // The transport stops reading it.
  return {
    provider: provider as unknown as HttpRequest['provider'],
    path: '/',
    body: Buffer.from('{}'),
    headers: {},
    streaming: false,
  }
}

/** The largest total held so far, at any answer. */
let most = 0

function whole(): { readonly bytes: Promise<number>; readonly call: UpstreamResponse } {
  const read = Promise.withResolvers<number>()
  let bytes = 0
  const reader = {
    stream: null,
    whole: (body: Buffer): null => {
      most = Math.max(most, answers.bytes)
      bytes = body.length
      assert.ok(body.equals(TEXT.subarray(0, body.length)))
      return null
    },
    error: (status: number): AttemptFailure => failure('status', status, ''),
  }
  const call = new UpstreamResponse(transport, request(), reader, {
    headers: () => undefined,
    push: () => true,
    end: () => read.resolve(bytes),
    fail: (found) => read.reject(new Error(found.detail)),
  })
  return { bytes: read.promise, call }
}

const FORMS: readonly (readonly [what: string, answer: (response: ServerResponse) => void])[] = [
  ['of a length that is told', (response) => void response.writeHead(200, { 'content-length': ANSWER }).end(TEXT)],
  [
    'of a length that nobody tells',
    (response) => {
      response.writeHead(200)
      for (let at = 0; at < ANSWER; at += 65_536) response.write(TEXT.subarray(at, at + 65_536))
      response.end()
    },
  ],
  [
    'that were compressed',
    (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(TEXT)),
  ],
]

for (const [what, answer] of FORMS) {
  test(`twenty answers ${what} wait for each other's room: no more is held than the budget and one answer, and all come whole`, async () => {
    upstream.answer(answer)
    most = 0
    const calls = Array.from({ length: 20 }, whole)
    assert.deepEqual(
      await Promise.all(calls.map(({ bytes }) => bytes)),
      calls.map(() => ANSWER),
    )
    assert.ok(most >= ANSWER && most <= BUDGET + ANSWER + MEGABYTE, String(most))
    assert.deepEqual([answers.bytes, answers.isFull], [0, false])
  })
}

test('an answer that is stopped while it holds room or waits for room gives the room to others', async () => {
  const open: ServerResponse[] = []
  upstream.answer((response) => {
    open.push(response)
    response.writeHead(200, { 'content-length': ANSWER }).write(TEXT.subarray(0, 1_000))
  })
  const held = [whole(), whole()]
  await until(10_000, 'two have come', () => answers.bytes === 2 * ANSWER)
  const waiting = [whole(), whole(), whole(), whole()]
  await until(10_000, 'the others wait', () => open.length === 6 && answers.isFull)
  waiting[0]?.call.cancel()
  held[0]?.call.cancel()
  await until(10_000, 'the next one has its room', () => answers.bytes === 2 * ANSWER)
  // A consumer that resumes does not get past the budget.
  for (const { call } of waiting) call.resume()
  upstream.answer((response) => void response.writeHead(200, { 'content-length': 2 }).end('xx'))
  assert.equal(await whole().bytes, 2, 'a small answer waits for nobody')
  for (const { call } of [...held, ...waiting]) call.cancel()
  assert.deepEqual([answers.bytes, answers.isFull], [0, false])
})

test('files that answers name are held by the same budget', async () => {
  const files = new FileFetch({ answers })
  upstream.answer((response) => void response.writeHead(200, { 'content-length': ANSWER }).end(TEXT))
  const ownHost = new URL(upstream.url).host
  const before = answers.hold()
  assert.ok(before.reach(BUDGET, () => undefined))
  const ending = new AbortController()
  const refused = files.get(upstream.url, { ownHost, bytesMax: 2 * ANSWER, timeoutMs: 60_000, signal: ending.signal })
  const waiting = files.get(upstream.url, { ownHost, bytesMax: 2 * ANSWER, timeoutMs: 60_000 })
  await until(10_000, 'both were asked', () => upstream.received.length >= 2)
  ending.abort(new Error('too late'))
  await assert.rejects(refused, /too late/)
  before.release()
  assert.equal((await waiting).length, ANSWER)
  assert.equal(answers.bytes, 0)
  await files.close()
})

test('answers to jobs are held by the same budget, and what waits for room in it does not run out of time', async () => {
  const clock = movingClock()
  const jobs = new JobHttp(clock, answers)
  upstream.answer((response) => void response.writeHead(200).end(TEXT))
  const before = answers.hold()
  assert.ok(before.reach(BUDGET, () => undefined))
  const ending = new AbortController()
  const wish = { ...request(), signal: new AbortController().signal }
  const asked = upstream.received.length
  const refused = jobs.get({ ...wish, signal: ending.signal }, { bytesMax: 2 * ANSWER })
  const waiting = jobs.post(wish, Buffer.from('{}'), { bytesMax: 2 * ANSWER })
  await until(10_000, 'both wait', () => upstream.received.length === asked + 2 && answers.isWanted)
  ending.abort()
  assert.equal((await refused).status, 'failed')
  await until(10_000, 'the other waits', () => answers.isWanted)
  clock.advance(3_600_000)
  before.release()
  const answer = await waiting
  assert.ok(answer.status === 'answered' && answer.body.equals(TEXT))
  assert.deepEqual([answers.bytes, answers.isWanted], [0, false])
  await jobs.close()
})

/** More than the system buffers for a client that does not read. */
const REPLY = Buffer.alloc(24 * MEGABYTE, 'y')

interface Unread {
  readonly clock: MovingClock
  /** Asks for the reply, and does not read it. */
  client(): Promise<Socket>
  /** Bytes that the newest client has accepted from the server. */
  taken(): number
}

/** A server whose replies count in the budget. */
async function unread(context: TestContext): Promise<Unread> {
  const clock = movingClock()
  const edge = createEdge<never>({
    routes: [
      {
        method: 'GET',
        path: '/large',
        plane: 'open',
        body: 'none',
        handle: () => ({ status: 200, body: REPLY, contentType: 'application/octet-stream' }),
      },
    ],
    access: { admit: () => assert.fail('the route is open'), anonymousHeaders: () => ({}) },
    clock,
    ids: randomIds(),
    log: { line: () => undefined, bug: (thrown) => assert.fail(String(thrown)) },
    maintenance: () => null,
    isSecure: () => false,
    trustedProxies: [],
    replyRoom: answers,
  })
  const { port } = await edge.listen('127.0.0.1', 0)
  const sockets: Socket[] = []
  let served: Socket | null = null
  edge.server.on('connection', (socket) => {
    served = socket
  })
  context.after(async () => {
    for (const socket of sockets) socket.destroy()
    await edge.close(0)
  })
  return {
    clock,
    taken: () => (served === null ? 0 : served.bytesWritten - served.writableLength),
    client: async () => {
      const socket = connect(port, '127.0.0.1').pause()
      socket.on('error', () => undefined)
      sockets.push(socket)
      const before = answers.bytes
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
      const waits = (): boolean => answers.bytes >= before + REPLY.length && (served?.writableLength ?? 0) > 0
      await until(10_000, 'the reply waits', waits)
      return socket
    },
  }
}

/** Reads from now on; returns the number of bytes received so far. */
function reading(socket: Socket): () => number {
  let bytes = 0
  socket.on('data', (piece) => (bytes += piece.length)).resume()
  return () => bytes
}

test('a reply that its client does not read counts in the budget until it is sent: answers wait, and new requests are refused', async (context) => {
  const { client } = await unread(context)
  const slow = await client()
  assert.equal(answers.isFull, true)
  upstream.answer((response) => void response.writeHead(200, { 'content-length': ANSWER }).end(TEXT))
  const { bytes } = whole()
  await until(10_000, 'the answer waits', () => answers.isWanted)
  const read = reading(slow)
  assert.equal(await bytes, ANSWER)
  await until(10_000, 'the reply was sent', () => read() > REPLY.length && answers.bytes === 0)
  assert.equal(answers.isFull, false)
})

test('F41: a client that takes nothing of a reply for a minute is cut off, and so is a slow one while others wait for its room', async (context) => {
  const { clock, client, taken } = await unread(context)
  const stalled = await client()
  const cut = new Promise((resolve) => stalled.once('close', resolve))
  clock.advance(70_000)
  await until(10_000, 'its room is given back', () => answers.bytes === 0)
  stalled.resume()
  await cut
  const drip = await client()
  const drop = async (): Promise<void> => {
    const before = taken()
    let left = 3 * MEGABYTE
    await new Promise<void>((resolve) => {
      const take = (piece: Buffer): void => {
        left -= piece.length
        if (left > 0) return
        drip.pause().off('data', take)
        resolve()
      }
      drip.on('data', take).resume()
    })
    // The clock moves once the server has noticed: its sockets are real.
    await until(10_000, 'the server has sent more', () => taken() > before)
  }
  for (let turn = 0; turn < 3; turn += 1) {
    clock.advance(50_000)
    await drop()
  }
  assert.equal(answers.bytes, REPLY.length, 'nobody waits for its room')
  upstream.answer((response) => void response.writeHead(200, { 'content-length': ANSWER }).end(TEXT))
  const { bytes } = whole()
  await until(10_000, 'an answer waits', () => answers.isWanted)
  clock.advance(10_000)
  assert.equal(await bytes, ANSWER)
  assert.equal(answers.bytes, 0)
})
