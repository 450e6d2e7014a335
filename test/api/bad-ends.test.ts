import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion } from '../harness/provider-answers.ts'

/**
 * An answer that its provider ends in an error is one at every door, and free; the usage that the provider tells with a
 * failure is the operator's cost (guarantees.md 3.5). A token of input costs 1 µRUB, one of output 10.
 */

const NATIVE = ['anthropic', 'gemini', 'bedrock', 'cohere', 'ollama'] as const
const world = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 3
rate_limit: { requests: 100000, window: 60 }
providers:
${['openai', ...NATIVE].map((name) => `  ${name}: { name: ${name}, adapter: ${name}, base_url: "${url}", api_key: k }`).join('\n')}
models:
${['openai', ...NATIVE].map((name) => `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 10 } }] }`).join('\n')}
  - { id: test/native, type: chat, context_length: 100000, endpoints: [{ provider: openai, model: m, native_responses: true, native_completions: true, price: { currency: RUB, prompt: 1, completion: 10 } }] }
  - { id: test/vectors, type: embeddings, context_length: 8192, endpoints: [{ provider: openai, model: m, price: { currency: RUB, prompt: 1 } }] }
`,
  100_000,
)
const { key, tollgate, upstream } = world

const TOLD = 2_000 * 1 + 300 * 10
const json = (body: unknown) => (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const sse =
  (...events: readonly unknown[]) =>
  (response: ServerResponse) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
const lines =
  (...events: readonly unknown[]) =>
  (response: ServerResponse) =>
    response
      .writeHead(200, { 'content-type': 'application/x-ndjson' })
      .end(events.map((event) => `${JSON.stringify(event)}\n`).join(''))

const MESSAGES = [{ role: 'user', content: 'x' }]

interface Booked {
  readonly answer: Answer
  readonly row: Readonly<Record<string, unknown>>
  /** µRUB. */
  readonly insured: number
}

async function asked(path: string, body: unknown, script: (response: ServerResponse) => unknown): Promise<Booked> {
  upstream.answer((response) => void script(response))
  const { tollgate } = world
  // An account of its own: its losses would soon make it pay (rule 20).
  const { key } = await tollgate.createAccount({ balance: 1_000 })
  const insured = async (): Promise<number> =>
    (await tollgate.admin('GET', '/admin/v1/usage?group_by=model')).body.data.reduce(
      (sum: number, one: { readonly insured: number }) => sum + one.insured,
      0,
    )
  const before = await insured()
  const answer = await tollgate.post(path, key, body)
  const { body: found } = await tollgate.admin(
    'GET',
    `/admin/v1/generations?generation_id=${String(answer.headers['x-generation-id'])}`,
  )
  return { answer, row: found.data[0], insured: Math.round(((await insured()) - before) * 1e6) }
}

type Door = readonly [what: string, path: (stream: boolean) => string, body: (stream: boolean) => object]

const DOORS = (model: string): readonly Door[] => [
  ['chat', () => '/v1/chat/completions', (stream) => ({ model, messages: MESSAGES, stream })],
  ['completions', () => '/v1/completions', (stream) => ({ model, prompt: 'x', stream })],
  ['Responses', () => '/v1/responses', (stream) => ({ model, input: 'x', stream })],
  ['Messages', () => '/v1/messages', (stream) => ({ model, max_tokens: 500, messages: MESSAGES, stream })],
  [
    'Gemini',
    (stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    () => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] }),
  ],
  ['Cohere', () => '/v2/chat', (stream) => ({ model, messages: MESSAGES, stream })],
  ['Ollama', () => '/api/chat', (stream) => ({ model, messages: MESSAGES, stream })],
]

const USAGE = { prompt_tokens: 2_000, completion_tokens: 300, total_tokens: 2_300 }
const ended = (finish: string) => ({
  whole: json(completion({ content: 'Half' }, { usage: USAGE, finish })),
  stream: sse(
    { choices: [{ index: 0, delta: { content: 'Half' } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage: USAGE },
  ),
})
const malformed = {
  candidates: [
    { index: 0, content: { role: 'model', parts: [{ text: 'Half' }] }, finishReason: 'MALFORMED_FUNCTION_CALL' },
  ],
  usageMetadata: { promptTokenCount: 2_000, candidatesTokenCount: 300 },
}

/** The last chunk waits for the charge. */
const begun = { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Half' }] } }] }

const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"Half' } }
/** The provider broke off in the arguments of a call. */
const halfCall = {
  whole: json(
    completion({ content: null, tool_calls: [call] }, { usage: USAGE, finish: 'insufficient_system_resource' }),
  ),
  stream: sse(
    { choices: [{ index: 0, delta: { tool_calls: [call] } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'insufficient_system_resource' }] },
    { choices: [], usage: USAGE },
  ),
}

describe('an answer that ends in an error is one at every door, whole and streamed, and free', () => {
  for (const [model, script] of [
    ['test/openai', ended('insufficient_system_resource')],
    ['test/openai', halfCall],
    ['test/gemini', { whole: json(malformed), stream: sse(begun, malformed) }],
  ] as const)
    for (const [what, path, body] of DOORS(model).filter(([door]) =>
      script === halfCall
        ? ['chat', 'Responses', 'Messages'].includes(door)
        : model === 'test/openai' || ['Responses', 'Messages', 'Gemini'].includes(door),
    ))
      test(`${what}, ${model}${script === halfCall ? ', in a call' : ''}`, async () => {
        for (const stream of [false, true]) {
          const { answer, row, insured } = await asked(path(stream), body(stream), script[stream ? 'stream' : 'whole'])
          assert.equal(answer.status, stream ? 200 : 502, answer.text)
          assert.match(answer.text, /Provider returned an error/)
          assert.doesNotMatch(answer.text, /end_turn|MALFORMED|insufficient/)
          if (stream) assert.match(answer.text, /Half/)
          assert.deepEqual(
            [row['total_cost'], row['status'], row['error_type'], row['finish_reason'], insured],
            [0, 'error', 'provider_error', 'error', TOLD],
          )
        }
      })
})

test('such ends do not put an endpoint out of use: a prompt may be their cause', async () => {
  for (let count = 0; count < 8; count += 1)
    await asked('/v1/chat/completions', { model: 'test/openai', messages: MESSAGES }, ended('error').whole)
  const { body } = await tollgate.get('/v1/models/health', key)
  assert.doesNotMatch(JSON.stringify(body), /unhealthy/)
})

const ERROR = { message: 'broken', code: 'server_error' }
const DEAD = { id: 'r', object: 'response', status: 'failed', error: ERROR, output: [] }
const USED = { input_tokens: 2_000, output_tokens: 300, total_tokens: 2_300 }
const said = { choices: [{ index: 0, delta: { content: 'Half' } }] }

describe('the usage that a provider tells with a failure is its cost', () => {
  const chat = (name: string, stream: boolean): readonly [string, object] => [
    '/v1/chat/completions',
    { model: `test/${name}`, messages: MESSAGES, stream },
  ]
  const responses = (stream: boolean): readonly [string, object] => [
    '/v1/responses',
    { model: 'test/native', input: 'x', stream },
  ]
  const completions = (stream: boolean): readonly [string, object] => [
    '/v1/completions',
    { model: 'test/native', prompt: 'x', stream },
  ]
  const anthropicUsed = { input_tokens: 2_000, output_tokens: 300 }
  const geminiUsed = { promptTokenCount: 2_000, candidatesTokenCount: 300 }
  const cohereUsed = { tokens: { input_tokens: 2_000, output_tokens: 300 } }
  const ollamaUsed = { prompt_eval_count: 2_000, eval_count: 300 }
  for (const [what, [path, body], script] of [
    ['chat, an error in a 200', chat('openai', false), json({ error: ERROR, usage: USAGE })],
    ['chat, an error chunk', chat('openai', true), sse(said, { error: ERROR, usage: USAGE })],
    ['completions, an error in a 200', completions(false), json({ error: ERROR, usage: USAGE })],
    [
      'completions, an error chunk',
      completions(true),
      sse({ choices: [{ index: 0, text: 'Half' }] }, { error: ERROR, usage: USAGE }),
    ],
    ['Responses, status failed', responses(false), json({ ...DEAD, usage: USED })],
    ['Responses, status failed without an error', responses(false), json({ ...DEAD, error: null, usage: USED })],
    [
      'Responses, response.failed',
      responses(true),
      sse(
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Half' },
        { type: 'response.failed', response: { ...DEAD, usage: USED } },
      ),
    ],
    [
      'Anthropic, an error in a 200',
      chat('anthropic', false),
      json({ type: 'error', error: { type: 'api_error', message: 'broken' }, usage: anthropicUsed }),
    ],
    [
      'Anthropic, an error event',
      chat('anthropic', true),
      sse(
        { type: 'message_start', message: { id: 'm', usage: { input_tokens: 2_000, output_tokens: 1 } } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Half' } },
        { type: 'error', error: { type: 'api_error', message: 'broken' }, usage: { output_tokens: 300 } },
      ),
    ],
    [
      'Gemini, an error in a 200',
      chat('gemini', false),
      json({ error: { code: 500, message: 'broken' }, usageMetadata: geminiUsed }),
    ],
    [
      'Gemini, an error chunk',
      chat('gemini', true),
      sse(
        { candidates: [{ index: 0, content: { parts: [{ text: 'Half' }] } }] },
        { error: { code: 500, message: 'broken' }, usageMetadata: geminiUsed },
      ),
    ],
    ['Cohere, an error in a 200', chat('cohere', false), json({ error: 'broken', usage: cohereUsed })],
    [
      'Cohere, an error at the end',
      chat('cohere', true),
      sse(
        { type: 'message-start', id: 'c' },
        { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Half' } } } },
        { type: 'message-end', delta: { error: 'broken', usage: cohereUsed } },
      ),
    ],
    ['Ollama, an error in a 200', chat('ollama', false), json({ error: 'broken', ...ollamaUsed })],
    [
      'Ollama, an error line',
      chat('ollama', true),
      lines({ message: { content: 'Half' }, done: false }, { error: 'broken', ...ollamaUsed }),
    ],
  ] as const)
    test(what, async () => {
      const { answer, row, insured } = await asked(path, body, script)
      assert.match(answer.text, /error/)
      assert.deepEqual([row['total_cost'], row['status'], insured], [0, 'error', TOLD], answer.text)
    })

  test('embeddings', async () => {
    const { insured } = await asked(
      '/v1/embeddings',
      { model: 'test/vectors', input: 'x' },
      json({ error: ERROR, usage: { prompt_tokens: 2_000 } }),
    )
    assert.equal(insured, 2_000)
  })
})
