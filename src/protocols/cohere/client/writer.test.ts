import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { CohereWriter } from './writer.ts'

const call = (index: number): AnswerEvent => ({ type: 'tool_call', choice: 0, index, id: `c${index}`, name: 'f' })
const says = (index: number, text: string): AnswerEvent => ({ type: 'tool_arguments', choice: 0, index, text })
const REPORT = {
  usage: { input: 1, output: 1 },
  inputTokens: 1,
  outputTokens: 1,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  implausible: false,
}
const END = { finishes: [], usage: null, upstreamId: null, serviceTier: null, hasContent: true, isReasoned: true }

/** The steps of a stream, each with the number of its item. */
function steps(...events: readonly AnswerEvent[]): readonly string[] {
  const writer = new CohereWriter({ id: 'gen-1-abc', created: 1, model: 'a/b', provider: 'P' })
  const bytes = [writer.write(events), writer.end(END, { report: REPORT, chargedMicro: 1n })]
  return [
    ...Buffer.concat(bytes)
      .toString()
      .matchAll(/"type":"([a-z-]+)"(?:,"index":(\d+))?/g),
  ].map(([, type = '', index = '']) => `${type} ${index}`.trim())
}

test('calls whose arguments come by turns end when their arguments have ended, not before', () => {
  const seen = steps(call(0), says(0, '{'), call(1), says(1, '{}'), says(0, '}'), {
    type: 'text',
    choice: 0,
    text: 'x',
  })
  assert.deepEqual(
    seen.filter((step) => !/^(?:text|function|message-end|message-start)/.test(step)),
    [
      'tool-call-start 0',
      'tool-call-delta 0',
      'tool-call-start 1',
      'tool-call-delta 1',
      'tool-call-delta 0',
      'tool-call-end 0',
      'tool-call-end 1',
      'content-start 0',
      'content-delta 0',
      'content-end 0',
    ],
  )
})

test('arguments of no call are left out, and a stream begins with its start', () => {
  assert.deepEqual(steps(says(0, '{}')), ['message-start', 'message-end'])
})
