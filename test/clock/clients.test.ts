import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { percentile, spread } from '../harness/figures.ts'
import { form, isChaos } from '../harness/form.ts'
import { checkBooks } from '../harness/money-check.ts'
import { admitted, patient, until as untilIn } from '../harness/patience.ts'
import { exchangeRaw, parseRaw, pump } from '../harness/raw-http.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'
import { completion } from '../harness/provider-answers.ts'

// The client's half of the fault matrix (guarantees.md F40 to F47 and F55), each with its money check.

const ABORTS = form({ short: 5, long: 10, chaos: 100 })
const SSE = { 'content-type': 'text/event-stream' }

const upstream = await startScriptedUpstream()
const tollgate = await lasting(
  startTollgate({
    catalog: `
rate_limit: { requests: 100000, window: 60 }
markup: 1
providers:
  stops: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, cancel_stops_billing: true }
  bills: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, cancel_stops_billing: false }
models:
  - { id: test/stops, type: chat, context_length: 100000, endpoints: [{ provider: stops, model: m, price: { currency: RUB, prompt: 1000, completion: 1000 } }] }
  - { id: test/bills, type: chat, context_length: 100000, endpoints: [{ provider: bills, model: m, price: { currency: RUB, prompt: 1000, completion: 1000 } }] }
`,
  }),
)

function event(text: string, finish: string | null = null): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text }, finish_reason: finish }] })}\n\n`
}

const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } })}\n\ndata: [DONE]\n\n`

/** A whole answer, at once. */
function greets(response: ServerResponse): void {
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(
      JSON.stringify(
        completion({ content: 'Hi' }, { usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }),
      ),
    )
}

