import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveAdapters } from './adapter-world.ts'
import { recordedCase } from '../harness/recording.ts'
import { refused } from '../harness/refused.ts'

const ACCESS_TOKEN = 'ya29.canary-token'
const VERTEX_PATH = '/v1/projects/canary-project/locations/global/publishers/google'

const { ask, lastRequest } = await serveAdapters((url) => [
  `  vertex: { adapter: gemini, base_url: ${url}/slot/gemini${VERTEX_PATH}, api_key: ${ACCESS_TOKEN} }\n`,
  `  - id: google/vertex
    type: chat
    context_length: 1000000
    endpoints: [{ provider: vertex, model: gemini-2.5-flash, price: { currency: RUB, prompt: 3, completion: 15 } }]
`,
])

test('Vertex AI is the same protocol under another path, with a token', async () => {
  const name = 'vertex/chat/google-vertex-service-tier-flex-stream'
  const answer = await ask('gemini', name, { model: 'google/vertex', stream: true })
  assert.equal(answer.choices.get(0)?.text, recordedCase(name).expected.choices?.[0]?.text)
  const { path, headers } = await lastRequest()
  assert.equal(path, `${VERTEX_PATH}/models/gemini-2.5-flash:streamGenerateContent?alt=sse`)
  assert.deepEqual([headers['x-goog-api-key'], headers['authorization']], [undefined, `Bearer ${ACCESS_TOKEN}`])
})

test("errors are the client's only where the request was wrong, and name nothing of the operator", async () => {
  const busy = await ask('gemini', 'gemini/chat/v-429-retry-info', {})
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
    const { status, error } = await ask('gemini', name, {})
    assert.deepEqual([status, error?.metadata['error_type']], [502, 'provider_error'], name)
    assert.doesNotMatch(JSON.stringify(error), /project|canary|API key|location/i, name)
  }
  const unreachable = 'vertex/chat/model-sees-multiple-images-google-vertex-2'
  const answer = await ask('gemini', unreachable, {})
  refused(answer, 400, 'invalid_input')
  assert.equal(answer.error?.message, recordedCase(unreachable).expected.error?.message)
})

test('a blocked prompt is an answer that was filtered', async () => {
  for (const [name, stream, native] of [
    ['fb-streaming-failure-prompt-blocked-safety', true, 'SAFETY'],
    ['fb-unary-failure-only-prompt-feedback', false, null],
  ] as const) {
    const { status, error, choices } = await ask('gemini', `gemini/chat/${name}`, { stream })
    assert.deepEqual(
      [status, error, choices.get(0)?.finish, choices.get(0)?.native],
      [200, null, 'content_filter', native],
      name,
    )
  }
})

test('a stream without a reason to finish has broken', async () => {
  const { error, choices } = await ask('gemini', 'vertex/chat/fb-streaming-success-quotes-escaped', {
    stream: true,
  })
  assert.equal(error?.message, 'Provider disconnected mid-stream')
  assert.equal(choices.get(0)?.finish, 'error')
})

test('a signature of an answer can be sent back as it came', async () => {
  const messages = [{ role: 'user', content: 'Three jokes' }]
  const {
    events: [first],
  } = await ask('gemini', 'gemini/chat/google-instructions-only-with-tool-calls', { messages })
  const [{ message }] = Object(first?.['choices'])
  const results = message.tool_calls.map(({ id }: { id: string }) => ({
    role: 'tool',
    tool_call_id: id,
    content: 'cats',
  }))
  await ask('gemini', 'gemini/chat/google-model-max-tokens', { messages: [...messages, message, ...results] })
  const [, model, user] = Object((await lastRequest()).json).contents
  assert.deepEqual(
    model.parts.map((part: { thoughtSignature?: string }) => part.thoughtSignature),
    [message.reasoning_details[0].data, undefined, undefined],
  )
  assert.deepEqual(
    user.parts.map((part: { functionResponse: unknown }) => part.functionResponse),
    message.tool_calls.map(({ id }: { id: string }) => ({ id, name: 'generate_topic', response: { output: 'cats' } })),
  )
})
