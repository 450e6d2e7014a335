import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { gateway } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { refused } from '../harness/refused.ts'
import { completion } from '../harness/provider-answers.ts'

const upstream = await startScriptedUpstream()
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  scripted: { name: Scripted, adapter: openai, base_url: "${upstream.url}", api_key: k }
models:
  - id: test/native
    type: chat
    context_length: 8192
    endpoints: [{ provider: scripted, model: instruct, price: { currency: RUB, prompt: 1, completion: 1000 }, native_completions: true }]
  - id: test/wrapped
    type: chat
    context_length: 8192
    endpoints: [{ provider: scripted, model: talker, price: { currency: RUB, prompt: 1, completion: 1000 } }]
  - id: test/tiered
    type: chat
    context_length: 8192
    endpoints:
      - provider: scripted
        model: talker
        price: { currency: RUB, prompt: 1, completion: 1, tiers: [{ above: 15, prompt: 2 }], service_tiers: { flex: { completion: 0 }, priority: { completion: 9 } } }
`,
})
const account = await tollgate.createAccount({ balance: 100 })

function complete(body: Record<string, unknown>): Promise<FoldedAnswer> {
  return chat(tollgate.url, account.key, body, {}, '/v1/completions')
}

async function lastRow(): Promise<Record<string, unknown>> {
  const { body } = await tollgate.get('/v1/generation?limit=1', account.key)
  return body.logs[0]
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', account.key)).body.balance
}

/** Answers each chat with its own last words, at 10 + 5 tokens. */
function echoChats(): void {
  upstream.answer((response) => {
    const { messages } = upstream.requests.at(-1) as { messages: { content: string }[] }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(
        completion(
          { content: `<${messages.at(-1)?.content}>` },
          { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
        ),
      ),
    )
  })
}

test('a chat-only model gets each prompt as one user message; the answers are the choices of one, billed in one row', async () => {
  echoChats()
  const before = await balance()
  const sent = upstream.requests.length
  const answer = await complete({
    model: 'test/wrapped',
    prompt: ['one', 'two', 'three'],
    max_tokens: 50,
    suffix: 'x',
    echo: true,
    logprobs: 2,
    best_of: 3,
  })
  assert.equal(answer.status, 200)
  assert.deepEqual(
    [...answer.choices].map(([index, { text, finish }]) => [index, text, finish]),
    [
      [0, '<one>', 'stop'],
      [1, '<two>', 'stop'],
      [2, '<three>', 'stop'],
    ],
  )
  const bodies = upstream.requests.slice(sent)
  assert.deepEqual(
    bodies.map((body) => body['messages']),
    ['one', 'two', 'three'].map((content) => [{ role: 'user', content }]),
  )
  for (const name of ['suffix', 'echo', 'logprobs', 'best_of', 'prompt'])
    assert.equal(
      bodies.some((body) => name in body),
      false,
      name,
    )
  // 3 × (10 × 1 + 5 × 1,000) µRUB.
  assert.equal(answer.usage?.['cost'], 0.01503)
  assert.equal(Math.round((before - (await balance())) * 1e6), 15_030)
  const row = await lastRow()
  assert.deepEqual(
    [row['type'], row['input_tokens'], row['output_tokens'], row['total_cost'], row['billing_basis']],
    ['completions', 30, 15, 0.01503, 'provider_usage'],
  )
})

test('what one of several prompts reports is billed, also where another reports nothing', async () => {
  upstream.answer((response) => {
    const { messages } = upstream.requests.at(-1) as { messages: { content: string }[] }
    const usage =
      messages[0]?.content === 'silent' ? {} : { usage: { prompt_tokens: 10, completion_tokens: 40, total_tokens: 50 } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: 'c',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
        ...usage,
      }),
    )
  })
  await complete({ model: 'test/wrapped', prompt: ['told', 'silent'], max_tokens: 50 })
  const row = await lastRow()
  assert.deepEqual([row['output_tokens'], row['billing_basis']], [40, 'counted'])
})

test('the body is a text completion with exactly its keys', async () => {
  echoChats()
  const { body, headers } = await tollgate.post('/v1/completions', account.key, {
    model: 'test/wrapped',
    prompt: 'hi',
    max_tokens: 5,
  })
  assert.deepEqual(Object.keys(body), ['id', 'object', 'created', 'model', 'provider', 'choices', 'usage'])
  assert.equal(body.object, 'text_completion')
  assert.deepEqual(body.choices, [
    { index: 0, text: '<hi>', finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null },
  ])
  assert.equal(headers['x-generation-id'], body.id)
})

test('one of several prompts that fails ends the request free of charge', async () => {
  let count = 0
  const failed = Promise.withResolvers<void>()
  upstream.answer((response) => {
    count += 1
    if (count === 2) {
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no"}}', () => failed.resolve())
      return
    }
    void failed.promise.then(() =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          '{"id":"c","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}',
        ),
    )
  })
  const before = await balance()
  const answer = await complete({ model: 'test/wrapped', prompt: ['a', 'b', 'c'], max_tokens: 5 })
  refused(answer, 400, 'invalid_input')
  assert.equal(await balance(), before)
  assert.equal((await lastRow())['status'], 'error')
})

test("a native endpoint gets the prompts in one call, and the parameters that are completions' own", async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: 'cmpl',
        choices: [
          { index: 0, text: ' a', logprobs: { tokens: [' a'] }, finish_reason: 'length' },
          { index: 1, text: ' b', finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      }),
    )
  })
  const answer = await complete({
    model: 'test/native',
    prompt: ['x', 'y'],
    max_tokens: 7,
    suffix: 's',
    echo: true,
    logprobs: 2,
    best_of: 3,
    temperature: 0.5,
    stop: ['.'],
    tools: [{ bad: 1 }],
  })
  assert.equal(answer.status, 200)
  assert.deepEqual(upstream.requests.at(-1), {
    model: 'instruct',
    prompt: ['x', 'y'],
    max_tokens: 7,
    temperature: 0.5,
    stop: ['.'],
    suffix: 's',
    echo: true,
    logprobs: 2,
    best_of: 3,
  })
  assert.deepEqual(
    [answer.choices.get(0)?.text, answer.choices.get(0)?.finish, answer.choices.get(1)?.text],
    [' a', 'length', ' b'],
  )
  assert.match(JSON.stringify(answer.events[0]), /"logprobs":\{"tokens":\[" a"\]\}/)
  assert.equal(answer.usage?.['cost'], 0.002003)
})

test('a stream: text in its chunks, usage as asked for, and the two-event error after the first byte', async () => {
  const chunk = (text: string, finish: string | null, more: Record<string, unknown> = {}): string =>
    `data: ${JSON.stringify({ id: 'cmpl', choices: [{ index: 0, text, finish_reason: finish }], ...more })}\n\n`
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `${chunk('Hel', null)}${chunk('lo', null)}${chunk('', 'stop')}data: {"id":"cmpl","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\ndata: [DONE]\n\n`,
    )
  })
  const plain = await complete({ model: 'test/native', prompt: 'x', max_tokens: 7, stream: true })
  assert.equal(plain.choices.get(0)?.text, 'Hello')
  assert.equal(plain.done, true)
  assert.deepEqual(
    plain.events.map((event) => [event['object'], (event['choices'] as unknown[]).length, 'usage' in event]),
    [
      ['text_completion', 1, false],
      ['text_completion', 1, false],
      ['text_completion', 1, true],
    ],
  )
  const withUsage = await complete({
    model: 'test/native',
    prompt: 'x',
    max_tokens: 7,
    stream: true,
    stream_options: { include_usage: true },
  })
  assert.deepEqual(withUsage.events.at(-1)?.['choices'], [])
  assert.equal(withUsage.usage?.['cost'], 0.002003)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('Hel', null), () => response.socket?.destroy())
  })
  const cut = await complete({ model: 'test/native', prompt: 'x', max_tokens: 7, stream: true })
  assert.equal(cut.error?.metadata['error_type'], 'provider_error')
  assert.deepEqual(
    cut.events.map((event) => Object.keys(event)),
    [
      ['id', 'object', 'created', 'model', 'provider', 'choices'],
      ['id', 'object', 'created', 'model', 'provider', 'choices', 'error', 'usage'],
      ['error'],
    ],
  )
  assert.equal((await lastRow())['total_cost'], 0)
})