function requestBytes(key: string, body: unknown, path = '/v1/chat/completions'): string {
  const text = JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** A client on a separate socket, and the text that it has read. */
function client(bytes: string): { readonly socket: Socket; readonly text: () => string } {
  const socket = connect(Number(new URL(tollgate.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.write(bytes)
  return { socket, text: () => text }
}

const until = (isSo: () => boolean): Promise<number> => untilIn(60_000, 'it comes to pass', isSo)

const LEAVES = { FIN: (socket: Socket) => socket.destroy(), RST: (socket: Socket) => socket.resetAndDestroy() } as const
const MOMENTS = ['before the first token', 'mid-stream', 'right after the last token'] as const

for (const how of ['FIN', 'RST'] as const) {
  for (const moment of MOMENTS) {
    test(`F40, R9: ${how} ${moment}: the upstream is cancelled within a second, and only the tokens that came are billed`, async (context) => {
      const account = await tollgate.createAccount({ balance: 100 })
      const took: number[] = []
      for (let count = 0; count < ABORTS; count += 1) {
        const seen: { response: ServerResponse | null; closedMs: number } = { response: null, closedMs: 0 }
        upstream.answer((response) => {
          seen.response = response
          response.on('close', () => {
            seen.closedMs = performance.now()
          })
          if (moment !== 'before the first token') response.writeHead(200, SSE).write(event('Hello '))
          if (moment === 'right after the last token') response.write(event('world', 'stop'))
        })
        const { socket, text } = client(
          requestBytes(account.key, {
            model: 'test/stops',
            stream: true,
            max_tokens: 50,
            messages: [{ role: 'user', content: 'Hi' }],
          }),
        )
        if (moment === 'before the first token') await until(() => seen.response !== null)
        else await until(() => text().includes(moment === 'mid-stream' ? 'Hello' : 'world'))
        const leftMs = performance.now()
        LEAVES[how](socket)
        await until(() => seen.closedMs > 0)
        took.push(seen.closedMs - leftMs)
      }
      context.diagnostic(`cancelled: ${spread(took)}`)
      assert.ok(percentile(took, 0.99) < patient(1_000), spread(took))
      const { rows } = await checkBooks(tollgate, account, 100)
      assert.equal(rows.length, ABORTS)
      for (const row of rows) {
        assert.equal(row['status'], 'cancelled')
        assert.equal(row['billing_basis'], moment === 'before the first token' ? 'free' : 'counted')
        assert.equal(Number(row['total_cost']) > 0, moment !== 'before the first token')
      }
    })
  }
}

test('F40: an answer whose provider bills cancelled answers is read until its usage, which is charged', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  let finish = (): void => assert.fail('not asked yet')
  upstream.answer((response) => {
    response.writeHead(200, SSE).write(event('Hello '))
    finish = () => void response.end(event('world', 'stop') + USAGE)
  })
  const { socket, text } = client(
    requestBytes(account.key, {
      model: 'test/bills',
      stream: true,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  )
  await until(() => text().includes('Hello'))
  socket.destroy()
  await untilIn(60_000, 'it is drained', async () =>
    /tollgate_drains 1\b/.test((await tollgate.request('GET', '/metrics')).text),
  )
  finish()
  const { rows } = await checkBooks(tollgate, account, 100)
  assert.deepEqual(
    rows.map((row) => [row['billing_basis'], row['output_tokens']]),
    [['drained', 7]],
  )
})

function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${tollgate.pid}/status`, 'latin1'))?.[1]) * 1_024
}

test('F44: a thousand pipelined requests are answered in order; fifty paid ones are each charged once', async () => {
  const port = Number(new URL(tollgate.url).port)
  const health = Array.from(
    { length: 1_000 },
    (_value, index) => `GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Request-Id: p-${index}\r\n\r\n`,
  ).join('')
  const text = await exchangeRaw(port, health, {
    idleMs: 3_000,
    until: (got) => got.includes('p-999\r\n') && got.endsWith('}'),
  })
  const ids = [...text.matchAll(/^x-request-id: p-(\d+)\r$/gim)].map(([, id]) => Number(id))
  assert.deepEqual(
    ids,
    Array.from({ length: ids.length }, (_value, index) => index),
  )
  assert.equal(ids.length, 1_000)
  upstream.answer(greets)
  const account = await tollgate.createAccount({ balance: 100 })
  const paid = requestBytes(account.key, {
    model: 'test/stops',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hi' }],
  }).repeat(50)
  const answers = await exchangeRaw(port, paid, {
    idleMs: 3_000,
    until: (got) => (got.match(/HTTP\/1\.1 200/g) ?? []).length === 50 && got.endsWith('}'),
  })
  assert.equal((answers.match(/HTTP\/1\.1 200/g) ?? []).length, 50)
  const { rows } = await checkBooks(tollgate, account, 100)
  assert.equal(rows.length, 50)
})

test('F47: a client that sends 60 MB sees 413, with a length and without; nothing is held, and the next request is served', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  const port = Number(new URL(tollgate.url).port)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n`
  const megabyte = Buffer.alloc(1_048_576, 0x20)
  for (const [framing, piece] of [
    [`Content-Length: ${60 * 1_048_576}`, megabyte],
    ['Transfer-Encoding: chunked', Buffer.concat([Buffer.from('100000\r\n'), megabyte, Buffer.from('\r\n')])],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.write(`${head}${framing}\r\n\r\n`)
    await pump(socket, piece, 60)
    if (!socket.destroyed) socket.end()
    await until(() => text.includes('\r\n\r\n'))
    assert.equal(parseRaw(text).status, 413, framing)
    socket.destroy()
  }
  const { rows } = await checkBooks(tollgate, account, 100)
  assert.deepEqual(rows, [])
})

test('F55: a hundred 10 MB uploads at once: their heads reserve nothing, bodies beyond the share of their origin get 429, the others are served, memory stays bounded', async () => {
  const uploads = isChaos ? 100 : 40
  const account = await tollgate.createAccount({ balance: 1_000 })
  upstream.answer(greets)
  // A body of 10 MB that a chat may have: its text is long, its tokens few.
  const body = JSON.stringify({
    model: 'test/stops',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hi' }],
    user: 'u'.repeat(10_000_000),
  })
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const clients = Array.from({ length: uploads }, () => client(head))
  const status = ({ text }: { readonly text: () => string }): number =>
    Number(/^HTTP\/1\.1 (\d+)/.exec(text())?.[1] ?? 0)
  const small = await tollgate.post('/v1/chat/completions', account.key, {
    model: 'test/stops',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  assert.equal(small.status, 200)
  for (const { socket } of clients) socket.write(body)
  await until(() => clients.every((one) => status(one) !== 0))
  const statuses = clients.map(status)
  assert.ok(
    statuses.every((code) => [200, 400, 429, 503].includes(code)),
    String([...new Set(statuses)]),
  )
  assert.ok(statuses.filter((code) => code === 200 || code === 400).length >= 8, String(statuses))
  const { rows } = await checkBooks(tollgate, account, 1_000)
  assert.equal(rows.length, 1 + statuses.filter((code) => code === 200).length)
  assert.ok(residentBytes() < 2_500 * 1_048_576)
  for (const { socket } of clients) socket.destroy()
})

test('sockets that wait for ever, at the sign-in or before it, keep no client out, not even one of the same address', async () => {
  const account = await tollgate.createAccount({ balance: 10 })
  const port = Number(new URL(tollgate.url).port)
  const signIn = `POST /cabinet/v1/sign-in HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Type: application/json\r\nContent-Length: `
  const [large] = Array.from({ length: 26 }, () => client(`${signIn}10485760\r\n\r\n`))
  await until(() => (large?.text() ?? '').includes('16 kB'))
  const waiting = Array.from({ length: 100 }, () => client(`${signIn}16384\r\n\r\n`))
  const silent: Socket[] = []
  for (let count = 0; count < 400; count += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    silent.push(socket)
    await once(socket, 'connect')
  }
  upstream.answer(greets)
  for (let count = 0; count < 5; count += 1) {
    const answer = await admitted(() =>
      tollgate.post('/v1/chat/completions', account.key, {
        model: 'test/stops',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    )
    assert.equal(answer.status, 200, answer.text)
  }
  // The oldest idle ones make room.
  await until(() => silent.filter(({ closed }) => closed).length >= 200)
  for (const socket of silent) socket.destroy()
  for (const { socket } of waiting) socket.destroy()
})
