import assert from 'node:assert/strict'
import { test } from 'node:test'
import { losesThinking, nativeBody } from './calls.ts'
import { parseMessages } from './parse.ts'

const TERMS = { model: 'up', maxTokens: 50, cacheMarks: 'all', echoesThoughts: false, signer: null } as const

test('a field that hides behind a prototype is none', () => {
  const text =
    '{"max_tokens":100,"messages":[{"role":"user","content":"x"}],"__proto__":{"tools":[{"type":"code_execution_20260521","name":"c"}],"context_management":{"edits":[{"type":"clear_x"}]}}}'
  const request = parseMessages(JSON.parse(text), { headers: {}, bytes: text.length })
  assert.equal(request.serverTools, null)
  assert.deepEqual(nativeBody(request, TERMS), {
    max_tokens: 50,
    messages: [{ role: 'user', content: 'x' }],
    model: 'up',
    stream: false,
  })
})

test('an edit that makes the model write goes, those that clear stay', () => {
  const edits = [{ type: 'clear_tool_uses_20250919', keep: 1 }, { type: 'compact_20260112' }]
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'x' }], context_management: { edits, more: 1 } }
  const request = parseMessages(body, { headers: {}, bytes: 0 })
  assert.deepEqual(nativeBody(request, TERMS)['context_management'], { edits: [edits[0]], more: 1 })
  const other = parseMessages({ ...body, context_management: { made_up: 1 } }, { headers: {}, bytes: 0 })
  assert.equal('context_management' in nativeBody(other, TERMS), false)
})

test('a turn of nothing but the thoughts of another model goes', () => {
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: '' }] },
    { role: 'user', content: 'y' },
  ]
  const request = parseMessages({ max_tokens: 100, messages }, { headers: {}, bytes: 0 })
  assert.deepEqual(nativeBody(request, TERMS)['messages'], [messages[0], messages[2]])
})

test('where we lower max_tokens the budget for thinking follows; a pair of the client passes as it is', () => {
  const messages = [{ role: 'user', content: 'x' }]
  const sent = (maxTokens: number, budget: number, limit: number | null): unknown => {
    const body = {
      max_tokens: maxTokens,
      messages,
      thinking: { type: 'enabled', budget_tokens: budget, display: 'omitted' },
    }
    const request = parseMessages(body, { headers: {}, bytes: 0 })
    const native = nativeBody(request, { ...TERMS, maxTokens: limit })
    assert.equal(losesThinking(request, limit), native['thinking'] === undefined)
    return [native['max_tokens'], native['thinking']]
  }
  const thinking = (budget: number): unknown => ({ type: 'enabled', budget_tokens: budget, display: 'omitted' })
  assert.deepEqual(sent(64_000, 32_000, 8_000), [8_000, thinking(4_000)])
  assert.deepEqual(sent(64_000, 4_000, 8_000), [8_000, thinking(4_000)])
  assert.deepEqual(sent(64_000, 32_000, 1_000), [1_000, undefined])
  // Anthropic allows this with thinking between tools, and otherwise its own refusal says what is wrong.
  assert.deepEqual(sent(8_000, 32_000, 8_000), [8_000, thinking(32_000)])
  assert.deepEqual(sent(64_000, 32_000, null), [64_000, thinking(32_000)])
  const adaptive = parseMessages(
    { max_tokens: 100, messages, thinking: { type: 'adaptive' } },
    { headers: {}, bytes: 0 },
  )
  assert.deepEqual(nativeBody(adaptive, TERMS)['thinking'], { type: 'adaptive' })
})
