import assert from 'node:assert/strict'
import { test } from 'node:test'
import { say } from '../harness/protocol-folds.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { candidate } from '../harness/provider-answers.ts'

const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1 }'
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  claude: { name: Claude, adapter: anthropic, base_url: ${url}/v1, api_key: k }
  moon: { name: Moon, adapter: anthropic, base_url: ${url}/v1, api_key: k }
  zed: { name: Zed, adapter: anthropic, base_url: ${url}/v1, api_key: k }
  gemini: { name: Gemini, adapter: gemini, base_url: ${url}/v1beta, api_key: k }
  vertex: { name: Vertex, adapter: gemini, base_url: ${url}/v1/projects/p/locations/global/publishers/google, api_key: k }
  vertex2: { name: Vertex 2, adapter: gemini, base_url: ${url}/v1/projects/q/locations/global/publishers/google, api_key: k }
models:
  - { id: test/claude, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-sonnet-5, ${PRICE} }] }
  - { id: test/moon, type: chat, context_length: 100000, endpoints: [{ provider: moon, model: kimi-k2, ${PRICE} }] }
${['gemini', 'vertex', 'vertex2'].map((name) => `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${name}, model: gemini-3-pro-preview, ${PRICE} }] }`).join('\n')}
  - { id: test/zed, type: chat, context_length: 100000, endpoints: [{ provider: zed, model: glm-4.6, ${PRICE} }] }
`,
)

const THOUGHTS = [
  { type: 'thinking', thinking: 'Hm', signature: 'R0xN' },
  { type: 'redacted_thinking', data: 'c2VjcmV0' },
  { type: 'thinking', thinking: 'Unsigned', signature: '' },
]
const TEXT = { type: 'text', text: 'Hi' }

/** Claude signs all its thoughts. */
function answerMessage(streams: boolean, from: string): void {
  const content = [...(from === 'test/claude' ? THOUGHTS.slice(0, 2) : THOUGHTS), TEXT]
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    stop_sequence: null,
  }
  const usage = { input_tokens: 5, output_tokens: 3 }
  if (!streams) return upstream.answer(answers({ ...message, content, usage }))
  const events: Record<string, unknown>[] = [
    { type: 'message_start', message: { ...message, stop_reason: null, content: [], usage } },
  ]
  for (const [index, block] of content.entries()) {
    const delta = (fields: object): void => void events.push({ type: 'content_block_delta', index, delta: fields })
    const isThought = block.type === 'thinking'
    const begun = isThought
      ? { ...block, thinking: '', signature: '' }
      : block.type === 'text'
        ? { ...block, text: '' }
        : block
    events.push({ type: 'content_block_start', index, content_block: begun })
    if ('thinking' in block) delta({ type: 'thinking_delta', thinking: block.thinking })
    if ('signature' in block && block.signature !== '') delta({ type: 'signature_delta', signature: block.signature })
    if ('text' in block) delta({ type: 'text_delta', text: block.text })
    events.push({ type: 'content_block_stop', index })
  }
  events.push({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, { type: 'message_stop' })
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  })
}

/** The thoughts that reach the provider of `model`, out of an answer of `from` that its client sends back. */
async function returned(door: 'messages' | 'chat', from: string, model: string, streams: boolean): Promise<unknown> {
  const question = [{ role: 'user', content: 'Hi' }]
  answerMessage(streams, from)
  let turn: unknown
  if (door === 'messages') {
    const body = { model: from, max_tokens: 2_000, stream: streams, messages: question }
    const { message } = await say(tollgate.url, key, body)
    turn = { role: 'assistant', content: message.content }
  } else {
    const body = { model: from, max_tokens: 2_000, messages: question }
    const { body: answer } = await tollgate.post('/v1/chat/completions', key, body)
    turn = answer.choices[0].message
  }
  answerMessage(false, from)
  const { status, text } = await tollgate.post(door === 'messages' ? '/v1/messages' : '/v1/chat/completions', key, {
    model,
    max_tokens: 2_000,
    messages: [...question, turn, ...question],
  })
  assert.equal(status, 200, text)
  const [, said] = Object(upstream.requests.at(-1)).messages
  return said.content.filter(({ type }: { type: string }) => type.endsWith('thinking'))
}

test('thoughts come back to the provider that made them, signed or not, and to no other', async () => {
  for (const door of ['messages', 'chat'] as const)
    for (const streams of door === 'chat' ? [false] : [false, true]) {
      const named = `${door}, streams: ${streams}`
      assert.deepEqual(await returned(door, 'test/moon', 'test/moon', streams), THOUGHTS, named)
      assert.deepEqual(await returned(door, 'test/moon', 'test/zed', streams), [], named)
      assert.deepEqual(await returned(door, 'test/moon', 'test/claude', streams), [], named)
      assert.deepEqual(await returned(door, 'test/claude', 'test/moon', streams), [], named)
      assert.deepEqual(await returned(door, 'test/claude', 'test/claude', streams), THOUGHTS.slice(0, 2), named)
    }
})

const SIGNATURE = 'c2lnbmF0dXJl'
const SIGNED_ANSWER = candidate([{ functionCall: { id: 'c1', name: 'f', args: {} }, thoughtSignature: SIGNATURE }], {
  promptTokenCount: 5,
  candidatesTokenCount: 1,
  totalTokenCount: 6,
})

/** What the client of each protocol has of an answer with a signed call, for its next turn. */
const GEMINI_DOORS: readonly {
  readonly path: (model: string) => string
  readonly ask: (model: string, history: readonly unknown[]) => Record<string, unknown>
  readonly turns: (answer: Record<string, unknown>) => readonly unknown[]
}[] = [
  {
    path: () => '/v1/chat/completions',
    ask: (model, history) => ({
      model,
      messages: [{ role: 'user', content: 'Hi' }, ...history],
      tools: [{ type: 'function', function: { name: 'f' } }],
    }),
    turns: ({ choices }) => [Object(choices)[0].message, { role: 'tool', tool_call_id: 'c1', content: 'x' }],
  },
  {
    path: () => '/v1/messages',
    ask: (model, history) => ({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }, ...history],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    }),
    turns: ({ content }) => [
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: Object(content).find(({ type }: { type: string }) => type === 'tool_use').id,
            content: 'x',
          },
        ],
      },
    ],
  },
  {
    path: (model) => `/v1beta/models/${model}:generateContent`,
    ask: (_model, history) => ({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }, ...history],
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
    }),
    turns: ({ candidates }) => [
      Object(candidates)[0].content,
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: {} } }] },
    ],
  },
]

test("Vertex AI's signatures carry its name, the Gemini API's have no mark: each reads its own alone, in every protocol", async () => {
  for (const { path, ask, turns } of GEMINI_DOORS)
    for (const from of ['test/vertex', 'test/gemini'])
      for (const to of ['test/vertex', 'test/gemini', 'test/vertex2']) {
        upstream.answer(answers(SIGNED_ANSWER))
        const post = async (model: string, history: readonly unknown[]): Promise<Record<string, unknown>> => {
          const { status, body, text } = await tollgate.post(path(model), key, ask(model, history))
          assert.equal(status, 200, text)
          return body
        }
        const answer = await post(from, [])
        await post(to, turns(answer))
        const sent = JSON.stringify(upstream.requests.at(-1))
        assert.equal(sent.includes(SIGNATURE), from === to, `${path(to)} ${from} to ${to} ${sent}`)
        assert.equal(sent.includes('skip_thought_signature_validator'), from !== to, `${path(to)} ${from} to ${to}`)
        assert.equal(sent.includes('tollgate-from'), false)
      }
})
