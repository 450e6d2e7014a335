import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { gateway } from '../harness/gateway.ts'
import { listen } from '../harness/scripted-upstream.ts'

const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(20)

interface Sent {
  readonly url: string | undefined
  readonly authorization: string | undefined
  readonly body: unknown
}

let lines: readonly unknown[] = []
let sent: Sent[] = []

const upstream = await listen((response, { path, headers, json }) => {
  sent.push({ url: path, authorization: headers.authorization, body: json })
  response.writeHead(200, {
    'content-type': Object(json).stream === true ? 'application/x-ndjson' : 'application/json; charset=utf-8',
  })
  response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
})
const tollgate = await gateway({
  catalog: `
markup: 1
providers:
  local: { name: Local, adapter: ollama, base_url: ${upstream.url} }
models:
  - id: local/llama
    type: chat
    context_length: 1000000
    input_modalities: [text, image]
    endpoints: [{ provider: local, model: llama3.1, price: { currency: RUB, prompt: 3, completion: 15 } }]
`,
})
const { key } = await tollgate.createAccount({ balance: 1_000 })

async function ask(answer: readonly unknown[], body: Record<string, unknown>): Promise<FoldedAnswer> {
  lines = answer
  sent = []
  return chat(tollgate.url, key, {
    model: 'local/llama',
    max_tokens: 200,
    messages: [{ role: 'user', content: PROMPT }],
    ...body,
  })
}

function says(message: Record<string, unknown>): unknown {
  return { model: 'llama3.1', message: { role: 'assistant', content: '', ...message }, done: false }
}

const END = {
  model: 'llama3.1',
  message: { role: 'assistant', content: '' },
  done: true,
  done_reason: 'stop',
  prompt_eval_count: 40,
  eval_count: 9,
}

test('a stream of thinking, text and calls, and its exact cost', async () => {
  const call = { function: { name: 'f', arguments: { a: 1 } } }
  const answer = await ask([says({ thinking: 'Hm' }), says({ content: 'Hé' }), says({ tool_calls: [call] }), END], {
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'f' } }],
    seed: 7,
  })
  const choice = answer.choices.get(0)
  assert.deepEqual(
    [answer.error, choice?.reasoning, choice?.text, choice?.finish, choice?.native],
    [null, 'Hm', 'Hé', 'tool_calls', 'stop'],
  )
  assert.deepEqual(
    choice?.toolCalls.map(({ name, arguments: text_ }) => [name, text_]),
    [['f', '{"a":1}']],
  )
  assert.equal(answer.usage?.['cost'], (40 * 3 + 9 * 15) / 1_000_000)
  assert.deepEqual(sent, [
    {
      url: '/api/chat',
      authorization: undefined,
      body: {
        model: 'llama3.1',
        messages: [{ role: 'user', content: PROMPT }],
        stream: true,
        tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
        options: { num_predict: 200, seed: 7 },
      },
    },
  ])
})

test('a prompt wholly in the cache has no count and costs nothing', async () => {
  const { usage } = await ask(
    [{ ...END, message: { role: 'assistant', content: 'Hi' }, prompt_eval_count: undefined }],
    {},
  )
  assert.deepEqual(
    [usage?.['prompt_tokens'], usage?.['completion_tokens'], usage?.['cost']],
    [0, 9, (9 * 15) / 1_000_000],
  )
})

test('an error line in the middle, or no last line, is an error and costs nothing', async () => {
  for (const answer of [
    [says({ content: 'Hi' }), { error: 'llama runner process has terminated: /home/operator/.ollama' }],
    [says({ content: 'Hi' })],
  ]) {
    const credits = await tollgate.get('/v1/credits', key)
    const { status, error, choices } = await ask(answer, { stream: true })
    assert.deepEqual([status, error?.code, choices.get(0)?.text, choices.get(0)?.finish], [200, 502, 'Hi', 'error'])
    assert.doesNotMatch(JSON.stringify(error), /operator/)
    assert.deepEqual((await tollgate.get('/v1/credits', key)).body, credits.body)
  }
})

test('an error before the first word has its status', async () => {
  const { status, error } = await ask([{ error: 'model not loaded' }], { stream: true })
  assert.deepEqual([status, error?.metadata['error_type']], [502, 'provider_error'])
})
