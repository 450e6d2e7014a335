import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { after, afterEach, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { paced, patient } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'
import { completion } from '../harness/provider-answers.ts'

// The provider's half of the fault matrix (guarantees.md F20 to F30): the client's view, and that it cost nothing.

const SSE = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }
const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }
const GOOD = completion({ content: 'from the other' }, { usage: USAGE })

let rawScript: (socket: Socket) => void = (socket) => socket.destroy()
const rawSockets = new Set<Socket>()

const bad = await startScriptedUpstream()
const good = await startScriptedUpstream()
good.answer((response, { headers }) => {
  if (headers.accept === 'text/event-stream')
    response
      .writeHead(200, SSE)
      .end(
        `${event({ delta: { content: 'from the other' }, finish_reason: 'stop' })}data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`,
      )
  else response.writeHead(200, JSON_TYPE).end(JSON.stringify(GOOD))
})
const raw = createServer((socket) => {
  rawSockets.add(socket)
  socket.on('error', () => undefined)
  socket.once('data', () => rawScript(socket))
})
raw.listen(0, '127.0.0.1')
await once(raw, 'listening')
// A TCP server's address is an object.
const { port } = raw.address() as AddressInfo
const timeouts = 'timeouts: { connect: 1, first_byte: 1, progress: 1, total: 20 }'
const price = 'price: { currency: RUB, prompt: 1, completion: 1000 }'
const providers = {
  bad: bad.url,
  raw: `http://127.0.0.1:${port}`,
  closed: 'http://127.0.0.1:1',
  nowhere: 'http://no-such-host.invalid',
  silent: 'http://192.0.2.1',
  good: good.url,
}
const tollgate = await lasting(
  startTollgate({
    catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${Object.entries(providers)
  .map(
    ([slug, url]) =>
      `  ${slug}: { name: ${slug}, adapter: openai, base_url: "${url}", api_key: canary-upstream-key, ${timeouts} }`,
  )
  .join('\n')}
models:
${Object.keys(providers)
  .map(
    (
      slug,
    ) => `  - { id: alone/${slug}, type: chat, context_length: 100000, endpoints: [{ provider: ${slug}, model: m, ${price} }] }
  - { id: with/${slug}, type: chat, context_length: 100000, endpoints: [{ provider: ${slug}, model: m, ${price} }, { provider: ${slug === 'good' ? 'bad' : 'good'}, model: m, ${price} }] }`,
  )
  .join('\n')}
`,
  }),
)
const account = await tollgate.createAccount({ balance: 1_000 })

after(async () => {
  for (const socket of rawSockets) socket.destroy()
  raw.close()
})

/** After every fault: only answers moved money, no hold is left, the books agree. */
afterEach(async () => {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
  const { body } = await tollgate.get('/v1/user/balance', account.key)
  assert.equal(body.reserved, 0)
})

function event(choice: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`
}

function said(text: string): string {
  return event({ delta: { content: text }, finish_reason: null })
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', account.key)).body.balance
}

/** Asks and checks that a failure was free and that no secret of the operator shows. */
async function ask(model: string, stream: boolean): Promise<FoldedAnswer> {
  const beforeRub = await balance()
  const answer = await chat(tollgate.url, account.key, {
    model,
    stream,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 1_000,
    provider: model.startsWith('with/') ? { order: [model.slice(5)] } : {},
  })
  if (answer.error !== null) assert.equal(await balance(), beforeRub, 'a failure is free')
  assert.doesNotMatch(JSON.stringify(answer.events), /canary|127\.0\.0\.1|invalid\b.*host/)
  return answer
}

function text(answer: FoldedAnswer): string {
  return answer.choices.get(0)?.text ?? ''
}

/** The fault gives `code` if no other provider is left; with a healthy one the client does not notice it. */
async function expectFault(code: number, slug = 'bad'): Promise<void> {
  for (const stream of [false, true]) {
    assert.equal((await ask(`alone/${slug}`, stream)).error?.code, code, `alone, ${stream ? 'streamed' : 'plain'}`)
    const rescued = await ask(`with/${slug}`, stream)
    assert.equal(text(rescued), 'from the other', JSON.stringify(rescued.error))
  }
}

async function residentMb(): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${tollgate.pid}/status`, 'utf8'))?.[1]) / 1_024
}

describe('F20: the provider cannot be reached', () => {
  for (const slug of ['closed', 'nowhere']) test(slug, () => expectFault(503, slug))
  test('a connection that is not accepted ends at the connect limit', async () => {
    const startedMs = performance.now()
    assert.equal(text(await ask('with/silent', false)), 'from the other')
    assert.ok(performance.now() - startedMs < patient(3_000))
  })
})

describe('F21: it accepts and says nothing', () => {
  test('silence ends at the first-byte limit', async () => {
    bad.answer(() => undefined)
    const startedMs = performance.now()
    const answer = await ask('alone/bad', true)
    assert.equal(answer.error?.code, 504)
    assert.ok(performance.now() - startedMs < patient(3_000))
    assert.equal(text(await ask('with/bad', true)), 'from the other')
  })

  test('so does a header byte now and then', async () => {
    rawScript = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ')
      const drip = setInterval(() => socket.write('a'), 200)
      socket.once('close', () => clearInterval(drip))
    }
    assert.equal((await ask('alone/raw', true)).error?.code, 504)
    assert.equal(text(await ask('with/raw', true)), 'from the other')
  })
})

describe('F22, F23: a stream stands still', () => {
  test('a stall after the first byte is an error event within the idle limit, free of charge', async () => {
    bad.answer((response) => response.writeHead(200, SSE).write(said('begun')))
    const startedMs = performance.now()
    const answer = await ask('with/bad', true)
    assert.equal(text(answer), 'begun')
    assert.equal(answer.error?.code, 504)
    assert.equal(answer.usage?.['cost'], 0)
    assert.ok(performance.now() - startedMs < patient(3_500))
  })

  for (const [name, piece] of [
    ['comments', ': ping\n\n'],
    ['single bytes of an event', 'd'],
    ['empty deltas', event({ delta: {}, finish_reason: null })],
  ] as const) {
    test(`a drip of ${name} is no progress`, async () => {
      bad.answer((response) => {
        response.writeHead(200, SSE).write(said('begun'))
        const drip = setInterval(() => response.write(piece), 100)
        response.once('close', () => clearInterval(drip))
      })
      const answer = await ask('alone/bad', true)
      assert.equal(answer.error?.code, 504, JSON.stringify(answer.events.at(-1)))
    })
  }
})

describe('F24: the connection ends too early', () => {
  const cuts: Readonly<Record<string, (socket: Socket) => void>> = {
    'FIN in a body that is delimited by its end': (socket) =>
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${said('begun')}`),
    'FIN inside a chunked body': (socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${said('begun').length.toString(16)}\r\n${said('begun')}\r\n`,
      ),
    'RST mid-stream': (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${said('begun')}`)
      void paced(100, 'a reset would overtake bytes that are not read yet').then(() => socket.resetAndDestroy())
    },
  }
  for (const [name, script] of Object.entries(cuts)) {
    test(`${name}: the client gets an error and pays nothing`, async () => {
      rawScript = script
      const answer = await ask('alone/raw', true)
      assert.equal(text(answer), 'begun')
      assert.deepEqual([answer.error?.code, answer.error?.message], [502, 'Provider disconnected mid-stream'])
    })
  }

  test('before the first word another provider takes over', async () => {
    rawScript = (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n')
    await expectFault(502, 'raw')
  })

  test('half a JSON body is no answer', async () => {
    rawScript = (socket) =>
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"choices":[{"message":{"content":"ha',
      )
    assert.equal((await ask('alone/raw', false)).error?.code, 502)
    assert.equal(text(await ask('with/raw', false)), 'from the other')
  })
})

describe('F25: malformed events', () => {
  test('a line without an end is given up at a MiB, not collected', async () => {
    const beforeMb = await residentMb()
    bad.answer((response) => {
      response.writeHead(200, SSE)
      const piece = 'x'.repeat(1_048_576)
      response.on('error', () => undefined)
      for (let index = 0; index < 64 && !response.destroyed; index += 1)
        response.write(index === 0 ? `data: ${piece}` : piece)
    })
    assert.equal((await ask('alone/bad', true)).error?.code, 502)
    assert.ok((await residentMb()) - beforeMb < 64, 'the 64 MB are not kept')
  })

  for (const [name, body] of [
    ['invalid JSON', 'data: {"choices":[\n\n'],
    ['two objects in one event', `data: {"choices":[]}{"choices":[]}\n\n`],
    ['an array', 'data: []\n\n'],
  ] as const) {
    test(`${name} before the first word: another provider`, async () => {
      bad.answer((response) => response.writeHead(200, SSE).end(body))
      assert.equal((await ask('alone/bad', true)).error?.code, 502)
      assert.equal(text(await ask('with/bad', true)), 'from the other')
    })
  }

  test('invalid JSON mid-way ends the stream with an error, free of charge', async () => {
    bad.answer((response) => response.writeHead(200, SSE).end(`${said('begun')}data: {"broken\n\ndata: [DONE]\n\n`))
    const answer = await ask('alone/bad', true)
    assert.deepEqual([text(answer), answer.error?.code], ['begun', 502])
  })
})

describe('F26: a 200 that is no answer', () => {
  const bodies: Readonly<Record<string, (response: ServerResponse) => void>> = {
    'an error object': (response) =>
      response.writeHead(200, JSON_TYPE).end('{"error":{"message":"overloaded","code":503}}'),
    'an HTML page': (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>maintenance</html>'),
    'an empty body': (response) => response.writeHead(200, JSON_TYPE).end(),
    'JSON of another kind': (response) => response.writeHead(200, JSON_TYPE).end('{"hello":"world"}'),
  }
  for (const [name, script] of Object.entries(bodies)) {
    test(name, async () => {
      bad.answer(script)
      for (const stream of [false, true]) {
        assert.ok([502, 503].includes((await ask('alone/bad', stream)).error?.code ?? 0))
        assert.equal(text(await ask('with/bad', stream)), 'from the other')
      }
    })
  }
})

describe('F27: odd usage', () => {
  const CLAMPED: Readonly<Record<string, string>> = {
    negative: '{"prompt_tokens":-5,"completion_tokens":-1,"total_tokens":-6}',
    'not finite': '{"prompt_tokens":1e400,"completion_tokens":3}',
    fractional: '{"prompt_tokens":1.5,"completion_tokens":2.5}',
    text: '{"prompt_tokens":"many","completion_tokens":"few"}',
    'beyond 2^53': '{"prompt_tokens":9007199254740993,"completion_tokens":9007199254740993}',
    'more than was asked for': '{"prompt_tokens":5,"completion_tokens":900000}',
  }
  for (const [name, usage] of Object.entries(CLAMPED)) {
    test(`${name}: charged within what the request can cost, and flagged`, async () => {
      bad.answer((response) =>
        response.writeHead(200, JSON_TYPE).end(JSON.stringify({ ...GOOD, usage: 'USAGE' }).replace('"USAGE"', usage)),
      )
      const beforeRub = await balance()
      const answer = await ask('alone/bad', false)
      assert.equal(answer.status, 200, JSON.stringify(answer.error))
      const cost = Number(answer.usage?.['cost'])
      // 1,000 tokens at 1,000 RUB per million, and the prompt and 1,000 more at 1 RUB per million.
      assert.ok(cost >= 0 && cost <= 1.2, `cost ${cost}`)
      assert.equal(Math.round((beforeRub - (await balance())) * 1e6), Math.round(cost * 1e6))
    })
  }

  test('usage twice and in a later chunk: the last counts, once', async () => {
    bad.answer((response) =>
      response
        .writeHead(200, SSE)
        .end(
          `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}\n\ndata: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\ndata: [DONE]\n\n`,
        ),
    )
    const answer = await ask('alone/bad', true)
    assert.deepEqual([answer.usage?.['prompt_tokens'], answer.usage?.['completion_tokens']], [5, 2])
  })
})

test('F28: a compressed bomb is inflated to a bound and given up', async () => {
  const bomb = gzipSync(Buffer.alloc(256 * 1_048_576, 32))
  const beforeMb = await residentMb()
  bad.answer((response) => response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb))
  assert.equal((await ask('alone/bad', false)).error?.code, 502)
  assert.ok((await residentMb()) - beforeMb < 128, 'the 256 MB are not kept')
})

describe('F29: busy and broken', () => {
  const hints: Readonly<Record<string, readonly [hint: () => string, seconds: number]>> = {
    seconds: [() => '7', 7],
    'far too many': [() => '1000000000', 60],
    'a date': [() => new Date(Date.now() + 20_000).toUTCString(), 20],
    nonsense: [() => 'soon', 5],
  }
  for (const [name, [hint, seconds]] of Object.entries(hints)) {
    test(`429 with Retry-After, ${name}: 503 with a bounded one`, async () => {
      const header = hint()
      bad.answer((response) =>
        response.writeHead(429, { ...JSON_TYPE, 'retry-after': header }).end('{"error":{"message":"slow down"}}'),
      )
      const answer = await ask('alone/bad', false)
      assert.equal(answer.error?.code, 503)
      assert.ok(Math.abs(Number(answer.headers['retry-after']) - seconds) <= 2, String(answer.headers['retry-after']))
      assert.equal(text(await ask('with/bad', false)), 'from the other')
    })
  }

  for (const [status, code] of [
    [500, 502],
    [502, 502],
    [503, 503],
    [529, 503],
    [401, 502],
    [404, 502],
    [408, 504],
  ] as const) {
    test(`${status} of the only provider is ${code}; with another provider the request succeeds`, async () => {
      bad.answer((response) =>
        response.writeHead(status, JSON_TYPE).end('{"error":{"message":"canary-upstream-key of org-secret"}}'),
      )
      await expectFault(code)
    })
  }
})

describe('F30: too much', () => {
  test('a giant plain answer is given up at its bound', async () => {
    bad.answer((response) => {
      response.writeHead(200, JSON_TYPE)
      response.on('error', () => undefined)
      const piece = Buffer.alloc(1_048_576, 32)
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) {
          /* until the socket is full */
        }
      }
      response.on('drain', more)
      more()
    })
    assert.equal((await ask('alone/bad', false)).error?.code, 502)
  })

  test('headers of 100 kB are refused', async () => {
    rawScript = (socket) => socket.end(`HTTP/1.1 200 OK\r\nx-big: ${'a'.repeat(100_000)}\r\n\r\n`)
    assert.ok([502, 503].includes((await ask('alone/raw', false)).error?.code ?? 0))
    assert.equal(text(await ask('with/raw', false)), 'from the other')
  })

  test('bytes after the end reach no client, not even the next request on the connection', async () => {
    const body = JSON.stringify({
      ...GOOD,
      choices: [{ index: 0, message: { role: 'assistant', content: 'first' }, finish_reason: 'stop' }],
    })
    const smuggled = JSON.stringify({
      ...GOOD,
      choices: [{ index: 0, message: { role: 'assistant', content: 'SMUGGLED' }, finish_reason: 'stop' }],
    })
    const answerOf = (text_: string): string =>
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text_)}\r\n\r\n${text_}`
    rawScript = (socket) => socket.write(answerOf(body) + answerOf(smuggled))
    for (let round = 0; round < 4; round += 1) {
      const answer = await ask('alone/raw', false)
      assert.equal(text(answer), 'first', `round ${round}: ${JSON.stringify(answer.error)}`)
    }
  })
})
