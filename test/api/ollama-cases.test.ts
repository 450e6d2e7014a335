import { testRecordedChatCases } from '../harness/recorded-cases.ts'

await testRecordedChatCases({ protocol: 'ollama-chat', adapter: 'ollama', framing: 'other' })
