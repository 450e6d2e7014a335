import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChat } from './call.ts'
import type { ChatRequest } from '../../../../kinds/chat/request.ts'
import { safelyNamed } from '../../../../kinds/chat/tools.ts'

function request(names: readonly string[], called: string): ChatRequest {
  return parseChat({
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: called, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'y' },
    ],
    tools: names.map((name) => ({ type: 'function', function: { name, description: name } })),
    tool_choice: { type: 'function', function: { name: called } },
  })
}

test('names that every provider accepts stay, and nothing is made anew for them', () => {
  assert.equal(safelyNamed(request(['f', 'mcp__docs__find', '_a-1', 'x'.repeat(64)], 'f')), null)
})

test('a long name, and one with other characters, is sent under another that stays the same in every turn', () => {
  const odd = [`mcp__${'long_'.repeat(20)}`, `mcp__${'long_'.repeat(20)}2`, 'docs.find', 'docs:find', '1st', 'ä']
  const named = safelyNamed(request(['f', ...odd], 'docs.find')) ?? assert.fail()
  const sent = (named.chat.tools ?? []).map((tool) => tool.function.name)
  for (const name of sent) assert.match(name, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
  assert.equal(new Set(sent).size, odd.length + 1)
  assert.deepEqual(sent.map(named.original), ['f', ...odd])
  const [, , , docs] = sent
  assert.deepEqual(named.chat.toolChoice, { type: 'function', function: { name: docs } })
  assert.equal(named.chat.messages[1]?.tool_calls?.[0]?.function.name, docs)
  const later = safelyNamed(request(['docs.find'], 'docs.find')) ?? assert.fail()
  assert.equal(later.chat.tools?.[0]?.function.name, docs)
  assert.equal(named.original('made up by the model'), 'made up by the model')
})

test('no name of the client is taken by another one', () => {
  const taken = (safelyNamed(request(['a.b'], 'a.b')) ?? assert.fail()).chat.tools?.[0]?.function.name ?? ''
  const both = safelyNamed(request(['a.b', taken], 'a.b')) ?? assert.fail()
  const sent = (both.chat.tools ?? []).map((tool) => tool.function.name)
  assert.equal(new Set(sent).size, 2)
  assert.deepEqual(sent.map(both.original), ['a.b', taken])
})
