import { testRecordedChatCases } from '../harness/recorded-cases.ts'

await testRecordedChatCases({ protocol: 'openai-chat', adapter: 'openai', framing: 'sse' })
