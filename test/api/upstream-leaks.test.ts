import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { audioForm, wavFile } from '../harness/audio-files.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { videoUntil } from '../harness/video-jobs.ts'
import { found } from '../harness/patience.ts'
import { completion } from '../harness/provider-answers.ts'

/**
 * An upstream's words about the operator reach no client: in no header of any kind's answer, in no error of any adapter
 * (guarantees.md requirements 16 and 17).
 */
const KEY = 'canary.provider.key.Zq81'
const CANARIES = [
  KEY,
  'sk-proj-CANARYabcdef1234567890abcdef',
  'sk-ant-api03-CANARY_9f8e7d6c5b',
  'AIzaSyCANARY0123456789abcdefghijklmnop',
  'AKIACANARY0123456789'.slice(0, 20),
  'org-CANARY1234567890',
  'proj_CANARY1234567890',
  'acct_CANARY0123456789',
  'gsk_CANARY0123456789',
  'r8_CANARY0123456789abcdef0123456789abcd',
  'projects/canary-project-4711',
  'https://internal.canary.example/v1/admin?token=CANARY',
  'ops@canary.example',
  'arn:aws:iam::123456789012:role/CANARY',
  '7f9c1f4e-CANA-4e2b-9c1f-0123456789ab',
  'Bearer CANARYtoken0123456789',
  '10.20.30.40:8443',
  '210987654321',
  'req_CANARY0123456789',
]
const SAID = `The request failed for ${CANARIES.join(' and ')}; the value must be below 5`
/** Forty headers that our answers must not pass on. */
const HOSTILE: Readonly<Record<string, string>> = {
  'set-cookie': 'tg_sid=CANARY; Path=/',
  location: 'https://canary.example/',
  server: 'canary/1.0',
  'alt-svc': 'h3="canary.example:443"',
  'openai-organization': 'org-CANARY1234567890',
  'openai-project': 'proj_CANARY',
  'openai-processing-ms': '4711',
  'openai-version': 'CANARY',
  'x-ratelimit-limit-requests': '4711',
  'x-ratelimit-remaining-tokens': '4711',
  'x-ratelimit-reset-requests': '4711s',
  'anthropic-organization-id': 'CANARY',
  'anthropic-ratelimit-requests-limit': '4711',
  'request-id': 'req_CANARY',
  'cf-ray': 'CANARY',
  'cf-cache-status': 'CANARY',
  via: '1.1 canary',
  'x-powered-by': 'canary',
  'x-served-by': 'canary',
  'x-cache': 'canary',
  'x-amz-cf-id': 'CANARY',
  'x-amzn-requestid': 'CANARY',
  'x-goog-api-key': KEY,
  authorization: `Bearer ${KEY}`,
  'www-authenticate': 'Basic realm="canary"',
  'proxy-authenticate': 'Basic realm="canary"',
  'access-control-allow-origin': 'https://canary.example',
  'access-control-allow-credentials': 'true',
  'content-security-policy': 'script-src https://canary.example',
  'strict-transport-security': 'max-age=4711',
  'clear-site-data': '"*"',
  refresh: '0; url=https://canary.example/',
  link: '<https://canary.example>; rel=preload',
  'x-frame-options': 'ALLOW-FROM https://canary.example',
  'content-disposition': 'attachment; filename="canary.exe"',
  'x-accel-redirect': '/canary',
  'x-sendfile': '/etc/canary',
  'x-request-id': 'CANARY-request',
  'retry-after': '4711',
  'x-should-retry': 'canary',
  'x-generation-id': 'CANARY',
  'idempotent-replayed': 'canary',
  'service-worker-allowed': '/canary',
  sourcemap: 'https://canary.example/map',
}
const CHAT_ADAPTERS = ['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama', 'ai-sdk'] as const

