import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({ protocol: 'cohere-v2-chat', adapter: 'cohere', framing: 'sse' })
await testRecordedChatCases({ protocol: 'cohere-v1-chat', adapter: 'cohere', framing: 'other' })
