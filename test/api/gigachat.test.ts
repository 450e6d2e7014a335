import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { beforeEach, test } from 'node:test'
import { wavFile, audioForm } from '../harness/audio-files.ts'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { patient, until } from '../harness/patience.ts'
import { gateway } from '../harness/gateway.ts'
import { answers, startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'

const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(60, 7)])
const FILE = 'b28fbd8f-8bd5-4d0e-a6ec-a4a1d5a7e0b9'
/** As the service counts: what its cache served is not among the tokens of the prompt. */
const USAGE = { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16, precached_prompt_tokens: 37 }
const STATE = '77d3fb14-457a-46ba-937e-8d856156d003'
const CALL = { name: 'weather', arguments: { place: 'Moscow' } }
const TOOL = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}

const upstream = await startScriptedUpstream()
const auth = (scope: string): object => ({ type: 'gigachat', key: 'a2V5', scope, token_url: `${upstream.url}/oauth` })
const model = (id: string, type: string, provider: string, price: object, more: object = {}): object => ({
  id,
  type,
  endpoints: [
    { provider, model: id === 'sber/own' ? 'GigaChat-2' : id.split('/')[1], price: { currency: 'RUB', ...price } },
  ],
  ...more,
})
const server = await gateway({
  catalog: JSON.stringify({
    markup: 1,
    providers: {
      gigachat: { adapter: 'gigachat', base_url: `${upstream.url}/api/v1`, auth: auth('GIGACHAT_API_PERS') },
      salute: { adapter: 'gigachat', base_url: `${upstream.url}/rest/v1`, auth: auth('SALUTE_SPEECH_PERS') },
    },
    models: [
      model(
        'sber/own',
        'chat',
        'gigachat',
        { prompt: 200, completion: 500 },
        { context_length: 10_000, input_modalities: ['text', 'image'] },
      ),
      model('sber/Embeddings', 'embeddings', 'gigachat', { prompt: 40 }, { context_length: 512 }),
      model('sber/pictures', 'image', 'gigachat', { image_output: 2 }),
      model('sber/speech', 'tts', 'salute', { characters: 1_000 }, { supported_voices: ['May', 'Nec'] }),
      model('sber/hearing', 'transcription', 'salute', { second: 0.5 }),
    ],
  }),
})
const { key } = await server.createAccount({ balance: 1_000 })

beforeEach(() => upstream.answer(play))

function play(response: ServerResponse, request: Received): void {
  const path = request.path
  if (path === '/oauth') return answers({ access_token: 'giga-token', expires_at: Date.now() + 1_800_000 })(response)
  if (request.headers.authorization !== 'Bearer giga-token')
    return answers({ status: 401, message: 'Token has expired' }, 401)(response)
  if (path === '/api/v1/files' || path.endsWith('/delete')) return answers({ id: FILE, object: 'file' })(response)
  if (path.startsWith('/api/v1/files/')) return void response.writeHead(200, { 'content-type': 'image/jpg' }).end(JPEG)
  if (path.startsWith('/rest/v1/text:synthesize'))
    return void response.writeHead(200, { 'content-type': 'audio/ogg', 'content-length': 64 }).end(Buffer.alloc(64, 9))
  if (path.startsWith('/rest/v1/speech:recognize'))
    return answers({ status: 200, result: ['Привет', 'мир'], emotions: [] })(response)
  if (path === '/api/v1/embeddings')
    return answers({
      object: 'list',
      data: [
        { object: 'embedding', embedding: [0.25, 0.5], index: 1, usage: { prompt_tokens: 3 } },
        { object: 'embedding', embedding: [0.75, 1], index: 0, usage: { prompt_tokens: 5 } },
      ],
    })(response)
  const sent = upstream.requests.at(-1) ?? {}
  const message =
    sent['functions'] === undefined
      ? {
          role: 'assistant',
          content: sent['function_call'] === 'auto' ? `Вот: <img src="${FILE}" fuse="true"/>` : 'Привет',
        }
      : { role: 'assistant', content: '', function_call: CALL, functions_state_id: STATE }
  const finish = sent['functions'] === undefined ? 'stop' : 'function_call'
  if (sent['stream'] !== true)
    return answers({ choices: [{ message, index: 0, finish_reason: finish }], model: 'GigaChat-2', usage: USAGE })(
      response,
    )
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const { role, ...delta } = message
  response.write(`data: ${JSON.stringify({ choices: [{ delta: { role, ...delta }, index: 0 }] })}\n\n`)
  response.write(
    `data: ${JSON.stringify({ choices: [{ delta: { content: '' }, index: 0, finish_reason: finish }], usage: USAGE })}\n\n`,
  )
  response.end('data: [DONE]\n\n')
}

