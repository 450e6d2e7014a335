import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { createGzip } from 'node:zlib'
import type { Provider } from '../../src/catalog/catalog.ts'
import { PLAIN_DIALECT } from '../../src/catalog/dialect.ts'
import { AnswerBudget } from '../../src/protocols/answer-budget.ts'
import { JobHttp } from '../../src/protocols/wire/job-http.ts'
import { PROVIDER_TIMEOUTS } from '../../src/tables/settings-table.ts'
import type { Answer } from '../harness/api-client.ts'
import { wavFile } from '../harness/audio-files.ts'
import { converseEvent } from '../harness/aws.ts'
import { loggedRow } from '../harness/money-check.ts'
import { movingGateway } from '../harness/gateway.ts'
import { paced } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

/** An answer that lacks nothing but its last word is complete, however its connection goes on (guarantees.md F22, F24). */

const upstream = await startScriptedUpstream()
const chats = ['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama', 'sdk', 'native']
const price = 'price: { currency: RUB, prompt: 1000, completion: 1000'
const unit = (name: string, type: string, more = ''): string =>
  `  - { id: test/${name}, type: ${type}, ${more}endpoints: [{ provider: openai, model: ${name}, price: { currency: RUB, ${type === 'image' ? 'image_output' : type === 'transcription' ? 'second' : 'prompt'}: 1 } }] }`
