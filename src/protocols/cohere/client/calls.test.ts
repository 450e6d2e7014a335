import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../base/errors.ts'
import { parseCohereChat } from './calls.ts'

const MESSAGES = [{ role: 'user', content: 'x' }]

test('five stop sequences are the most of this protocol, and more than chat has', () => {
  const stops = ['a', 'b', 'c', 'd', 'e']
  const { chat } = parseCohereChat({ messages: MESSAGES, stop_sequences: stops, p: 0.5, k: 3 })
  assert.deepEqual(chat.parameters, { top_p: 0.5, top_k: 3, stop: stops })
  assert.deepEqual(parseCohereChat({ messages: MESSAGES, stop_sequences: [] }).chat.parameters, {})
})

test('a refusal names the field as its client wrote it', () => {
  const rows: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ p: 0 }, 'p: must be greater than 0 and at most 1'],
    [{ p: '0.5' }, 'p: must be greater than 0 and at most 1'],
    [{ k: 0.5 }, 'k: must be an integer of at least 0'],
    [{ stop_sequences: Array(6).fill('a') }, 'stop_sequences: must be an array of at most 5 non-empty strings'],
    [{ stop_sequences: [''] }, 'stop_sequences: must be an array of at most 5 non-empty strings'],
    [{ stop_sequences: 'a' }, 'stop_sequences: must be an array of at most 5 non-empty strings'],
    [{ thinking: { token_budget: 0.5 } }, 'thinking.token_budget: must be an integer of at least 0'],
    [{ thinking: { type: 'x' } }, "thinking.type: 'x' is not allowed. Allowed: enabled, disabled"],
  ]
  for (const [fields, message] of rows)
    assert.throws(
      () => parseCohereChat({ messages: MESSAGES, ...fields }),
      (thrown) => thrown instanceof ApiError && thrown.message === message,
      JSON.stringify(fields),
    )
})
