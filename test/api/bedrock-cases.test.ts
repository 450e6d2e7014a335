import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testRecordedChatCases } from './recorded-cases.ts'
import { recordedCases } from '../harness/recording.ts'

const PROTOCOL = 'bedrock-converse'

/** Recorded chats of Bedrock that are skipped, each with the reason; embeddings and rerankings have other tests. */
const NOT_READ: Readonly<Record<string, string>> = {
  'bedrock/chat/anthropic-3-completion-streaming':
    'InvokeModel answers in the dialect of the model it asks; every chat model is asked through Converse, which needs no dialects',
  'bedrock/chat/anthropic-cache-bedrock-real-api-2':
    'InvokeModel answers in the dialect of the model it asks; what this one says of caches is read from the usage of Converse',
}

await testRecordedChatCases({ protocol: PROTOCOL, adapter: 'bedrock', framing: 'other' })

test('every recorded answer of Bedrock is read, or listed with the reason why it is not', () => {
  const recorded = recordedCases(
    ({ name, protocol }) =>
      (name.startsWith('bedrock/') || protocol.startsWith('bedrock-')) &&
      !['embeddings', 'rerank'].includes(name.split('/')[1] ?? ''),
  )
  const isRead = ({ name, protocol }: (typeof recorded)[number]): boolean =>
    protocol === PROTOCOL && name.split('/')[1] === 'chat'
  assert.deepEqual(
    recorded
      .filter((one) => !isRead(one))
      .map(({ name }) => name)
      .toSorted(),
    Object.keys(NOT_READ).toSorted(),
  )
  assert.ok(recorded.some(isRead))
})