test('a stream of several prompts numbers the choices through', async () => {
  upstream.answer((response) => {
    const { messages } = upstream.requests.at(-1) as { messages: { content: string }[] }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: messages[0]?.content }, finish_reason: 'stop' }] })}\n\ndata: {"id":"c","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":1}}\n\ndata: [DONE]\n\n`,
    )
  })
  const answer = await complete({ model: 'test/wrapped', prompt: ['p', 'q'], max_tokens: 5, stream: true })
  assert.deepEqual(
    [answer.choices.get(0)?.text, answer.choices.get(1)?.text, answer.choices.get(1)?.finish],
    ['p', 'q', 'stop'],
  )
  assert.equal(answer.usage?.['prompt_tokens'], 8)
})

test('bad requests get the error of the table', async () => {
  const refusalOf = async (body: Record<string, unknown>): Promise<readonly unknown[]> => {
    const { status, error } = await complete({ model: 'test/native', ...body })
    return [status, error?.metadata['error_type'], error?.message]
  }
  assert.deepEqual(await refusalOf({}), [400, 'missing_prompt', "Parameter 'prompt' is required"])
  for (const prompt of ['', [], null]) assert.equal((await refusalOf({ prompt }))[1], 'missing_prompt')
  for (const prompt of [5, [1, 2], [[1, 2]], [''], Array.from({ length: 21 }, () => 'x'), { a: 1 }])
    assert.deepEqual(await refusalOf({ prompt }), [
      400,
      'invalid_input',
      'prompt: must be a string or an array of 1 to 20 non-empty strings',
    ])
  assert.deepEqual(await refusalOf({ prompt: 'x', n: 3, best_of: 2 }), [
    400,
    'invalid_input',
    'best_of: must be at least n (3)',
  ])
  assert.deepEqual(await refusalOf({ prompt: 'x', logprobs: 6 }), [
    400,
    'invalid_input',
    'logprobs: must be an integer between 0 and 5',
  ])
  assert.deepEqual(await refusalOf({ prompt: 'x', echo: 'yes' }), [400, 'invalid_input', 'echo: must be a boolean'])
  assert.deepEqual(await refusalOf({ prompt: 'x', temperature: 3 }), [
    400,
    'invalid_input',
    'temperature: must be between 0 and 2',
  ])
  assert.deepEqual((await refusalOf({ prompt: 'x', model: 'test/none' })).slice(0, 2), [400, 'model_not_found'])
  assert.deepEqual((await refusalOf({ prompt: 'a '.repeat(20_000) })).slice(0, 2), [400, 'input_tokens_exceeded'])
})

test('the hold covers every prompt: what cannot be paid is refused before anything is sent', async () => {
  const poor = await tollgate.createAccount({ balance: 0.05 })
  const sent = upstream.requests.length
  const answer = await chat(
    tollgate.url,
    poor.key,
    { model: 'test/wrapped', prompt: ['a', 'b', 'c'], max_tokens: 20 },
    {},
    '/v1/completions',
  )
  refused(answer, 402, 'insufficient_balance')
  assert.equal(upstream.requests.length, sent)
  echoChats()
  assert.equal(
    (
      await chat(
        tollgate.url,
        poor.key,
        { model: 'test/wrapped', prompt: ['a', 'b'], max_tokens: 20 },
        {},
        '/v1/completions',
      )
    ).status,
    200,
  )
})

test('several prompts are one charge: of all their tokens, in the dearest tier in which one of them was served', async () => {
  for (const [served, cost] of [
    [['flex', 'flex'], 20],
    // 20 tokens of input are above the step; 10 of one prompt alone would not be.
    [['default', 'default'], 50],
    [['flex', 'priority'], 110],
    [['priority', 'flex'], 110],
    [['flex', undefined], 50],
    [[undefined, undefined], 50],
  ] as const) {
    upstream.answer((response) => {
      // Written by the server under test.
      const { messages } = upstream.requests.at(-1) as { messages: { content: string }[] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          id: 'c',
          service_tier: served[messages[0]?.content === 'one' ? 0 : 1],
          choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        }),
      )
    })
    const { status } = await complete({ model: 'test/tiered', prompt: ['one', 'two'], max_tokens: 10 })
    assert.equal(status, 200)
    const row = await lastRow()
    assert.equal(row['total_cost'], cost / 1e6, served.join())
  }
})
