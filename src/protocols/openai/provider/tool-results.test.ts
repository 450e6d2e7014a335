import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import { plainResults } from './openai.ts'

const PICTURE: ChatPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

test('results of text alone stay as they are', () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: [PICTURE] },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] },
  ]
  assert.equal(plainResults(messages), messages)
})

test('pictures follow all results of a turn as the user, and a failure is told in words', () => {
  assert.deepEqual(
    plainResults([
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'one' }, PICTURE] },
      { role: 'tool', tool_call_id: 'b', content: 'no such file', is_error: true },
      { role: 'tool', tool_call_id: 'c', content: [PICTURE] },
      { role: 'assistant', content: 'Ok' },
    ]),
    [
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no such file', is_error: true },
      { role: 'tool', tool_call_id: 'c', content: 'See the next message.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Result of the call a:' },
          PICTURE,
          { type: 'text', text: 'Result of the call c:' },
          PICTURE,
        ],
      },
      { role: 'assistant', content: 'Ok' },
    ],
  )
})