function ask(body: object): Promise<FoldedAnswer> {
  return chat(server.url, key, {
    model: 'sber/own',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Привет, как там погода сегодня?' }],
    ...body,
  })
}

async function lastLog(): Promise<Record<string, unknown>> {
  return (await server.get('/v1/generation?limit=1', key)).body.logs[0]
}

for (const stream of [false, true]) {
  test(`a chat is answered and charged in rubles for what is billed (stream: ${stream})`, async () => {
    const answer = await ask({ stream, temperature: 0.5, frequency_penalty: 1 })
    assert.equal(answer.choices.get(0)?.text, 'Привет')
    const sent = upstream.requests.at(-1)
    assert.deepEqual(
      [sent?.['model'], sent?.['temperature'], sent?.['frequency_penalty'], sent?.['stream_options']],
      ['GigaChat-2', 0.5, undefined, undefined],
    )
    // 12 × 200 and 4 × 500 rubles for a million.
    assert.equal((await lastLog())['total_cost'], 0.0044)
  })

  test(`tools are its functions, whose arguments are objects (stream: ${stream})`, async () => {
    const answer = await ask({ stream, tools: [TOOL] })
    const [call] = answer.choices.get(0)?.toolCalls.values() ?? []
    assert.deepEqual([call?.name, JSON.parse(call?.arguments ?? '')], ['weather', CALL.arguments])
    assert.deepEqual(upstream.requests.at(-1)?.['functions'], [TOOL.function])
    const next = await ask({
      stream,
      messages: [
        { role: 'user', content: 'Какая там погода?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: call?.id, type: 'function', function: { name: 'weather', arguments: '{"place":"Moscow"}' } },
          ],
        },
        { role: 'tool', tool_call_id: call?.id, content: 'warm' },
        { role: 'system', content: 'Be short.' },
      ],
    })
    assert.equal(next.choices.get(0)?.text, 'Привет')
    const messages = upstream.requests.at(-1)?.['messages'] as readonly Record<string, unknown>[]
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'function'],
    )
    assert.deepEqual(messages[2]?.['function_call'], CALL)
    // What keeps the state of the model comes back with the call.
    assert.equal(messages[2]?.['functions_state_id'], STATE)
    assert.ok(
      (call?.id.length ?? 0) <= 40 &&
        call?.id !== (await ask({ stream, tools: [TOOL] })).choices.get(0)?.toolCalls[0]?.id,
    )
  })
}

