import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nativeBody } from './native-body.ts'
import { parseMessages } from './parse.ts'

const TERMS = { model: 'up', maxTokens: 50, cacheMarks: 'all' as const }

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
