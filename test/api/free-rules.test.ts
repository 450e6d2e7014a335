import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DATA } from './images-world.ts'
import { flacFile, wavFile } from '../harness/audio-files.ts'
import { chat } from '../harness/chat-fold.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion } from '../harness/provider-answers.ts'

/**
 * Abuse of free answers (guarantees.md rule 20): beyond 20 RUB and 5 % of its spending in an hour an account pays the
 * provider's cost.
 */

const world = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 3
providers:
  dear: { name: Dear, adapter: openai, base_url: "${url}", api_key: k, timeouts: { progress: 1 } }
models:
  - { id: test/dear, type: chat, context_length: 10000, tokenizer: o200k_base, endpoints: [{ provider: dear, model: m, price: { currency: RUB, prompt: 0, completion: 10000000 } }] }
  - { id: test/sees, type: chat, context_length: 1000000, input_modalities: [text, image, file], endpoints: [{ provider: dear, model: m, media_tokens: { image: 1000, file: 1000 }, price: { currency: RUB, prompt: 100, completion: 1 } }] }
  - { id: test/hears, type: transcription, endpoints: [{ provider: dear, model: whisper-1, price: { currency: RUB, second: 0.001 } }] }
  - { id: test/paints, type: image, context_length: 1000000, endpoints: [{ provider: dear, model: gpt-image-1, price: { currency: RUB, prompt: 1, completion: 1 } }] }
`,
)
const { tollgate, upstream } = world

const REQUEST = {
  model: 'test/dear',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 20,
  stream: true,
  stream_options: { include_usage: true },
}

type Answer = Parameters<Parameters<typeof world.upstream.answer>[0]>[0]

/** Three tokens at 10 RUB, and then the rest. */
function threeAnd(rest: (response: Answer) => void): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"one two three"}}]}\n\n')
    rest(response)
  })
}

/** An error that the provider bills: a request may bring it about. */
function failAfterThree(): void {
  threeAnd((response) => {
    response.write('data: {"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n')
    response.end('data: {"error":{"message":"the model failed","code":500}}\n\n')
  })
}

async function newest(account: string): Promise<Record<string, unknown>> {
  return (await tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=1`)).body.data[0]
}

test('rule 6: the first broken stream is free, those after it cost what the provider takes, and the log says so', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 10_000 })
  failAfterThree()
  const free = await chat(tollgate.url, key, REQUEST)
  assert.equal(free.usage?.['cost'], 0)
  assert.deepEqual(
    [(await newest(id))['billing_basis'], (await newest(id))['insured'], (await newest(id))['total_cost']],
    ['free', 30, 0],
  )
  const charged = await chat(tollgate.url, key, REQUEST)
  // Without the operator's markup.
  assert.equal(charged.usage?.['cost'], 30)
  const row = await newest(id)
  assert.deepEqual(
    [row['billing_basis'], row['insured'], row['total_cost'], row['provider_cost'], row['status']],
    ['provider_cost', 0, 30, 30, 'error'],
  )
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.deepEqual([body.balance, body.reserved], [9_970, 0])
})

test('rule 4: an empty answer that the provider bills is charged once the free amount of the hour is used up', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 10_000 })
  const ask = async (): Promise<number> =>
    (await tollgate.post('/v1/chat/completions', key, { ...REQUEST, stream: false, stream_options: undefined })).status
  failAfterThree()
  await chat(tollgate.url, key, REQUEST)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}')
  })
  // Its prompt costs nothing at this provider, so there is nothing to charge.
  assert.equal(await ask(), 502)
  assert.equal((await newest(id))['billing_basis'], 'free')
  const entry = { adapter: 'openai', base_url: upstream.url, api_key: 'k', timeouts: { progress: 1 } }
  assert.equal((await tollgate.admin('PUT', '/admin/v1/providers/dear', entry)).status, 200)
  const model = {
    type: 'chat',
    context_length: 10_000,
    endpoints: [
      { provider: 'dear', model: 'm', price: { currency: 'RUB', prompt: '1000000', completion: '10000000' } },
    ],
  }
  assert.equal((await tollgate.admin('PUT', '/admin/v1/models/test/dear', model)).status, 200)
  assert.equal(await ask(), 502)
  const row = await newest(id)
  assert.deepEqual([row['billing_basis'], row['total_cost'], row['error_type']], ['provider_cost', 7, 'empty_response'])
})

test('a refusal of the provider is no abuse and stays free', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 10_000 })
  failAfterThree()
  await chat(tollgate.url, key, REQUEST)
  upstream.answer((response) => response.writeHead(500).end())
  assert.equal(
    (await tollgate.post('/v1/chat/completions', key, { ...REQUEST, stream: false, stream_options: undefined })).status,
    502,
  )
  assert.deepEqual([(await newest(id))['billing_basis'], (await newest(id))['total_cost']], ['free', 0])
})

