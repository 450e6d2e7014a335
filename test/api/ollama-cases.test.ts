import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({ protocol: 'ollama-chat', adapter: 'ollama', framing: 'other' })
