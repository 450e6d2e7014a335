import assert from 'node:assert/strict'
import { generateKeyPairSync, verify, constants } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { beforeEach, test } from 'node:test'
import { wavFile, audioForm } from '../harness/audio-files.ts'
import { chat } from '../harness/chat-fold.ts'
import { gateway } from '../harness/gateway.ts'
import { answers, startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'

const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(60, 7)])
const KEY = 'AQVN-key-of-the-service-account'
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const AUTHORIZED_KEY = JSON.stringify({
  id: 'ajek-id-of-the-key',
  service_account_id: 'ajes-account',
  private_key: `PLEASE DO NOT REMOVE THIS LINE! Yandex.Cloud SA Key ID <ajek-id-of-the-key>\n${privateKey.export({ type: 'pkcs8', format: 'pem' })}`,
})
const TOOL = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }

let looks = 0

const upstream = await startScriptedUpstream()
const model = (id: string, type: string, name: string, price: object, more: object = {}): object => ({
  id: `yandex/${id}`,
  type,
  endpoints: [{ provider: 'studio', model: name, price: { currency: 'RUB', ...price } }],
  ...more,
})
const server = await gateway({
  catalog: JSON.stringify({
    markup: 1,
    providers: {
      slow: { adapter: 'yandex', base_url: `${upstream.url}/slow`, api_key: KEY, timeouts: { total: 1 } },
      studio: { adapter: 'yandex', base_url: upstream.url, api_key: KEY },
      token: {
        adapter: 'yandex',
        base_url: upstream.url,
        auth: { type: 'yandex', key: AUTHORIZED_KEY, token_url: `${upstream.url}/iam/v1/tokens` },
      },
    },
    models: [
      model(
        'gpt',
        'chat',
        'gpt://folder/yandexgpt/latest',
        { prompt: 800, completion: 800 },
        { context_length: 1_000 },
      ),
      model('vectors', 'embeddings', 'emb://folder/text-search-doc/latest', { prompt: 10 }, { context_length: 512 }),
      model('art', 'image', 'art://folder/yandex-art/latest', { image_output: 2.2 }, { supported_sizes: ['1280x720'] }),
      model('speech', 'tts', 'general', { characters: 1_000 }, { supported_voices: ['alena'] }),
      model('hearing', 'transcription', 'general', { second: 0.01 }),
      {
        id: 'yandex/art-slow',
        type: 'image',
        endpoints: [{ provider: 'slow', model: 'art', price: { currency: 'RUB', image_output: 2 } }],
      },
      {
        id: 'yandex/by-token',
        type: 'chat',
        context_length: 1_000,
        endpoints: [
          {
            provider: 'token',
            model: 'gpt://folder/yandexgpt',
            price: { currency: 'RUB', prompt: 1, completion: 1 },
          },
        ],
      },
    ],
  }),
})
const { key } = await server.createAccount({ balance: 1_000 })

beforeEach(() => upstream.answer(play))

function play(response: ServerResponse, request: Received): void {
  const path = request.path
  if (path === '/iam/v1/tokens')
    return answers({ iamToken: 't1.iam-token', expiresAt: new Date(Date.now() + 43_200_000) })(response)
  if (![`Api-Key ${KEY}`, 'Bearer t1.iam-token'].includes(request.headers.authorization ?? ''))
    return answers({ error: { message: `no ${request.headers.authorization ?? ''}` } }, 401)(response)
  if (path.startsWith('/speech/v1/tts'))
    return void response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': 64 }).end(Buffer.alloc(64, 9))
  if (path.startsWith('/speech/v1/stt')) return answers({ result: 'привет мир' })(response)
  if (path.startsWith('/slow/')) return answers({ id: 'op-2', done: false })(response)
  if (path === '/foundationModels/v1/imageGenerationAsync') return answers({ id: 'op-1', done: false })(response)
  if (path === '/operations/op-1') {
    looks += 1
    return answers(
      looks < 2
        ? { id: 'op-1', done: false }
        : { id: 'op-1', done: true, response: { image: JPEG.toString('base64') } },
    )(response)
  }
  if (path === '/v1/embeddings') {
    const text = String(upstream.requests.at(-1)?.['input'])
    return answers({ data: [{ index: 0, embedding: [text.length, 0.5] }], usage: { prompt_tokens: text.length } })(
      response,
    )
  }
  const sent = upstream.requests.at(-1) ?? {}
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const calls = {
    tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
  }
  const message = { role: 'assistant', ...(sent['tools'] === undefined ? { content: 'Привет' } : calls) }
  const finish = sent['tools'] === undefined ? 'stop' : 'tool_calls'
  if (sent['stream'] !== true)
    return answers({ id: 'up', choices: [{ index: 0, message, finish_reason: finish }], usage })(response)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(
    `data: ${JSON.stringify({ id: 'up', choices: [{ index: 0, delta: message, finish_reason: finish }] })}\n\n`,
  )
  response.end(`data: ${JSON.stringify({ id: 'up', choices: [], usage })}\n\ndata: [DONE]\n\n`)
}

