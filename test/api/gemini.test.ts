import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastRequest, onePart, unsendableTest } from '../harness/adapter-tests.ts'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { recordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/served.ts'
import { refused } from '../harness/refused.ts'

const UPSTREAM_KEY = 'upstream-canary-key'
const ACCESS_TOKEN = 'ya29.canary-token'
const VERTEX_PATH = '/v1/projects/canary-project/locations/global/publishers/google'
/** Long enough that the recorded usage is plausible for it. */
const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(1_100)

const world = serve(
  startReplayUpstream,
  ({ url }) => `
markup: 1
providers:
  google: { name: Google, adapter: gemini, base_url: ${url}/slot/google, api_key: ${UPSTREAM_KEY} }
  vertex: { name: Vertex, adapter: gemini, base_url: ${url}/slot/google${VERTEX_PATH}, api_key: ${ACCESS_TOKEN} }
models:
  - id: google/gemini
    type: chat
    context_length: 1000000
    input_modalities: [text, image, audio]
    endpoints:
      - provider: google
        model: gemini-3-flash-preview
        price: { currency: RUB, prompt: 3, input_cache_read: 1, completion: 15, internal_reasoning: 20 }
  - id: google/vertex
    type: chat
    context_length: 1000000
    endpoints: [{ provider: vertex, model: gemini-2.5-flash, price: { currency: RUB, prompt: 3, completion: 15 } }]
`,
)

async function ask(name: string, body: Record<string, unknown>): Promise<FoldedAnswer> {
  await world.upstream.slot('google', [{ case: name }])
  return chat(world.tollgate.url, world.key, {
    model: 'google/gemini',
    max_tokens: 2_000,
    messages: [{ role: 'user', content: 'x' }],
    ...body,
  })
}

test('the provider gets its own headers and nothing but its own body', async () => {
  const answer = await ask('gemini/chat/native-output-with-function-tools-stream', {
    stream: true,
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Where am I?', surprise: 1 },
    ],
    tools: [{ type: 'function', function: { name: 'get_user_country' } }],
    tool_choice: 'required',
    logit_bias: { 1: 1 },
    made_up: true,
  })
  assert.equal(answer.choices.get(0)?.finish, 'tool_calls')
  const { path, json, headers } = await lastRequest(world)
  assert.equal(path, '/models/gemini-3-flash-preview:streamGenerateContent?alt=sse')
  assert.deepEqual([headers['x-goog-api-key'], headers['authorization']], [UPSTREAM_KEY, undefined])
  assert.deepEqual(json, {
    systemInstruction: { parts: [{ text: 'Be brief' }] },
    contents: [{ role: 'user', parts: [{ text: 'Where am I?' }] }],
    tools: [{ functionDeclarations: [{ name: 'get_user_country' }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    generationConfig: { maxOutputTokens: 2_000 },
  })
})

test('Vertex AI is the same protocol under another path, with a token', async () => {
  const name = 'vertex/chat/google-vertex-service-tier-flex-stream'
  const answer = await ask(name, { model: 'google/vertex', stream: true })
  assert.equal(answer.choices.get(0)?.text, recordedCase(name).expected.choices?.[0]?.text)
  const { path, headers } = await lastRequest(world)
  assert.equal(path, `${VERTEX_PATH}/models/gemini-2.5-flash:streamGenerateContent?alt=sse`)
  assert.deepEqual([headers['x-goog-api-key'], headers['authorization']], [undefined, `Bearer ${ACCESS_TOKEN}`])
})

test('each meter is charged at its own price', async () => {
  const { usage } = await ask('vertex/chat/fb-unary-success-implicit-caching', {
    messages: [{ role: 'user', content: PROMPT }],
  })
  assert.deepEqual(Object(usage?.['prompt_tokens_details']).cached_tokens, 11_243)
  assert.deepEqual(usage?.['completion_tokens_details'], { reasoning_tokens: 73 })
  assert.equal(usage['cost'], (770 * 3 + 11_243 * 1 + 15 * 15 + 73 * 20) / 1_000_000)
})

unsendableTest(world, (body) => ask('gemini/chat/google-model-max-tokens', body), [
  [
    onePart({ type: 'image_url', image_url: { url: 'ftp://x.test/a.png' } }),
    /messages\[0\]\.content\[0\]\.image_url\.url: must be/,
  ],
])

test("errors are the client's only where the request was wrong, and name nothing of the operator", async () => {
  const busy = await ask('gemini/chat/v-429-retry-info', {})
  assert.deepEqual(
    [busy.status, busy.error?.metadata['error_type'], busy.headers['retry-after']],
    [503, 'provider_unavailable', '35'],
  )
  for (const name of [
    'gemini/chat/fb-unary-failure-api-key',
    'vertex/chat/fb-unary-failure-iam-permission-denied',
    'vertex/chat/fb-404-html-page',
    'vertex/chat/fb-streaming-failure-http-error',
  ]) {
    const { status, error } = await ask(name, {})
    assert.deepEqual([status, error?.metadata['error_type']], [502, 'provider_error'], name)
    assert.doesNotMatch(JSON.stringify(error), /project|canary|API key|location/i, name)
  }
  const unreachable = 'vertex/chat/model-sees-multiple-images-google-vertex-2'
  const answer = await ask(unreachable, {})
  refused(answer, 400, 'invalid_input')
  assert.equal(answer.error?.message, recordedCase(unreachable).expected.error?.message)
})

test('a blocked prompt is an answer that was filtered', async () => {
  for (const [name, stream, native] of [
    ['fb-streaming-failure-prompt-blocked-safety', true, 'SAFETY'],
    ['fb-unary-failure-only-prompt-feedback', false, null],
  ] as const) {
    const { status, error, choices } = await ask(`gemini/chat/${name}`, { stream })
    assert.deepEqual(
      [status, error, choices.get(0)?.finish, choices.get(0)?.native],
      [200, null, 'content_filter', native],
      name,
    )
  }
})

test('a stream without a reason to finish has broken', async () => {
  const { error, choices } = await ask('vertex/chat/fb-streaming-success-quotes-escaped', { stream: true })
  assert.equal(error?.message, 'Provider disconnected mid-stream')
  assert.equal(choices.get(0)?.finish, 'error')
})

test('a signature of an answer can be sent back as it came', async () => {
  const messages = [{ role: 'user', content: 'Three jokes' }]
  const {
    events: [first],
  } = await ask('gemini/chat/google-instructions-only-with-tool-calls', { messages })
  const [{ message }] = Object(first?.['choices'])
  const results = message.tool_calls.map(({ id }: { id: string }) => ({
    role: 'tool',
    tool_call_id: id,
    content: 'cats',
  }))
  await ask('gemini/chat/google-model-max-tokens', { messages: [...messages, message, ...results] })
  const [, model, user] = Object((await lastRequest(world)).json).contents
  assert.deepEqual(
    model.parts.map((part: { thoughtSignature?: string }) => part.thoughtSignature),
    [message.reasoning_details[0].data, undefined, undefined],
  )
  assert.deepEqual(
    user.parts.map((part: { functionResponse: unknown }) => part.functionResponse),
    message.tool_calls.map(({ id }: { id: string }) => ({ id, name: 'generate_topic', response: { output: 'cats' } })),
  )
})
