import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { READ, REFUSALS } from './refusal-table.ts'
import { eventFailure, jobFailure, upstreamFailure } from './upstream-error.ts'

const text = (message: string): unknown => ({ error: { message } })

test('every row of the table has its source and the day it was read, and no code or phrase stands in two', () => {
  const seen = new Set<string>()
  for (const { source, date = READ, codes = '', words = '', status, of } of REFUSALS) {
    assert.match(source, /\w/)
    assert.match(date, /^\d{4}-\d\d-\d\d$/)
    if (status !== undefined || of !== undefined) continue
    const items = [...codes.split(/\s+/).map((code) => `${code} `), ...words.split(';').map((phrase) => phrase.trim())]
    for (const item of items) {
      if (item.trim() === '') continue
      assert.equal(item, item.toLowerCase())
      assert.ok(!seen.has(item), item)
      seen.add(item)
    }
  }
})

test('the prompt and the window are read from the words', () => {
  const windowOf = (status: number, said: unknown): AttemptFailure['window'] =>
    upstreamFailure(status, said, {}, 0).window
  assert.deepEqual(windowOf(400, text('prompt is too long: 213,462 tokens > 200,000 maximum')), {
    input: 213_462,
    limit: 200_000,
  })
  assert.deepEqual(
    windowOf(
      400,
      text(
        "The model gpt-4o-2024-08-06's maximum context length is 8192 tokens. You requested 9000 tokens (8000 in the messages, 1000 in the completion).",
      ),
    ),
    { input: 9_000, limit: 8_192 },
  )
  assert.deepEqual(
    windowOf(500, {
      error: { type: 'exceed_context_size_error', message: 'too long', n_prompt_tokens: 1_407, n_ctx: 256 },
    }),
    { input: 1_407, limit: 256 },
  )
  assert.equal(windowOf(400, text('Prompt exceeds max length')), undefined)
})

test('a job that failed is told only where it was moderated', () => {
  assert.deepEqual(
    [jobFailure({ message: 'NSFW content' }).refusal, jobFailure({ message: 'NSFW content' }).status],
    ['moderation', 400],
  )
  for (const said of [{ code: 'invalid_prompt', message: 'Bad' }, { message: 'insufficient balance' }, null])
    assert.equal(jobFailure(said).publicMessage, null)
})

test('when to come again: in seconds, milliseconds, as a date, of Google, and in words', () => {
  const at = Date.parse('2026-11-27T00:00:00Z')
  const after = (headers: Record<string, string>, said: unknown = {}, status = 429): number | null =>
    upstreamFailure(status, said, headers, at).retryAfterSeconds
  assert.equal(after({ 'retry-after': '7' }), 7)
  assert.equal(after({ 'retry-after-ms': '1500', 'retry-after': '7' }), 2)
  assert.equal(after({ 'retry-after': 'Fri, 27 Nov 2026 00:00:09 GMT' }), 9)
  assert.equal(after({}, { error: { message: 'x', details: [{ retryDelay: '34.4s' }] } }), 35)
  assert.equal(after({}, text('Rate limit reached. Please try again in 7.5s. Visit us')), 8)
  assert.equal(after({}, text('Please try again in 1m26.4s.')), 60)
  assert.equal(after({}, text('Please retry after 12 seconds.')), 12)
  assert.equal(after({}, text('Please try again in 250ms.')), 1)
  assert.equal(after({}, text('Please try again later.')), null)
  assert.equal(after({}, text('wait 7 s'), 400), null)
  assert.equal(
    eventFailure({ code: 'rate_limit_exceeded', message: 'Please try again in 11.054s.' }).retryAfterSeconds,
    12,
  )
})
