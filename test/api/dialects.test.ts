import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat } from '../harness/chat-fold.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/served.ts'

const world = serve(
  startReplayUpstream,
  ({ url }) => `
bundled: false
markup: 1
providers:
  azure:
    name: Azure
    adapter: openai
    base_url: "${url}/slot/azure/openai/deployments/gpt"
    api_key: azure-key
    dialect: { auth_header: Api-Key, query: { api-version: "2024-10-21" } }
models:
  - id: test/azure
    type: chat
    context_length: 1000000
    endpoints: [{ provider: azure, model: gpt, price: { currency: RUB, prompt: 1, completion: 1000 } }]
`,
)

test('Azure is a catalogue row: its header, its version in the address, its answer', async () => {
  await world.upstream.slot('azure', [{ case: 'azure/chat/chat-async-streaming-2' }])
  const answer = await chat(world.tollgate.url, world.key, {
    model: 'test/azure',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.error))
  assert.notEqual(answer.choices.get(0)?.text, '')
  const [sent] = await world.upstream.requests()
  assert.equal(sent?.headers['api-key'], 'azure-key')
  assert.equal(sent?.headers['authorization'], undefined)
  assert.match(JSON.stringify(sent), /chat\/completions\?api-version=2024-10-21/)
})

test('reasoning that the client does not want to see is paid for and not shown, streamed or not', async () => {
  for (const [name, stream] of [
    ['groq/chat/tool-use-failed-error-2', false],
    ['alibaba/chat/v-alibaba-reasoning-stream', true],
  ] as const) {
    const recorded = world.upstream.cases.find((one) => one.name === name)
    assert.ok(recorded)
    for (const hidden of [{ include_reasoning: false }, { reasoning: { exclude: true } }, {}]) {
      await world.upstream.slot('azure', [{ case: name }])
      const answer = await chat(world.tollgate.url, world.key, {
        model: 'test/azure',
        messages: [{ role: 'user', content: 'hi '.repeat(2_000) }],
        max_tokens: 9_000,
        stream,
        ...hidden,
      })
      const shown = answer.choices.get(0)?.reasoning ?? ''
      assert.equal(shown === '', Object.keys(hidden).length > 0, `${name} ${JSON.stringify(hidden)}`)
      assert.equal(answer.usage?.['completion_tokens'], recorded.expected.usage?.completion_tokens)
    }
  }
})
