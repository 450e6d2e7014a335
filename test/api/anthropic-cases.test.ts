import { testRecordedChatCases } from '../harness/recorded-cases.ts'

await testRecordedChatCases({ protocol: 'anthropic-messages', adapter: 'anthropic', framing: 'sse' })