const server = await movingGateway({
  catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${chats.map((name) => `  ${name}: { adapter: ${name === 'sdk' ? 'ai-sdk, package: "@ai-sdk/mistral"' : name === 'native' ? 'openai' : name}, base_url: "${upstream.url}", api_key: k }`).join('\n')}
models:
${chats.map((name) => `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${name}, model: m, ${price} }${name === 'native' ? ', native_completions: true, native_responses: true' : ''} }] }`).join('\n')}
${unit('vectors', 'embeddings', 'context_length: 8192, ')}
${unit('picture', 'image')}
${unit('whisper-1', 'transcription')}
`,
})
const key = (await server.createAccount({ balance: 1_000 })).key

const SSE = 'text/event-stream'
const data = (event: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
const choice = (delta: unknown, finish: string | null = null, index = 0): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index, delta, finish_reason: finish }],
})
const COUNTED = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

interface Upstream {
  readonly model: string
  readonly type: string
  readonly text: readonly Buffer[]
  /** The finish, after which only usage and the last word follow. */
  readonly finish: Buffer
  /** null = the finish has it. */
  readonly usage: Buffer | null
  /** An event that says nothing. */
  readonly nothing: Buffer
}

const openai = (model: string): Upstream => ({
  model,
  type: SSE,
  text: [data(choice({ role: 'assistant', content: '' })), data(choice({ content: 'Hello' }))],
  finish: data(choice({}, 'length')),
  usage: data({ ...choice({}), choices: [], usage: COUNTED }),
  nothing: data(choice({ content: '' })),
})

const UPSTREAMS: Readonly<Record<string, Upstream>> = {
  openai: openai('openai'),
  sdk: { ...openai('sdk'), finish: data({ ...choice({}, 'length'), usage: COUNTED }), usage: null },
  completions: {
    model: 'native',
    type: SSE,
    text: [data({ id: 'c', choices: [{ index: 0, text: 'Hello', finish_reason: null }] })],
    finish: data({ id: 'c', choices: [{ index: 0, text: '', finish_reason: 'length' }] }),
    usage: data({ id: 'c', choices: [], usage: COUNTED }),
    nothing: data({ id: 'c', choices: [] }),
  },
  anthropic: {
    model: 'anthropic',
    type: SSE,
    text: [
      data({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } }),
      data({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      data({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
      data({ type: 'content_block_stop', index: 0 }),
    ],
    finish: data({ type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 5 } }),
    usage: null,
    nothing: data({ type: 'ping' }),
  },
  gemini: {
    model: 'gemini',
    type: SSE,
    text: [data({ candidates: [{ content: { parts: [{ text: 'Hello' }] } }], modelVersion: 'm', responseId: 'r' })],
    finish: data({ candidates: [{ finishReason: 'MAX_TOKENS' }] }),
    usage: data({ usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 } }),
    nothing: data({ candidates: [{ content: { parts: [{ text: '' }] } }] }),
  },
  bedrock: {
    model: 'bedrock',
    type: 'application/vnd.amazon.eventstream',
    text: [
      converseEvent('messageStart', { role: 'assistant' }),
      converseEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }),
    ],
    finish: converseEvent('messageStop', { stopReason: 'max_tokens' }),
    usage: converseEvent('metadata', { usage: { inputTokens: 7, outputTokens: 5 } }),
    nothing: converseEvent('contentBlockStop', { contentBlockIndex: 0 }),
  },
}

/** How a connection goes on behind the finish. */
const ENDS: Readonly<Record<string, (response: ServerResponse, upstream: Upstream) => void>> = {
  silence: () => undefined,
  'events that say nothing': (response, { nothing }) => drip(response, nothing),
  comments: (response, { type }) => type === SSE && drip(response, Buffer.from(': hb\n\n')),
  'the finish again and again': (response, { finish }) => drip(response, finish),
  'half an event': (response, { finish }) => void response.write(finish.subarray(0, -9)),
  'half an event and an end': (response, { finish }) =>
    void response.write(finish.subarray(0, -9), () => response.end()),
  'the page of a proxy': (response, { type }) =>
    void response.write(type === SSE ? 'data: <html>504</html>\n\n' : '<html>504 Gateway Time-out</html>'),
  'an end without that of its chunks': (response) => void response.socket?.end(),
  'a reset': (response) =>
    void paced(20, 'a reset would overtake bytes that are not read yet').then(() => response.socket?.resetAndDestroy()),
}

function drip(response: ServerResponse, piece: Buffer): void {
  const timer = setInterval(() => response.write(piece), 5)
  response.once('close', () => clearInterval(timer))
}

/** Longer than a complete answer waits, and shorter than a provider may be silent. */
const PATIENCE_S = 40

/** The provider's script is run once, and the server's clock moves until the answer is there. */
async function answered(path: string, body: unknown, script: (response: ServerResponse) => void): Promise<Answer> {
  let closed: Promise<unknown> | null = null
  upstream.answer((response) => {
    closed = once(response, 'close')
    script(response)
  })
  let answer: Answer | null = null
  const asked = server.post(path, key, body).then((given) => (answer = given))
  for (let second = 0; second < PATIENCE_S && answer === null; second += 1) await server.pass(1, 20)
  assert.ok(answer !== null, 'there is no answer in time')
  await closed
  return asked
}

function written(response: ServerResponse, type: string, pieces: readonly Buffer[], then: () => void): void {
  response.on('error', () => undefined).writeHead(200, { 'content-type': type })
  response.write(Buffer.concat(pieces), then)
}

/** The log row of the only answer since `from`. */
async function row({ headers }: Answer): Promise<Answer['body']> {
  return loggedRow(server, key, headers['x-generation-id'])
}

const MESSAGES = [{ role: 'user', content: 'Hi there' }]

for (const [protocol, given] of Object.entries(UPSTREAMS)) {
  const { model, type, text, finish, usage } = given
  const [path, body] =
    protocol === 'completions'
      ? ['/v1/completions', { model: 'test/native', prompt: 'Hi there', max_tokens: 9 }]
      : ['/v1/chat/completions', { model: `test/${model}`, messages: MESSAGES, max_tokens: 9 }]
  describe(`a finished answer of ${protocol}`, () => {
    // A package of the AI SDK reads its events itself, and has its own errors.
    for (const [end, goOn] of Object.entries(ENDS).filter(([name]) => model !== 'sdk' || !name.includes('proxy')))
      for (const isCounted of usage === null ? [true] : [true, false])
        test(`${isCounted ? 'with' : 'without'} its usage, then ${end}: its finish, charged once, and its provider is well`, async () => {
          const pieces = [...text, finish, ...(usage !== null && isCounted ? [usage] : [])]
          const answer = await answered(path, { ...body, stream: true }, (response) =>
            written(response, type, pieces, () => goOn(response, given)),
          )
          assert.match(answer.text, /"finish_reason":"length"[^]*\[DONE\]/)
          const logged = await row(answer)
          assert.deepEqual(
            [logged.status, logged.finish_reason, logged.billing_basis, logged.input_tokens > 0],
            ['completed', 'length', isCounted ? 'provider_usage' : 'counted', true],
          )
          assert.ok(logged.total_cost > 0)
          if (isCounted) assert.deepEqual([logged.input_tokens, logged.output_tokens], [7, 5])
        })
  })
}

test('a word that names no reason is no finish: the answer goes on after a long silence', async () => {
  for (const [protocol, { model, type, text, finish, usage }] of Object.entries(UPSTREAMS)) {
    if (protocol === 'bedrock') continue
    const [path, body] =
      protocol === 'completions'
        ? ['/v1/completions', { model: 'test/native', prompt: 'Hi there' }]
        : ['/v1/chat/completions', { model: `test/${model}`, messages: MESSAGES }]
    for (const word of ['', 'null', 'FINISH_REASON_UNSPECIFIED']) {
      const unfinished = Buffer.from(finish.toString('utf8').replace(/"length"|"max_tokens"|"MAX_TOKENS"/, `"${word}"`))
      const answer = await answered(path, { ...body, stream: true }, (response) => {
        written(response, type, [...text, unfinished], () => undefined)
        server.clock.after(10_000, () =>
          response.write(Buffer.concat([...text, finish, ...(usage === null ? [] : [usage])])),
        )
      })
      assert.match(answer.text, /Hello[^]*Hello[^]*"finish_reason":"length"/, `${protocol} '${word}'`)
    }
  }
})

const streamed = (response: ServerResponse, { type, text, finish, usage }: Upstream): void =>
  written(response, type, [...text, finish, ...(usage === null ? [] : [usage])], () => undefined)

/** Each door's own last word, and the provider's reason in its words. */
const DOORS: readonly (readonly [path: string, body: object, upstream: string, ends: RegExp])[] = [
  ['/v1/messages', { messages: MESSAGES, max_tokens: 9 }, 'openai', /"stop_reason":"max_tokens"[^]*message_stop/],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 9 }, 'anthropic', /"stop_reason":"max_tokens"[^]*message_stop/],
  ['/v1/responses', { input: 'Hi', max_output_tokens: 16 }, 'openai', /response\.incomplete[^]*max_output_tokens/],
  ['/v1/completions', { prompt: 'Hi', max_tokens: 9 }, 'openai', /"finish_reason":"length"[^]*\[DONE\]/],
  ['/v2/chat', { messages: MESSAGES, max_tokens: 9 }, 'openai', /message-end[^]*MAX_TOKENS/],
  [
    '/api/chat',
    { messages: MESSAGES },
    'openai',
    /"done":true[^]*"done_reason":"length"|"done_reason":"length"[^]*"done":true/,
  ],
  [
    '/v1beta/models/test/MODEL:streamGenerateContent?alt=sse',
    { contents: [{ parts: [{ text: 'Hi' }] }] },
    'openai',
    /MAX_TOKENS/,
  ],
  [
    '/v1beta/models/test/MODEL:streamGenerateContent?alt=sse',
    { contents: [{ parts: [{ text: 'Hi' }] }] },
    'gemini',
    /MAX_TOKENS/,
  ],
]

for (const [path, body, name, ends] of DOORS)
  test(`a finished answer of ${name} ends well at ${path}`, async () => {
    const given = UPSTREAMS[name]
    assert.ok(given !== undefined)
    const answer = await answered(
      path.replace('MODEL', name),
      path.includes('MODEL') ? body : { ...body, model: `test/${name}`, stream: true },
      (response) => streamed(response, given),
    )
    assert.match(answer.text, ends)
    const logged = await row(answer)
    assert.deepEqual(
      [logged.status, logged.finish_reason, logged.input_tokens, logged.output_tokens],
      ['completed', 'length', 7, 5],
    )
  })

const CHAT = '/v1/chat/completions'
const chatOf = (more: object = {}): object => ({
  model: 'test/openai',
  messages: MESSAGES,
  max_tokens: 99,
  stream: true,
  ...more,
})

test('an answer to a job is complete with its JSON, with and without files', async () => {
  const answers = new AnswerBudget()
  const jobs = new JobHttp(server.clock, answers)
  const file = 'QUJD'.repeat(100)
  for (const [lifts, end] of [false, true].flatMap((lifted) =>
    Object.values(AFTERWARDS).map((goOn) => [lifted, goOn] as const),
  )) {
    upstream.answer((response) =>
      written(response, 'application/json', [Buffer.from(`{"id":"v","file":"${file}"}`)], () => end(response)),
    )
    // Only these fields of a provider are looked at.
    const provider = { baseUrl: upstream.url, timeouts: PROVIDER_TIMEOUTS, dialect: PLAIN_DIALECT } as Provider
    const wish = { provider, path: '/videos', headers: {}, signal: new AbortController().signal }
    const asked = jobs.post(wish, Buffer.from('{}'), { bytesMax: 9_999, ...(lifts ? { lifts: answers.hold() } : {}) })
    let isOver = false
    void asked.then(() => (isOver = true))
    for (let second = 0; second < PATIENCE_S && !isOver; second += 1) await server.pass(1, 20)
    assert.ok(isOver, 'there is no answer in time')
    const answer = await asked
    assert.ok(answer.status === 'answered')
    assert.deepEqual(JSON.parse(answer.body.toString('utf8')), { id: 'v', file: lifts ? [0] : file })
  }
  await jobs.close()
})

test('none of these counts against its provider', async () => {
  const { body } = await server.admin('GET', '/admin/v1/endpoints/health')
  for (const { endpoint, state, error_rate_30m: errors } of body.data)
    assert.deepEqual([state, errors ?? 0], ['healthy', 0], endpoint)
})

test('an answer is finished when each choice that was asked for is', async () => {
  const one = [...openai('').text, openai('').finish]
  const both = [...one, data(choice({ content: 'Bye' }, null, 1)), data(choice({}, 'stop', 1))]
  const cut = await answered(CHAT, chatOf({ n: 2 }), (response) =>
    written(response, SSE, one, () => ENDS['a reset']?.(response, openai(''))),
  )
  assert.match(cut.text, /Provider disconnected mid-stream/)
  assert.equal((await row(cut)).total_cost, 0)
  const whole = await answered(CHAT, chatOf({ n: 2 }), (response) => written(response, SSE, both, () => undefined))
  assert.match(whole.text, /\[DONE\]/)
  assert.equal((await row(whole)).status, 'completed')
})

test('what comes behind the finish within three seconds is read, and content goes on for as long as it comes', async () => {
  const call = (index: number, given: object): Buffer =>
    data(choice({ tool_calls: [{ index, type: 'function', ...given }] }))
  const first = [call(0, { id: 'a', function: { name: 'pay', arguments: '{"sum"' } }), data(choice({}, 'tool_calls'))]
  const rest = [':', '1', '2', '3', '4', '}'].map((text) => call(0, { function: { arguments: text } }))
  const usage = data({ ...choice({}), choices: [], usage: COUNTED })
  const tools = [{ type: 'function', function: { name: 'pay', parameters: { type: 'object', properties: {} } } }]
  const answer = await answered(CHAT, chatOf({ tools }), (response) => {
    const clock = server.clock
    const next = (): void => {
      const piece = rest.shift()
      response.write(piece ?? usage)
      if (piece !== undefined) clock.after(2_000, next)
    }
    written(response, SSE, first, () => void clock.after(2_000, next))
  })
  const said = [...answer.text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text).join('')
  assert.equal(said, String.raw`{\"sum\":1234}`)
  const logged = await row(answer)
  assert.deepEqual([logged.finish_reason, logged.billing_basis], ['tool_calls', 'provider_usage'])
  assert.ok(logged.duration_ms >= 14_000 && logged.duration_ms < 20_000, String(logged.duration_ms))
})

const COMPLETION = completion({ content: 'Hello [x' }, { usage: COUNTED, finish: 'length' })
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const WHOLES: readonly (readonly [path: string, body: object, answer: object, says: RegExp])[] = [
  [CHAT, { model: 'test/openai', messages: MESSAGES }, COMPLETION, /Hello \[x/],
  ['/v1/messages', { model: 'test/openai', messages: MESSAGES, max_tokens: 9 }, COMPLETION, /Hello \[x/],
  ['/v1/responses', { model: 'test/openai', input: 'Hi' }, COMPLETION, /Hello \[x/],
  ['/v1beta/models/test/openai:generateContent', { contents: [{ parts: [{ text: 'Hi' }] }] }, COMPLETION, /Hello \[x/],
  [
    CHAT,
    { model: 'test/sdk', messages: MESSAGES },
    { ...COMPLETION, object: 'chat.completion', created: 1, model: 'm' },
    /Hello \[x/,
  ],
  [
    '/v1/embeddings',
    { model: 'test/vectors', input: 'Hi' },
    { data: [{ index: 0, embedding: [0.5, 1] }], usage: COUNTED },
    /0\.5,1/,
  ],
  [
    '/v1/images/generations',
    { model: 'test/picture', prompt: 'Hi' },
    { data: [{ b64_json: PICTURE.toString('base64') }] },
    /images\/content/,
  ],
  [
    '/v1/audio/transcriptions',
    { model: 'test/whisper-1', input_audio: { data: wavFile(0.1).toString('base64'), format: 'wav' } },
    { text: 'Hello', duration: 1 },
    /Hello/,
  ],
]

/** How a connection goes on behind the last bracket. */
const AFTERWARDS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  silence: () => undefined,
  blanks: (response) => drip(response, Buffer.from('\n')),
  'a reset': (response) => ENDS['a reset']?.(response, openai('')),
  'an end without that of its chunks': (response) => void response.socket?.end(),
}

for (const [path, body, given, says] of WHOLES)
  describe(`JSON that is complete, of ${path} and ${JSON.stringify(Object.values(body)[0])}`, () => {
    for (const [end, goOn] of Object.entries(AFTERWARDS))
      test(`then ${end}`, async () => {
        const answer = await answered(path, body, (response) =>
          written(response, 'application/json', [Buffer.from(`\n${JSON.stringify(given)}`)], () => goOn(response)),
        )
        assert.equal(answer.status, 200, answer.text)
        assert.match(answer.text, says)
        assert.equal((await row(answer)).status, 'completed')
      })
    test('and is called a text', async () => {
      const answer = await answered(path, body, (response) =>
        written(response, 'text/plain', [Buffer.from(`\n${JSON.stringify(given)}`)], () => undefined),
      )
      assert.equal(answer.status, 200, answer.text)
    })
  })

test('blanks before the answer keep its connection for as long as they come, and half an answer is none', async () => {
  const late = await answered(CHAT, chatOf({ stream: false }), (response) => {
    written(response, 'application/json', [Buffer.from('\n')], () => drip(response, Buffer.from('\n')))
    server.clock.after(20_000, () => response.end(JSON.stringify(COMPLETION)))
  })
  assert.equal(late.status, 200)
  const half = await answered(CHAT, chatOf({ stream: false }), (response) =>
    written(response, 'application/json', [Buffer.from(JSON.stringify(COMPLETION).slice(0, -1))], () =>
      ENDS['a reset']?.(response, openai('')),
    ),
  )
  assert.equal(half.status, 502)
})

test('a refusal that is complete is told as what it is, and so are a compressed answer and a transcript in events', async () => {
  const refused = await answered(CHAT, chatOf(), (response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).write('{"error":{"message":"too many bananas"}}')
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /too many bananas/)
  for (const end of [AFTERWARDS['silence'], AFTERWARDS['a reset']]) {
    const packed = createGzip()
    const answer = await answered(CHAT, chatOf({ stream: false }), (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      packed.pipe(response)
      packed.write(JSON.stringify(COMPLETION))
      packed.flush(() => setImmediate(() => end?.(response)))
    })
    assert.match(answer.text, /Hello \[x/)
    packed.destroy()
  }
  const [, form] = WHOLES.at(-1) ?? []
  const events = [
    data({ type: 'transcript.text.delta', delta: 'Hel' }),
    data({ type: 'transcript.text.done', text: 'Hello', usage: { type: 'duration', seconds: 1 } }),
  ]
  const heard = await answered('/v1/audio/transcriptions', form, (response) =>
    written(response, SSE, events, () => undefined),
  )
  assert.equal(heard.body.text, 'Hello')
})