assert.ok(Object.keys(HOSTILE).length >= 40)
const upstream = await startScriptedUpstream({ forgets: true })
const price = { currency: 'RUB', prompt: 1, completion: 1 }
const provider = (adapter: string): Record<string, unknown> => ({
  name: `Provider ${adapter}`,
  adapter,
  base_url: `${upstream.url}/${adapter}`,
  api_key: adapter === 'bedrock' ? `AKIAEXAMPLE00000:${KEY}:us-east-1` : KEY,
  ...(adapter === 'ai-sdk' ? { package: '@ai-sdk/mistral' } : {}),
})
const tollgate = await gateway({
  catalog: JSON.stringify({
    bundled: false,
    markup: 1,
    rate_limit: { requests: 100_000, window: 60 },
    providers: Object.fromEntries(
      [...CHAT_ADAPTERS, 'deepgram', 'elevenlabs', 'replicate'].map((adapter) => [adapter, provider(adapter)]),
    ),
    models: [
      ...CHAT_ADAPTERS.map((adapter) => ({
        id: `test/${adapter}`,
        type: 'chat',
        context_length: 100_000,
        endpoints: [{ provider: adapter, model: 'm', price }],
      })),
      {
        id: 'test/embed',
        type: 'embeddings',
        context_length: 8_000,
        endpoints: [{ provider: 'openai', model: 'm', price: { currency: 'RUB', prompt: 1 } }],
      },
      {
        id: 'test/rerank',
        type: 'rerank',
        context_length: 8_000,
        endpoints: [{ provider: 'cohere', model: 'm', price: { currency: 'RUB', search: 1 } }],
      },
      {
        id: 'test/moderation',
        type: 'moderation',
        endpoints: [{ provider: 'openai', model: 'm', price: { currency: 'RUB', request: 1 } }],
      },
      {
        id: 'test/image',
        type: 'image',
        endpoints: [{ provider: 'openai', model: 'dall-e-3', price: { currency: 'RUB', image_output: 1 } }],
      },
      ...['openai', 'deepgram', 'elevenlabs'].map((adapter) => ({
        id: `test/tts-${adapter}`,
        type: 'tts',
        endpoints: [
          {
            provider: adapter,
            model: adapter === 'openai' ? 'tts-1' : 'm',
            price: { currency: 'RUB', characters: 1 },
          },
        ],
      })),
      ...['openai', 'deepgram', 'elevenlabs'].map((adapter) => ({
        id: `test/stt-${adapter}`,
        type: 'transcription',
        endpoints: [
          {
            provider: adapter,
            model: adapter === 'openai' ? 'whisper-1' : 'm',
            price: { currency: 'RUB', second: 0.01 },
          },
        ],
      })),
      ...['openai', 'replicate'].map((adapter) => ({
        id: `test/film-${adapter}`,
        type: 'video',
        supported_durations: [4],
        endpoints: [{ provider: adapter, model: 'a/sora', price: { currency: 'RUB', video_second: 1 } }],
      })),
    ],
  }),
})
const key = (await tollgate.createAccount({ balance: 100_000 })).key

function post(path: string, body: unknown): Promise<Answer> {
  return tollgate.post(path, key, body)
}

const chat = (adapter: string, fields: Record<string, unknown> = {}): Promise<Answer> =>
  post('/v1/chat/completions', {
    model: `test/${adapter}`,
    max_tokens: 5,
    messages: [{ role: 'user', content: 'x' }],
    ...fields,
  })
const transcribe = (adapter: string): Promise<Answer> => {
  const form = audioForm({ model: `test/stt-${adapter}` }, { bytes: wavFile(1), type: 'audio/wav' })
  return tollgate.request('POST', '/v1/audio/transcriptions', { key, body: form.body, headers: form.headers })
}

/** Every call of an upstream, by adapter. */
const CALLS: readonly (readonly [what: string, call: () => Promise<Answer>])[] = [
  ...CHAT_ADAPTERS.flatMap(
    (adapter) =>
      [
        [`chat of ${adapter}`, () => chat(adapter)],
        [`stream of ${adapter}`, () => chat(adapter, { stream: true })],
      ] as const,
  ),
  ['responses', () => post('/v1/responses', { model: 'test/openai', input: 'x' })],
  ['responses, streamed', () => post('/v1/responses', { model: 'test/anthropic', input: 'x', stream: true })],
  ['completions', () => post('/v1/completions', { model: 'test/openai', prompt: 'x' })],
  ['embeddings', () => post('/v1/embeddings', { model: 'test/embed', input: 'x' })],
  ['rerank', () => post('/v1/rerank', { model: 'test/rerank', query: 'x', documents: ['a'] })],
  ['moderation', () => post('/v1/moderations', { model: 'test/moderation', input: 'x' })],
  ['image', () => post('/v1/images/generations', { model: 'test/image', prompt: 'x' })],
  ...['openai', 'deepgram', 'elevenlabs'].flatMap(
    (adapter) =>
      [
        [
          `speech of ${adapter}`,
          () => post('/v1/audio/speech', { model: `test/tts-${adapter}`, input: 'x', voice: 'alloy' }),
        ],
        [`transcription of ${adapter}`, () => transcribe(adapter)],
      ] as const,
  ),
]

