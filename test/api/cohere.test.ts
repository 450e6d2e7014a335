import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastRequest, onePart, unsendableTest } from '../harness/adapter-tests.ts'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { recordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/served.ts'
import { at, documentsOf } from '../recordings/documents.ts'

const UPSTREAM_KEY = 'upstream-canary-key'
/** Long enough that the recorded usage is plausible for it. */
const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(200)
const TOOLS = [
  { type: 'function', function: { name: 'get_time' } },
  { type: 'function', function: { name: 'get_weather' } },
]

const world = serve(
  startReplayUpstream,
  ({ url }) => `
markup: 1
providers:
  cohere: { name: Cohere, adapter: cohere, base_url: ${url}/slot/cohere, api_key: ${UPSTREAM_KEY} }
models:
  - id: cohere/command
    type: chat
    context_length: 1000000
    input_modalities: [text, image, audio]
    endpoints:
      - provider: cohere
        model: command-a
        price: { currency: RUB, prompt: 3, input_cache_read: 1, completion: 15 }
`,
)

async function ask(name: string, body: Record<string, unknown>): Promise<FoldedAnswer> {
  await world.upstream.slot('cohere', [{ case: `cohere/chat/${name}` }])
  return chat(world.tollgate.url, world.key, {
    model: 'cohere/command',
    max_tokens: 2_000,
    messages: [{ role: 'user', content: PROMPT }],
    ...body,
  })
}

test('the provider gets its own headers and nothing but its own body', async () => {
  await ask('v-cohere-null-args', {
    messages: [
      { role: 'developer', content: 'Be brief' },
      { role: 'user', content: 'What time is it?', surprise: 1 },
    ],
    tools: TOOLS,
    tool_choice: 'required',
    logit_bias: { 1: 1 },
    made_up: true,
  })
  const { path, json, headers } = await lastRequest(world)
  assert.equal(path, '/v2/chat')
  assert.equal(headers['authorization'], `Bearer ${UPSTREAM_KEY}`)
  const parameters = { type: 'object', properties: {} }
  assert.deepEqual(json, {
    model: 'command-a',
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'What time is it?' },
    ],
    stream: false,
    max_tokens: 2_000,
    tools: TOOLS.map(({ type, function: { name } }) => ({ type, function: { name, parameters } })),
    tool_choice: 'REQUIRED',
  })
})

test('cached input is charged at its own price', async () => {
  const { usage } = await ask('stream-with-events-with-content', {
    stream: true,
    stream_options: { include_usage: true },
  })
  assert.deepEqual(
    [usage?.['prompt_tokens'], usage?.['completion_tokens'], Object(usage?.['prompt_tokens_details']).cached_tokens],
    [212, 36, 208],
  )
  assert.equal(usage?.['cost'], (4 * 3 + 208 * 1 + 36 * 15) / 1_000_000)
})

/** The plan that the recorded answer states before its tool calls. */
function planOf(name: string): string {
  return documentsOf(recordedCase(`cohere/chat/${name}`))
    .map((document) => at(document, 'message', 'tool_plan') ?? at(document, 'delta', 'message', 'tool_plan') ?? '')
    .join('')
}

test('a plan of tool calls reaches the client as a detail, streamed or not, and goes back as it came', async () => {
  const {
    events: [answer],
  } = await ask('v-cohere-null-args', { tools: TOOLS })
  const [{ message }] = Object(answer?.['choices'])
  const details = (name: string): readonly unknown[] => [
    { type: 'reasoning.summary', summary: planOf(name), format: 'cohere-tool-plan-v1', index: 0 },
  ]
  assert.deepEqual(message.reasoning_details, details('v-cohere-null-args'))
  const streamed = await ask('v-cohere-empty-tool-call-stream', { tools: TOOLS, stream: true })
  assert.deepEqual(
    streamed.events.flatMap((chunk) => Object(chunk)['choices'][0]?.delta.reasoning_details ?? []),
    details('v-cohere-empty-tool-call-stream'),
  )

  await ask('stream-with-events-with-content', {
    stream: true,
    messages: [
      { role: 'user', content: PROMPT },
      message,
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'noon' },
    ],
  })
  assert.deepEqual(Object((await lastRequest(world)).json).messages.slice(1), [
    { role: 'assistant', tool_plan: planOf('v-cohere-null-args'), tool_calls: message.tool_calls },
    { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'noon' },
  ])
})

unsendableTest(world, (body) => ask('v-cohere-null-args', body), [
  [
    onePart({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    /messages\[0\]\.content\[0\]: this provider takes no part of type input_audio/,
  ],
])

test('a stream that breaks off is an error and costs nothing', async () => {
  for (const opts of [{ cut: 'events:4', cutmode: 'fin' }, { cut: 'events:4' }] as const) {
    const credits = await world.tollgate.request('GET', '/v1/credits', { key: world.key })
    await world.upstream.slot('cohere', [{ case: 'cohere/chat/stream-with-events-with-content', opts }])
    const { error, choices } = await chat(world.tollgate.url, world.key, {
      model: 'cohere/command',
      max_tokens: 2_000,
      stream: true,
      messages: [{ role: 'user', content: PROMPT }],
    })
    assert.equal(error?.message, 'Provider disconnected mid-stream', JSON.stringify(opts))
    assert.equal(choices.get(0)?.finish, 'error')
    assert.deepEqual((await world.tollgate.request('GET', '/v1/credits', { key: world.key })).body, credits.body)
  }
})
