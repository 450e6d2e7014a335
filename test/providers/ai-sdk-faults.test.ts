import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { afterEach, test } from 'node:test'
import { request } from 'undici'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { paced, patient } from '../harness/patience.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { gateway } from '../harness/gateway.ts'
import { loggedRow } from '../harness/money-check.ts'
import { listen } from '../harness/scripted-upstream.ts'

const STREAM = 'mistral/chat/mistralai-streaming-chat-with-events-with-content'
const PLAIN = 'mistral/chat/mistralai-chat-with-cache-tokens'
const KEY = 'sk-upstream-canary-key-0123456789'
const MESSAGES = [{ role: 'user', content: 'Hello' }]

/** The behaviour of the upstream at `test/raw`. */
let answers: (response: ServerResponse, body: string) => void = () => undefined

const replay = await startReplayUpstream()
const server = await listen((response, { body }) => answers(response, body.toString()))
const row = `adapter: ai-sdk, package: "@ai-sdk/mistral", api_key: ${KEY}, cancel_stops_billing: true, timeouts: { connect: 1, first_byte: 1, progress: 1, total: 20 }`
const model = (name: string, provider: string): string =>
  `  - { id: test/${name}, type: chat, context_length: 100000, input_modalities: [text, image, file, audio], endpoints: [{ provider: ${provider}, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }\n`
const tollgate = await gateway({
  catalog: `
rate_limit: { requests: 100000, window: 60 }
providers:
  replayed: { ${row}, base_url: ${replay.url}/slot/faults }
  raw: { ${row}, base_url: "${server.url}/v1" }
  closed: { ${row}, base_url: "http://127.0.0.1:1/v1" }
  absent: { adapter: ai-sdk, package: "@ai-sdk/mistral", factory: createNothing, base_url: "${server.url}/v1", api_key: ${KEY} }
  older: { adapter: ai-sdk, package: "@ai-sdk/openai-compatible", base_url: "${server.url}/v1", api_key: ${KEY} }
models:
${model('older', 'older')}${model('replayed', 'replayed')}${model('raw', 'raw')}${model('closed', 'closed')}${model('absent', 'absent')}`,
})
const account = await tollgate.createAccount()

afterEach(async () => {
  const balance = await tollgate.get('/v1/user/balance', account.key)
  assert.equal(balance.body.reserved, 0, 'no hold is left')
})

function ask(model: string, fields: Record<string, unknown> = {}): Promise<FoldedAnswer> {
  return chat(tollgate.url, account.key, { model, max_tokens: 100, messages: MESSAGES, ...fields })
}

async function replayed(
  name: string,
  opts: Readonly<Record<string, string | number>>,
  stream: boolean,
): Promise<FoldedAnswer> {
  await replay.slot('faults', [{ case: name, opts }])
  return ask('test/replayed', { stream })
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', account.key)).body.balance
}

/** The answer is an error of this status, free, and contains none of our data. */
async function free(asked: () => Promise<FoldedAnswer>, status: number, type: string): Promise<FoldedAnswer> {
  const before = await balance()
  const answer = await asked()
  const shown = JSON.stringify([answer.error, answer.events])
  assert.equal(answer.error?.code, status, shown)
  assert.equal(answer.error.metadata['error_type'], type, shown)
  assert.doesNotMatch(shown, /canary|ai-sdk|AI_|127\.0\.0\.1/)
  assert.equal(await balance(), before, 'nothing is charged')
  return answer
}

for (const stream of [false, true]) {
  const kind = stream ? 'streamed' : 'plain'
  const name = stream ? STREAM : PLAIN

  test(`${kind}: 429 is 503 with the provider's Retry-After, and the package does not try again`, async () => {
    const before = (await replay.requests()).length
    const answer = await free(
      () => replayed(name, { status: 429, 'retry-after': 7 }, stream),
      503,
      'provider_unavailable',
    )
    assert.equal(answer.headers['retry-after'], '7')
    assert.equal((await replay.requests()).length, before + 1)
  })

  test(`${kind}: 401 is 502, 400 is the client's with the provider's words, redacted`, async () => {
    await free(() => replayed(name, { status: 401 }, stream), 502, 'provider_error')
    answers = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          object: 'error',
          message: `temperature is too hot for ${KEY} of ops@canary.example`,
          type: 'invalid_request_error',
          param: null,
          code: null,
        }),
      )
    }
    const { error } = await free(() => ask('test/raw', { stream }), 400, 'invalid_input')
    assert.match(error?.message ?? '', /temperature is too hot/)
  })

  test(`${kind}: a redirect is not followed, and the key goes nowhere`, async () => {
    let paths: string[] = []
    answers = (response) => {
      paths = [...paths, response.req.url ?? '']
      response.writeHead(307, { location: `${replay.url}/case/${PLAIN}/elsewhere` })
      response.end()
    }
    const before = (await replay.requests()).length
    await free(() => ask('test/raw', { stream }), 502, 'provider_error')
    assert.deepEqual(paths, ['/v1/chat/completions'])
    assert.equal((await replay.requests()).length, before)
  })

  for (const body of ['empty', 'html'] as const) {
    test(`${kind}: an ${body} body is an error of the provider`, async () => {
      const answer = await replayed(name, { body }, stream)
      assert.equal(answer.status, 502, JSON.stringify(answer.error))
      assert.ok(['provider_error', 'empty_response'].includes(String(answer.error?.metadata['error_type'])))
    })
  }

  test(`${kind}: an error inside a 200 of JSON is the provider's error`, async () => {
    answers = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: 'overloaded', code: 503 } }))
    }
    await free(() => ask('test/raw', { stream }), 503, 'provider_unavailable')
  })

  test(`${kind}: a refused connection is 503, a silent provider is 504 within its limit`, async () => {
    await free(() => ask('test/closed', { stream }), 503, 'provider_unavailable')
    if (!stream) return
    const started = performance.now()
    await free(() => replayed(name, { hang: 1 }, stream), 504, 'provider_timeout')
    assert.ok(performance.now() - started < patient(3_000))
  })

  test(`${kind}: a factory that the package lacks, or a package of another version, is 503 before anything is sent`, async () => {
    answers = () => assert.fail('nothing is sent')
    await free(() => ask('test/absent', { stream }), 503, 'provider_unavailable')
    await free(() => ask('test/older', { stream }), 503, 'provider_unavailable')
  })
}

