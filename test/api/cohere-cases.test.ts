import { testRecordedChatCases } from './recorded-cases.ts'

const NO_ARGUMENTS = {
  reason: 'arguments are one object for the client (wire.md D-3.2)',
  choice: { tool_calls: [{ id: null, name: 'currentTime', arguments: '{}' }] },
}

await testRecordedChatCases({
  protocol: 'cohere-v2-chat',
  adapter: 'cohere',
  framing: 'sse',
  deviations: {
    'cohere/chat/v-cohere-null-args': NO_ARGUMENTS,
    'cohere/chat/v-cohere-empty-tool-call-stream': NO_ARGUMENTS,
  },
})
await testRecordedChatCases({ protocol: 'cohere-v1-chat', adapter: 'cohere', framing: 'other' })