/** The same complaint in the form of every protocol, so that each adapter finds it. */
function complaint(status: number): Record<string, unknown> {
  return {
    type: 'error',
    message: SAID,
    Message: SAID,
    ...(status === 400 ? { __type: 'ValidationException' } : {}),
    err_code: 'CANARY',
    err_msg: SAID,
    detail: SAID,
    object: 'error',
    id: 'CANARY-id',
    request_id: 'req_CANARY0123456789',
    error: {
      message: SAID,
      type: 'invalid_request_error',
      code: status,
      status: 'INVALID_ARGUMENT',
      param: SAID,
      details: [{ '@type': 'x', reason: SAID, metadata: { consumer: 'projects/canary-project-4711' } }],
    },
  }
}

function assertClean(answer: Answer, what: string): void {
  const all = `${answer.text}\n${JSON.stringify(answer.headers)}`
  for (const canary of [...CANARIES, 'CANARY', 'canary', new URL(upstream.url).host])
    assert.ok(!all.includes(canary), `${what} shows ${canary}: ${all.slice(0, 2_000)}`)
}

function answerAll(script: (request: Received, response: ServerResponse) => void): void {
  upstream.answer((response, request) => script(request, response))
}

for (const status of [400, 401, 402, 403, 404, 408, 409, 413, 415, 422, 429, 498, 500, 502, 503, 529]) {
  test(`errors of ${status}: no adapter lets the operator's keys, names or addresses through`, async () => {
    answerAll((_request, response) =>
      response
        .writeHead(status, {
          ...HOSTILE,
          'content-type': 'application/json',
          ...(status === 400 ? { 'x-amzn-errortype': 'ValidationException:http://canary.example/' } : {}),
        })
        .end(JSON.stringify(complaint(status))),
    )
    for (const [what, call] of CALLS) {
      const answer = await call()
      assert.ok(answer.status >= 400, `${what}: ${answer.status} ${answer.text}`)
      assertClean(answer, `${what} at ${status}`)
      // A refused credential concerns the operator, never the client.
      if (status === 401 || status === 403 || status >= 500)
        assert.ok(answer.status >= 500, `${what}: ${answer.status}`)
    }
    assert.ok(
      upstream.received.length >= CALLS.length,
      `${upstream.received.length} of ${CALLS.length} calls reached the upstream`,
    )
  })
}

test('an error within a 200, whole and in a stream, is shown in our words', async () => {
  for (const type of ['application/json', 'text/event-stream', 'text/html']) {
    const body = JSON.stringify(complaint(400))
    answerAll((_request, response) =>
      response
        .writeHead(200, { ...HOSTILE, 'content-type': type })
        .end(
          type === 'text/event-stream'
            ? `event: error\ndata: ${body}\n\ndata: [DONE]\n\n`
            : type === 'text/html'
              ? `<html>${SAID}</html>`
              : body,
        ),
    )
    for (const [what, call] of CALLS) {
      // Audio may be any bytes: a provider's audio is not read.
      if (what.startsWith('speech') || (what.startsWith('transcription') && type === 'text/html')) continue
      assertClean(await call(), `${what} in ${type}`)
    }
  }
})

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

