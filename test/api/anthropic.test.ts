import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveAdapters } from './adapter-world.ts'
import { recordedCase } from '../harness/recording.ts'
import { refused } from '../harness/refused.ts'

const { ask, lastRequest } = await serveAdapters()

test('an overloaded provider is a 503, a too long prompt a 400 with its numbers', async () => {
  const overloaded = await ask('anthropic', 'anthropic/chat/q-529-overloaded', {
    messages: [{ role: 'user', content: 'x' }],
  })
  refused(overloaded, 503, 'provider_unavailable')
  const tooLong = 'real-error-scenarios-anthropic-claude-haiku-4-5-handles-cont'
  const long = await ask('anthropic', `anthropic/chat/${tooLong}`, { messages: [{ role: 'user', content: 'x' }] })
  assert.deepEqual([long.status, long.error?.metadata['error_type']], [400, 'input_tokens_exceeded'])
  const said = recordedCase(`anthropic/chat/${tooLong}`).expected.error?.message ?? ''
  assert.ok(long.error?.message.startsWith(said))
  assert.match(
    long.error?.message ?? '',
    /^prompt is too long: 3333404 .* 200000 .*maximum context length is 200000 tokens/,
  )
})

test('reasoning of an answer can be sent back as it came', async () => {
  const messages = [{ role: 'user', content: "How many r's are in strawberry?" }]
  const {
    events: [first],
  } = await ask('anthropic', 'anthropic/chat/async-anthropic-thinking-legacy', {
    messages,
    reasoning: { max_tokens: 1_024 },
  })
  assert.deepEqual(Object((await lastRequest()).json).thinking, { type: 'enabled', budget_tokens: 1_024 })
  const [{ message }] = Object(first?.['choices'])
  await ask('anthropic', 'anthropic/chat/async-anthropic-thinking-legacy', {
    messages: [...messages, message, { role: 'user', content: 'Sure?' }],
    reasoning: { max_tokens: 1_024 },
  })
  const [, assistant] = Object((await lastRequest()).json).messages
  const [thinking, text] = assistant.content
  assert.equal(thinking.type, 'thinking')
  assert.equal(thinking.thinking, message.reasoning)
  const { signature } = message.reasoning_details[0]
  assert.equal(signature, `tollgate-from-1:anthropic:${thinking.signature}`, 'no Claude has signed it')
  assert.deepEqual(text, { type: 'text', text: message.content })
})
