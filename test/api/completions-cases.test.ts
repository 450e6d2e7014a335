import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({
  protocol: 'openai-completions',
  adapter: 'openai',
  framing: 'sse',
  kind: 'completions',
  excused: {
    'writer/completions/writer-async-streaming-completions-legacy':
      'its events hold a `value` alone and the stream ends without a terminal marker, so a whole answer cannot be told from a cut one (guarantees.md F24); it is answered as a broken stream, free of charge',
  },
})
await testRecordedChatCases({
  protocol: 'anthropic-complete',
  adapter: 'anthropic',
  framing: 'sse',
  kind: 'completions',
})
await testRecordedChatCases({ protocol: 'ollama-generate', adapter: 'ollama', framing: 'other', kind: 'completions' })
