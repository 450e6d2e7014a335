import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_PROMPT, serveAdapters } from './adapter-world.ts'
import { recordedCase } from '../harness/recording.ts'
import { at, documentsOf } from '../recordings/documents.ts'

const TOOLS = [
  { type: 'function', function: { name: 'get_time' } },
  { type: 'function', function: { name: 'get_weather' } },
]

const { ask, lastRequest } = await serveAdapters()

/** The plan that the recorded answer states before its tool calls. */
function planOf(name: string): string {
  return documentsOf(recordedCase(`cohere/chat/${name}`))
    .map((document) => at(document, 'message', 'tool_plan') ?? at(document, 'delta', 'message', 'tool_plan') ?? '')
    .join('')
}

test('a plan of tool calls reaches the client as a detail, streamed or not, and goes back as it came', async () => {
  const {
    events: [answer],
  } = await ask('cohere', 'cohere/chat/v-cohere-null-args', { tools: TOOLS })
  const [{ message }] = Object(answer?.['choices'])
  const details = (name: string): readonly unknown[] => [
    { type: 'reasoning.summary', summary: planOf(name), format: 'cohere-tool-plan-v1', index: 0 },
  ]
  assert.deepEqual(message.reasoning_details, details('v-cohere-null-args'))
  const streamed = await ask('cohere', 'cohere/chat/v-cohere-empty-tool-call-stream', {
    tools: TOOLS,
    stream: true,
  })
  assert.deepEqual(
    streamed.events.flatMap((chunk) => Object(chunk)['choices'][0]?.delta.reasoning_details ?? []),
    details('v-cohere-empty-tool-call-stream'),
  )

  await ask('cohere', 'cohere/chat/stream-with-events-with-content', {
    stream: true,
    messages: [
      { role: 'user', content: LONG_PROMPT },
      message,
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'noon' },
    ],
  })
  assert.deepEqual(Object((await lastRequest()).json).messages.slice(1), [
    { role: 'assistant', tool_plan: planOf('v-cohere-null-args'), tool_calls: message.tool_calls },
    { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'noon' },
  ])
})
