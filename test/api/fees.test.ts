import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion, claudeMessage, candidate } from '../harness/provider-answers.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PICTURE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }

const { key, tollgate, upstream } = await serve(
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
${['image', 'image, file, video'].map(seeingRow).join('\n')}
  - { id: t/reads, type: chat, context_length: 8000, input_modalities: [text, image, file], endpoints: [{ provider: claude, model: claude-m, price: { currency: RUB, prompt: 1, completion: 1 } }] }
  - id: t/sized
    type: image
    endpoints: [{ provider: scripted, model: m, price: { currency: RUB, image_output: { 1024x1024: 2, 1024x1024/high: 7, 1536x1024: 4 } } }]
  - { id: t/unlisted, type: image, endpoints: [{ provider: scripted, model: m, supported_parameters: [size], price: { currency: RUB, image_output: { low: 2, high: 7 } } }] }
  - { id: t/unknown, type: image, endpoints: [{ provider: scripted, model: dall-e-2, price: { currency: RUB, image_output: { 1024x1024: 2, 1024x1024/high: 7 } } }] }
  - { id: t/chatting, type: chat, context_length: 8000, output_modalities: [text, image], endpoints: [{ provider: scripted, model: m, price: { currency: RUB, prompt: 1, completion: 1, image_output: { 1024x1024: 2, 1024x1024/high: 7 } } }] }
  - { id: t/flat, type: image, endpoints: [{ provider: scripted, model: m, price: { currency: RUB, image_output: 2 } }] }
`,
)

function searchRow(provider: string, model: string): string {
  const price = '{ currency: RUB, prompt: 1, completion: 1, search: 2 }'
  return `  - { id: t/${model}, type: chat, context_length: 8000, endpoints: [{ provider: ${provider}, model: ${model}, supported_parameters: [max_tokens, tools, web_search_options], price: ${price} }] }`
}

/** Its context costs 100 RUB, and a picture a quarter of one. */
function seeingRow(modalities: string, index: number): string {
  const price = '{ currency: RUB, prompt: 100, completion: 1 }'
  return `  - { id: t/sees-${index}, type: chat, context_length: 1000000, input_modalities: [text, ${modalities}], endpoints: [{ provider: google, model: gemini-3-flash, price: ${price} }] }`
}

function answerJson(body: unknown): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
}

function answerWith(message: Record<string, unknown>): void {
  answerJson(completion({ content: 'Here.', ...message }, { id: 'u', usage: USAGE }))
}

async function chat(model: string, body: Record<string, unknown> = {}): Promise<Answer> {
  const answer = await tollgate.post('/v1/chat/completions', key, {
    model,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hello' }],
    ...body,
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
  const sent = upstream.requests.at(-1) ?? {}
  assert.deepEqual(
    [sent['service_tier'], sent['web_search_options'], sent['modalities']],
    [undefined, undefined, ['text']],
  )
  assert.equal(body.usage.cost, 0.00003)
})

test('a search that is asked for, listed and priced is sent, held for and charged; a tier of service never is', async () => {
  answerWith({})
  const { body } = await chat('t/priced', FEES)
  const sent = upstream.requests.at(-1) ?? {}
  assert.deepEqual(
    [sent['service_tier'], sent['web_search_options'], sent['modalities']],
    [undefined, {}, FEES.modalities],
  )
  assert.equal(body.usage.cost, 2.00003)
  const { key: poor } = await tollgate.createAccount({ balance: 1 })
  assert.equal(
    (await tollgate.post('/v1/chat/completions', poor, { model: 't/priced', max_tokens: 5, prompt: 'x', ...FEES }))
      .status,
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
  assert.deepEqual(upstream.requests.at(-1)?.['tools'], [{ googleSearch: {} }])
  assert.equal((await grounded('t/gemini-3-flash', ['a', 'b', 'c'])).body.usage.cost, 6.00003)
  assert.equal((await grounded('t/gemini-3-flash', [])).body.usage.cost, 0.00003)
  const { key: poor } = await tollgate.createAccount({ balance: 15 })
  const body = { model: 't/gemini-3-flash', max_tokens: 5, prompt: 'x', web_search_options: {} }
  const { status } = await tollgate.post('/v1/chat/completions', poor, body)
  assert.equal(status, 402, 'eight searches are held for')
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const refused = await tollgate.post('/v1/chat/completions', key, { ...body, tools })
  assert.equal(refused.status, 400, refused.text)
  assert.match(refused.text, /web_search_options: this model searches only without tools/)
})

test('a search that the protocol cannot ask for is not charged, whatever the row lists', async () => {
  answerJson(claudeMessage([{ type: 'text', text: 'Here.' }], { input_tokens: 10, output_tokens: 20 }, { id: 'u' }))
  assert.equal((await chat('t/claude-m', { web_search_options: {} })).body.usage.cost, 0.00003)
})

test('what makes a search dearer than the price of one goes only where the row says that its price covers it', async () => {
  answerWith({})
  const place = { type: 'approximate', approximate: { country: 'RU' } }
  const options = { search_context_size: 'high', search_type: 'pro', user_location: place }
  const sent = async (model: string): Promise<unknown> => {
    await chat(model, { web_search_options: options })
    return upstream.requests.at(-1)?.['web_search_options']
  }
  assert.deepEqual(await sent('t/priced'), { user_location: place })
  assert.deepEqual(await sent('t/levels'), { user_location: place, search_context_size: 'high' })
  assert.deepEqual(await sent('t/plain'), undefined)
})

test('pictures of a chat answer are charged, streamed or not, by every protocol that can bring them', async () => {
  answerWith({ images: [PICTURE, PICTURE] })
  assert.equal((await chat('t/priced')).body.usage.cost, 6.00003)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (choice: Record<string, unknown>, more = {}): string =>
      `data: ${JSON.stringify({ id: 'u', choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }], ...more })}\n\n`
    response.end(
      `${chunk({ delta: { role: 'assistant', content: 'Here.' } })}${chunk({ delta: { images: [PICTURE] } })}${chunk({ finish_reason: 'stop' }, { usage: USAGE })}data: [DONE]\n\n`,
    )
  })
  assert.match((await chat('t/priced', { stream: true })).text, /"cost":3\.00003/)
  answerJson(
    candidate([{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: PNG } }], {
      promptTokenCount: 10,
      candidatesTokenCount: 20,
      totalTokenCount: 30,
    }),
  )
  assert.equal((await chat('t/draws')).body.usage.cost, 3.00003)
})

test('a quality that decides the price of a picture and cannot be sent is refused, not sold', async () => {
  for (const model of ['t/unlisted', 't/unknown', 't/chatting']) {
    const answer = await tollgate.post('/v1/images/generations', key, {
      model,
      prompt: 'A lake',
      size: '1024x1024',
      quality: model === 't/unlisted' ? 'low' : 'high',
    })
    assert.equal(answer.status, 400, answer.text)
    assert.match(
      answer.body.error.message,
      /^quality: '(?:high|low)' cannot be sent to any provider of model '.*', and the price depends on it\. Leave it out$/,
    )
  }
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
    const answer = await tollgate.post('/v1/images/generations', key, {
      model,
      prompt: 'a cat',
      response_format: 'b64_json',
      ...body,
    })
    assert.deepEqual(
      [answer.status, answer.body.usage?.cost],
      [200, cost],
      `${model} ${JSON.stringify(body)} ${answer.text}`,
    )
    const { size, quality } = upstream.requests.at(-1) ?? {}
    assert.deepEqual({ ...(size === undefined ? {} : { size }), ...(quality === undefined ? {} : { quality }) }, shape)
  }
  // Stopping the server replays every charge.
})

test('a document or a film that comes as a picture is held for as what it is, at every door', async () => {
  const { key } = await tollgate.createAccount({ balance: 1 })
  const data = Buffer.from('%PDF-1.7').toString('base64')
  const doors: Readonly<Record<string, (model: string, url: string) => readonly [path: string, body: unknown]>> = {
    chat: (model, url) => [
      '/v1/chat/completions',
      { model, max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    ],
    responses: (model, url) => [
      '/v1/responses',
      { model, max_output_tokens: 5, input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
    ],
    messages: (model, url) => {
      const source = url.startsWith('data:')
        ? { type: 'base64', media_type: 'image/png', data: url.slice(url.indexOf(',') + 1) }
        : { type: 'url', url }
      return [
        '/v1/messages',
        { model, max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'image', source }] }] },
      ]
    },
    gemini: (model, url) => {
      const part = url.startsWith('data:')
        ? { inlineData: { mimeType: 'image/png', data: url.slice(url.indexOf(',') + 1) } }
        : { fileData: { mimeType: 'image/png', fileUri: url } }
      const body = { contents: [{ parts: [part] }], generationConfig: { maxOutputTokens: 5 } }
      return [`/v1beta/models/${model}:generateContent`, body]
    },
  }
  for (const [door, bodyOf] of Object.entries(doors)) {
    const ask = async (model: string, url: string): Promise<number> => {
      const [path, body] = bodyOf(model, url)
      return (await tollgate.post(path, key, body)).status
    }
    const seen = upstream.requests.length
    for (const url of [
      `data:image/png;base64,${data}`,
      'https://a.test/a.pdf',
      'https://a.test/a.mp4',
      'https://youtu.be/1',
    ]) {
      assert.equal(await ask('t/sees-0', url), 400, `${door}: ${url}`)
      assert.equal(await ask('t/sees-1', url), 402, `${door}: ${url}`)
    }
    assert.equal(upstream.requests.length, seen, door)
    answerJson(candidate([{ text: 'Here.' }], { promptTokenCount: 10, candidatesTokenCount: 1 }))
    for (const url of [PICTURE.image_url.url, 'https://a.test/img?id=3'])
      assert.equal(await ask('t/sees-0', url), 200, `${door}: ${url}`)
  }
})

test('a PDF that comes as a picture reaches Claude as a document and Gemini as a PDF, and a tool may have read it', async () => {
  const data = Buffer.from('%PDF-1.7').toString('base64')
  const { key } = await tollgate.createAccount({ balance: 1_000 })
  const sentFor = async (path: string, body: unknown): Promise<string> => {
    await tollgate.post(path, key, body)
    return JSON.stringify(upstream.requests.at(-1))
  }
  upstream.answer((response) => response.writeHead(500).end())
  const document = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${data}"}}`
  const url = `data:image/png;base64,${data}`
  const chatOf = (model: string): unknown => ({
    model,
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
  const messagesOf = (model: string, content: unknown): unknown => ({
    model,
    max_tokens: 5,
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [content] },
    ],
  })
  const result = { type: 'tool_result', tool_use_id: 't', content: [image] }
  assert.ok((await sentFor('/v1/chat/completions', chatOf('t/reads'))).includes(document))
  for (const block of [image, result])
    assert.ok((await sentFor('/v1/messages', messagesOf('t/reads', block))).includes(document))
  const inline = `{"inlineData":{"mimeType":"application/pdf","data":"${data}"}}`
  assert.ok((await sentFor('/v1/chat/completions', chatOf('t/sees-1'))).includes(inline))
  const contents = [{ parts: [{ inlineData: { mimeType: 'image/png', data } }] }]
  assert.ok((await sentFor('/v1beta/models/t/sees-1:generateContent', { contents })).includes(inline))
})