/** Good answers of OpenAI's protocol, for every request. */
function good({ path, json }: Received, response: ServerResponse): void {
  const send = (type: string, body: string | Buffer): unknown =>
    response.writeHead(200, { ...HOSTILE, 'content-type': type }).end(body)
  const wish = json as { stream?: boolean } | undefined
  if (path.endsWith('/chat/completions') && wish?.stream === true) {
    const chunk = (delta: unknown, finish: string | null): string =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...(finish === null ? {} : { usage: USAGE }) })}\n\n`
    send(
      'text/event-stream',
      `${chunk({ role: 'assistant', content: 'ok' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`,
    )
  } else if (path.endsWith('/chat/completions'))
    send('application/json', JSON.stringify(completion({ content: 'ok' }, { id: 'chatcmpl-1', usage: USAGE })))
  else if (path.endsWith('/completions'))
    send(
      'application/json',
      JSON.stringify({
        id: 'cmpl-1',
        object: 'text_completion',
        choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }],
        usage: USAGE,
      }),
    )
  else if (path.endsWith('/embeddings'))
    send(
      'application/json',
      JSON.stringify({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.5] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    )
  else if (path.endsWith('/moderations'))
    send(
      'application/json',
      JSON.stringify({ id: 'modr', results: [{ flagged: false, categories: {}, category_scores: {} }] }),
    )
  else if (path.endsWith('/rerank'))
    send(
      'application/json',
      JSON.stringify({
        id: 'r',
        results: [{ index: 0, relevance_score: 0.5 }],
        meta: { billed_units: { search_units: 1 } },
      }),
    )
  else if (path.endsWith('/images/generations'))
    send('application/json', JSON.stringify({ created: 1, data: [{ b64_json: PNG }] }))
  else if (path.endsWith('/audio/speech')) send('audio/mpeg', Buffer.from('fffb9000'.repeat(300), 'hex'))
  else if (path.endsWith('/audio/transcriptions')) send('application/json', JSON.stringify({ text: 'ok', duration: 1 }))
  else response.writeHead(404).end()
}

/** One black pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
/** All headers that an answer of the customer API may have. */
const ALLOWED: ReadonlySet<string> = new Set([
  'x-request-id',
  'x-content-type-options',
  'cache-control',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-generation-id',
  'x-max-tokens',
  'content-type',
  'content-length',
  'content-disposition',
  'accept-ranges',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'date',
  'x-accel-buffering',
  'retry-after',
  'x-should-retry',
])

test(`${Object.keys(HOSTILE).length} hostile headers of an upstream: not one comes through with an answer of any kind`, async () => {
  answerAll(good)
  const calls: readonly (readonly [string, () => Promise<Answer>])[] = [
    ['chat', () => chat('openai')],
    ['stream', () => chat('openai', { stream: true })],
    ['responses', () => post('/v1/responses', { model: 'test/openai', input: 'x' })],
    ['responses, streamed', () => post('/v1/responses', { model: 'test/openai', input: 'x', stream: true })],
    ['completions', () => post('/v1/completions', { model: 'test/openai', prompt: 'x' })],
    ['embeddings', () => post('/v1/embeddings', { model: 'test/embed', input: 'x' })],
    ['rerank', () => post('/v1/rerank', { model: 'test/rerank', query: 'x', documents: ['a'] })],
    ['moderation', () => post('/v1/moderations', { model: 'test/moderation', input: 'x' })],
    ['image', () => post('/v1/images/generations', { model: 'test/image', prompt: 'x' })],
    ['speech', () => post('/v1/audio/speech', { model: 'test/tts-openai', input: 'x', voice: 'alloy' })],
    ['transcription', () => transcribe('openai')],
  ]
  for (const [what, call] of calls) {
    const answer = await call()
    assert.equal(answer.status, 200, `${what}: ${answer.text}`)
    assertClean(answer, what)
    assert.deepEqual(
      Object.keys(answer.headers).filter((name) => !ALLOWED.has(name)),
      [],
      what,
    )
    assert.equal(answer.headers['access-control-allow-origin'], '*')
  }
})

test('a refusal is in the log with what the provider said, without secrets, and without what repeats the prompt', async () => {
  const prompt = 'The harbour of Trieste in winter'
  const said = async (message: string): Promise<string> => {
    answerAll((_request, response) =>
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message, code: 'invalid_api_key' } })),
    )
    const { headers } = await post('/v1/chat/completions', {
      model: 'test/openai',
      messages: [{ role: 'user', content: prompt }],
    })
    const line = await found(5_000, 'the line of the request', () =>
      tollgate.logs().find((text) => text.includes(`"request_id":"${headers['x-request-id']}"`)),
    )
    return JSON.parse(line).provider_said
  }
  assert.match(
    await said('Incorrect API key provided: sk-CANARY0123456789'),
    /^Provider openai 401: Incorrect API key provided: \[redacted\]$/,
  )
  assert.match(await said(`You may not ask: ${prompt}`), /401: \[withheld: it may repeat the prompt\]$/)
})

test('a video job: neither what its provider says of a failure nor the headers of its file come through', async () => {
  for (const adapter of ['openai', 'replicate']) {
    for (const status of [400, 401, 403, 422, 500]) {
      answerAll((_request, response) =>
        response
          .writeHead(status, { ...HOSTILE, 'content-type': 'application/json' })
          .end(JSON.stringify(complaint(status))),
      )
      const made = await post('/v1/videos', { model: `test/film-${adapter}`, prompt: 'x', duration: 4 })
      assert.equal(made.status, 202, made.text)
      if (status === 500) continue
      const job = await videoUntil(tollgate, key, made.body.id, ['failed', 'completed'])
      const shown = await tollgate.get(`/v1/videos/${made.body.id}`, key)
      assert.equal(job.status, 'failed')
      assertClean(shown, `${adapter} at ${status}`)
    }
  }
})

test('after all of it the log names no secret either', async () => {
  const lines = tollgate.logs().join('\n')
  for (const secret of [KEY, 'sk-proj-CANARY', 'sk-ant-api03', 'AIzaSyCANARY', 'CANARYtoken'])
    assert.ok(
      !lines.includes(secret),
      `the log shows ${secret}: ${lines.split('\n').find((one) => one.includes(secret))}`,
    )
})
