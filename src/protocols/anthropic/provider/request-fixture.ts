import { requestsOf } from '../../../../test/harness/protocol-read.ts'
import { anthropicProtocol } from '../../../providers/anthropic/anthropic.ts'

export const PROTOCOL = anthropicProtocol(() => 0)

export const { callOf, bodyOf, messagesOf } = requestsOf(PROTOCOL, {
  model: 'claude-sonnet-4-5',
  apiKey: 'upstream-key',
  sendMaxTokens: 10_000,
})
