import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonScan } from '../../../base/json-scan.ts'
import { ApiError } from '../../../base/errors.ts'
import { parseChat } from '../client/chat/call.ts'
import { rawMessagesOf, withRawMessages } from '../../../kinds/chat/messages.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { endpoint } from '../../../../test/harness/plan-fixture.ts'
import { openaiBody, openaiBytes } from './openai.ts'

const LONG = 'a "long" text\n'.repeat(700)

/** Parses the request of a body that arrives in pieces of `cut` bytes. */
function requestOf(body: string, cut = 1_000): ChatRequest {
  const bytes = Buffer.from(body)
  const scan = new JsonScan()
  for (let at = 0; at < bytes.length; at += cut) scan.push(bytes.subarray(at, at + cut))
  const json: unknown = JSON.parse(body)
  return withRawMessages(parseChat(json), json, scan.member(bytes, 'messages'))
}

function rawOf(
  messages: string,
  around = (given: string): string => `{"model":"m","messages":${given}}`,
): string | null {
  return rawMessagesOf(requestOf(around(messages)))?.bytes.toString() ?? null
}

const long = (content: string, more = ''): string => `{"role":"user","content":${content}${more}}`

test('long messages of known fields are passed on as they came', () => {
  const text = JSON.stringify(LONG)
  for (const messages of [
    `[${long(text)}]`,
    `[ {"content" :\n${text}, "role": "system"} ]`,
    `[${long(`[{"type":"text","text":${text}},{"type":"image_url","image_url":{"url":"https://a.example/b.png","detail":"low"}}]`)}]`,
    `[${long(text)},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}]},{"role":"tool","tool_call_id":"a","content":"\\u0434\\/"}]`,
  ])
    assert.equal(rawOf(messages), messages)
})

test('messages with anything that is not passed on as it is are written anew', () => {
  const text = JSON.stringify(LONG)
  for (const messages of [
    `[{"role":"user","content":"short"}]`,
    `[${long(text, ',"secret":1')}]`,
    `[${long(text, ',"content":"another"')}]`,
    `[${long(text, ',"__proto__":{"a":1}')}]`,
    `[${long(text, ',"tool_call_id":"a"')}]`,
    `[${long(text, ',"name":null')}]`,
    `[{"role":"developer","content":${text}}]`,
    `[{"role":"assistant","content":${text},"reasoning_content":"why"}]`,
    `[{"role":"assistant","content":${text},"tool_calls":[]}]`,
    `[{"role":"assistant","content":${text},"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"x":1}]}]`,
    `[${long(text)},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]}]`,
    `[${long(`[{"type":"text","text":${text},"x":1}]`)}]`,
    `[${long(`[{"type":"text","text":${text}},{"type":"image_url","image_url":"https://a.example/b.png"}]`)}]`,
    `[${long(`[{"type":"text","text":${text}},{"type":"image_url","image_url":{"url":"https://a.example/b.pdf"}}]`)}]`,
    `[${long(`[{"type":"text","text":${text}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}}]`)}]`,
  ])
    assert.equal(rawOf(messages), null, messages.replaceAll(text, '…'))
})

test('messages that come twice, under an escaped name or among many fields are written anew', () => {
  const messages = `[${long(JSON.stringify(LONG))}]`
  assert.equal(
    rawOf(messages, (given) => `{"messages":[{"role":"user","content":"x"}],"messages":${given}}`),
    null,
  )
  assert.equal(
    rawOf(messages, (given) => `{"\\u006dessages":${given}}`),
    null,
  )
  // What is read, counted and held for is the last of them.
  assert.equal(
    rawOf(messages, (given) => `{"messages":${given},"m\\u0065ssages":[{"role":"user","content":"x"}]}`),
    null,
  )
  assert.equal(
    rawOf(messages, (given) => `{"a\\"messages":${given},"messages":[{"role":"user","content":"x"}]}`),
    null,
  )
  const many = Array.from({ length: 40 }, (_entry, index) => `"f${index}":1`).join(',')
  assert.equal(
    rawOf(messages, (given) => `{${many},"messages":${given}}`),
    null,
  )
  assert.equal(
    rawOf(messages, (given) => `{"metadata":{"messages":[]},"messages" : ${given} ,"stop":["messages"]}`)?.trim(),
    messages,
  )
})

test('a request whose messages were changed does not send the old ones', () => {
  const request = requestOf(`{"messages":[${long(JSON.stringify(LONG))}]}`)
  assert.notEqual(rawMessagesOf(request), null)
  assert.equal(rawMessagesOf({ ...request, messages: request.messages.slice(1) }), null)
})

test('whatever a client writes, the bytes that a provider gets say what the request was read as', () => {
  const text = fc.oneof(fc.string(), fc.constant(LONG), fc.constantFrom('"', '\\', 'messages'))
  const value = fc.oneof(
    text,
    fc.constant(null),
    fc.array(fc.record({ type: fc.constantFrom('text', 'refusal'), text, refusal: text }, { requiredKeys: ['type'] }), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  const members = fc.array(
    fc.tuple(
      fc.constantFrom('role', 'content', 'name', 'tool_call_id', 'tool_calls', 'reasoning', 'extra', '__proto__'),
      fc.oneof(value, fc.constantFrom('user', 'assistant', 'tool', 'developer')),
    ),
    { maxLength: 4 },
  )
  const message = members.map((list) => {
    const all = [['role', 'user'] as const, ['content', LONG] as const, ...list]
    return `{${all.map(([name, of]) => `${JSON.stringify(name)}:${JSON.stringify(of)}`).join(',')}}`
  })
  let passed = 0
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 9_000 }), (list, cut) => {
      let request: ChatRequest
      try {
        request = requestOf(`{"model":"m","messages":[${list.join(',')}],"n":1}`, cut)
      } catch (thrown) {
        assert.ok(thrown instanceof ApiError, String(thrown))
        return
      }
      if (rawMessagesOf(request) === null) return
      passed += 1
      const call = {
        endpoint: endpoint('p'),
        apiKey: null,
        request,
        sendMaxTokens: 7,
        generationId: 'gen-1-a',
        splice: null,
      }
      const before = structuredClone(request.messages)
      const bytes = openaiBytes(call)
      // The contents are dropped, and read again, as often as a provider is asked.
      assert.deepEqual(request.messages, before)
      assert.deepEqual(openaiBytes(call), bytes)
      assert.deepEqual(JSON.parse(bytes.toString()), openaiBody(call))
    }),
    { numRuns: 2_000 },
  )
  assert.ok(passed > 50, String(passed))
})
