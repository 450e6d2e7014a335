import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({ protocol: 'anthropic-messages', adapter: 'anthropic', framing: 'sse' })