test('what the provider does while the client waits never counts: nothing is charged for it, and nothing refused', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 10_000 })
  const faults: readonly ((response: Answer) => void)[] = [
    (response) => response.socket?.destroySoon(),
    (response) => void response.end(),
    () => undefined,
    (response) => void response.end('data: {"error":{"message":"overloaded","code":529}}\n\n'),
    (response) => void response.end('data: not json\n\n'),
  ]
  for (const fault of [...faults, ...faults.slice(0, 2)]) {
    threeAnd(fault)
    assert.equal((await chat(tollgate.url, key, REQUEST)).usage?.['cost'], 0)
    const row = await newest(id)
    assert.deepEqual(
      [row['billing_basis'], Number(row['insured']) >= 30, row['total_cost']],
      ['free', true, 0],
      String(fault),
    )
  }
  assert.equal((await askAboutPicture(key, 20)).status, 200)
})

const PICTURE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const FILE = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' } }

function askAboutPicture(key: string, promptTokens: number, part: unknown = PICTURE): ReturnType<typeof post> {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(completion({ content: 'ok' }, { usage: { prompt_tokens: promptTokens, completion_tokens: 1 } })),
    )
  })
  const content = part === null ? 'Hello' : [{ type: 'text', text: 'What?' }, part]
  return post(key, '/v1/chat/completions', {
    model: 'test/sees',
    max_tokens: 20,
    messages: [{ role: 'user', content }],
  })
}

function post(key: string, path: string, body: unknown): ReturnType<typeof world.tollgate.request> {
  return tollgate.post(path, key, body)
}

test('a shortfall counts whatever asked for it: then all that may exceed its hold is refused, and text goes on', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 2 })
  // It is held for 1,000 tokens and costs 150 RUB.
  assert.equal((await askAboutPicture(key, 500_000)).status, 200)
  assert.deepEqual([(await newest(id))['total_cost'], (await newest(id))['shortfall']], [2, 148.000003])
  const topUp = { kind: 'topup', amount: 100, reason: 'test', reference: 'again' }
  assert.equal((await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, topUp)).status, 201)
  const hears = (bytes: Buffer): Record<string, unknown> => ({
    model: 'test/hears',
    input_audio: { data: bytes.toString('base64'), format: 'flac' },
  })
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'test/sees', messages: [{ role: 'user', content: [PICTURE] }] }],
    ['/v1/chat/completions', { model: 'test/sees', messages: [{ role: 'user', content: [FILE] }] }],
    [
      '/v1/responses',
      {
        model: 'test/sees',
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: PICTURE.image_url.url }] }],
      },
    ],
    [
      '/v1/messages',
      {
        model: 'test/sees',
        max_tokens: 9,
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: PICTURE.image_url.url } }] }],
      },
    ],
    // Held for by the most that it may be, it costs more than there is.
    ['/v1/audio/transcriptions', hears(flacFile(8_000, 8_000))],
    ['/v1/images/generations', { model: 'test/paints', prompt: 'A lake', image: DATA }],
  ] as const) {
    const answer = await post(key, path, body)
    assert.equal(answer.status, 429, `${path} ${answer.text}`)
    assert.match(answer.text, /cost more than it had in this hour.*So are pictures, files and sound/)
  }
  assert.equal((await askAboutPicture(key, 20, null)).status, 200)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ text: 'ok', duration: 1 }))
  })
  const stored = await post(key, '/v1/audio/transcriptions', hears(wavFile(1)))
  assert.equal(stored.status, 200, 'samples one by one are no longer than they are')
})

test('a sound that says a minute and is hours is charged as the provider heard it, and what the balance lacks counts', async () => {
  const { id, key } = await tollgate.createAccount({ balance: 2 })
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ text: 'long', duration: 10_000 }))
  })
  // Silence by a lossless codec takes no room.
  const data = Buffer.concat([flacFile(8_000, 8_000 * 60), Buffer.alloc(200_000)]).toString('base64')
  const ask = (): ReturnType<typeof post> =>
    post(key, '/v1/audio/transcriptions', { model: 'test/hears', input_audio: { data, format: 'flac' } })
  assert.equal((await ask()).status, 200)
  const row = await newest(id)
  assert.deepEqual([row['total_cost'], row['shortfall'], row['billing_basis']], [2, 28, 'provider_usage'])
  const topUp = { kind: 'topup', amount: 100, reason: 'test', reference: 'heard' }
  assert.equal((await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, topUp)).status, 201)
  // Now the most that it may be is held for: half a day and a minute, 129.78 RUB.
  assert.equal((await ask()).status, 429)
  const more = { ...topUp, amount: 30, reference: 'more' }
  assert.equal((await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, more)).status, 201)
  assert.equal((await ask()).status, 200)
  assert.deepEqual([(await newest(id))['total_cost'], (await newest(id))['shortfall']], [30, 0])
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.deepEqual([body.balance, body.reserved], [100, 0])
})
