import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion } from '../harness/provider-answers.ts'

/** Whose fault a refusal is decides who is asked next, who is told, and what (wire.md 7.4). */

/** Pairs of providers, so that no test meets the health that another left. */
const PAIRS = 140
const numbers = Array.from({ length: PAIRS }, (_, index) => index)
const endpoint = (provider: string, price: number, context: number): string =>
  `{ provider: ${provider}, model: m, context_length: ${context}, price: { currency: RUB, prompt: ${price}, completion: ${price} } }`
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 3
rate_limit: { requests: 100000, window: 60 }
providers:
${numbers.flatMap((n) => ['a', 'b', 'c'].map((name) => `  ${name}${n}: { name: ${name}${n}, adapter: openai, base_url: "${url}/${name}${n}", api_key: k }`)).join('\n')}
  r: { name: r, adapter: openai, base_url: "${url}/r", api_key: k }
  m: { name: m, adapter: anthropic, base_url: "${url}/m", api_key: k }
  closed: { name: closed, adapter: openai, base_url: "http://127.0.0.1:1", api_key: k }
  nowhere: { name: nowhere, adapter: openai, base_url: "http://nowhere.invalid", api_key: k }
  plain: { name: plain, adapter: openai, base_url: "${url.replace('http:', 'https:')}", api_key: k }
