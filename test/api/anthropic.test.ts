import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastRequest, onePart, unsendableTest } from '../harness/adapter-tests.ts'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { recordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/served.ts'
import { refused } from '../harness/refused.ts'

const UPSTREAM_KEY = 'upstream-canary-key'
/** Long enough that the recorded usage is plausible for it. */
const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(1_100)

const world = serve(
  startReplayUpstream,
  ({ url }) => `
markup: 1
providers:
  claude: { name: Claude, adapter: anthropic, base_url: ${url}/slot/claude, api_key: ${UPSTREAM_KEY} }
models:
  - id: anthropic/claude
    type: chat
    context_length: 200000
    input_modalities: [text, image, audio]
    endpoints:
      - provider: claude
        model: claude-sonnet-4-5
        price: { currency: RUB, prompt: 3, input_cache_read: 1, input_cache_write: 4, completion: 15, internal_reasoning: 20 }
`,
)

async function ask(name: string, body: Record<string, unknown>): Promise<FoldedAnswer> {
  await world.upstream.slot('claude', [{ case: `anthropic/chat/${name}` }])
  return chat(world.tollgate.url, world.key, { model: 'anthropic/claude', max_tokens: 2_000, ...body })
}

test('the provider gets its own headers and nothing but its own body', async () => {
  const answer = await ask('sdk-tool-use-stream', {
    stream: true,
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Weather in Paris?', surprise: 1 },
    ],
    tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }],
    tool_choice: 'required',
    seed: 1,
    made_up: true,
  })
  assert.equal(answer.choices.get(0)?.finish, 'tool_calls')
  const { json, headers } = await lastRequest(world)
  assert.deepEqual(
    [headers['x-api-key'], headers['anthropic-version'], headers['authorization']],
    [UPSTREAM_KEY, '2023-06-01', undefined],
  )
  assert.deepEqual(json, {
    model: 'claude-sonnet-4-5',
    max_tokens: 2_000,
    system: [{ type: 'text', text: 'Be brief' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Weather in Paris?' }] }],
    tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'any' },
    stream: true,
  })
})

test('each meter is charged at its own price', async () => {
  const { usage } = await ask('anthropic-code-execution-files-cache-prefix-stable-messages-3', {
    messages: [{ role: 'user', content: PROMPT }],
  })
  assert.deepEqual(usage?.['prompt_tokens_details'], { cached_tokens: 14_210, cache_write_tokens: 426 })
  assert.deepEqual(usage['completion_tokens_details'], { reasoning_tokens: 15 })
  assert.equal(usage['cost'], (4 * 3 + 14_210 * 1 + 426 * 4 + 275 * 15 + 15 * 20) / 1_000_000)
})

unsendableTest(world, (body) => ask('sdk-basic-stream', body), [
  [
    onePart({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    /messages\[0\]\.content\[0\]: this provider takes no audio/,
  ],
  [
    onePart({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AAAA' } }),
    /must be a JPEG, PNG, GIF or WebP image/,
  ],
  [{ n: 2, messages: [{ role: 'user', content: 'x' }] }, /^n: /],
])

test('an overloaded provider is a 503, a too long prompt a 400 with its numbers', async () => {
  const overloaded = await ask('q-529-overloaded', { messages: [{ role: 'user', content: 'x' }] })
  refused(overloaded, 503, 'provider_unavailable')
  const tooLong = 'real-error-scenarios-anthropic-claude-haiku-4-5-handles-cont'
  const long = await ask(tooLong, { messages: [{ role: 'user', content: 'x' }] })
  assert.deepEqual(
    [long.status, long.error?.metadata['error_type'], long.error?.message],
    [400, 'input_tokens_exceeded', recordedCase(`anthropic/chat/${tooLong}`).expected.error?.message],
  )
  assert.match(long.error?.message ?? '', /^prompt is too long: 3333404 .* 200000 /)
})

test('reasoning of an answer can be sent back as it came', async () => {
  const messages = [{ role: 'user', content: "How many r's are in strawberry?" }]
  const {
    events: [first],
  } = await ask('async-anthropic-thinking-legacy', { messages, reasoning: { max_tokens: 1_024 } })
  assert.deepEqual(Object((await lastRequest(world)).json).thinking, { type: 'enabled', budget_tokens: 1_024 })
  const [{ message }] = Object(first?.['choices'])
  await ask('async-anthropic-thinking-legacy', {
    messages: [...messages, message, { role: 'user', content: 'Sure?' }],
    reasoning: { max_tokens: 1_024 },
  })
  const [, assistant] = Object((await lastRequest(world)).json).messages
  const [thinking, text] = assistant.content
  assert.equal(thinking.type, 'thinking')
  assert.equal(thinking.thinking, message.reasoning)
  assert.equal(thinking.signature, message.reasoning_details[0].signature)
  assert.deepEqual(text, { type: 'text', text: message.content })
})
