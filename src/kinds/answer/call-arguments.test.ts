import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallArguments } from './call-arguments.ts'
import type { AnswerEvent } from './event.ts'

const CASES: readonly (readonly [given: string, told: string])[] = [
  ['{"a":1}', '{"a":1}'],
  [' {"a": "}{\\"" } ', '{"a": "}{\\"" }'],
  ['{"a":1}{"a":1}', '{"a":1}'],
  ['{"a":{}}\n{"b":2}', '{"a":{}}'],
  ['', '{}'],
  ['  ', '{}'],
  ['null', '{}'],
  [' null ', '{}'],
  ['[1]', '{"arguments":"[1]"}'],
  ['"a\\n😀"', '{"arguments":"\\"a\\\\n😀\\""}'],
  ['nullable', '{"arguments":"nullable"}'],
  ['7', '{"arguments":"7"}'],
  ['not json', '{"arguments":"not json"}'],
]

function written(events: readonly AnswerEvent[]): string {
  return events.map((event) => (event.type === 'tool_arguments' ? event.text : '')).join('')
}

test('the arguments of a call are one object, however they are cut', () => {
  for (const [given, told] of CASES)
    for (let length = 1; length <= given.length + 1; length += 1) {
      const calls = new CallArguments()
      const out = [...calls.mended([{ type: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' }])]
      for (let at = 0; at < given.length; at += length)
        out.push(...calls.mended([{ type: 'tool_arguments', choice: 0, index: 0, text: given.slice(at, at + length) }]))
      out.push(...calls.mended([{ type: 'finish', choice: 0, native: 'tool_calls' }]), ...calls.rest())
      assert.deepEqual(JSON.parse(written(out)), JSON.parse(told), given)
      assert.equal(out.at(-1)?.type, 'finish')
    }
})

test('an object that was cut stays cut, and other events pass as they are', () => {
  const calls = new CallArguments()
  const text: readonly AnswerEvent[] = [{ type: 'text', choice: 0, text: 'hi' }]
  assert.equal(calls.mended(text), text)
  calls.mended([{ type: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' }])
  assert.equal(written(calls.mended([{ type: 'tool_arguments', choice: 0, index: 0, text: '{"a":"b' }])), '{"a":"b')
  assert.deepEqual(calls.rest(), [])
})
