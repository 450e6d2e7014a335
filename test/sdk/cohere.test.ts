import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CohereClientV2, CohereError, type Cohere } from 'cohere-ai'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion } from '../harness/provider-answers.ts'

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  cohere: { name: Cohere, adapter: cohere, base_url: "${url}", api_key: upstream-key }
  open: { name: Open, adapter: openai, base_url: "${url}", api_key: upstream-key }
models:
  - { id: test/cohere, type: chat, context_length: 100000, endpoints: [{ provider: cohere, model: command, price: { currency: RUB, prompt: 1, completion: 1000 } }] }
  - { id: test/open, type: chat, context_length: 100000, endpoints: [{ provider: open, model: up, price: { currency: RUB, prompt: 1, completion: 1000 } }] }
`,
)

const client = (): CohereClientV2 => new CohereClientV2({ token: key, environment: tollgate.url })
const USER: Cohere.ChatMessageV2 = { role: 'user', content: 'Edit a.txt' }
const TOOLS: Cohere.ToolV2[] = [
  {
    type: 'function',
    function: { name: 'edit', description: 'Edits a file', parameters: { type: 'object', properties: {} } },
  },
]
const CALLS = [{ id: 'c1', type: 'function', function: { name: 'edit', arguments: '{"path":"a.txt"}' } }] as const
/** The same answer in the protocols of both providers. */
const ANSWERS: Readonly<Record<string, { readonly call: unknown; readonly text: readonly unknown[] }>> = {
  'test/cohere': {
    call: {
      id: 'x',
      finish_reason: 'TOOL_CALL',
      message: { role: 'assistant', tool_plan: 'I will edit.', tool_calls: CALLS },
      usage: { billed_units: { input_tokens: 10, output_tokens: 5 }, tokens: { input_tokens: 10, output_tokens: 5 } },
    },
    text: [
      { type: 'message-start', id: 'x', delta: { message: { role: 'assistant', content: [] } } },
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Done' } } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: '.' } } } },
      { type: 'content-end', index: 0 },
      {
        type: 'message-end',
        id: 'x',
        delta: {
          finish_reason: 'COMPLETE',
          usage: {
            billed_units: { input_tokens: 10, output_tokens: 5 },
            tokens: { input_tokens: 10, output_tokens: 5 },
          },
        },
      },
    ],
  },
  'test/open': {
    call: completion(
      { content: 'I will edit.', tool_calls: CALLS },
      { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, finish: 'tool_calls' },
    ),
    text: [
      { id: 'c', choices: [{ index: 0, delta: { content: 'Done' } }] },
      { id: 'c', choices: [{ index: 0, delta: { content: '.' } }] },
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'c', choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
    ],
  },
}

/** Answers as the model of the request does: a stream with the text, a whole answer with a tool call. */
function answer(model: string): void {
  const said = ANSWERS[model]
  assert.ok(said !== undefined)
  upstream.answer((response) => {
    if (upstream.requests.at(-1)?.['stream'] !== true) {
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify(said.call))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of said.text) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end(model === 'test/open' ? 'data: [DONE]\n\n' : '')
  })
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', key)).body.balance
}

for (const model of Object.keys(ANSWERS))
  test(`cohere-ai ClientV2: three turns with a call at ${model}, whole and streamed, to the micro-ruble`, async () => {
    answer(model)
    const before = await balance()
    const first = await client().chat({ model, messages: [USER], tools: TOOLS, maxTokens: 100, stopSequences: ['END'] })
    assert.equal(first.finishReason, 'TOOL_CALL')
    assert.deepEqual(first.message.toolCalls, [...CALLS])
    assert.deepEqual([first.usage?.tokens?.inputTokens, first.usage?.tokens?.outputTokens], [10, 5])
    const messages: Cohere.ChatMessageV2[] = [
      USER,
      { role: 'assistant', toolPlan: 'I will edit.', toolCalls: first.message.toolCalls ?? [] },
      { role: 'tool', toolCallId: 'c1', content: [{ type: 'document', document: { data: { text: 'done' } } }] },
    ]
    for (const turns of [messages, [...messages, { role: 'assistant', content: 'Done.' } as const, USER]]) {
      let text = ''
      let finish = ''
      const types: string[] = []
      for await (const event of await client().chatStream({ model, messages: turns, tools: TOOLS })) {
        types.push(event.type)
        if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? ''
        if (event.type === 'message-end') finish = event.delta?.finishReason ?? ''
      }
      assert.deepEqual([text, finish], ['Done.', 'COMPLETE'])
      assert.deepEqual(types, [
        'message-start',
        'content-start',
        'content-delta',
        'content-delta',
        'content-end',
        'message-end',
      ])
    }
    const sent = JSON.stringify(upstream.requests.at(-1))
    for (const word of ['"c1"', 'I will edit.', 'done', 'a.txt']) assert.ok(sent.includes(word), word)
    // Each of the three: 10 × 1 + 5 × 1,000 µRUB.
    assert.equal(Math.round((before - (await balance())) * 1e6), 3 * 5_010)
    const { body } = await tollgate.get('/v1/generation?limit=1', key)
    assert.equal(body.logs[0].type, 'cohere_chat')
  })

test('cohere-ai ClientV2: errors are raised with their words', async () => {
  const options = { maxRetries: 0 }
  const raised = (status: number) => (error: unknown) => {
    assert.ok(error instanceof CohereError)
    assert.equal(error.statusCode, status)
    assert.match(JSON.stringify(error.body), /^\{"message":"[^"]+/)
    return true
  }
  await assert.rejects(client().chat({ model: 'test/none', messages: [USER] }, options), raised(404))
  await assert.rejects(client().chat({ model: 'test/open', messages: [USER], documents: ['x'] }, options), raised(400))
  const poor = await tollgate.createAccount({ balance: 0 })
  const broke = new CohereClientV2({ token: poor.key, environment: tollgate.url })
  await assert.rejects(broke.chat({ model: 'test/open', messages: [USER] }, options), raised(402))
})

test('cohere-ai ClientV2: embed and rerank', async () => {
  const embedded = await client().embed({
    model: 'sandbox/embeddings',
    texts: ['a', 'b'],
    inputType: 'search_query',
    embeddingTypes: ['float'],
    outputDimension: 3,
  })
  assert.deepEqual([embedded.embeddings.float?.length, embedded.embeddings.float?.[0]?.length], [2, 3])
  assert.equal(embedded.meta?.billedUnits?.inputTokens, 2)
  const ranked = await client().rerank({
    model: 'sandbox/rerank',
    query: 'capital of France',
    documents: ['Berlin is a city', 'Paris is the capital of France'],
    topN: 1,
  })
  assert.deepEqual(ranked.results, [{ index: 1, relevanceScore: 1 }])
  assert.equal(ranked.meta?.billedUnits?.searchUnits, 1)
})
