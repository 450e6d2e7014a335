import { requestsOf } from './protocol-read.ts'
import { anthropicProtocol } from '../../src/protocols/anthropic/provider/anthropic.ts'

export const PROTOCOL = anthropicProtocol

export const { callOf, bodyOf, messagesOf } = requestsOf(PROTOCOL, {
  model: 'claude-sonnet-4-5',
  apiKey: 'upstream-key',
  sendMaxTokens: 10_000,
})