models:
${['closed', 'nowhere', 'plain'].map((name) => `  - { id: test/${name}, type: chat, context_length: 131072, endpoints: [${endpoint(name, 1, 131_072)}] }`).join('\n')}
${numbers.map((n) => `  - { id: test/p${n}, type: chat, context_length: 131072, endpoints: [${endpoint(`a${n}`, 1, 131_072)}, ${endpoint(`b${n}`, 100_000, 131_072)}, ${endpoint(`c${n}`, 100_000, 131_072)}] }`).join('\n')}
${numbers.map((n) => `  - { id: test/w${n}, type: chat, context_length: 131072, endpoints: [${endpoint(`a${n}`, 1, 8_192)}, ${endpoint(`b${n}`, 100_000, 131_072)}, ${endpoint(`c${n}`, 200_000, 8_192)}] }`).join('\n')}
${numbers.map((n) => `  - { id: test/r${n}, type: chat, context_length: 131072, endpoints: [${endpoint('r', 1, 131_072).replace('m,', 'm, native_responses: true,')}, ${endpoint(`b${n}`, 100_000, 131_072)}] }`).join('\n')}
${numbers.map((n) => `  - { id: test/m${n}, type: chat, context_length: 131072, endpoints: [${endpoint('m', 1, 131_072)}, ${endpoint(`b${n}`, 100_000, 131_072)}] }`).join('\n')}
`,
  10_000_000,
)

let pair = -1
type Script = (response: ServerResponse) => unknown
const json =
  (status: number, body: unknown): Script =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
const events =
  (...list: readonly unknown[]): Script =>
  (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
const refuses = (status: number, error: unknown): Script => json(status, { error })
const works: Script = json(200, completion({ content: 'hello' }, { usage: { prompt_tokens: 1, completion_tokens: 1 } }))
const streams: Script = events(
  { choices: [{ index: 0, delta: { content: 'hello' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
)

interface Asked {
  readonly answer: Answer
  /** The letters of the providers, in the order they were asked. */
  readonly order: string
  readonly n: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly row: any
}

const CHAT = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }

/** Asks a fresh pair, of which `a` is nearly always the first. */
async function ask(
  scripts: Readonly<Partial<Record<string, Script>>>,
  {
    path = '/v1/chat/completions',
    body = CHAT,
    kind = 'p',
  }: { readonly path?: string; readonly body?: object; readonly kind?: 'p' | 'w' | 'r' | 'm' } = {},
): Promise<Asked> {
  pair += 1
  const n = pair
  const from = upstream.received.length
  upstream.answer((response, { path: url }) => void (scripts[url[1] ?? ''] ?? works)(response))
  const model = `test/${kind}${n}`
  const answer = await tollgate.post(path.replace('*', model), key, {
    model,
    provider: {
      order: ['a', 'r', 'm', 'b', 'c'].map((name) => (name === 'r' || name === 'm' ? name : `${name}${n}`)),
    },
    ...body,
  })
  const order = upstream.received.slice(from).map(({ path: asked }) => asked[1])
  const id = String(answer.headers['x-generation-id'])
  const { body: found } = await tollgate.admin('GET', `/admin/v1/generations/${id}`)
  return { answer, order: order.join(''), n, row: found }
}

async function statusOf({ n }: Asked, name: string): Promise<number> {
  const { body } = await tollgate.get(`/v1/models/test/p${n}/endpoints`, key)
  return body.data.endpoints.find((one: { provider_name: string }) => one.provider_name === `${name}${n}`).status
}

describe("the operator's trouble", () => {
  for (const [status, error] of [
    [400, { code: 'billing_hard_limit_reached', message: 'Billing hard limit has been reached' }],
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }],
    [400, { code: 'model_decommissioned', message: 'The model `m` has been decommissioned' }],
    [
      400,
      { code: 'OperationNotSupported', message: 'The chatCompletion operation does not work with the specified model' },
    ],
    [422, { message: 'Insufficient Balance' }],
  ] as const) {
    test(`${status} ${JSON.stringify(error)}: another provider answers, the endpoint is unhealthy, its words are the operator's`, async () => {
      const asked = await ask({ a: refuses(status, error) })
      assert.deepEqual([asked.order, asked.answer.status], ['ab', 200])
      assert.notEqual(await statusOf(asked, 'a'), 0)
      assert.equal(asked.row.tries[0].said, error.message)
      const alone = await ask({ a: refuses(status, error), b: refuses(status, error), c: refuses(status, error) })
      assert.deepEqual([alone.order, alone.answer.status], ['abc', 502])
      assert.doesNotMatch(alone.answer.text, /billing|quota|decommissioned|Completion|balance/i)
    })
  }

  const user = (content: unknown): object => ({ ...CHAT, messages: [{ role: 'user', content }] })
  const tool = (parameters: object): object => ({ type: 'function', function: { name: 'f', parameters } })
  const formed = (properties: object): object => ({ ...CHAT, tools: [tool({ type: 'object', properties })] })
  const parts = ['insufficient', 'balance'].map((text) => ({ type: 'text', text }))
  const before = { messages: [{ role: 'user', content: 'not found' }], max_tokens: 10 }
  const ECHOES: readonly (readonly [what: string, body: object, said: string])[] = [
    ['with other letters', user('Why has my account INSUFFICIENT balance?'), 'My account has insufficient balance'],
    ['in quotation marks', user(`an insufficient 'balance'`), 'Cannot read: an insufficient "balance"'],
    ['over lines', user('insufficient\n\tbalance'), 'insufficient balance'],
    ['after a long text', user(`${'hello '.repeat(50_000)} insufficient balance`), 'Bad insufficient balance'],
    ['in two parts', user(parts), 'insufficient balance'],
    ['as a member', formed({ 'credit balance': {} }), 'Bad schema {"properties":{"credit balance":{}}}'],
    ['in a member that is called model', formed({ model: { const: 'unknown model' } }), 'Bad schema: unknown model'],
    ['in another order', before, 'Invalid JSON: {"model":"m","messages":[{"role":"user","content":"not found"}]}'],
  ]
  for (const [what, body, said] of ECHOES)
    test(`the words of the request are not those of its provider: ${what}`, async () => {
      const asked = await ask({ a: refuses(400, { message: said }) }, { body })
      assert.deepEqual([asked.order, asked.answer.status, await statusOf(asked, 'a')], ['ab', 200, 0])
    })

  test('what a client sets is not what it is refused for', async () => {
    const body = { ...user('The context length is unknown'), moderation: 'low' }
    for (const error of [
      { message: "Unknown parameter: 'moderation'." },
      { message: 'moderation: Extra inputs are not permitted', param: 'moderation' },
      { message: "Invalid value: 'The context length is unknown'." },
    ]) {
      const asked = await ask({ a: refuses(400, error), b: refuses(400, error) }, { body })
      const { message, metadata } = asked.answer.body.error
      assert.deepEqual([asked.order, message, metadata.error_type], ['ab', error.message, 'invalid_input'])
    }
  })
})

test("the model's own fault is a failure of the endpoint", async () => {
  const asked = await ask({
    a: refuses(400, { code: 'tool_use_failed', message: 'Failed to call a function.', failed_generation: '<f' }),
  })
  assert.deepEqual([asked.order, asked.answer.status], ['ab', 200])
  assert.notEqual(await statusOf(asked, 'a'), 0)
})

