import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { loggedRow } from '../harness/money-check.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

/** The calls of Ollama's clients (clients.md 6). */
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  open: { name: Open, adapter: openai, base_url: "${url}", api_key: upstream-canary-key }
models:
  - { id: test/open, type: chat, context_length: 100000, input_modalities: [text, image], endpoints: [{ provider: open, model: up, supported_parameters: [max_tokens, tools, temperature, stop], price: { currency: RUB, prompt: 1, completion: 1000 } }] }
`,
)

function call(body: Record<string, unknown>, path = '/api/chat'): Promise<Answer> {
  return tollgate.post(path, key, { model: 'sandbox/chat', ...body })
}

interface Chunk {
  readonly model: string
  readonly message: { readonly content: string; readonly thinking?: string; readonly tool_calls?: readonly unknown[] }
  readonly done: boolean
}

/** The lines of a stream, each of them JSON. */
function linesOf(text: string): readonly (Chunk & Readonly<Record<string, unknown>>)[] {
  assert.ok(text.endsWith('\n'))
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line))
}

const HELLO = [{ role: 'user', content: 'Hello' }]

test('a stream is lines of JSON and is what a client gets that says nothing; the last one has counts and the charge', async () => {
  const streamed = await call({ messages: HELLO })
  assert.equal(streamed.headers['content-type'], 'application/x-ndjson')
  const lines = linesOf(streamed.text)
  const whole = await call({ messages: HELLO, stream: false })
  assert.equal(lines.map(({ message }) => message.content).join(''), whole.body.message.content)
  assert.ok(lines.slice(0, -1).every(({ done }) => !done) && lines.length > 3)
  const last = lines.at(-1) ?? assert.fail()
  const { created_at: _at, message: _message, ...end } = whole.body
  assert.partialDeepStrictEqual(last, { ...end, message: { role: 'assistant', content: '' } })
  assert.deepEqual([last.done, last['done_reason'], last.model], [true, 'stop', 'sandbox/chat'])
  const row = await loggedRow(tollgate, key, streamed.headers['x-generation-id'])
  assert.partialDeepStrictEqual(row, {
    type: 'chat',
    streamed: true,
    total_cost: last['cost'],
    input_tokens: last['prompt_eval_count'],
    output_tokens: last['eval_count'],
  })
})

test('a conversation with a call that the client runs: results find their calls by the name of the function', async () => {
  const tools = [{ type: 'function', function: { name: 'edit', parameters: { type: 'object', properties: {} } } }]
  const messages: unknown[] = [{ role: 'user', content: 'sandbox: tool=edit' }]
  for (const stream of [true, false]) {
    const answer = await call({ messages, tools, stream })
    assert.equal(answer.status, 200, answer.text)
    const said = stream
      ? linesOf(answer.text).flatMap(({ message }) => message.tool_calls ?? [])
      : answer.body.message.tool_calls
    assert.equal(said.length, 1)
    assert.partialDeepStrictEqual(said[0], { function: { index: 0, name: 'edit' } })
    assert.equal(typeof said[0].function.arguments, 'object')
  }
  upstream.answer(
    answers(completion({ content: 'Done' }, { usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } })),
  )
  const made = (name: string): unknown => ({ function: { name, arguments: { a: 1 } } })
  const done = await call({
    model: 'test/open:latest',
    stream: false,
    tools,
    messages: [
      { role: 'user', content: 'Look', images: ['/9j/4AAQ'] },
      { role: 'assistant', content: '', thinking: 'hm', tool_calls: [made('edit'), made('look'), made('edit')] },
      { role: 'tool', tool_name: 'look', content: 'seen' },
      { role: 'tool', tool_name: 'edit', content: 'first' },
      { role: 'tool', content: 'second' },
    ],
    options: { num_predict: 7, temperature: 0.5, top_k: 3, stop: 'X', num_ctx: 4096 },
    format: 'json',
    keep_alive: '5m',
  })
  assert.equal(done.status, 200, done.text)
  assert.equal(done.body.model, 'test/open')
  assert.partialDeepStrictEqual(upstream.requests.at(-1), {
    max_tokens: 7,
    temperature: 0.5,
    stop: ['X'],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQ' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: ['call_1', 'call_2', 'call_3'].map((id) => ({
          id,
          type: 'function',
          function: { arguments: '{"a":1}' },
        })),
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'seen' },
      { role: 'tool', tool_call_id: 'call_1', content: 'first' },
      { role: 'tool', tool_call_id: 'call_3', content: 'second' },
    ],
  })
  assert.equal(done.headers['x-tollgate-dropped'], 'keep_alive, options.num_ctx, options.top_k, format')
})

test('texts to embed, one or several, and the models that can be called', async () => {
  const one = await call({ model: 'sandbox/embeddings:latest', input: 'first' }, '/api/embed')
  const two = await call({ model: 'sandbox/embeddings', input: ['first', 'second'] }, '/api/embed')
  assert.deepEqual([one.body.embeddings.length, two.body.embeddings.length], [1, 2])
  assert.deepEqual(one.body.embeddings[0], two.body.embeddings[0])
  assert.ok(two.body.cost > one.body.cost && two.body.prompt_eval_count > one.body.prompt_eval_count)
  const get = (path: string): Promise<Answer> => tollgate.get(path, key)
  const names = (await get('/api/tags')).body.models.map(({ name, model }: { name: string; model: string }) => {
    assert.equal(name, model)
    return name
  })
  assert.ok(names.includes('sandbox/chat') && names.includes('sandbox/embeddings') && !names.includes('sandbox/image'))
  assert.match((await get('/api/version')).body.version, /^\d+\.\d+\.\d+$/)
})

test('errors are one text, before a stream and inside it', async () => {
  const rows: readonly (readonly [Record<string, unknown>, number, RegExp])[] = [
    [{}, 400, /messages/],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 400, /'robot' is not allowed/],
    [{ messages: HELLO, model: 'no/such' }, 404, /'no\/such' not found/],
    [{ messages: HELLO, options: { temperature: '1' } }, 400, /^options\.temperature: must be between 0 and 2$/],
    [{ messages: HELLO, options: { stop: [''] } }, 400, /^options\.stop: must be at most 8/],
    [{ messages: HELLO, think: 'much' }, 400, /^think: must be true, false or one of/],
    [{ messages: HELLO, format: 'yaml' }, 400, /^format: must be 'json'/],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 400, /waits for a result/],
    [{ messages: [{ role: 'user', content: 'x', images: ['*'] }] }, 400, /not valid base64/],
    [{ messages: [{ role: 'user', content: 'sandbox: status=500' }] }, 502, /Provider returned an error/],
  ]
  for (const [fields, status, words] of rows) {
    const answer = await call(fields)
    assert.deepEqual([answer.status, Object.keys(answer.body)], [status, ['error']], answer.text)
    assert.match(answer.body.error, words)
  }
  const cut = linesOf((await call({ messages: [{ role: 'user', content: 'sandbox: error=2' }] })).text).at(-1)
  assert.deepEqual(Object.keys(cut ?? {}), ['error'])
  const poor = await tollgate.createAccount({ balance: 0 })
  const broke = await tollgate.post('/api/chat', poor.key, { model: 'sandbox/chat', messages: HELLO })
  assert.deepEqual([broke.status, typeof broke.body.error], [402, 'string'])
  const nobody = await tollgate.request('GET', '/api/tags')
  assert.deepEqual([nobody.status, Object.keys(nobody.body)], [401, ['error']])
})
