import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({ protocol: 'openai-chat', adapter: 'openai', framing: 'sse' })