describe('a refusal that nobody knows', () => {
  const first = refuses(400, { message: 'First words' })
  const second = refuses(422, { message: 'Second words' })

  test('is put to one other provider', async () => {
    const asked = await ask({ a: first })
    assert.deepEqual([asked.order, asked.answer.status, await statusOf(asked, 'a')], ['ab', 200, 0])
  })

  test('and if that refuses as well the first one is told; neither is unhealthy', async () => {
    const asked = await ask({ a: first, b: second })
    assert.deepEqual([asked.order, asked.answer.status], ['ab', 400])
    assert.equal(asked.answer.body.error.message, 'First words')
    assert.deepEqual([await statusOf(asked, 'a'), await statusOf(asked, 'b')], [0, 0])
  })

  test('a provider that fails has not refused', async () => {
    const asked = await ask({ a: first, b: refuses(500, { message: 'Broken' }) })
    assert.deepEqual([asked.order, asked.answer.status], ['abc', 200])
    const all = await ask({ a: first, b: refuses(500, { message: 'Broken' }), c: refuses(402, { message: 'Pay' }) })
    assert.deepEqual([all.answer.status, all.answer.body.error.message], [400, 'First words'])
  })

  test('policy is final', async () => {
    for (const said of [
      refuses(400, { message: 'Content Exists Risk' }),
      refuses(403, { code: 403, message: 'm requires moderation' }),
    ]) {
      const asked = await ask({ a: said })
      assert.deepEqual(
        [asked.order, asked.answer.status, asked.answer.body.error.metadata.error_type],
        ['a', 400, 'content_filtered'],
      )
      assert.equal(await statusOf(asked, 'a'), 0)
    }
  })
})

describe('a prompt that is too long', () => {
  const words = 'the request exceeds the available context size'
  const FORMS: readonly (readonly [string, Script, boolean])[] = [
    ['400', refuses(400, { message: words }), false],
    ['413 without a body', json(413, ''), false],
    ['422 of FastAPI', json(422, { detail: [{ loc: ['body', 'input'], msg: words }] }), false],
    ['500', refuses(500, { message: words }), false],
    ['an error in a 200', json(200, { error: { message: words, code: 'context_length_exceeded' } }), false],
    ['the first event of a stream', events({ error: { message: words } }), true],
    [
      'an error event of a stream',
      (response) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`event: error\ndata: ${JSON.stringify({ message: words })}\n\n`),
      true,
    ],
    [
      'an error after the lifecycle of a stream',
      events(
        { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
        { error: { message: words, code: 400 } },
      ),
      true,
    ],
  ]
  for (const [what, script, stream] of FORMS) {
    test(`${what}: an endpoint with a larger window is asked, and no other`, async () => {
      const body = { ...CHAT, stream }
      const asked = await ask({ a: script, b: stream ? streams : works }, { body, kind: 'w' })
      assert.deepEqual([asked.order, asked.answer.status], ['ab', 200])
      assert.match(asked.answer.text, /hello/)
      const none = await ask({ a: script, b: script }, { body, kind: 'w' })
      assert.equal(none.order, 'ab')
      assert.match(none.answer.text, /maximum context length is \d+ tokens.*reduce the length of the messages/i)
      assert.match(none.answer.text, /input_tokens_exceeded/)
    })

    test(`${what}: each protocol has its own words for it`, async () => {
      const messages = await ask(
        { a: script, b: script, c: script },
        { path: '/v1/messages', body: { max_tokens: 10, messages: CHAT.messages, stream } },
      )
      assert.match(messages.answer.text, /prompt is too long: /)
      assert.match(messages.answer.text, /invalid_request_error/)
      const responses = await ask(
        { a: script, b: script, c: script },
        { path: '/v1/responses', body: { input: 'hi', stream } },
      )
      assert.match(responses.answer.text, /context_length_exceeded/)
    })
  }

  test('the window that a refusal names counts, not that of the catalogue', async () => {
    const asked = await ask({
      a: refuses(400, { message: 'request (13392 tokens) exceeds the available context size (8192 tokens)' }),
    })
    assert.deepEqual([asked.order, asked.answer.status], ['ab', 200])
  })
})

