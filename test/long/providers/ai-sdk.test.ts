import { testRecordedChatCases, type Deviation } from '../../api/recorded-cases.ts'

const NO_ARGUMENTS = '{}'

/** Changes that a package makes to recorded fields. */
const DEVIATIONS: Readonly<Record<string, Deviation>> = {
  'cohere/chat/v-cohere-null-args': {
    reason: 'the package reads null arguments as none, and writes them as {}',
    choice: { tool_calls: [{ id: null, name: 'currentTime', arguments: NO_ARGUMENTS }] },
  },
  'cohere/chat/v-cohere-empty-tool-call-stream': {
    reason: 'the package writes empty arguments as {}',
    choice: { tool_calls: [{ id: null, name: 'currentTime', arguments: NO_ARGUMENTS }] },
  },
}

for (const [name, protocol] of [
  ['mistral', 'openai-chat'],
  ['cohere', 'cohere-v2-chat'],
  ['groq', 'openai-chat'],
] as const) {
  await testRecordedChatCases({
    protocol,
    adapter: 'ai-sdk',
    framing: 'sse',
    prefix: `${name}/`,
    providerFields: `, package: "@ai-sdk/${name}"`,
    deviations: DEVIATIONS,
  })
}