for (const cutmode of ['reset', 'fin'] as const) {
  test(`a stream cut by ${cutmode} ends as an error, free, with [DONE]`, async () => {
    const answer = await free(() => replayed(STREAM, { cut: 'events:4', cutmode }, true), 502, 'provider_error')
    assert.equal(answer.error?.message, 'Provider disconnected mid-stream')
    assert.equal(answer.done, true)
  })
}

test('a stream that stalls ends within the progress limit, and so does one that drips comments', async () => {
  await free(() => replayed(STREAM, { stall: 'events:4' }, true), 504, 'provider_timeout')
  answers = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(': still here\n\n'), 50)
    response.on('close', () => clearInterval(timer))
  }
  await free(() => ask('test/raw', { stream: true }), 504, 'provider_timeout')
})

test('an answer that said [DONE] is complete although its connection stays open', async () => {
  answers = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }], usage: { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 } })}\n\ndata: [DO`,
    )
    void paced(20, 'the rest comes in another packet').then(() => response.write('NE]\n\n'))
  }
  const started = performance.now()
  const answer = await ask('test/raw', { stream: true })
  assert.equal(answer.choices.get(0)?.text, 'Hi')
  assert.equal(answer.usage?.['cost'], 5 / 1e6)
  assert.ok(performance.now() - started < patient(900), 'before any limit')
})

test('a line without an end is given up after 1 MiB', async () => {
  let sentBytes = 0
  answers = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const piece = Buffer.alloc(65_536, 'x')
    response.write('data: {"id":"')
    const more = (): void => {
      while (!response.destroyed && response.write(piece)) sentBytes += piece.length
    }
    response.on('drain', more)
    more()
  }
  await free(() => ask('test/raw', { stream: true }), 502, 'provider_error')
  assert.ok(sentBytes < 8 * 1_048_576, `${sentBytes} bytes`)
})

test('an answer larger than 32 MiB is given up', async () => {
  answers = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const piece = Buffer.alloc(1_048_576, ' ')
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  }
  await free(() => ask('test/raw'), 502, 'provider_error')
})

test('a client that leaves cancels the request of the package', async () => {
  const closed = Promise.withResolvers<void>()
  answers = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`
    const timer = setInterval(() => response.write(event), 10)
    response.on('close', () => {
      clearInterval(timer)
      closed.resolve()
    })
  }
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/raw', stream: true, max_tokens: 1_000, messages: MESSAGES }),
  })
  const id = String(answer.headers['x-generation-id'])
  for await (const piece of answer.body) if (String(piece).includes('word')) break
  answer.body.on('error', () => undefined)
  answer.body.destroy()
  await closed.promise
  assert.equal((await loggedRow(tollgate, account.key, id)).status, 'cancelled')
})

test("a part that the provider cannot take is the client's 400, before anything is sent", async () => {
  answers = () => assert.fail('nothing is sent')
  for (const [part, message] of [
    [
      { type: 'image_url', image_url: { url: 'ftp://pictures.example/cat.png' } },
      /messages\[0\]\.content\[0\]\.image_url\.url: must be an http or https address or a data URL/,
    ],
    [
      { type: 'image_url', image_url: { url: 'https://pictures.example/cat.png' } },
      /takes no addresses of such files; send a data URL/,
    ],
    [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, /does not support a part of the request/],
  ] as const) {
    const { error } = await free(
      () => ask('test/raw', { messages: [{ role: 'user', content: [part] }] }),
      400,
      'invalid_input',
    )
    assert.match(error?.message ?? '', message)
  }
})