describe('events that only open an answer do not end fallback', () => {
  const broken = { error: { message: 'Broken', code: 500 } }
  const sse =
    (...list: readonly (Record<string, unknown> | null)[]): Script =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of list)
        if (event !== null) response.write(`event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
      response.end()
    }
  const OPENINGS: readonly (readonly [string, Script])[] = [
    [
      'a chunk with a role',
      events({ id: 'x', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }, broken),
    ],
    [
      'empty chunks',
      events(
        ...Array.from({ length: 300 }, () => ({ id: 'x', choices: [{ index: 0, delta: { content: '' } }] })),
        broken,
      ),
    ],
    ['a chunk without choices, then the end', events({ id: 'x', choices: [] })],
    [
      'a comment, then the end',
      (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': OPENROUTER PROCESSING\n\n'),
    ],
  ]
  const long = 'Be brief. '.repeat(20_000)
  const tools = [{ type: 'function', name: 'f', description: long, parameters: { type: 'object', properties: {} } }]
  const DOORS: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { ...CHAT, stream: true }],
    ['/v1/completions', { prompt: 'hi', max_tokens: 10, stream: true }],
    ['/v1/responses', { input: 'hi', stream: true }],
    ['/v1/responses', { input: 'hi', stream: true, instructions: long, tools }],
    ['/v1/messages', { max_tokens: 10, messages: CHAT.messages, stream: true }],
    [
      '/v1beta/models/*:streamGenerateContent?alt=sse',
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], provider: undefined, model: undefined },
    ],
    ['/v2/chat', { messages: CHAT.messages, stream: true }],
    ['/api/chat', { messages: CHAT.messages, stream: true }],
  ]
  for (const [what, script] of OPENINGS) {
    test(what, async () => {
      for (const [path, body] of DOORS) {
        const { order, answer } = await ask({ a: script, b: streams }, { path, body })
        assert.deepEqual([order, answer.status], ['ab', 200], path)
        assert.match(answer.text, /hello/, path)
      }
    })
  }

  test('of Responses and Messages as their providers write them', async () => {
    const response = { id: 'r', object: 'response', status: 'in_progress', output: [], instructions: long }
    const opened = sse(
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', id: 'm', role: 'assistant', content: [] },
      },
      {
        type: 'response.content_part.added',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: '' },
      },
      {
        type: 'response.failed',
        response: { ...response, status: 'failed', error: { code: 'server_error', message: 'Broken' } },
      },
    )
    const responses = await ask(
      { r: opened, b: streams },
      { path: '/v1/responses', body: { input: 'hi', stream: true }, kind: 'r' },
    )
    assert.deepEqual([responses.order, responses.answer.status], ['rb', 200])
    assert.match(responses.answer.text, /hello/)
    const started = sse(
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 1, output_tokens: 0 },
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    )
    const messages = await ask(
      { m: started, b: streams },
      { path: '/v1/messages', body: { max_tokens: 10, messages: CHAT.messages, stream: true }, kind: 'm' },
    )
    assert.deepEqual([messages.order, messages.answer.status], ['mb', 200])
    assert.match(messages.answer.text, /hello/)
  })
})

describe('the reason is never lost', () => {
  const words = 'Input should be a valid string'
  const FORMS: readonly (readonly [what: string, status: number, body: unknown, told: string])[] = [
    ['FastAPI', 422, { detail: [{ loc: ['body', 'input'], msg: words, input: 'a prompt' }] }, `input: ${words}`],
    [
      'Mistral',
      422,
      {
        object: 'error',
        message: {
          detail: [
            { loc: ['body', 'seed'], msg: words },
            { loc: ['body', 'n'], msg: 'No' },
          ],
        },
      },
      `seed: ${words}; n: No`,
    ],
    ['errors', 400, { errors: [{ message: words }] }, words],
    ['a list', 400, { error: [words] }, words],
    ['error_msg', 400, { error_code: 336_003, error_msg: words }, words],
    ['base_resp', 400, { base_resp: { status_code: 2013, status_msg: words } }, words],
    ['detail.message', 400, { detail: { status: 'invalid', message: words } }, words],
    ['JSON in a text', 400, { error: { message: JSON.stringify({ error: { message: words } }) } }, words],
    ['plain text', 400, words, words],
    ['a page', 400, '<html><body>secret page</body></html>', 'Provider refused the request'],
  ]
  for (const [what, status, body, told] of FORMS) {
    test(what, async () => {
      const asked = await ask({ a: json(status, body), b: json(status, body) })
      assert.deepEqual([asked.order, asked.answer.status], ['ab', 400])
      assert.equal(asked.answer.body.error.message, told)
      assert.equal(asked.row.tries[0].said, what === 'a page' ? null : told)
    })
  }

  test('a connection that fails, and an answer that is none', async () => {
    const said = async (model: string): Promise<unknown> => {
      const { headers } = await tollgate.post('/v1/chat/completions', key, { model, ...CHAT })
      return (await tollgate.admin('GET', `/admin/v1/generations/${String(headers['x-generation-id'])}`)).body.tries[0]
        .said
    }
    assert.equal(await said('test/closed'), 'its host refused the connection')
    assert.equal(await said('test/nowhere'), 'its host was not found')
    assert.equal(await said('test/plain'), 'its certificate or its TLS is not valid')
    const asked = await ask({
      a: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('no'),
    })
    assert.equal(asked.row.tries[0].said, 'the answer is not a chat completion')
    assert.match(tollgate.logs().join('\n'), /closed: connect closed/)
  })
})

test('which parameters an endpoint refused today is counted by name, in words and in lists', async () => {
  const body = { ...CHAT, stop: 'The harbour of Trieste', logit_bias: { 7: 1 }, seed: 1 }
  for (const [said, parameter] of [
    [{ message: "Unsupported parameter: 'logit_bias' is not supported with this model." }, 'logit_bias'],
    [{ message: 'Unsupported', param: 'logit_bias' }, 'logit_bias'],
    [{ message: 'The temperature of this seed is refused' }, 'seed'],
    [{ message: 'seed is refused with: The harbour of Trieste' }, 'seed'],
  ] as const) {
    const row = await healthOf(`test/p${(await ask({ a: refuses(400, said) }, { body })).n}`)
    const [{ others, ...refused }, ...more] = row.refused_today
    const words = said.message.replace(/^.*Trieste.*$/, '[withheld: it may repeat the prompt]')
    assert.deepEqual([row.state, refused, more], ['healthy', { parameter, requests: 1, said: words }, []])
    assert.ok(others.includes('temperature') && !others.includes(parameter))
  }
})

test('a parameter that is taken out of the list is no longer sent, named and not counted, whatever the protocol', async () => {
  const message = { content: [{ type: 'text', text: 'hello' }], usage: { input_tokens: 1, output_tokens: 1 } }
  const claude = json(200, {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    stop_reason: 'end_turn',
    stop_sequence: null,
    ...message,
  })
  for (const [kind, path, given, parameter, answers] of [
    ['p', '/v1/chat/completions', { logit_bias: { 7: 1 }, seed: 1 }, 'logit_bias', works],
    ['p', '/v1/chat/completions', { reasoning_effort: 'low', seed: 1 }, 'reasoning_effort', works],
    ['p', '/v1/chat/completions', { response_format: { type: 'json_object' }, seed: 1 }, 'response_format', works],
    ['m', '/v1/messages', { temperature: 0.5, top_p: 1 }, 'temperature', claude],
  ] as const) {
    const body = { ...CHAT, ...given }
    const name = kind === 'p' ? 'a' : 'm'
    const { n } = await ask(
      { [name]: refuses(400, { message: 'Unsupported', param: parameter }) },
      { body, path, kind },
    )
    const model = `test/${kind}${n}`
    const [{ others }] = (await healthOf(model)).refused_today
    const { body: entry } = await tollgate.admin('GET', `/admin/v1/models/${model}`)
    const [first, ...rest] = entry.endpoints
    const endpoints = [{ ...first, supported_parameters: others }, ...rest]
    assert.equal((await tollgate.admin('PUT', `/admin/v1/models/${model}`, { ...entry, endpoints })).status, 200)
    pair = n - 1
    const only = { provider: { only: [kind === 'p' ? `a${n}` : 'm'] } }
    const { answer, order } = await ask({ [name]: answers }, { body: { ...body, ...only }, path, kind })
    assert.deepEqual([order, answer.headers['x-tollgate-dropped']], [name, parameter])
    const [kept = ''] = Object.keys(given).filter((field) => field !== parameter)
    const sent = upstream.requests.at(-1) ?? {}
    assert.deepEqual([Object.hasOwn(sent, parameter), Object.hasOwn(sent, kept)], [false, true])
    assert.deepEqual((await healthOf(model)).refused_today, [])
  }
})

test('no list is offered where it would change nothing', async () => {
  for (const parameter of ['service_tier', 'max_completion_tokens']) {
    const body = { ...CHAT, service_tier: 'flex', max_completion_tokens: 10, max_tokens: undefined }
    const { n } = await ask({ a: refuses(400, { message: 'Unsupported', param: parameter }) }, { body })
    const [{ others }] = (await healthOf(`test/p${n}`)).refused_today
    assert.equal(others === null, parameter === 'service_tier')
  }
})

// oxlint-disable-next-line typescript/no-explicit-any
async function healthOf(id: string): Promise<any> {
  const { body } = await tollgate.admin('GET', '/admin/v1/endpoints/health')
  return body.data.find(({ model }: { readonly model: string }) => model === id)
}
