import { requestsOf } from '../../../../test/harness/protocol-read.ts'
import { anthropicProtocol } from './anthropic.ts'

export const PROTOCOL = anthropicProtocol

export const { callOf, bodyOf, messagesOf } = requestsOf(PROTOCOL, {
  model: 'claude-sonnet-4-5',
  apiKey: 'upstream-key',
  sendMaxTokens: 10_000,
})
