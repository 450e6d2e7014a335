import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type FoldedContent, generate } from '../harness/protocol-folds.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { candidate, completion, claudeMessage } from '../harness/provider-answers.ts'

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  google: { name: Google, adapter: gemini, base_url: "${url}", api_key: upstream-key }
  open: { name: Open, adapter: openai, base_url: "${url}", api_key: upstream-key }
  claude: { name: Claude, adapter: anthropic, base_url: "${url}", api_key: upstream-key }
models:
  - { id: test/own, type: chat, context_length: 100000, endpoints: [{ provider: google, model: gemini-3-flash, price: { currency: RUB, prompt: 1, completion: 1000 } }] }
  - { id: test/open, type: chat, context_length: 100000, endpoints: [{ provider: open, model: up, price: { currency: RUB, prompt: 1, completion: 1000, input_cache_read: 0.5 } }] }
  - { id: test/claude, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-up, price: { currency: RUB, prompt: 1, completion: 1000 } }] }
`,
)

const TOOLS = [
  {
    functionDeclarations: [
      {
        name: 'edit',
        description: 'Edits a file',
        parameters: { type: 'OBJECT', properties: { path: { type: 'STRING' } } },
      },
    ],
  },
]
const ASK = { role: 'user', parts: [{ text: 'Edit a.txt' }] }
const RESULT = (id: string): unknown => ({
  role: 'user',
  parts: [{ functionResponse: { id, name: 'edit', response: { output: 'done' } } }],
})

beforeEach(() => upstream.answer((response) => void response.writeHead(500).end()))

function say(model: string, framing: 'whole' | 'sse' | 'array', body: Record<string, unknown>): Promise<FoldedContent> {
  return generate(tollgate.url, key, model, framing, body)
}

/** Answers the next requests with these chunks, or a whole answer. */
function answerWith(...chunks: readonly unknown[]): void {
  upstream.answer((response, request) => {
    const isStream = request.path.includes('alt=sse') || upstream.requests.at(-1)?.['stream'] === true
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (!isStream) return void response.end(JSON.stringify(chunks[0]))
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    response.end()
  })
}

function sent(): Record<string, unknown> {
  const body = upstream.requests.at(-1)
  assert.ok(body !== undefined)
  return body
}

async function lastRow(): Promise<Record<string, unknown>> {
  return (await tollgate.get('/v1/generation?limit=1', key)).body.logs[0]
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', key)).body.balance
}

test('a provider of the protocol is asked in the client’s own words, and its answer passes with our id, model and cost', async () => {
  answerWith(
    {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hm', thought: true }] }, index: 0, novel: 1 }],
      responseId: 'theirs',
      modelVersion: 'gemini-3-flash',
    },
    {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ functionCall: { name: 'edit', args: { path: 'a' } }, thoughtSignature: 'c2ln' }],
          },
          index: 0,
        },
      ],
    },
    candidate([{ text: '' }], {
      promptTokenCount: 10,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 15,
      trafficType: 'ON_DEMAND',
    }),
  )
  const before = await balance()
  const got = await say('test/own', 'sse', {
    contents: [ASK],
    tools: [...TOOLS, { codeExecution: {} }],
    safetySettings: [{ category: 'X', threshold: 'BLOCK_NONE' }],
    novelField: { kept: true },
    labels: { a: 'b' },
    generation_config: {
      maxOutputTokens: 100,
      mediaResolution: 'HIGH',
      max_output_tokens: null,
      routing_config: { manualMode: { modelName: 'dear' } },
    },
  })
  assert.equal(got.status, 200, got.raw)
  const { path, headers } = upstream.received.at(-1) ?? assert.fail()
  assert.equal(path, '/models/gemini-3-flash:streamGenerateContent?alt=sse')
  assert.equal(headers['x-goog-api-key'], 'upstream-key')
  assert.deepEqual(sent(), {
    contents: [ASK],
    tools: TOOLS,
    safetySettings: [{ category: 'X', threshold: 'BLOCK_NONE' }],
    novelField: { kept: true },
    generationConfig: { maxOutputTokens: 100, mediaResolution: 'HIGH' },
  })
  assert.equal(got.headers['x-tollgate-dropped'], 'tools.codeExecution, labels, generationConfig.routingConfig')
  assert.match(got.raw, /"novel":1/)
  assert.doesNotMatch(got.raw, /theirs|gemini-3-flash/)
  assert.deepEqual(got.signatures, [['edit', 'c2ln']])
  assert.deepEqual(got.finishes, ['STOP'])
  // 10 × 1 + 5 × 1,000 µRUB.
  assert.equal(got.usage.cost, 0.00501)
  assert.equal(got.usage.trafficType, 'ON_DEMAND')
  assert.equal(Math.round((before - (await balance())) * 1e6), 5_010)
  const row = await lastRow()
  assert.deepEqual(
    [row['type'], row['input_tokens'], row['output_tokens'], row['total_cost']],
    ['generate_content', 10, 5, 0.00501],
  )
})

test('a conversation of three turns with a call, at a provider of the protocol: signatures go back on their parts', async () => {
  const call = { functionCall: { id: 'c1', name: 'edit', args: { path: 'a.txt' } }, thoughtSignature: 'c2lnbmVk' }
  answerWith(candidate([call], { promptTokenCount: 5, candidatesTokenCount: 5 }))
  const first = await say('test/own', 'whole', { contents: [ASK], tools: TOOLS })
  assert.deepEqual(first.parts, [call])
  const contents = [ASK, { role: 'model', parts: first.parts }, RESULT('c1')]
  answerWith(candidate([{ text: 'Done.' }], { promptTokenCount: 9, candidatesTokenCount: 2 }))
  const second = await say('test/own', 'array', { contents, tools: TOOLS })
  assert.equal(second.text, 'Done.')
  assert.deepEqual(sent()['contents'], contents)
  const third = await say('test/own', 'whole', {
    contents: [...contents, { role: 'model', parts: second.parts }, ASK],
    tools: TOOLS,
  })
  assert.equal(third.text, 'Done.')
})

const SAID = completion(
  { content: 'Done.' },
  { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cached_tokens: 4 } } },
)

test('the same at a provider of another protocol: calls and results are translated, and the usage is told in Gemini’s way', async () => {
  answerWith(
    completion(
      {
        content: null,
        tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'edit', arguments: '{"path":"a.txt"}' } }],
      },
      { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, finish: 'tool_calls' },
    ),
  )
  const first = await say('test/open', 'whole', {
    contents: [ASK],
    system_instruction: { parts: [{ text: 'Be short' }] },
    tools: TOOLS,
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['edit'] } },
    safetySettings: [{}],
    generationConfig: {
      temperature: 0.5,
      stopSequences: ['END'],
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
    },
  })
  assert.equal(first.headers['x-tollgate-dropped'], 'safetySettings')
  const { messages, tools, tool_choice: choice, response_format: format, temperature, stop } = sent()
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be short' },
    { role: 'user', content: 'Edit a.txt' },
  ])
  assert.deepEqual(tools, [
    {
      type: 'function',
      function: {
        name: 'edit',
        description: 'Edits a file',
        parameters: { type: 'object', properties: { path: { type: 'string' } } },
      },
    },
  ])
  assert.deepEqual(choice, { type: 'function', function: { name: 'edit' } })
  assert.deepEqual(format, {
    type: 'json_schema',
    json_schema: { name: 'response', schema: { type: 'object', properties: { a: { type: ['string', 'null'] } } } },
  })
  assert.deepEqual([temperature, stop], [0.5, ['END']])
  assert.deepEqual(first.parts, [{ functionCall: { id: 'call_7', name: 'edit', args: { path: 'a.txt' } } }])
  answerWith(SAID)
  const before = await balance()
  const contents = [ASK, { role: 'model', parts: first.parts }, RESULT('call_7')]
  const second = await say('test/open', 'whole', { contents, tools: TOOLS })
  assert.deepEqual((sent()['messages'] as unknown[]).slice(1), [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'edit', arguments: '{"path":"a.txt"}' } }],
    },
    { role: 'tool', content: 'done', tool_call_id: 'call_7' },
  ])
  // 6 × 1 + 4 × 0.5 + 5 × 1,000 µRUB.
  assert.deepEqual(second.usage, {
    promptTokenCount: 10,
    cachedContentTokenCount: 4,
    candidatesTokenCount: 5,
    totalTokenCount: 15,
    cost: 0.005008,
    currency: 'RUB',
  })
  assert.equal(Math.round((before - (await balance())) * 1e6), 5_008)
  const third = await say('test/open', 'whole', {
    contents: [...contents, { role: 'model', parts: second.parts }, ASK],
  })
  assert.equal(third.text, 'Done.')
})

test('another provider’s signed thoughts come back to it, and to no other', async () => {
  answerWith(
    claudeMessage(
      [
        { type: 'thinking', thinking: 'Let me edit', signature: 'claude-signature' },
        { type: 'tool_use', id: 'toolu_1', name: 'edit', input: { path: 'a.txt' } },
      ],
      { input_tokens: 5, output_tokens: 5 },
      { stop_reason: 'tool_use' },
    ),
  )
  const config = { maxOutputTokens: 4_000, thinkingConfig: { thinkingBudget: 2_000 } }
  const first = await say('test/claude', 'whole', { contents: [ASK], tools: TOOLS, generationConfig: config })
  // Only a client that asks for thoughts gets them.
  assert.equal(first.thoughts, '')
  const [[name, signature] = []] = first.signatures
  assert.equal(name, 'edit')
  assert.equal(Buffer.from(signature ?? '', 'base64').toString('base64'), signature)
  const contents = [ASK, { role: 'model', parts: first.parts }, RESULT('toolu_1')]
  await say('test/claude', 'whole', { contents, tools: TOOLS, generationConfig: config })
  const [, assistant] = sent()['messages'] as { content: unknown[] }[]
  assert.partialDeepStrictEqual(assistant?.content[0], {
    type: 'thinking',
    thinking: 'Let me edit',
    signature: 'claude-signature',
  })
  answerWith(candidate([{ text: 'ok' }], { promptTokenCount: 5, candidatesTokenCount: 5 }))
  await say('test/own', 'whole', { contents, tools: TOOLS })
  assert.equal(JSON.stringify(sent()).includes(signature ?? '-'), false)
  answerWith(SAID)
  await say('test/open', 'whole', { contents, tools: TOOLS })
  assert.equal(JSON.stringify(sent()).includes('claude-signature'), false)
})

test('tools that the provider runs and that have no price are refused where the request means nothing else', async () => {
  for (const [model, tool] of [
    ['test/own', 'googleSearch'],
    ['test/open', 'google_search'],
    ['test/open', 'urlContext'],
  ] as const) {
    const got = await say(model, 'whole', { contents: [ASK], tools: [{ [tool]: {} }] })
    assert.equal(got.status, 400, got.raw)
    assert.match(got.error.message, /is not offered.*price/)
    assert.equal(got.error.status, 'INVALID_ARGUMENT')
  }
  answerWith(SAID)
  const got = await say('test/open', 'whole', { contents: [ASK], tools: [...TOOLS, { googleSearch: {} }] })
  assert.equal(got.headers['x-tollgate-dropped'], 'tools.googleSearch')
})

test('what costs money is named once: both spellings of a member are refused', async () => {
  const got = await say('test/own', 'whole', {
    contents: [ASK],
    systemInstruction: { parts: [{ text: 'short' }] },
    system_instruction: { parts: [{ text: 'long '.repeat(100) }] },
  })
  assert.equal(got.status, 400)
  assert.match(got.error.message, /systemInstruction: is given twice/)
  const many = await say('test/own', 'whole', {
    contents: [ASK],
    generationConfig: { candidateCount: 1, candidate_count: 8 },
  })
  assert.equal(many.status, 400, many.raw)
})

test('errors have the shape of the protocol: no key, no money, no model, a failing provider, and a stream that breaks', async () => {
  const { url } = tollgate
  const nobody = await generate(url, '', 'test/open', 'whole', { contents: [ASK] })
  assert.deepEqual([nobody.status, nobody.error.status], [401, 'UNAUTHENTICATED'])
  const poor = await tollgate.createAccount({ balance: 0 })
  const broke = await generate(url, poor.key, 'test/open', 'sse', { contents: [ASK] })
  assert.deepEqual([broke.status, broke.error.status], [402, 'FAILED_PRECONDITION'])
  const unknown = await say('test/none', 'whole', { contents: [ASK] })
  assert.deepEqual([unknown.status, unknown.error.status], [404, 'NOT_FOUND'])
  const failing = await say('test/open', 'whole', { contents: [ASK] })
  assert.equal(failing.status, 502)
  assert.equal(failing.error.code, 502)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Half' } }] })}\n\n`,
      () => response.destroy(),
    )
  })
  for (const framing of ['sse', 'array'] as const) {
    const cut = await say('test/open', framing, { contents: [ASK] })
    assert.equal(cut.text, 'Half', cut.raw)
    assert.equal(cut.error.code, 502)
    assert.deepEqual(cut.finishes, [])
  }
})

test('the key may stand in the query under /v1beta, and in no log line', async () => {
  answerWith(SAID)
  const path = `/v1beta/models/test/open:generateContent?key=${key}`
  const answer = await tollgate.request('POST', path, { body: { contents: [ASK] } })
  assert.equal(answer.status, 200)
  assert.equal(tollgate.logs().join('\n').includes(key), false)
})