async function lastCost(): Promise<unknown> {
  return (await server.get('/v1/generation?limit=1', key)).body.logs[0].total_cost
}

for (const stream of [false, true])
  test(`chat and tools in OpenAI's protocol, with a key of Yandex Cloud (stream: ${stream})`, async () => {
    const body = { model: 'yandex/gpt', max_tokens: 50, stream, messages: [{ role: 'user', content: 'Привет!' }] }
    assert.equal((await chat(server.url, key, body)).choices.get(0)?.text, 'Привет')
    assert.equal(upstream.received.at(-1)?.path, '/v1/chat/completions')
    assert.equal(upstream.requests.at(-1)?.['model'], 'gpt://folder/yandexgpt/latest')
    assert.equal(await lastCost(), 0.012)
    const called = await chat(server.url, key, { ...body, tools: [TOOL] })
    assert.deepEqual(called.choices.get(0)?.toolCalls, [{ id: 'c1', name: 'weather', arguments: '{}' }])
  })

test('a token for an authorized key: a JWT of PS256, sent as a bearer', async () => {
  const answer = await chat(server.url, key, {
    model: 'yandex/by-token',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'Привет!' }],
  })
  assert.equal(answer.choices.get(0)?.text, 'Привет')
  const asked = upstream.received.find(({ path }) => path === '/iam/v1/tokens')
  const { jwt } = JSON.parse(asked?.body.toString() ?? '') as { jwt: string }
  const [head = '', claims = '', signature = ''] = jwt.split('.')
  const options = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
  assert.ok(verify('sha256', Buffer.from(`${head}.${claims}`), options, Buffer.from(signature, 'base64url')))
  const said = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
  assert.deepEqual([said['iss'], said['aud']], ['ajes-account', 'https://iam.api.cloud.yandex.net/iam/v1/tokens'])
})

test('each text has its own request for its vector', async () => {
  const { status, body, text } = await server.post('/v1/embeddings', key, {
    model: 'yandex/vectors',
    input: ['раз', 'четыре'],
  })
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.data.map(({ embedding }: { embedding: unknown }) => embedding),
    [
      [3, 0.5],
      [6, 0.5],
    ],
  )
  assert.equal(await lastCost(), 0.00009)
})

test('a picture is an operation that is asked until it is done', async () => {
  const { status, body, text } = await server.post('/v1/images/generations', key, {
    model: 'yandex/art',
    prompt: 'Кот',
    size: '1280x720',
    response_format: 'b64_json',
  })
  assert.equal(status, 200, text)
  assert.deepEqual(Buffer.from(body.data[0].b64_json, 'base64'), JPEG)
  assert.deepEqual(upstream.requests.at(-1)?.['generationOptions'], {
    aspectRatio: { widthRatio: '1280', heightRatio: '720' },
  })
  assert.equal(await lastCost(), 2.2)
})

test('a picture that is not done in the total time of its provider fails, and is asked for no more', async () => {
  const { status, text } = await server.post('/v1/images/generations', key, { model: 'yandex/art-slow', prompt: 'Кот' })
  assert.equal(status, 504, text)
  const asked = upstream.received.filter(({ path }) => path === '/slow/operations/op-2').length
  assert.ok(asked >= 1 && asked <= 2, String(asked))
})

test('speech in both directions at SpeechKit', async () => {
  const spoken = await server.post('/v1/audio/speech', key, {
    model: 'yandex/speech',
    input: 'Привет',
    voice: 'alena',
    response_format: 'mp3',
    speed: 1.5,
  })
  assert.equal(spoken.status, 200)
  const form = new URLSearchParams(upstream.received.at(-1)?.body.toString())
  assert.deepEqual(Object.fromEntries(form), { text: 'Привет', format: 'mp3', voice: 'alena', speed: '1.5' })
  assert.equal(await lastCost(), 0.006)
  const heard = await server.request('POST', '/v1/audio/transcriptions', {
    key,
    ...audioForm({ model: 'yandex/hearing' }, { bytes: wavFile(2) }),
  })
  assert.equal(heard.body.text, 'привет мир', heard.text)
  assert.match(upstream.received.at(-1)?.path ?? '', /stt:recognize\?lang=auto&format=lpcm&sampleRateHertz=\d+$/)
  assert.equal(await lastCost(), 0.02)
})
