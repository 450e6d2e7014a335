import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/in-process.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/served.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PICTURE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }

const world = serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 1
providers:
  scripted: { name: Scripted, adapter: openai, base_url: ${url}, api_key: k }
  google: { name: Google, adapter: gemini, base_url: ${url}, api_key: k }
  claude: { name: Claude, adapter: anthropic, base_url: ${url}, api_key: k }
models:
  - { id: t/plain, type: chat, context_length: 8000, endpoints: [{ provider: scripted, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }
  - id: t/priced
    type: chat
    context_length: 8000
    output_modalities: [text, image]
    endpoints:
      - provider: scripted
        model: m
        price: { currency: RUB, prompt: 1, completion: 1, search: 2, image_output: 3 }
        supported_parameters: [max_tokens, web_search_options, modalities, service_tier]
  - id: t/levels
    type: chat
    context_length: 8000
    endpoints:
      - provider: scripted
        model: m
        price: { currency: RUB, prompt: 1, completion: 1, search: 2 }
        supported_parameters: [max_tokens, web_search_options, search_context_size]
  - { id: t/draws, type: chat, context_length: 8000, output_modalities: [text, image], endpoints: [{ provider: google, model: gemini-draws, price: { currency: RUB, prompt: 1, completion: 1, image_output: 3 } }] }
${['gemini-2.5-flash', 'gemini-3-flash'].map((model) => searchRow('google', model)).join('\n')}
${searchRow('claude', 'claude-m')}
  - id: t/sized
    type: image
    endpoints: [{ provider: scripted, model: m, price: { currency: RUB, image_output: { 1024x1024: 2, 1024x1024/high: 7, 1536x1024: 4 } } }]
  - { id: t/flat, type: image, endpoints: [{ provider: scripted, model: m, price: { currency: RUB, image_output: 2 } }] }
`,
)

function searchRow(provider: string, model: string): string {
  const price = '{ currency: RUB, prompt: 1, completion: 1, search: 2 }'
  return `  - { id: t/${model}, type: chat, context_length: 8000, endpoints: [{ provider: ${provider}, model: ${model}, supported_parameters: [max_tokens, tools, web_search_options], price: ${price} }] }`
}

function answerJson(body: unknown): void {
  world.upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
}

function answerWith(message: Record<string, unknown>): void {
  answerJson({
    id: 'u',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Here.', ...message }, finish_reason: 'stop' }],
    usage: USAGE,
  })
}

async function chat(model: string, body: Record<string, unknown> = {}): Promise<Answer> {
  const answer = await world.tollgate.request('POST', '/v1/chat/completions', {
    key: world.key,
    body: { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }], ...body },
  })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

const FEES = {
  service_tier: 'priority',
  web_search_options: { search_context_size: 'high' },
  modalities: ['text', 'image'],
}

test('what would be billed besides tokens is not sent where nothing pays for it', async () => {
  answerWith({})
  const { body } = await chat('t/plain', FEES)
  const sent = world.upstream.requests.at(-1) ?? {}
  assert.deepEqual(
    [sent['service_tier'], sent['web_search_options'], sent['modalities']],
    [undefined, undefined, ['text']],
  )
  assert.equal(body.usage.cost, 0.00003)
})

test('a search that is asked for, listed and priced is sent, held for and charged; a tier of service never is', async () => {
  answerWith({})
  const { body } = await chat('t/priced', FEES)
  const sent = world.upstream.requests.at(-1) ?? {}
  assert.deepEqual(
    [sent['service_tier'], sent['web_search_options'], sent['modalities']],
    [undefined, {}, FEES.modalities],
  )
  assert.equal(body.usage.cost, 2.00003)
  const { key: poor } = await world.tollgate.createAccount({ balance: 1 })
  assert.equal(
    (
      await world.tollgate.request('POST', '/v1/chat/completions', {
        key: poor,
        body: { model: 't/priced', max_tokens: 5, prompt: 'x', ...FEES },
      })
    ).status,
    402,
  )
})

test('Gemini searches for a chat, and is charged by what it reports: queries, or an answer that searched', async () => {
  const grounded = async (model: string, queries: readonly string[]): Promise<Answer> => {
    answerJson({
      candidates: [
        {
          content: { parts: [{ text: 'Here.' }] },
          finishReason: 'STOP',
          ...(queries.length === 0 ? {} : { groundingMetadata: { webSearchQueries: queries } }),
        },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 20 },
    })
    return chat(model, { web_search_options: {} })
  }
  assert.equal((await grounded('t/gemini-2.5-flash', ['a', 'b', 'c'])).body.usage.cost, 2.00003)
  assert.deepEqual(world.upstream.requests.at(-1)?.['tools'], [{ googleSearch: {} }])
  assert.equal((await grounded('t/gemini-3-flash', ['a', 'b', 'c'])).body.usage.cost, 6.00003)
  assert.equal((await grounded('t/gemini-3-flash', [])).body.usage.cost, 0.00003)
  const { key: poor } = await world.tollgate.createAccount({ balance: 15 })
  const body = { model: 't/gemini-3-flash', max_tokens: 5, prompt: 'x', web_search_options: {} }
  const { status } = await world.tollgate.request('POST', '/v1/chat/completions', { key: poor, body })
  assert.equal(status, 402, 'eight searches are held for')
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const refused = await world.tollgate.request('POST', '/v1/chat/completions', {
    key: world.key,
    body: { ...body, tools },
  })
  assert.equal(refused.status, 400, refused.text)
  assert.match(refused.text, /web_search_options: this model searches only without tools/)
})

test('a search that the protocol cannot ask for is not charged, whatever the row lists', async () => {
  answerJson({
    id: 'u',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Here.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 20 },
  })
  assert.equal((await chat('t/claude-m', { web_search_options: {} })).body.usage.cost, 0.00003)
})

test('what makes a search dearer than the price of one goes only where the row says that its price covers it', async () => {
  answerWith({})
  const place = { type: 'approximate', approximate: { country: 'RU' } }
  const options = { search_context_size: 'high', search_type: 'pro', user_location: place }
  const sent = async (model: string): Promise<unknown> => {
    await chat(model, { web_search_options: options })
    return world.upstream.requests.at(-1)?.['web_search_options']
  }
  assert.deepEqual(await sent('t/priced'), { user_location: place })
  assert.deepEqual(await sent('t/levels'), { user_location: place, search_context_size: 'high' })
  assert.deepEqual(await sent('t/plain'), undefined)
})

test('pictures of a chat answer are charged, streamed or not, by every protocol that can bring them', async () => {
  answerWith({ images: [PICTURE, PICTURE] })
  assert.equal((await chat('t/priced')).body.usage.cost, 6.00003)
  world.upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (choice: Record<string, unknown>, more = {}): string =>
      `data: ${JSON.stringify({ id: 'u', choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }], ...more })}\n\n`
    response.end(
      `${chunk({ delta: { role: 'assistant', content: 'Here.' } })}${chunk({ delta: { images: [PICTURE] } })}${chunk({ finish_reason: 'stop' }, { usage: USAGE })}data: [DONE]\n\n`,
    )
  })
  assert.match((await chat('t/priced', { stream: true })).text, /"cost":3\.00003/)
  answerJson({
    candidates: [
      {
        content: { parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 },
  })
  assert.equal((await chat('t/draws')).body.usage.cost, 3.00003)
})

test('a picture has the price of its size and quality; what no price names is not sent, and the log says which price it was', async () => {
  answerJson({ created: 1, data: [{ b64_json: PNG }] })
  const costs: (readonly [string, Record<string, unknown>, number, Record<string, unknown>])[] = [
    ['t/sized', { size: '1024x1024' }, 2, { size: '1024x1024' }],
    ['t/sized', { size: '1024x1024', quality: 'high' }, 7, { size: '1024x1024', quality: 'high' }],
    ['t/sized', { size: '1536x1024' }, 4, { size: '1536x1024' }],
    ['t/sized', { size: '720x1280' }, 7, { size: '720x1280' }],
    ['t/sized', { size: '1024x1024', quality: 'medium' }, 2, { size: '1024x1024' }],
    ['t/flat', { size: '1536x1024', quality: 'high' }, 2, {}],
  ]
  for (const [model, body, cost, shape] of costs) {
    const answer = await world.tollgate.request('POST', '/v1/images/generations', {
      key: world.key,
      body: { model, prompt: 'a cat', response_format: 'b64_json', ...body },
    })
    assert.deepEqual(
      [answer.status, answer.body.usage?.cost],
      [200, cost],
      `${model} ${JSON.stringify(body)} ${answer.text}`,
    )
    const { size, quality } = world.upstream.requests.at(-1) ?? {}
    assert.deepEqual({ ...(size === undefined ? {} : { size }), ...(quality === undefined ? {} : { quality }) }, shape)
  }
  // Stopping the server replays every charge.
})