for (const stream of [false, true])
  test(`a picture of a message is stored first, and removed when the answer has ended (stream: ${stream})`, async () => {
    const url = `data:image/jpeg;base64,${JPEG.toString('base64')}`
    const from = upstream.received.length
    const answer = await ask({
      stream,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Что это?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
    assert.equal(answer.choices.get(0)?.text, 'Привет')
    await until(patient(5_000), 'the file is removed', () => upstream.received.length >= from + 3)
    const [put, chatted, removed] = upstream.received.slice(from)
    assert.deepEqual(
      [put?.path, chatted?.path, removed?.path],
      ['/api/v1/files', '/api/v1/chat/completions', `/api/v1/files/${FILE}/delete`],
    )
    assert.ok(put?.body.includes(JPEG) && put.body.includes('name="purpose"\r\n\r\ngeneral'))
    assert.deepEqual(upstream.requests.at(-1)?.['messages'], [
      { role: 'user', content: 'Что это?', attachments: [FILE] },
    ])
  })

test('what the service calls a file changes no address', async () => {
  upstream.answer((response, request) => {
    if (request.path === '/api/v1/files') answers({ id: '..' })(response)
    else play(response, request)
  })
  const from = upstream.received.length
  const url = `data:image/jpeg;base64,${JPEG.toString('base64')}`
  await ask({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })
  await until(patient(5_000), 'the file is removed', () => upstream.received.length >= from + 3)
  assert.equal(upstream.received.at(-1)?.path, '/api/v1/files/%252E%252E/delete')
})

test('a provider of this name brings the bundled models with their prices in rubles', async () => {
  const answer = await ask({ model: 'sber/gigachat-2-pro' })
  assert.equal(answer.choices.get(0)?.text, 'Привет')
  assert.equal(upstream.requests.at(-1)?.['model'], 'GigaChat-2-Pro')
  // 12 and 4 tokens at 500 rubles for a million.
  assert.equal((await lastLog())['total_cost'], 0.008)
})

test('vectors come in the order of the texts, and their tokens are added up', async () => {
  const { status, body, text } = await server.post('/v1/embeddings', key, {
    model: 'sber/Embeddings',
    input: ['раз два три', 'четыре'],
  })
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.data.map(({ embedding }: { embedding: unknown }) => embedding),
    [
      [0.75, 1],
      [0.25, 0.5],
    ],
  )
  assert.equal(body.usage.prompt_tokens, 8)
  assert.equal((await lastLog())['total_cost'], 0.00032)
})

test('a picture is made by a function of the model, and fetched with the token', async () => {
  const { status, body, text } = await server.post('/v1/images/generations', key, {
    model: 'sber/pictures',
    prompt: 'Нарисуй кота',
    response_format: 'b64_json',
  })
  assert.equal(status, 200, text)
  assert.deepEqual(Buffer.from(body.data[0].b64_json, 'base64'), JPEG)
  assert.equal(upstream.received.at(-1)?.path, `/api/v1/files/${FILE}/content`)
  assert.equal((await lastLog())['total_cost'], 2)
})

test('speech and its text at SaluteSpeech, with a token of its own scope', async () => {
  const spoken = await server.post('/v1/audio/speech', key, {
    model: 'sber/speech',
    input: 'Привет',
    voice: 'Nec',
    response_format: 'opus',
  })
  assert.equal(spoken.status, 200)
  const { path, headers, body } = upstream.received.at(-1) ?? { path: '', headers: {}, body: Buffer.alloc(0) }
  assert.equal(path, '/rest/v1/text:synthesize?format=opus&voice=Nec_24000')
  assert.deepEqual([headers['content-type'], body.toString()], ['application/text', 'Привет'])
  assert.equal((await lastLog())['total_cost'], 0.006)
  const wav = wavFile(2)
  const heard = await server.request('POST', '/v1/audio/transcriptions', {
    key,
    ...audioForm({ model: 'sber/hearing', language: 'ru' }, { bytes: wav }),
  })
  assert.equal(heard.body.text, 'Привет мир', heard.text)
  assert.match(upstream.received.at(-1)?.path ?? '', /speech:recognize\?language=ru-RU$/)
  assert.match(String(upstream.received.at(-1)?.headers['content-type']), /^audio\/x-pcm;bit=16;rate=\d+$/)
  assert.equal((await lastLog())['total_cost'], 1)
  const scopes = upstream.received.filter((one) => one.path === '/oauth').map((one) => one.body.toString())
  assert.deepEqual(new Set(scopes), new Set(['scope=GIGACHAT_API_PERS', 'scope=SALUTE_SPEECH_PERS']))
})
