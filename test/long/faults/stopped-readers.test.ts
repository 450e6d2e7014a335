import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, beforeEach, test } from 'node:test'
import { form } from '../../harness/form.ts'
import { checkBooks } from '../../harness/money-check.ts'
import { askedAgain, untilStill } from '../../harness/patience.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import { RefusedHandshake, TurnClient } from '../../harness/turn-client.ts'

/** `TOLLGATE_TEST_READERS`: as many readers; the figure of a thousand is in docs/reliability.md. */
const READERS = Number(process.env['TOLLGATE_TEST_READERS'] ?? form({ short: 5, long: 5, chaos: 100 }))
const MEGABYTES = form({ short: 24, long: 24, chaos: 200 })
const WARM_MEGABYTES = 2
/** An account and a provider may have so many requests at once. */
const READERS_OF_ACCOUNT = 50
const READERS_AT_ONCE = 20
const PROVIDERS = ['stops1', 'stops2', 'stops3']
const MB = 1_048_576
/** A hundred readers may take 64 MB together, and more of them as much each; a few share what one heap needs at least. */
const GROWTH_BYTES_MAX = Math.max(64, READERS * 0.64) * MB

let tollgate: Tollgate
/** Bytes that the provider could hand over. */
let sent = 0
let answered = 0
let megabytes = WARM_MEGABYTES

function event(text: string, finish: string | null = null): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text }, finish_reason: finish }] })}\n\n`
}

const CHUNK = event('word '.repeat(13_000))
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } })}\n\ndata: [DONE]\n\n`

const upstream = await startScriptedUpstream()
upstream.answer((response) => {
  answered += 1
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let left = (megabytes * MB) / CHUNK.length
  const more = (): void => {
    for (; left > 0; left -= 1) {
      sent += CHUNK.length
      if (!response.write(CHUNK)) return void response.once('drain', more)
    }
    response.end(event('', 'stop') + USAGE)
  }
  more()
})

// Memory that an earlier test has left would hide what a later one takes.
beforeEach(async () => {
  tollgate = await startTollgate({
    // One address may have a thousand connections only if it is a proxy.
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    catalog: `
rate_limit: { requests: 100000, window: 60 }
markup: 1
providers:
${PROVIDERS.map((name) => `  ${name}: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, cancel_stops_billing: true }\n`).join('')}models:
${PROVIDERS.map((name) => `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1000, completion: 1000 } }] }\n`).join('')}`,
  })
})

afterEach(() => tollgate.stop())

function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${tollgate.pid}/status`, 'latin1'))?.[1]) * 1_024
}

interface Reader {
  leave(): void
}

const chat = (model: string): string =>
  JSON.stringify({ model, stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] })

/** null = refused, as on a busy machine some are. */
type Opened = Promise<Reader | null>

function stream(key: string, model: string): Opened {
  return posted(key, '/v1/chat/completions', chat(model))
}

async function posted(key: string, path: string, body: string): Opened {
  const socket = connect(Number(new URL(tollgate.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  if (head.toString('latin1', 0, 12) === 'HTTP/1.1 200') return { leave: () => void socket.destroy() }
  socket.destroy()
  return null
}

function responses(key: string, model: string): Opened {
  return posted(key, '/v1/responses', JSON.stringify({ model, stream: true, max_output_tokens: 50, input: 'Hi' }))
}

async function webSocket(key: string, model: string): Opened {
  const client = await TurnClient.open(tollgate.url, { authorization: `Bearer ${key}` }).catch((thrown: unknown) => {
    if (thrown instanceof RefusedHandshake && thrown.status === 503) return null
    throw thrown
  })
  if (client === null) return null
  client.send({ model, input: 'Hi', max_output_tokens: 50 })
  const first = await client.next()
  client.socket.pause()
  if (first.type === 'response.created') return { leave: () => client.socket.terminate() }
  client.socket.terminate()
  return null
}

async function readsAll(key: string, model: string): Promise<void> {
  const client = await TurnClient.open(tollgate.url, { authorization: `Bearer ${key}` })
  await client.turn({ model, input: 'Hi', max_output_tokens: 50 })
  client.socket.terminate()
  const answer = await fetch(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: chat(model),
  })
  await answer.text()
}

/**
 * The last event of a Response repeats all of its text, which is therefore kept, once: over HTTP also what the system's
 * sockets hold, since nothing tells what the client has read; over a WebSocket it tells so itself.
 */
for (const [name, open, keepsSent] of [
  ['streams', stream, false],
  ['Responses', responses, true],
  ['WebSockets', webSocket, false],
] as const)
  test(`F41, R10: readers of ${name} that stop reading stop their providers: no more than a window of each is in memory${keepsSent ? ' beside what was sent' : ''}, and each is charged once`, async (context) => {
    const accounts = await Promise.all(
      Array.from({ length: Math.ceil(READERS / READERS_OF_ACCOUNT) }, () =>
        tollgate.createAccount({ balance: 10_000 }),
      ),
    )
    const key = (index: number): string => accounts[index % accounts.length]?.key ?? ''
    const model = (index: number): string => `test/${PROVIDERS[index % PROVIDERS.length] ?? ''}`
    // The measurement is to have only waiting bytes, not the heap that every answer uses once.
    answered = 0
    megabytes = WARM_MEGABYTES
    await readsAll(key(0), model(0))
    sent = 0
    megabytes = MEGABYTES
    const before = residentBytes()
    const readers: Reader[] = []
    // All at once would be an overload, which refuses some.
    while (readers.length < READERS) {
      const next = Array.from(
        { length: Math.min(READERS_AT_ONCE, READERS - readers.length) },
        async (_value, index) => {
          const at = readers.length + index
          const reader = await askedAgain(
            () => open(key(at), model(at)),
            (opened) => opened === null,
          )
          assert.ok(reader !== null)
          return reader
        },
      )
      readers.push(...(await Promise.all(next)))
    }
    await untilStill(() => sent, 10)
    const grown = residentBytes() - before
    context.diagnostic(
      `${READERS} stopped ${name} of ${MEGABYTES} MB: ${(sent / READERS / MB).toFixed(1)} MB of each sent, the process grew by ${(grown / MB).toFixed(0)} MB, ${(grown / READERS / 1_024).toFixed(0)} kB each`,
    )
    // The buffers of the system's sockets are not the process's memory.
    assert.ok(sent < READERS * 16 * MB, `${sent} bytes were sent`)
    assert.ok(grown < GROWTH_BYTES_MAX + (keepsSent ? sent : 0), `${grown} bytes`)
    for (const reader of readers) reader.leave()
    let rows = 0
    for (const account of accounts) rows += (await checkBooks(tollgate, account, 10_000)).rows.length
    assert.equal(rows, answered)
    assert.equal(answered, READERS + 2)
  })
